"""What rules or checks have found, the worst first: each with why, a remedy, and a button for what
can be mended here. For a profile and for whatever else is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.profiles import words
from torchkeeper.link.findingwords import said
from torchkeeper.link.words import printable
from torchkeeper.settings.finding import Finding


class Card(QFrame):
    """One finding."""

    fix = Signal(object)
    #: Somebody wants to see the setting, or the place, that it is about.
    wanted = Signal(object)

    def __init__(self, one: Finding, fixable: bool, goes: bool) -> None:
        """fixable: whether it can be mended here; goes: whether there is something to go to."""
        super().__init__()
        self.finding = one
        self.setObjectName("hint")
        icon, role = words.MARKS[one.severity]
        told = said(one)
        self.setAccessibleName(f"{one.severity}: {told.what}")
        texts = forms.column(gap=2)
        self.what = forms.label(told.what, "heading", wrap=True)
        texts.addWidget(self.what)
        rest = [(told.why, ""), (told.remedy, "muted")]
        if one.place:
            rest.append((printable(one.place, 400), "muted"))
        for text, kind in rest:
            if text:
                label = forms.label(text, kind, wrap=True)
                label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                texts.addWidget(label)
        texts.addStretch(1)
        line = forms.row(gap=12)
        line.setContentsMargins(12, 10, 12, 10)
        line.addWidget(forms.picture(icon, 20, role), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        buttons = forms.column(gap=4)
        self.go: QPushButton | None = None
        self.mend: QPushButton | None = None
        if fixable:
            self.mend = forms.button(self.tr("Fix"))
            self.mend.setToolTip(words.change(one.change))
            self.mend.setAccessibleDescription(f"{told.what} {words.change(one.change)}")
            self.mend.clicked.connect(lambda: self.fix.emit(one))
            buttons.addWidget(self.mend)
        if goes:
            self.go = forms.button(self.tr("Show"))
            self.go.setToolTip(self.tr("Go to {}").format(one.settings[0] if one.settings else ""))
            self.go.setAccessibleDescription(told.what)
            self.go.clicked.connect(lambda: self.wanted.emit(one))
            buttons.addWidget(self.go)
        for button in (self.mend, self.go):
            if button is not None:
                button.setAutoDefault(False)
        buttons.addStretch(1)
        line.addLayout(buttons)
        self.setLayout(line)


class FoundList(QScrollArea):
    """The findings, a card each. It keeps the cards of what stays, so that who is at one of them
    is not thrown out while others come and go.
    """

    fix = Signal(object)
    wanted = Signal(object)

    def __init__(
        self,
        name: str,
        fixable: Callable[[Finding], bool] | None = None,
        goes: Callable[[Finding], bool] | None = None,
    ) -> None:
        """fixable: what can be mended here, by default what a change of settings mends; goes: what
        there is something to go to of, by default what is about a setting.
        """
        super().__init__()
        self.setAccessibleName(name)
        self._fixable = fixable or (lambda one: bool(one.change))
        self._goes = goes or (lambda one: bool(one.settings))
        self.cards: list[Card] = []
        self._rows = forms.column(gap=6)
        self._rows.addStretch(1)
        page = QWidget()
        page.setLayout(self._rows)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    @property
    def findings(self) -> list[Finding]:
        """What is shown."""
        return [card.finding for card in self.cards]

    @property
    def needed(self) -> int:
        """Pixels that all of them take, one below the other."""
        return self._rows.totalHeightForWidth(max(200, self.width() - 16))

    def show_findings(self, found: Sequence[Finding]) -> None:
        """Show these, in this order."""
        if list(found) == self.findings:
            return
        before = list(self.cards)
        self.cards = []
        for at, one in enumerate(found):
            card = next((x for x in before if x.finding == one), None)
            if card is None:
                card = Card(one, self._fixable(one), self._goes(one))
                card.fix.connect(self.fix)
                card.wanted.connect(self.wanted)
            else:
                before.remove(card)
            self.cards.append(card)
            self._rows.insertWidget(at, card)
        for card in before:
            self._rows.removeWidget(card)
            card.hide()
            card.deleteLater()
