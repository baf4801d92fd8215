"""Going from one part of the window to another: pages, the table, the filter, the inspector."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QTabBar

from torchkeeper.artifacts.entry import COUNTED_APART
from torchkeeper.gui import taborder
from torchkeeper.gui.pages import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchkeeper.gui.inspector.details import Need
    from torchkeeper.gui.shell import Shell

#: Pieces of the table that are selected at once.
_MOST_PIECES = 2000
_SAID_MS = 15_000


class Navigator:
    """Takes the user, and the keyboard, to what was asked for."""

    def __init__(self, window: Shell, update_soon: Callable[[], None]) -> None:
        self._window, self._update_soon = window, update_soon

    def go_to_page(self, ident: str) -> None:
        """Go to a page and to its list; a drawer that would leave little of it in sight closes."""
        window = self._window
        there = window.pages.current == ident and window.pages.isAncestorOf(window.focusWidget())
        window.pages.go(ident)
        if there:
            return
        if (drawer := window.following.open) is not None and drawer.leaves_little:
            drawer.shut()
        window.focus_page()

    def go_to_next_part(self) -> None:
        window = self._window
        # The guide and other bars, and the page under them; last the jobs and their strip.
        items = map(window.top.itemAt, range(window.top.count()))
        bars = [widget for item in items if item is not None and (widget := item.widget())]
        jobs = [*filter(None, [window.following.open]), window.statusBar()]
        parts = [window.sidebar, *bars, window.inspector_frame, window.tools, *jobs]
        if (first := taborder.next_part(parts, window.focusWidget())) is not None:
            first.setFocus(Qt.FocusReason.TabFocusReason)

    def go_to_filter(self) -> None:
        """Go to the search field of the page that is shown; where it has none, to the filter."""
        window = self._window
        if (drawer := window.following.open) is not None and drawer.holds_focus:
            drawer.search()
            return
        if (page := window.pages.page) is not None and page.search():
            return
        window.pages.go(ENTRIES)
        window.head.box.setFocus(Qt.FocusReason.ShortcutFocusReason)
        window.head.box.selectAll()

    def go_to_table(self) -> None:
        """Go from the filter to what it leaves."""
        window = self._window
        # What was typed last is used by now, so that the row is one of those that it leaves.
        window.head.use_now()
        window.table.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not window.table.selectionModel().hasSelection() and window.entries.rowCount():
            window.table.go_to_row(0)

    def select_all(self) -> None:
        """Select all entries that are shown."""
        self._window.table.selectAll()
        self._window.table.setFocus()

    def toggle_map(self) -> None:
        """Show or hide the map over the table; from another page, go to it."""
        window = self._window
        if elsewhere := window.pages.current != ENTRIES:
            window.pages.go(ENTRIES)
        window.map_splitter.want(elsewhere or not window.map_splitter.wanted)

    def toggle_apart(self) -> None:
        """Show locks, headers and unknown files among the entries, or leave them out again."""
        entries = self._window.entries
        self._window.pages.go(ENTRIES)
        entries.show_apart(not entries.apart_wanted)
        self._update_soon()

    def inspect(self) -> None:
        """Go to what there is to know of the current entry."""
        window = self._window
        if not window.table.selected():
            return
        if not window.inspector_frame.isVisible():
            window.inspector_frame.toggle()
        stops = list(taborder.stops(window.inspector_frame))
        # Its tabs, with which one goes on; not the button over them that copies the key.
        tabs = (stop for stop in stops if isinstance(stop, QTabBar))
        if (first := next(tabs, stops[0] if stops else None)) is not None:
            # So that it shows where the keyboard is.
            first.setFocus(Qt.FocusReason.TabFocusReason)

    def follow(self, need: Need) -> None:
        """Go to an entry that another needs, or is needed by."""
        which = {(need.kind, need.key)}
        found = self._window.keyed.of(which) or self._window.entries.of_keys(which)
        self.show_entries({entry.identity for entries in found.values() for entry in entries})

    def show_entries(self, identities: set[tuple[str, str]]) -> bool:
        """Select entries, though a filter hides them, and go to the first; False without any."""
        window = self._window
        window.pages.go(ENTRIES)
        window.entries.expand_to(identities)
        rows = window.entries.rows_of(identities)
        if len(rows) < len(identities):
            window.head.clear_filter()
            if not COUNTED_APART.keys().isdisjoint(kind for kind, _ in identities):
                window.entries.show_apart(True)
            window.entries.expand_to(identities)
            rows = window.entries.rows_of(identities)
        if rows:
            window.table.go_to_row(rows[0])
            window.table.select(identities)
        return bool(rows)

    def select_shown(self, identities: set[tuple[str, str]]) -> None:
        """Select those that the filter lets through, of very many scattered ones the first."""
        window = self._window
        window.entries.expand_to(identities)
        if not (rows := window.entries.rows_of(identities)):
            return
        window.table.go_to_row(rows[0])
        gaps = (at for at, (row, after) in enumerate(pairwise(rows), 1) if after != row + 1)
        most = next(islice(gaps, _MOST_PIECES - 1, None), len(rows))
        window.table.select_rows(rows[:most])
        if most < len(rows):
            text = QCoreApplication.translate(
                "Navigator", "Only the first {} of {} are selected, because they are scattered"
            )
            window.statusBar().showMessage(text.format(f"{most:,}", f"{len(rows):,}"), _SAID_MS)
