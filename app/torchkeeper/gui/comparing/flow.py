"""The actions that compare selected entries; what comes of them is on the Compare page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.artifacts.entry import COMPARED, Entry
from torchkeeper.link.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.gui.comparing.page import ComparePage
    from torchkeeper.gui.window import Window

#: The id of the page.
COMPARE = "compare"
#: Milliseconds for which it is said what comes next.
_HINT_MS = 15_000


class CompareFlows(QObject):
    """From a selection in the table to the page."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window

    def compare_selected(self) -> None:
        """Show what differs between the two selected entries."""
        chosen = self._window.table.selected()
        if len(chosen) != 2:
            return
        if (why := _why_not(*chosen)) is not None:
            self._window.tell(why)
        else:
            self._compare(*chosen)

    def compare_nearest(self) -> None:
        """Find the entry that is most like the selected one, and show what differs."""
        chosen = self._window.table.selected()
        if len(chosen) == 1:
            self._compare(chosen[0], None)

    def compare_as_a(self) -> None:
        """Put the selected entry on side A of a comparison."""
        self._compare_as("A")

    def compare_as_b(self) -> None:
        """Put the selected entry on side B."""
        self._compare_as("B")

    def _compare(self, one: Entry, other: Entry | None) -> None:
        from torchkeeper.gui.comparing.cards import Side

        place = self._window.place
        if place is not None:
            page = self._compare_page()
            page.compare(Side(place, one), Side(place, other) if other is not None else None)
            self._window.show_page(COMPARE)

    def _compare_as(self, letter: str) -> None:
        from torchkeeper.gui.comparing.cards import Side

        window, chosen = self._window, self._window.table.selected()
        if window.place is None or len(chosen) != 1:
            return
        if self._compare_page().put(letter, Side(window.place, chosen[0])):
            window.show_page(COMPARE)
            return
        other = {"A": "compare-as-b", "B": "compare-as-a"}[letter]
        keys = window.actions_[other].shortcut().toString()
        said = self.tr("This entry is {} now. Select another of its kind, in any place, and press "
                       "{} to compare them.").format(letter, keys)  # fmt: skip
        window.statusBar().showMessage(said, _HINT_MS)

    def _compare_page(self) -> ComparePage:
        from torchkeeper.gui.comparing.page import ComparePage

        page = self._window.pages.of(COMPARE)
        assert isinstance(page, ComparePage)
        return page


def _why_not(one: Entry, other: Entry) -> UserError | None:
    """Why two entries cannot be compared."""
    if one.kind != other.kind:
        return user_error("kinds-differ", {"kind": one.kind, "other_kind": other.kind})
    if one.kind not in COMPARED:
        return user_error("nothing-recorded", {"kind": one.kind})
    broken = next((entry for entry in (one, other) if entry.broken), None)
    return user_error("entry-damaged", {"key": broken.key}) if broken is not None else None
