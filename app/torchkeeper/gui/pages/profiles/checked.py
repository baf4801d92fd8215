"""What is wrong with values, as a pane: how many findings, whether some are still looked for, and
each with its remedy.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.foundlist import FoundList
from torchkeeper.link.words.problems import UserError
from torchkeeper.settings.finding import Finding, worst

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
