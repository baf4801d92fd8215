"""Asked when the window is closed while jobs run: whether they go on without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words import say

#: Jobs that are named one by one.
_NAMED = 5


class LeaveDialog(Dialog):
    """Go on in the background, stop, or stay. Cancel is the default: nothing happens then."""

    def __init__(
        self,
        parent: QWidget,
        active: Sequence[Job],
        background: Callable[[], object],
        stop: Callable[[], object],
    ) -> None:
        """active: what has not ended. background, stop: what is called for each answer."""
        super().__init__(parent, "", 520)
        self.setWindowTitle(self.tr("Quit"))
        texts = forms.column(gap=forms.GAP)
        number = say.count(len(active), "job is", "jobs are")
        self.question = forms.label(
            self.tr("{} still running or waiting").format(number), "heading", wrap=True
        )
        names = [job.title for job in active[:_NAMED]]
        if len(active) > _NAMED:
            names.append(self.tr("and {} more").format(len(active) - _NAMED))
        self.jobs = forms.label("\n".join(names), wrap=True)
        self.detail = forms.label(
            self.tr("In the background, the window is gone at once. Start Torchkeeper again to "
                    "have it back; without that, everything ends with the last job. Stopped now, "
                    "what is finished stays; nothing is left half-written."), "muted", wrap=True,
        )  # fmt: skip
        for label in (self.question, self.jobs, self.detail):
            texts.addWidget(label)
        texts.addStretch(1)
        line = forms.row(gap=16)
        line.addWidget(forms.picture("running", 32, "accent"), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        self.body.addLayout(line)
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.setAccessibleDescription(self.tr("The window stays open, and jobs go on"))
        self.stop = forms.button(self.tr("&Stop and quit"), danger=True)
        self.background = forms.button(self.tr("Go on in the &background"))
        self.cancel.clicked.connect(self.reject)
        self.stop.clicked.connect(lambda: self._answer(stop))
        self.background.clicked.connect(lambda: self._answer(background))
        self.buttons(self.background, self.stop, self.cancel)
        for button in (self.background, self.stop, self.cancel):
            # Enter presses what has the focus, and Cancel has it first.
            button.setAutoDefault(True)
        self.cancel.setDefault(True)
        self.cancel.setFocus()

    def _answer(self, then: Callable[[], object]) -> None:
        self.accept()
        then()
