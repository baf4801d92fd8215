"""The actions that compare selected entries; what comes of them is on the Compare page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.artifacts.entry import COMPARED, Entry
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.gui.inspector.vllm import is_key
from torchkeeper.gui.pages import COMPARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchkeeper.gui.context import Context
    from torchkeeper.gui.pages.comparing.page import ComparePage

#: Milliseconds for which it is said what comes next.
_HINT_MS = 15_000


class CompareFlows(QObject):
    """From a selection in the table to the page."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.window)
        self._context = context

    def open(self) -> None:
        """Compare the two selected entries; without two, show what was compared before."""
        if self._context.actions["compare-two"].isEnabled():
            self.compare_selected()
        else:
            self._context.actions.go(COMPARE)

    def compare_selected(self) -> None:
        """Show what differs between the two selected entries."""
        chosen = self._context.table.selected()
        if len(chosen) == 2 and (why := _why_not(*chosen)) is not None:
            self._context.tell(why)
        elif len(chosen) == 2:
            self._compare(*chosen)

    def compare_nearest(self) -> None:
        """Find the entry that is most like the selected one, and show what differs."""
        chosen = self._context.table.selected()
        if len(chosen) == 1:
            self._compare(chosen[0], None)

    def compare_entries(self, entries: Sequence[Entry]) -> None:
        """Show what differs between two entries of the place that is shown."""
        self._compare(*entries)

    def _compare(self, one: Entry, other: Entry | None) -> None:
        from torchkeeper.gui.pages.comparing.differences import Side

        if (place := self._context.place) is not None:
            page = self._compare_page()
            page.compare(Side(place, one), Side(place, other) if other is not None else None)
            self._context.pages.go(COMPARE)

    def compare_as(self, letter: str) -> None:
        """Put the selected entry on a side of a comparison."""
        from torchkeeper.gui.pages.comparing.differences import Side

        context, chosen = self._context, self._context.table.selected()
        if context.place is None or len(chosen) != 1:
            return
        if self._compare_page().put(letter, Side(context.place, chosen[0])):
            context.pages.go(COMPARE)
            return
        other = context.actions["compare-as-b" if letter == "A" else "compare-as-a"].shortcut()
        said = self.tr("This entry is {} now. Select another of its kind, in any place, and press "
                       "{} to compare them.").format(letter, other.toString())  # fmt: skip
        context.say(said, _HINT_MS)

    def _compare_page(self) -> ComparePage:
        from torchkeeper.gui.pages.comparing.page import ComparePage

        page = self._context.pages.of(COMPARE)
        assert isinstance(page, ComparePage)
        return page


def _why_not(one: Entry, other: Entry) -> UserError | None:
    if one.kind != other.kind:
        return user_error("kinds-differ", {"kind": one.kind, "other_kind": other.kind})
    if one.kind not in COMPARED and not (is_key(one) and is_key(other)):
        return user_error("nothing-recorded", {"kind": one.kind})
    broken = next((entry for entry in (one, other) if entry.broken), None)
    return user_error("entry-damaged", {"key": broken.key}) if broken is not None else None
