"""What rules or checks have found, the worst first, with a button for what can be mended."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton

from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets.cards import Card, CardList
from torchkeeper.settings.finding import Finding


class FindingCard(Card):
    fix = Signal(object)
    #: Somebody wants to see the setting, or the place, that it is about.
    wanted = Signal(object)

    def __init__(self, one: Finding, fixable: bool, goes: bool) -> None:
        """fixable: whether it can be mended here; goes: whether there is something to go to."""
        told = said(one)
        texts = [(told.why, ""), (told.remedy, "muted"), (printable(one.place, 400), "muted")]
        name = f"{one.severity}: {told.what}"
        super().__init__(words.MARKS[one.severity], told.what, texts, name)
        self.finding = one
        self.go: QPushButton | None = None
        self.mend: QPushButton | None = None
        if fixable:
            change = words.change(one.change)
            self.mend = self.add(
                self.tr("Fix"), lambda: self.fix.emit(one), change, f"{told.what} {change}"
            )
        if goes:
            hint = self.tr("Go to {}").format(one.settings[0] if one.settings else "")
            self.go = self.add(self.tr("Show"), lambda: self.wanted.emit(one), hint, told.what)


_Which = Callable[[Finding], bool]


class FoundList(CardList):
    """The findings, a card each."""

    fix = Signal(object)
    wanted = Signal(object)

    def __init__(self, name: str, fixable: _Which, goes: _Which) -> None:
        """What can be mended here, and what there is something to go to of."""
        super().__init__(name)
        self._fixable, self._goes = fixable, goes

    @property
    def cards(self) -> list[FindingCard]:
        """Those that are shown, in their order."""
        return [card for _, card in self._shown if isinstance(card, FindingCard)]

    @property
    def findings(self) -> list[Finding]:
        return [card.finding for card in self.cards]

    def show_findings(self, found: Sequence[Finding]) -> None:
        """Show these, in this order."""
        if list(found) != self.findings:
            self.arrange(found, self._make, operator.eq)

    def _make(self, one: object) -> FindingCard:
        assert isinstance(one, Finding)
        card = FindingCard(one, self._fixable(one), self._goes(one))
        card.fix.connect(self.fix)
        card.wanted.connect(self.wanted)
        return card
