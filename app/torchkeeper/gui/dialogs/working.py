"""A dialog that stays: it asks, then shows how far its job is, then what came of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QLayout, QPushButton, QSizePolicy, QWidget

from torchkeeper.engine.protocol import EXPORT, IMPORT, PREPARE, SIGN, VERIFY, WARM
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.laptable import RunningLaps
from torchkeeper.gui.dialogs.pages import ChoicePage, ResultPage, button_row, cells_pane
from torchkeeper.gui.idle import every
from torchkeeper.gui.jobs import model
from torchkeeper.gui.jobs.model import Job, JobsModel, State
from torchkeeper.gui.pages.ideas import explain
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.matrix.pane import CellsPane

#: What the bar counts to.
_STEPS = 1000
#: What jobs are about, by their kind.
_IDEAS = {
    EXPORT: ("bundle",), IMPORT: ("bundle", "mega-cache"), SIGN: ("signature",),
    WARM: ("recipe",), VERIFY: ("verification", "header"), PREPARE: ("header",),
}  # fmt: skip
#: How high a dialog is with little to say, at work and once that is over, and with a list.
_LOW, _LOWEST = 224, 168
_HIGH = 440
#: And with tables.
_TALL = 600
#: How wide and high it is with the cells of a warm-up.
_WIDE, _HIGHEST = 1040, 720


class ProgressPage(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.title = forms.label("", "title", wrap=True)
        self.bar = forms.progress_bar(self.tr("Progress"))
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
        parts = self.title, forms.GAP, self.bar, self.numbers, self.now, 4, self.laps, forms.REST
        self._layout = forms.column(*parts, button_row(self.background, self.cancel))
        self.setLayout(self._layout)

    def show_job(self, job: Job) -> None:
        """Bring it up to date."""
        self.title.setText(job.title)
        fraction = job.fraction()
        self.bar.setRange(0, 0 if fraction is None else _STEPS)
        if fraction is not None:
            self.bar.setValue(round(fraction * _STEPS))
        self.numbers.setText(self._numbers(job))
        self.now.setText(job.now or job.note)
        # A line that comes and goes while it runs would move the buttons from under the pointer.
        running = job.state is State.RUNNING or not (job.laps or job.cells)
        self.now.setVisible(bool(self.now.text()) or running)
        if job.laps:
            self.laps.show_laps(job.laps, time.monotonic())
        self.laps.setVisible(bool(job.laps))
        if job.cells:
            if self.cells is None:
                self.cells = cells_pane(self._layout, self._layout.count() - 2)
            self.cells.show_cells(job.cells)
        if job.traits.warms:
            self.cancel.setToolTip(self.tr("Stop at once; what is compiled by then stays"))
        if scheme_of(job.place or "").keeps_part:
            self.cancel.setToolTip(self.tr("Stop at once; what has arrived stays"))
        self.cancel.setEnabled(job.active and job.state is not State.CANCELLING)

    def _numbers(self, job: Job) -> str:
        if job.state is not State.RUNNING:
            return model.state_text(job)
        if job.counts_bytes:
            return model.progress_text(job)
        if job.laps:
            return model.lap_text(job)
        if job.kind == PREPARE:
            return self.tr("Building what is not there yet, which takes some seconds…")
        if len(job.cells.rows) > 1:
            return model.cells_text(job)
        if job.cells and job.unit != "steps":
            return self.tr("Compiling…")  # of one, nothing is counted
        if job.total:
            steps = job.unit == "steps"
            text = self.tr("{} of {} {}") if steps else self.tr("Reading the entries, {} of {}")
            return text.format(f"{job.done:,.0f}", f"{job.total:,.0f}", job.unit)
        return self.tr("Signing…") if job.unit == model.SIGNING else self.tr("Starting…")


class WorkDialog(Dialog):
    """Its first page ends in ``follow``. Closed while the job runs, it leaves it on Activity."""

    #: Its pages, all of which the layout counts, see to their height themselves.
    grows = False
    #: Whether the first page has no list that gives way: it is never lower than what it says.
    fits = False

    #: What came of a job is to be shown in its folder, or opened.
    reveal = Signal(object)
    opened = Signal(object)
    cancelled = Signal(object)
    #: An environment is to be prepared: its interpreter.
    prepare = Signal(str)
    #: What was warmed is to be verified; what was not, to be warmed; the log is to be shown.
    verify = Signal(object)
    rewarm = Signal(object)
    log = Signal(object)
    #: A recipe is to be edited: its file.
    edit = Signal(str)

    def __init__(self, parent: QWidget, jobs: JobsModel, width: int = 560, *ideas: str) -> None:
        super().__init__(parent, width, *ideas)
        #: The title and the height of the first page.
        self._title, self._height = "", 0
        self.job: Job | None = None
        self.choice: QWidget | None = None
        self._goes_on: QPushButton | None = None
        self.progress = ProgressPage()
        self.result_page = ResultPage()
        self.pages = forms.stack(self.progress, self.result_page)
        self.body.addWidget(self.pages)
        self._timer = every(self, self._show, 200)
        jobs.dataChanged.connect(self._show)
        jobs.finished.connect(self._finished)
        self.progress.background.clicked.connect(self.reject)
        self.progress.cancel.clicked.connect(self._cancel)
        page = self.result_page
        page.close_.clicked.connect(self.accept)
        page.again.clicked.connect(self.choose_again)
        page.folder.clicked.connect(lambda: self.reveal.emit(self.job))
        page.more.prepare.connect(lambda python: self._leave_to(self.prepare, python))
        page.edit.connect(lambda path: self._leave_to(self.edit, path))
        page.open.clicked.connect(lambda: self._leave_to(self.opened, self.job))
        page.verify.clicked.connect(lambda: self._leave_to(self.verify, self.job))
        page.bad.clicked.connect(lambda: self._leave_to(self.rewarm, self.job))
        page.log.clicked.connect(lambda: self._leave_to(self.log, self.job))

    @property
    def takes_nothing(self) -> str | None:
        asks = self.choice is not None and self.pages.currentWidget() is self.choice
        return super().takes_nothing if asks else None

    def add_choice(self, body: QLayout, go: QPushButton, enter: bool = True) -> ChoicePage:
        """Make the first page, with Cancel and ``go``. enter: whether Enter presses that."""
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.choice = page = ChoicePage(body, self.cancel, go)
        self._goes_on = go if enter else None
        self.pages.insertWidget(0, page)
        self._turn_to(page, 0, self._goes_on)
        return page

    def _turn_to(self, page: QWidget, height: int = 0, goes_on: QPushButton | None = None) -> None:
        """Show a page, in a dialog as high as that needs. goes_on: what Enter presses there."""
        for other in filter(None, (self.choice, self.progress, self.result_page)):
            policy = QSizePolicy.Policy.Preferred if other is page else QSizePolicy.Policy.Ignored
            other.setSizePolicy(policy, policy)
        self.pages.setCurrentWidget(page)
        if goes_on is not None:
            # Enter is for the default of the dialog, and does nothing where that is not seen. One
            # that is the default for having the focus would not stay it.
            goes_on.setDefault(False)
            goes_on.setDefault(True)
        if not height:
            height = max(_LOW if page is self.progress else _LOWEST, self._needed(page))
        self.pages.updateGeometry()
        self.body.activate()
        self.resize(self.width(), min(height, self.screen().availableSize().height() - 80))

    def _needed(self, page: QWidget) -> int:
        layout = page.layout()
        if layout is None:
            return 0
        layout.activate()
        edges = self.body.contentsMargins()
        inner = self.width() - edges.left() - edges.right()
        if isinstance(page, ChoicePage):
            return page.needed(inner) + edges.top() + edges.bottom()
        return layout.totalHeightForWidth(inner) + edges.top() + edges.bottom()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        page = self.pages.currentWidget() if event.type() == QEvent.Type.LayoutRequest else None
        if page is not None and page is self.choice and self.fits:
            self.grow_to(self._needed(page))
        return done

    def follow(self, job: Job) -> None:
        self.job = job
        if self.pages.currentWidget() is self.choice:
            self._title, self._height = self.windowTitle(), self.height()
        self.setWindowTitle(job.title)
        explain(self, *_IDEAS.get(job.kind, ("place",)))
        self._free_window()
        if job.active:
            self._show()
            self._turn_to(self.progress)
            if job.cells:
                self._make_room()
            self.progress.background.setFocus()
            self._timer.start()
        else:
            self._finished(job)

    def open(self) -> None:
        if self.job is None:
            super().open()
        else:
            self.show()

    def _free_window(self) -> None:
        """From now on the window behind it can be used, and what is dropped there arrives."""
        if self.windowModality() == Qt.WindowModality.NonModal:
            return
        shown, at, active = self.isVisible(), self.pos(), self.isActiveWindow()
        # Who is modal is settled when it is shown.
        self.hide()
        self.setWindowModality(Qt.WindowModality.NonModal)
        if shown:
            above = self.parentWidget()
            if above is not None and active:
                # Whose turn it is must be seen to change, or nobody's it is afterwards.
                above.window().activateWindow()
            self.move(at)
            self.show()
            self.activateWindow()

    def choose_again(self) -> None:
        """Back to the first page, for another try."""
        self.job = None
        if self.choice is not None:
            self.setWindowTitle(self._title)
            self._turn_to(self.choice, self._height, self._goes_on)
            if self._goes_on is not None:
                self._goes_on.setFocus()

    def _show(self, *_: object) -> None:
        if self.job is not None and self.job.active:
            bare = self.progress.cells is None
            self.progress.show_job(self.job)
            if bare and self.progress.cells is not None:
                self._make_room()

    def _make_room(self) -> None:
        self.resize_within(max(self.width(), _WIDE), max(self.height(), _HIGHEST))

    def _finished(self, job: Job) -> None:
        if job is not self.job:
            return
        self._timer.stop()
        page = self.result_page
        page.show_job(job, self.choice is not None)
        long = page.left.isVisibleTo(self) and page.has_long_list
        height = _TALL if page.more.has_list else _HIGH if long else 0
        self._turn_to(page, height, page.close_)
        if job.cells and (job.traits.warms or height):
            self._make_room()
        page.close_.setFocus()

    def _cancel(self) -> None:
        if self.job is not None:
            self.cancelled.emit(self.job)

    def _leave_to(self, what: SignalInstance, of: object) -> None:
        self.accept()
        what.emit(of)
