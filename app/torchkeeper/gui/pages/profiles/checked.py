"""What is wrong with values, as a pane: how many findings, whether some are still looked for, and
each with its remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QSplitter, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.foundlist import FoundList
from torchkeeper.settings.finding import Finding, worst

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent


#: Pixels that are seen of the list at least.
_LEAST = 44


class Checked(QWidget):
    """A line that sums up, and the list, which is not seen where there is nothing."""

    fix = Signal(object)
    wanted = Signal(object)

    def __init__(self, *, mends: bool = True, goes: bool = True) -> None:
        """mends: whether changes of settings can be made here; goes: whether settings can be gone
        to.
        """
        super().__init__()
        self.state = forms.label("", "heading")
        self.checking = forms.label("", "muted")
        self.list = FoundList(
            self.tr("What is wrong with it"),
            lambda one: mends and bool(one.change),
            lambda one: goes and bool(one.settings),
        )
        self.list.setMinimumHeight(_LEAST)
        self.list.fix.connect(self.fix)
        self.list.wanted.connect(self.wanted)
        line = forms.row(gap=16)
        line.addWidget(self.state)
        line.addWidget(self.checking, 1)
        whole = forms.column(gap=6)
        whole.addLayout(line)
        whole.addWidget(self.list, 1)
        self.list.hide()
        self.setLayout(whole)

    def show_findings(
        self, found: Sequence[Finding], *, checking: bool, error: UserError | None = None
    ) -> None:
        """Show these; checking: whether more may come; error: why some could not be looked for."""
        before = self.state.text()
        text = words.counted(found)
        grave = any(one.severity != "advice" for one in found)
        if not grave:
            nothing = "" if checking and not found else self.tr("Nothing is wrong with it")
            text = "; ".join(x for x in (nothing, text) if x)
        self.state.setText(text)
        self.state.setVisible(bool(text))
        forms.set_role(self.state, str(worst(list(found))) if grave else "good")
        if checking:
            self.checking.setText(self.tr("Checking folders and the server…"))
        else:
            left = self.tr("Folders and the server could not be checked: {}")
            self.checking.setText(left.format(error.what) if error is not None else "")
        self.list.show_findings(found)
        self.list.setVisible(bool(found))
        if text and text != before:
            self.state.setAccessibleName(text)
            event = QAccessibleEvent(self.state, QAccessible.Event.Alert)
            QAccessible.updateAccessibility(event)


# A pane over a list of findings: the list has the room that it needs, and the pane the rest.

#: Pixels for the findings at most, unless somebody wants more, and of what is over their list.
_MOST = 272
#: The share of the height that they have at most.
_SHARE = 0.4
_ABOVE = 44


class Divided(QSplitter):
    """Once somebody has moved the bar between the two, it stays where it is."""

    def __init__(self, above: QWidget, below: Checked) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._below = below
        self._moved = False
        self.setChildrenCollapsible(False)
        self.addWidget(above)
        self.addWidget(below)
        self.setStretchFactor(0, 1)
        self.splitterMoved.connect(self._stay)

    def fit(self) -> None:
        """There are other findings."""
        self._fit()
        # Those that were never seen know their heights only once they have their places.
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        if not self._moved and self.height() > 2:
            found = self._below.list
            low = (
                min(_MOST, int(self.height() * _SHARE), found.needed + _ABOVE) if found.cards else 0
            )
            self.setSizes([max(1, self.height() - low), low])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _stay(self, *_: object) -> None:
        self._moved = True
