"""What becomes of what is dropped on the Compare page, or pasted there: entries of the table,
places in which the nearest entry is looked for, and runs.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.gui.comparing.cards import Side
from torchkeeper.gui.sidebar.carried import BUNDLES, Carried, no_bundle
from torchkeeper.gui.sidebar.lists import Offer
from torchkeeper.gui.table.cells import shown_name
from torchkeeper.gui.table.mimedata import Rows

if TYPE_CHECKING:
    from torchkeeper.gui.comparing.page import ComparePage
    from torchkeeper.gui.window import Window

#: How the files of runs are called (link/kept/runs.py).
_RUN = re.compile(r"(\d{8}-\d{6}-[0-9a-f]{4})\.json")


class CompareTaking(QObject):
    """The offers of the two cards, by their letters."""

    def __init__(self, page: ComparePage, window: Window) -> None:
        super().__init__(page)
        self._page, self._window = page, window

    @property
    def free(self) -> str:
        """The side that something is for which was dropped on neither."""
        return "A" if self._page.side("A") is None else "B"

    def of(self, carried: Carried, letter: str) -> Offer:
        """What becomes of something on a side."""
        if carried.rows is not None:
            return self.of_rows(carried.rows, letter)
        every = (*carried.servers, *carried.paths)
        if len(every) > 1:
            return Offer(self.tr("One place, or one entry, goes on a side"), None)
        [one] = every
        name = os.path.basename(one.rstrip("/"))
        if found := _RUN.fullmatch(name):
            text = self.tr("Show this run: what each of its misses differs in from the nearest "
                           "entry is said there")  # fmt: skip
            return Offer(text, lambda: self._show_run(found[1]))
        if not carried.servers and os.path.splitext(name)[1] and not name.endswith(BUNDLES):
            return Offer(no_bundle(name), None)
        other = self._page.side("B" if letter == "A" else "A")
        if other is None:
            text = self.tr("Open {}, to choose the entry for {} in it")
            return Offer(text.format(carried.words, letter), lambda: self._open(one, letter))
        text = self.tr("Look in {} for the entry nearest to {}")
        return Offer(
            text.format(carried.words, shown_name(other.entry)),
            lambda: self._page.compare_nearest_in(other, one),
        )

    def of_rows(self, rows: Rows, letter: str) -> Offer:
        """What becomes of entries on a side: one goes there, two are compared."""
        sides = [Side(rows.place, entry) for entry in rows.entries]
        if rows.number > 2:
            return Offer(self.tr("Two entries are compared at most"), None)
        if rows.number == 2:
            if sides[0].entry.kind != sides[1].entry.kind:
                return Offer(self.tr("Only entries of one kind can be compared"), None)
            return Offer(self.tr("Compare both"), lambda: self._page.compare(*sides))
        text = self.tr("Put {} on side {}").format(shown_name(sides[0].entry), letter)
        return Offer(text, lambda: self._page.put(letter, sides[0]))

    def _open(self, place: str, letter: str) -> None:
        self._window.open_paths([place])
        self._page.choose(letter)

    def _show_run(self, ident: str) -> None:
        from torchkeeper.gui.runs.page import RunsPage

        page = self._window.pages.of("runs")
        assert isinstance(page, RunsPage)
        page.choose_run(ident)
        self._window.show_page("runs")
