"""How many entries are of use here, in the status bar: each number a switch for the filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import icons, theme
from torchkeeper.gui.table.cells import verdict_words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.elided import Elided
from torchkeeper.gui.widgets.plain import tip

#: What says more than a number comes last.
_ORDER = (*(verdict for verdict in VERDICTS if verdict != "stale"), "stale")
#: Versions of torch that are named.
_NAMED = 2


class Counts(NamedTuple):
    """How many entries that are shown there are of each verdict, and made by which torch those that
    are stale; there: how many of each the place holds.
    """

    verdicts: Mapping[str, int]
    made_by: Mapping[str, int]
    there: Mapping[str, int]


class VerdictBar(QWidget):
    """A button for each verdict that what is shown has, which shows only the entries that have it,
    and what made those that are stale.
    """

    #: Only entries with this verdict are wanted; empty for all.
    wanted = Signal(str)
    #: The entries of a large server are to be judged, too.
    insisted = Signal()

    _GAP = 2
    #: Pixels left and right of what is said.
    _EDGES = 16

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Verdicts"))
        #: What each button says, where there is little room and where there is enough.
        self._texts: dict[str, tuple[str, str]] = {}
        self.buttons = {verdict: self._button(verdict) for verdict in _ORDER}
        #: Those that the filter asks for, and what was told last.
        self._marked = frozenset[str]()
        self._told: object = None
        #: What is said besides, in full and in short.
        self._besides = "", ""
        self.said = Elided("muted")
        self.insist = QToolButton()
        self.insist.setObjectName("count")
        self.insist.setText(self.tr("Ask for verdicts"))
        self.insist.setToolTip(
            self.tr("All values of this server are fetched for that, which takes a while")
        )
        self.insist.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.insist.clicked.connect(self.insisted)
        line = forms.row(gap=self._GAP)
        for widget in (*self.buttons.values(), self.insist):
            line.addWidget(widget)
        line.addWidget(self.said, 100)
        line.addStretch(1)
        self.setLayout(line)
        # It has the room that is left, and gets along with it, down to the marks and numbers.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        theme.follow(self, self._paint)
        self.tell(None, "")

    def _button(self, verdict: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName("count")
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        made.setIconSize(QSize(16, 16))
        made.setCheckable(True)
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        made.clicked.connect(lambda on: self.wanted.emit(verdict if on else ""))
        return made

    def _paint(self) -> None:
        for verdict, button in self.buttons.items():
            button.setIcon(icons.icon(f"verdict-{verdict}", theme.shades().verdict(verdict)))

    def tell(self, counts: Counts | None, said: str, insist: bool = False) -> None:
        """Show these counts, and a few words; ``insist``: offer to ask."""
        told = counts, said, insist, self._marked
        if told == self._told:
            return
        self._told = told
        numbers = counts.verdicts if counts else {}
        every = counts.there if counts else {}
        for verdict, button in self.buttons.items():
            count = numbers.get(verdict, 0)
            words = verdict_words(verdict).lower()
            if count:
                self._texts[verdict] = f"{count:,}", f"{count:,} {words}"
                spoken = self.tr("Show only {} entries: {}").format(words, f"{count:,}")
                button.setToolTip(tip(f"{spoken}; {self.tr('once more to show all')}"))
            else:
                # Where the filter is about another verdict, a click leads to this one.
                self._texts[verdict] = "", ""
                spoken = self.tr("Show only {} entries").format(words)
                button.setToolTip(tip(spoken))
            button.setAccessibleName(spoken)
            button.setVisible(bool(count or (self._marked and every.get(verdict))))
        made_by = counts.made_by if counts and numbers.get("stale") else {}
        if not said and made_by:
            names = [printable(name, 40) for name in made_by]
            named = say.together(names, _NAMED)
            self._besides = self.tr("made by torch {}").format(named), f"torch {named}"
            self.said.setToolTip(tip(say.together(names)))
        else:
            self._besides = said, said
            self.said.setToolTip("")
        self.insist.setVisible(insist)
        # One over the other they say nothing.
        self.setMinimumWidth(self._word(short=True))
        self._fit()

    def _word(self, *, short: bool) -> int:
        """Have the buttons say all that they count, or the numbers alone; how wide they are."""
        shown = [one for one in (*self.buttons.values(), self.insist) if not one.isHidden()]
        for verdict, button in self.buttons.items():
            if not button.isHidden():
                button.setText(self._texts[verdict][0 if short else 1])
                button.setMinimumWidth(button.sizeHint().width())
        return sum(
            max(button.minimumWidth(), button.sizeHint().width()) + self._GAP for button in shown
        )

    def _fit(self) -> None:
        """Where there is little room, the marks alone say what is counted."""
        taken = self._word(short=False)
        if taken > self.width():
            taken = self._word(short=True)
        # A few letters of it say nothing.
        room = self.width() - taken - self._EDGES
        wide = self.said.fontMetrics().horizontalAdvance
        said = next((text for text in self._besides if text and wide(text) <= room), "")
        self.said.setText(said)
        self.said.setVisible(bool(said))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def mark(self, text: str) -> None:
        """Say which of them the filter is about."""
        words = text.split()
        self._marked = frozenset(v for v in self.buttons if f"is:{v}" in words)
        for verdict, button in self.buttons.items():
            button.setChecked(verdict in self._marked)
