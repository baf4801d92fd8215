"""The Activity pane: the jobs, how far they are, what they said, and Cancel."""

from __future__ import annotations

import time

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QAction, QColor, QPainter
from PySide6.QtWidgets import (
    QListView,
    QPlainTextEdit,
    QSplitter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from torchkeeper.gui import forms, icons, theme
from torchkeeper.gui.jobs import LOG_LINES, Job, JobsModel, State, state_text
from torchkeeper.link import say

_ICONS = {
    State.QUEUED: ("queued", "muted"),
    State.RUNNING: ("running", "accent"),
    State.CANCELLING: ("running", "warning"),
    State.DONE: ("done", "good"),
    State.FAILED: ("error", "error"),
    State.CANCELLED: ("cancel", "muted"),
}


def mark(job: Job) -> tuple[str, str]:
    """The icon of a job and the name of its colour."""
    return ("warning", "warning") if job.state is State.DONE and not job.good else _ICONS[job.state]


class JobDelegate(QStyledItemDelegate):
    """A job in two lines: title and time, state and progress."""

    def sizeHint(
        self, option: QStyleOptionViewItem, _: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        height = option.fontMetrics.height()
        return QSize(200, 2 * height + 28)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        job = index.data(JobsModel.JobRole)
        if not isinstance(job, Job):
            return
        shades = theme.shades()
        box: QRect = option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if selected:
            painter.fillRect(box, QColor(shades.selected))
        name, colour = mark(job)
        scale = option.widget.devicePixelRatioF()
        painter.drawPixmap(
            box.left() + 16, box.top() + 10, icons.pixmap(name, 20, getattr(shades, colour), scale)
        )
        metrics = option.fontMetrics
        line = metrics.height()
        inner = box.adjusted(48, 8, -16, -8)
        elapsed = job.elapsed(time.time())
        clock = "" if elapsed is None else say.seconds(round(elapsed, 1))
        clock_width = metrics.horizontalAdvance(clock) + (12 if clock else 0)
        top = QRect(inner.left(), inner.top(), inner.width() - clock_width, line)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        elide = Qt.TextElideMode.ElideRight
        painter.setPen(QColor(shades.text))
        painter.drawText(top, left, metrics.elidedText(job.title, elide, top.width()))
        quiet = QColor(shades.text if selected else shades.muted)
        painter.setPen(quiet)
        painter.drawText(QRect(inner.left(), inner.top(), inner.width(), line), right, clock)
        words = QRect(inner.left(), inner.top() + line + 2, inner.width(), line)
        painter.setPen(QColor(shades.error) if job.state is State.FAILED else quiet)
        painter.drawText(words, left, metrics.elidedText(state_text(job), elide, words.width()))
        if job.active:
            self._bar(painter, QRect(inner.left(), words.bottom() + 5, inner.width(), 4), job)
        painter.setPen(QColor(shades.line))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        painter.restore()

    def _bar(self, painter: QPainter, box: QRect, job: Job) -> None:
        shades = theme.shades()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(shades.line))
        painter.drawRoundedRect(box, 2, 2)
        fraction = job.fraction()
        done = QRect(box)
        if fraction is not None:
            done.setWidth(round(box.width() * fraction))
        elif job.state is State.QUEUED:
            done.setWidth(0)
        else:
            # Nobody knows how much is left: a piece that wanders, once in two seconds.
            piece = box.width() // 4
            at = (time.time() % 2.0) / 2.0
            done = QRect(box.left() + round((box.width() - piece) * at), box.top(), piece, 4)
        if done.width() > 0:
            painter.setBrush(QColor(shades.accent))
            painter.drawRoundedRect(done, 2, 2)


class ActivityPane(QWidget):
    """Jobs on the left, the log of the chosen one on the right."""

    cancel = Signal(object)
    current_changed = Signal()

    def __init__(self, jobs: JobsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._shown: Job | None = None
        self.list = QListView()
        self.list.setObjectName("jobs")
        self.list.setAccessibleName(self.tr("Activity: jobs, newest first"))
        self.list.setModel(jobs)
        self.list.setItemDelegate(JobDelegate(self.list))
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setUniformItemSizes(True)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.selectionModel().currentChanged.connect(self._choose)
        self.log = QPlainTextEdit()
        self.log.setObjectName("log")
        self.log.setReadOnly(True)
        self.log.setAcceptDrops(False)
        self.log.setAccessibleName(self.tr("Log of the chosen job"))
        self.log.setMaximumBlockCount(LOG_LINES)
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.log.document().setDocumentMargin(12)
        self.title = forms.label(self.tr("Activity"), "section")
        self.subject = forms.label("", "muted")
        self._offers = forms.row(gap=4)
        self.cancel_button = forms.button(self.tr("Cancel job"))
        self.cancel_button.clicked.connect(self._cancel)
        self.clear_button = forms.button(self.tr("Clear list"))
        self.clear_button.setToolTip(self.tr("Take the jobs that have ended off this list"))
        self.clear_button.clicked.connect(jobs.clear_ended)
        head = forms.row()
        head.setContentsMargins(16, 6, 8, 6)
        head.addWidget(self.title)
        head.addSpacing(8)
        head.addWidget(self.subject, 1)
        head.addLayout(self._offers)
        head.addWidget(self.cancel_button)
        head.addWidget(self.clear_button)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(self.list)
        split.addWidget(self.log)
        split.setSizes([420, 520])
        whole = QVBoxLayout()
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        whole.addWidget(split, 1)
        self.setLayout(whole)
        self.setMinimumHeight(132)
        self._timer = QTimer(self)
        self._timer.setInterval(200)
        self._timer.timeout.connect(jobs.tick)
        jobs.rowsInserted.connect(self._newest)
        jobs.rowsRemoved.connect(lambda *_: self._refresh())
        jobs.dataChanged.connect(lambda *_: self._refresh())
        jobs.logged.connect(self._logged)
        theme.follow(self, self._colours)
        self._refresh()
        if jobs.jobs:
            self._newest()

    def offer(self, *actions: QAction) -> None:
        """Have buttons for actions of the chosen job, shown while they can be done."""
        for action in actions:
            button = QToolButton()
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(action.text().replace("&", ""))
            self._offers.addWidget(button)
            action.enabledChanged.connect(button.setVisible)
            button.setVisible(action.isEnabled())

    @property
    def job(self) -> Job | None:
        """The chosen job."""
        return self._jobs.job_at(self.list.currentIndex())

    def choose(self, job: Job) -> None:
        """Show a job and its log."""
        index = self._jobs.index_of(job)
        self.list.selectionModel().setCurrentIndex(
            index, QItemSelectionModel.SelectionFlag.ClearAndSelect
        )

    def _newest(self) -> None:
        self.choose(self._jobs.jobs[0])
        self.list.scrollToTop()

    def _choose(self) -> None:
        job = self.job
        if job is not self._shown:
            self._shown = job
            self.log.setPlainText("\n".join(job.log) if job else "")
            bar = self.log.verticalScrollBar()
            bar.setValue(bar.maximum())
        self._refresh()
        self.current_changed.emit()

    def _logged(self, job: Job, lines: list[str]) -> None:
        if job is self._shown:
            bar = self.log.verticalScrollBar()
            follow = bar.value() >= bar.maximum() - 4
            self.log.appendPlainText("\n".join(lines))
            if follow:
                bar.setValue(bar.maximum())

    def _refresh(self) -> None:
        job = self.job
        active = self._jobs.active
        self.cancel_button.setEnabled(
            job is not None and job.active and job.state is not State.CANCELLING
        )
        self.clear_button.setEnabled(len(active) < self._jobs.rowCount())
        self.subject.setText(
            "" if not active else self.tr("{} running or waiting").format(len(active))
        )
        self.log.setPlaceholderText(
            self.tr("Nothing has been logged for the chosen job.")
            if job is not None
            else self.tr("What takes a while is listed here, with how far it is and what it says.")
        )
        if active and not self._timer.isActive():
            self._timer.start()
        elif not active:
            self._timer.stop()

    def _cancel(self) -> None:
        if self.job:
            self.cancel.emit(self.job)

    def _colours(self) -> None:
        self.log.setFont(theme.monospace())
        self.list.viewport().update()
