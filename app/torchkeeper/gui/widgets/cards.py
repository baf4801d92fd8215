"""Cards, an icon with texts and buttons each, in a list that keeps those that stay. Also such a
list of what rules or checks have found, the worst first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.finding import Finding


class Card(QFrame):
    """An icon, texts, and buttons one below the other."""

    def __init__(
        self, mark: tuple[str, str], title: str, texts: Sequence[tuple[str, str]], name: str = ""
    ) -> None:
        """mark: an icon and its colour; texts: each with its role; name: where it is not seen."""
        super().__init__()
        self.setObjectName("hint")
        self.setAccessibleName(name or title)
        self.title = title
        self.what = forms.label(title, "heading", wrap=True)
        shown = [
            forms.label(text, role, wrap=True, selectable=True) for text, role in texts if text
        ]
        self.column = column = forms.column(self.what, *shown, gap=2)
        column.addStretch(1)
        line = forms.row(gap=12, margin=(12, 10, 12, 10))
        line.addWidget(forms.picture(mark[0], 20, mark[1]), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(column, 1)
        self._buttons = forms.column(gap=4)
        self._buttons.addStretch(1)
        line.addLayout(self._buttons)
        self.setLayout(line)

    def add(self, verb: str, pressed: Callable[[], object], hint: str, more: str) -> QPushButton:
        """A button. hint: its tooltip; more: what it is for, where it cannot be seen."""
        button = forms.button(verb, enter=False)
        button.setToolTip(tip(hint))
        button.setAccessibleDescription(more)
        button.clicked.connect(lambda _checked=False: pressed())
        self._buttons.insertWidget(self._buttons.count() - 1, button)
        return button


class CardList(QScrollArea):
    """Widgets one below the other. Those of what stays are kept: somebody may be at a button."""

    def __init__(self, name: str, margin: int = 0) -> None:
        """margin: pixels between them and the scroll bar."""
        super().__init__()
        self.setAccessibleName(name)
        self._rows = forms.column(gap=6)
        self._rows.addStretch(1)
        # Without a bar they end where everything else does.
        self.verticalScrollBar().rangeChanged.connect(
            lambda _, most: self._rows.setContentsMargins(0, 0, margin if most else 0, 0)
        )
        page = QWidget()
        page.setLayout(self._rows)
        self.setWidget(page)
        self.setWidgetResizable(True)
        # It lies on whatever it is put on.
        page.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        #: What is shown, from the top, each with its widget.
        self._shown: list[tuple[object, QWidget]] = []

    @property
    def needed(self) -> int:
        """Pixels that all of them take, one below the other."""
        return self._rows.totalHeightForWidth(max(200, self.width() - 16))

    def arrange(
        self, wanted: Sequence[object], make: Callable[..., QWidget], same: Callable[..., bool]
    ) -> None:
        """Show these in this order. same: whether what was made for one shows another."""
        before = list(self._shown)
        self._shown = []
        for at, key in enumerate(wanted):
            if (kept := next((x for x in before if same(x[0], key)), None)) is None:
                kept = key, make(key)
            else:
                before.remove(kept)
            self._shown.append(kept)
            self._rows.insertWidget(at, kept[1])
        for _, widget in before:
            self._rows.removeWidget(widget)
            widget.hide()
            widget.deleteLater()


# What rules or checks have found, the worst first, with a button for what can be mended.


class FindingCard(Card):
    """One finding."""

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
        """What is shown."""
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
