"""A dialog that stays: it asks, then shows how far its job is, then what came of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from torchkeeper.gui import forms, icons, theme
from torchkeeper.gui.dialogs.aftermath import Aftermath
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.ending import Outcome
from torchkeeper.gui.dialogs.laptable import RunningLaps
from torchkeeper.gui.dialogs.outcome import left_summary, outcome
from torchkeeper.gui.jobs import (
    Job,
    JobsModel,
    State,
    cells_text,
    lap_text,
    progress_text,
    state_text,
)
from torchkeeper.stores.names import is_server

if TYPE_CHECKING:
    from torchkeeper.gui.matrix.pane import CellsPane

#: What the bar counts to.
_STEPS = 1000
#: How high a dialog is with little to say, and with a list.
_LOW = 224
_HIGH = 440
#: And with tables.
_TALL = 600
#: How wide and high it is with the cells of a warm-up.
_WIDE, _HIGHEST = 1040, 720


def page_of(layout: QVBoxLayout) -> QWidget:
    """A page of a dialog."""
    made = QWidget()
    made.setLayout(layout)
    return made


def button_row(*widgets: QWidget, before: QWidget | None = None) -> QHBoxLayout:
    """The buttons at the bottom of a page; the last is the one that goes on."""
    line = forms.row()
    line.setContentsMargins(0, forms.GAP, 0, 0)
    if before is not None:
        line.addWidget(before)
    line.addStretch(1)
    for widget in widgets:
        line.addWidget(widget)
    return line


def cells_pane(layout: QVBoxLayout, at: int) -> CellsPane:
    """The table of cells in a page: it takes the room that nothing else needs."""
    from torchkeeper.gui.matrix.pane import CellsPane

    made = CellsPane()
    layout.insertWidget(at, made, 1)
    layout.setStretch(at + 1, 0)
    return made


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
        self.laps = RunningLaps()
        self.laps.hide()
        #: The cells of a warm-up; made when there are some.
        self.cells: CellsPane | None = None
        self.background = forms.button(self.tr("Go on in the &background"))
        self.background.setToolTip(
            self.tr("Close this dialog; the job goes on and shows in the Activity pane")
        )
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.setToolTip(self.tr("Stop at once; nothing is left behind"))
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
        self.now.setVisible(bool(self.now.text()) or not (job.laps or job.cells))
        if job.laps:
            self.laps.show_laps(job.laps, time.monotonic())
        self.laps.setVisible(bool(job.laps))
        if job.cells:
            self._show_cells(job)
        if job.kind == "warm":
            self.cancel.setToolTip(self.tr("Stop at once; what is compiled by then stays"))
        if is_server(job.place or ""):
            self.cancel.setToolTip(self.tr("Stop at once; what has arrived stays"))
        self.cancel.setEnabled(job.active and job.state is not State.CANCELLING)

    def _show_cells(self, job: Job) -> None:
        if self.cells is None:
            self.cells = cells_pane(self._layout, self._layout.count() - 2)
        self.cells.show_cells(job.cells)

    def _numbers(self, job: Job) -> str:
        if job.state is State.RUNNING and job.total and job.unit == "bytes":
            return progress_text(job)
        if job.state is State.RUNNING and job.laps:
            return lap_text(job)
        if job.state is State.RUNNING and job.kind == "prepare":
            return self.tr("Building what is not there yet, which takes some seconds…")
        if job.state is State.RUNNING and job.cells:
            return cells_text(job)
        if job.state is State.RUNNING and job.unit == "steps" and job.total:
            return self.tr("{} of {} {}").format(f"{job.done:,.0f}", f"{job.total:,.0f}", job.unit)
        if job.state is State.RUNNING and job.total:
            return self.tr("Reading the entries, {} of {}").format(
                f"{job.done:,.0f}", f"{job.total:,.0f}"
            )
        return self.tr("Starting…") if job.state is State.RUNNING else state_text(job)


class ResultPage(QWidget):
    """What came of a job, what it left out, and what can be done now."""

    def __init__(self) -> None:
        super().__init__()
        self.picture = forms.picture("done", 32, "good")
        self.title = forms.label("", "title", wrap=True)
        self.text = forms.label("", wrap=True)
        for label in (self.title, self.text):
            label.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse
                | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            label.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.left_title = forms.label("", "heading")
        self.left_reasons = forms.label("", "muted", wrap=True)
        self.left = QPlainTextEdit()
        self.left.setReadOnly(True)
        self.left.setTabChangesFocus(True)
        self.left.setAccessibleName(self.tr("What was left out, and why"))
        theme.follow(self.left, lambda: self.left.setFont(theme.monospace()))
        self.left_title.setBuddy(self.left)
        self.more = Aftermath()
        self.copy = forms.button(self.tr("Co&py list"))
        self.copy.setToolTip(self.tr("Copy what was left out, and why, to the clipboard"))
        self.copy.clicked.connect(self._copy)
        #: The cells of a warm-up; made when there are some.
        self.cells: CellsPane | None = None
        self.again = forms.button(self.tr("&Try again"))
        self.bad = forms.button(self.tr("Warm &failed cells again"))
        self.bad.setToolTip(self.tr("Compile only the cells that failed or were not reached"))
        self.verify = forms.button(self.tr("&Verify now"))
        self.verify.setToolTip(
            self.tr("See in fresh processes that what was warmed is found, and how fast")
        )
        self.log = forms.button(self.tr("Show &log"))
        self.log.setToolTip(self.tr("Show the whole log of the job in the Activity pane"))
        self.folder = forms.button(self.tr("Show in f&older"))
        self.open = forms.button(self.tr("&Open"))
        self.close_ = forms.button(self.tr("Close"), primary=True)
        self.close_.setDefault(True)
        self._outcome: Outcome | None = None
        texts = forms.column(gap=forms.GAP)
        texts.addWidget(self.title)
        texts.addWidget(self.text)
        head = forms.row(gap=16)
        head.addWidget(self.picture, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(texts, 1)
        above = forms.row()
        above.addWidget(self.left_title, 1)
        above.addWidget(self.copy)
        layout = forms.column()
        layout.addLayout(head)
        layout.addSpacing(forms.GAP)
        layout.addLayout(above)
        layout.addWidget(self.left_reasons)
        layout.addWidget(self.left, 1)
        layout.addWidget(self.more, 1)
        layout.addStretch(0)
        left = forms.row()
        for button in (self.again, self.bad, self.log):
            button.setAutoDefault(False)
            left.addWidget(button)
        before = QWidget()
        before.setLayout(left)
        ways = self.verify, self.folder, self.open, self.close_
        layout.addLayout(button_row(*ways, before=before))
        self._layout = layout
        self.setLayout(layout)
        theme.follow(self, self._paint)

    def show_job(self, job: Job, again: bool) -> None:
        """Say how it ended; ``again``: whether it can be tried again from here."""
        self._outcome = outcome(job)
        self.title.setText(self._outcome.title)
        self.text.setText("\n".join(self._outcome.lines))
        left = job.left if job.state is State.DONE else 0
        for widget in (self.left_title, self.left_reasons, self.left, self.copy):
            widget.setVisible(left > 0)
        more = self.more.show_job(job)
        self.more.setVisible(more)
        tall = more and self.more.has_list
        cells = self._show_cells(job)
        self._layout.setStretchFactor(self.left, 1 if left else 0)
        self._layout.setStretchFactor(self.more, 1 if tall else 0)
        self._layout.setStretch(self._layout.count() - 2, 0 if left or tall or cells else 1)
        warmed = job.kind == "warm" and job.state is State.DONE
        self.verify.setVisible(warmed and job.place is not None)
        self.bad.setVisible(job.can_go_on)
        self.log.setVisible(job.kind == "warm")
        if left:
            self.left_title.setText(
                self.tr("{} left out").format(f"{left:,}")
                if left > 1
                else self.tr("One entry was left out")
            )
            self.left_reasons.setText("\n".join(left_summary(job)))
            self.left.setPlainText("\n".join(job.left_lines))
        over = job.state in (State.FAILED, State.CANCELLED)
        self.again.setVisible(over and again)
        self.open.setVisible(job.fruit is not None)
        # A server is in no folder.
        self.folder.setVisible(job.fruit is not None and not is_server(job.fruit))
        if job.made_bundle:
            self.open.setToolTip(self.tr("Show the bundle as a place in the window"))
        elif job.kind == "copy":
            self.open.setToolTip(self.tr("Show the place, with what was copied selected"))
        elif job.kind == "warm":
            self.open.setToolTip(self.tr("Show the place that was filled"))
        else:
            self.open.setToolTip(self.tr("Show the place, with what was imported selected"))
        self._paint()

    def _show_cells(self, job: Job) -> bool:
        if not job.cells or job.kind != "warm":
            if self.cells is not None:
                self.cells.hide()
            return False
        if self.cells is None:
            self.cells = cells_pane(self._layout, self._layout.count() - 2)
        self.cells.setVisible(True)
        self.cells.show_cells(job.cells)
        self.cells.choose_bad()
        return True

    def _paint(self) -> None:
        if self._outcome is not None:
            colour = getattr(theme.shades(), self._outcome.colour)
            self.picture.setPixmap(
                icons.pixmap(self._outcome.icon, 32, colour, self.devicePixelRatioF())
            )

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.left.toPlainText())


class WorkDialog(Dialog):
    """Its first page, if it has one, ends in ``follow``; the other two are of every job.

    Closed while the job runs, it leaves the job in the Activity pane.
    """

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
    #: What a job has warmed is to be verified; what it has not is to be warmed; its log is to be
    #: shown.
    verify = Signal(object)
    rewarm = Signal(object)
    log = Signal(object)

    def __init__(self, parent: QWidget | None, jobs: JobsModel, width: int = 560) -> None:
        super().__init__(parent, "", width)
        self._jobs = jobs
        self._height = 0
        self.job: Job | None = None
        self.choice: QWidget | None = None
        self._goes_on: QPushButton | None = None
        self.progress = ProgressPage()
        self.result_page = ResultPage()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.progress)
        self.pages.addWidget(self.result_page)
        self.body.addWidget(self.pages)
        self._timer = QTimer(self)
        self._timer.setInterval(200)
        self._timer.timeout.connect(self._show)
        jobs.dataChanged.connect(self._show)
        jobs.finished.connect(self._finished)
        self.progress.background.clicked.connect(self.reject)
        self.progress.cancel.clicked.connect(self._cancel)
        page = self.result_page
        page.close_.clicked.connect(self.accept)
        page.again.clicked.connect(self.choose_again)
        page.folder.clicked.connect(lambda: self.reveal.emit(self.job))
        page.open.clicked.connect(self._open)
        page.more.prepare.connect(self._prepare)
        page.verify.clicked.connect(lambda: self._leave_to(self.verify))
        page.bad.clicked.connect(lambda: self._leave_to(self.rewarm))
        page.log.clicked.connect(lambda: self._leave_to(self.log))

    def add_choice(self, page: QWidget, goes_on: QPushButton | None = None) -> None:
        """The first page, and what Enter presses there."""
        self.choice, self._goes_on = page, goes_on
        self.pages.insertWidget(0, page)
        self._turn_to(page, 0, goes_on)

    def _turn_to(self, page: QWidget, height: int = 0, goes_on: QPushButton | None = None) -> None:
        """Show a page, in a dialog that is as high as it needs to be.

        ``goes_on``: what Enter presses there.
        """
        for number in range(self.pages.count()):
            other = self.pages.widget(number)
            policy = QSizePolicy.Policy.Preferred if other is page else QSizePolicy.Policy.Ignored
            if other is not None:
                other.setSizePolicy(policy, policy)
        self.pages.setCurrentWidget(page)
        if goes_on is not None:
            # Enter is for the default of the dialog, and does nothing where that is not seen. One
            # that is the default for having the focus would not stay it.
            goes_on.setDefault(False)
            goes_on.setDefault(True)
        if not height:
            height = max(_LOW, self._needed(page))
        self.pages.updateGeometry()
        self.body.activate()
        self.resize(self.width(), min(height, self.screen().availableSize().height() - 80))

    def _needed(self, page: QWidget) -> int:
        """How high the dialog is to be for all that a page says."""
        layout = page.layout()
        if layout is None:
            return 0
        layout.activate()
        edges = self.body.contentsMargins()
        inner = self.width() - edges.left() - edges.right()
        return layout.totalHeightForWidth(inner) + edges.top() + edges.bottom()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        page = self.pages.currentWidget() if event.type() == QEvent.Type.LayoutRequest else None
        if page is not None and page is self.choice and self.fits:
            needed = min(self._needed(page), self.screen().availableSize().height() - 80)
            if needed > self.height():
                self.resize(self.width(), needed)
        return done

    def follow(self, job: Job) -> None:
        """Show this job from now on."""
        self.job = job
        self.setWindowTitle(job.title)
        if self.pages.currentWidget() is self.choice:
            self._height = self.height()
        if job.active:
            self._show()
            self._turn_to(self.progress)
            if job.cells:
                self._make_room()
            self.progress.background.setFocus()
            self._timer.start()
        else:
            self._finished(job)

    def choose_again(self) -> None:
        """Back to the first page, for another try."""
        self.job = None
        if self.choice is not None:
            self._turn_to(self.choice, self._height, self._goes_on)

    def _show(self, *_: object) -> None:
        if self.job is not None and self.job.active:
            bare = self.progress.cells is None
            self.progress.show_job(self.job)
            if bare and self.progress.cells is not None:
                self._make_room()

    def _make_room(self) -> None:
        """Be as large as the cells of a warm-up want."""
        room = self.screen().availableSize()
        wide = min(max(self.width(), _WIDE), room.width() - 40)
        self.resize(wide, min(max(self.height(), _HIGHEST), room.height() - 80))

    def _finished(self, job: Job) -> None:
        if job is not self.job:
            return
        self._timer.stop()
        self.result_page.show_job(job, self.choice is not None)
        page = self.result_page
        height = _HIGH if page.left.isVisibleTo(self) else 0
        if page.more.has_list:
            height = _TALL
        self._turn_to(self.result_page, height, self.result_page.close_)
        if job.cells and (job.kind == "warm" or height):
            self._make_room()
        self.result_page.close_.setFocus()

    def _cancel(self) -> None:
        if self.job is not None:
            self.cancelled.emit(self.job)

    def _prepare(self, python: str) -> None:
        self.accept()
        self.prepare.emit(python)

    def _leave_to(self, what: SignalInstance) -> None:
        job = self.job
        self.accept()
        what.emit(job)

    def _open(self) -> None:
        job = self.job
        self.accept()
        self.opened.emit(job)
