"""A dialog that asks for a job; once that has begun, the drawer shows the rest."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLayout, QPushButton, QWidget

from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.widgets import forms

#: How high a dialog is at least.
_LOWEST = 168


class WorkDialog(Dialog):
    """What it asks ends in ``follow``. It is kept, unseen, as long as it may ask once more."""

    #: Whether the page has no list that gives way: it is never lower than what it says.
    fits = False

    choice: ChoicePage
    #: A job has begun.
    begun = Signal(object)

    def __init__(self, parent: QWidget, width: int = 560, *terms: str) -> None:
        super().__init__(parent, width, *terms)
        #: The job that it has begun, until it asks for another.
        self.job: Job | None = None
        #: The button that goes on, and the same where Enter presses it.
        self._last: QPushButton | None = None
        self._goes_on: QPushButton | None = None

    def add_choice(self, body: QLayout, go: QPushButton, enter: bool = True) -> ChoicePage:
        """Make the page, with Cancel and ``go``. enter: whether Enter presses that."""
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.choice = page = ChoicePage(body, self.cancel, go)
        self.body.addWidget(page)
        self._last = go
        if enter:
            self._goes_on = go
            go.setDefault(True)
        self.body.activate()
        height = max(_LOWEST, self._needed(page))
        self.resize(self.width(), min(height, self.screen().availableSize().height() - 80))
        return page

    def _needed(self, page: ChoicePage) -> int:
        edges = self.body.contentsMargins()
        inner = self.width() - edges.left() - edges.right()
        return page.needed(inner) + edges.top() + edges.bottom()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.fits:
            self.grow_to(self._needed(self.choice))
        return done

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Where no button takes Enter, it goes to the one that goes on, which the next presses."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        go, buttons = self._last, self.findChildren(QPushButton)
        if (
            enter
            and go is not None
            and go.isEnabled()
            and not any(one.isDefault() for one in buttons)
        ):
            go.setFocus(Qt.FocusReason.TabFocusReason)
        else:
            super().keyPressEvent(event)

    def follow(self, job: Job) -> None:
        """Leave the job to the drawer."""
        self.job = job
        self.hide()
        self.begun.emit(job)

    def choose_again(self) -> None:
        """Ask once more, with what was said the last time."""
        self.job = None
        self.open()
        (self._goes_on or self.cancel).setFocus()
