"""The strip in the status bar: what runs, how far it is, and how the last job ended."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QToolButton, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.jobs.model import Job, JobsModel, State, coarse
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.widgets import forms, plain

#: Milliseconds that a job that went well is said to be done, and between two pictures.
DONE_MS = 6000
_TICK_MS = 200
#: Seconds after which it is said how long a job has taken, of which nobody knows what is left.
_WONDER = 5.0
#: Pixels that the bar takes, and that the name of the job keeps at least.
_BAR, _NAME = 96, 90
#: Pixels of the icon and what is around it in a status bar.
_PICTURE = 32
#: Pixels of the icon of the button, and of the button.
_ICON, _BUTTON = 16, 24
#: Pixels that the words have at least, and that are around and between all of it.
_WORDS, _EDGES, _GAP = 80, (4, 8), 4
#: Stands between what is said of a job.
_DOT = " · "
#: Characters of all of it.
_MOST = 1000


def fitted(metrics: QFontMetrics, name: str, parts: Sequence[str], room: int) -> str:
    """A job in so many pixels: its name, cut in its middle, and what is so of it.

    Of ``parts``, what stands between the first and the last goes first.
    """
    kept = list(parts)
    wide = metrics.horizontalAdvance
    least = min(wide(name), _NAME) + wide(_DOT)
    while len(kept) > 2 and wide(_DOT.join(kept)) > room - least:
        del kept[-2]
    said = metrics.elidedText(_DOT.join(kept), Qt.TextElideMode.ElideRight, max(0, room - least))
    if not said:
        return metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
    left = room - wide(said) - wide(_DOT)
    return metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, left) + _DOT + said


class _Words(QToolButton):
    """One line that is cut where there is no room; pressed, it goes to the job."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("beside")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._error = False
        self._name, self._parts = "", [""]

    def say(self, name: str, parts: Sequence[str], *, error: bool) -> None:
        """What to show: the name of a job, and what is so of it."""
        name, *parts = (plain.shown(text) for text in (name, *parts))
        if (name, parts, error) != (self._name, self._parts, self._error):
            self._name, self._parts, self._error = name, parts, error
            self.setText(plain.caption(_DOT.join((name, *parts)), _MOST))
            self.setAccessibleName(_DOT.join((name, *parts)))
            self.updateGeometry()

    @property
    def shown(self) -> str:
        """What of it there is room for."""
        return fitted(self.fontMetrics(), self._name, self._parts, self.width() - 12)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        wide = metrics.horizontalAdvance(_DOT.join((self._name, *self._parts)))
        # A pixel more: what is drawn may be wider than the sum of its parts.
        return QSize(wide + 14, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(_WORDS, self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        shades = theme.shades()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self.underMouse() or self.isDown():
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(shades.hover))
                painter.drawRoundedRect(self.rect(), 4, 4)
            if self.hasFocus():
                painter.setPen(QColor(shades.accent))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 4, 4)
            box = self.rect().adjusted(4, 0, -8, 0)
            painter.setPen(QColor(shades.error if self._error else shades.text))
            align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
            painter.drawText(box, align, self.shown)


