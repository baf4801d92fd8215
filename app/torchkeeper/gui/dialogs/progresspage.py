"""The page of a dialog that says how far its job is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QProgressBar, QWidget

from torchkeeper.engine.protocol import PREPARE
from torchkeeper.gui.dialogs.laptable import RunningLaps
from torchkeeper.gui.dialogs.pages import button_row, cells_pane
from torchkeeper.gui.jobs.model import (
    SIGNING,
    Job,
    State,
    cells_text,
    lap_text,
    progress_text,
    state_text,
)
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.matrix.pane import CellsPane
#: What the bar counts to.
_STEPS = 1000


class ProgressPage(QWidget):
    """How far a job is."""

    def __init__(self) -> None:
        super().__init__()
        self.title = forms.label("", "title", wrap=True)
        self.bar = QProgressBar()
        self.bar.setAccessibleName(self.tr("Progress"))
        self.bar.setTextVisible(False)
        self.numbers = forms.label("")
        self.now = forms.label("", "muted")
        self.now.setMinimumHeight(self.now.fontMetrics().lineSpacing())
        self.laps = RunningLaps()
        self.laps.hide()
        #: The cells of a warm-up; made when there are some.
        self.cells: CellsPane | None = None
        self.background = forms.button(self.tr("Go on in the &background"))
        self.background.setToolTip(
            self.tr("Close this dialog; the job goes on and shows on the Activity page")
        )
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.setToolTip(self.tr("Stop; what was done is taken back"))
        layout = forms.column()
        layout.addWidget(self.title)
        layout.addSpacing(forms.GAP)
        layout.addWidget(self.bar)
        layout.addWidget(self.numbers)
        layout.addWidget(self.now)
        layout.addSpacing(4)
        layout.addWidget(self.laps)
        layout.addStretch(1)
        layout.addLayout(button_row(self.background, self.cancel))
        self._layout = layout
        self.setLayout(layout)

    def show_job(self, job: Job) -> None:
        """Bring it up to date."""
        self.title.setText(job.title)
        fraction = job.fraction()
        if fraction is None:
            self.bar.setRange(0, 0)
        else:
            self.bar.setRange(0, _STEPS)
            self.bar.setValue(round(fraction * _STEPS))
        self.numbers.setText(self._numbers(job))
        self.now.setText(job.now or job.note)
        # While it runs the line stays, also with nothing on it: what comes and goes would move the
        # buttons from under the pointer.
        running = job.state is State.RUNNING or not (job.laps or job.cells)
        self.now.setVisible(bool(self.now.text()) or running)
        if job.laps:
            self.laps.show_laps(job.laps, time.monotonic())
        self.laps.setVisible(bool(job.laps))
        if job.cells:
            self._show_cells(job)
        if job.traits.warms:
            self.cancel.setToolTip(self.tr("Stop at once; what is compiled by then stays"))
        if scheme_of(job.place or "").keeps_part:
            self.cancel.setToolTip(self.tr("Stop at once; what has arrived stays"))
        self.cancel.setEnabled(job.active and job.state is not State.CANCELLING)

    def _show_cells(self, job: Job) -> None:
        if self.cells is None:
            self.cells = cells_pane(self._layout, self._layout.count() - 2)
        self.cells.show_cells(job.cells)

    def _numbers(self, job: Job) -> str:
        if job.state is State.RUNNING and job.counts_bytes:
            return progress_text(job)
        if job.state is State.RUNNING and job.laps:
            return lap_text(job)
        if job.state is State.RUNNING and job.kind == PREPARE:
            return self.tr("Building what is not there yet, which takes some seconds…")
        if job.state is State.RUNNING and len(job.cells.rows) > 1:
            return cells_text(job)
        if job.state is State.RUNNING and job.cells and job.unit != "steps":
            return self.tr("Compiling…")  # of one, nothing is counted
        if job.state is State.RUNNING and job.unit == "steps" and job.total:
            return self.tr("{} of {} {}").format(f"{job.done:,.0f}", f"{job.total:,.0f}", job.unit)
        if job.state is State.RUNNING and job.total:
            return self.tr("Reading the entries, {} of {}").format(
                f"{job.done:,.0f}", f"{job.total:,.0f}"
            )
        if job.state is State.RUNNING and job.unit == SIGNING:
            return self.tr("Signing…")
        return self.tr("Starting…") if job.state is State.RUNNING else state_text(job)