class JobStrip(QWidget):
    """Follows the jobs. A failure stays until somebody has looked at it."""

    #: The page is to be shown at this job; it is to be stopped.
    opened = Signal(object)
    cancelled = Signal(object)

    def __init__(self, jobs: JobsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._over: Job | None = None
        self._failed: list[Job] = []
        self.setAccessibleName(self.tr("Jobs"))
        # It has the room that the counts leave, and wants no more than it has to say. The page
        # above stays where it is when a job begins.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.picture = forms.label("")
        self.picture.setFixedWidth(_PICTURE)
        self.words = _Words()
        self.words.setToolTip(self.tr("Show this job on the Activity page"))
        self.bar = QProgressBar()
        self.bar.setFixedWidth(_BAR)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress"))
        self.cancel = forms.icon_button("cancel", self.tr("Cancel this job"))
        # No higher than the counts.
        self.cancel.setIconSize(QSize(_ICON, _ICON))
        self.cancel.setFixedSize(_BUTTON, _BUTTON)
        line = forms.REST, self.picture, self.words, self.bar, self.cancel
        self.setLayout(forms.row(*line, margin=(_EDGES[0], 0, _EDGES[1], 0), gap=_GAP))
        self._quiet = once(self, self._forget, DONE_MS)
        self._tick = every(self, self.refresh, _TICK_MS)
        jobs.rowsInserted.connect(self.refresh)
        jobs.rowsRemoved.connect(self.refresh)
        jobs.dataChanged.connect(lambda *_: None if self._tick.isActive() else self.refresh())
        jobs.finished.connect(self._ended)
        self.words.clicked.connect(self._open)
        self.cancel.clicked.connect(self._cancel)
        theme.follow(self, self.refresh)

    @property
    def job(self) -> Job | None:
        """The job that it is about: what runs before what failed, and that before what is done."""
        active = self._jobs.active
        running = [job for job in active if job.state is not State.QUEUED]
        failed = [job for job in self._failed if self._jobs.index_of(job).isValid()]
        return next(iter([*running, *active, *reversed(failed)]), self._over)

    def looked(self) -> None:
        """Somebody has looked at the jobs."""
        self._failed = []
        self._forget()

    def _forget(self) -> None:
        if not self.window().isVisible():
            # Nobody can have seen it: it is said once the window is back.
            self._quiet.start()
            return
        self._over = None
        self.refresh()

    def _ended(self, job: Job) -> None:
        if job.state is State.FAILED or (job.state is State.DONE and not job.good):
            self._failed.append(job)
        else:
            self._over = job
            self._quiet.start()
        self.refresh()

    def refresh(self, *_: object) -> None:
        """Say what is so now."""
        job = self.job
        self.setVisible(job is not None)
        if job is None:
            self._tick.stop()
            return
        self.words.say(shown.doing(job), self._parts(job), error=job.state is State.FAILED)
        name, colour = shown.mark(job)
        shade = getattr(theme.shades(), colour)
        self.picture.setPixmap(theme.pixmap(name, 16, shade, self.devicePixelRatioF()))
        self.bar.setVisible(job.active)
        self.cancel.setVisible(job.active)
        self.cancel.setEnabled(job.state is not State.CANCELLING)
        fraction = job.fraction()
        shown.set_bar(self.bar, 0.0 if fraction is None and job.state is State.QUEUED else fraction)
        if not job.active:
            self._tick.stop()
        elif not self._tick.isActive():
            self._tick.start()
        self._measure()

    def _measure(self) -> None:
        beside = [part for part in (self.bar, self.cancel) if not part.isHidden()]
        wide = sum(_EDGES) + _PICTURE + _GAP * (1 + len(beside))
        wide += sum(min(part.sizeHint().width(), part.maximumWidth()) for part in beside)
        self.setMinimumWidth(wide + _WORDS)
        self.setMaximumWidth(wide + max(_WORDS, self.words.sizeHint().width()))

    def _parts(self, job: Job) -> list[str]:
        """How far a job is, how many there are besides, and how long it will take, or takes."""
        if not job.active:
            return [shown.progress(job)]
        parts = shown.far(job)
        if (more := len(self._jobs.active) - 1) > 0:
            parts.append(self.tr("{} more").format(f"{more:,}"))
        if left := shown.left(job):
            return [*parts, left]
        seconds = job.elapsed(time.time()) if job.state is State.RUNNING else None
        # At first nobody wonders.
        long = seconds is not None and seconds >= _WONDER
        # What has not passed yet is not said to have.
        passed = (seconds or 0.0) // _WONDER * _WONDER
        return [*parts, self.tr("for {}").format(coarse(passed))] if long else parts

    def _open(self) -> None:
        if (job := self.job) is not None:
            self.opened.emit(job)

    def _cancel(self) -> None:
        if (job := self.job) is not None:
            self.cancelled.emit(job)
