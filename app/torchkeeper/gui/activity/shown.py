"""What the drawer and the strip say of a job; what is kept of it, and told to others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6 import QtCore
from PySide6.QtCore import QCoreApplication, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QProgressBar, QSizePolicy, QToolButton, QWidget

from torchkeeper.client.kept.history import MAX_LINES, Past, Running, new_id
from torchkeeper.client.words import outcomes, say
from torchkeeper.client.words.pace import coarse
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.jobs import model as jobs
from torchkeeper.gui.jobs.model import Job, JobsModel, State, outcome, state_text
from torchkeeper.gui.places.model import Place, machine_of
from torchkeeper.gui.widgets import forms, plain
from torchkeeper.gui.widgets.lists import Index

_tr = partial(QCoreApplication.translate, "Activity")

_STEPS = 1000
Shown = Job | Past

_ICONS = {
    State.QUEUED: ("queued", "muted"),
    State.RUNNING: ("running", "accent"),
    State.CANCELLING: ("running", "warning"),
    State.DONE: ("done", "good"),
    State.FAILED: ("error", "warning"),
    State.CANCELLED: ("cancel", "muted"),
}


def active(one: Shown) -> bool:
    """Whether it is still to end."""
    return State(one.state) not in jobs.ENDED


def mark(one: Shown) -> tuple[str, str]:
    """The icon of a job and the name of its colour."""
    state = State(one.state)
    if one.goes_on:
        return "running", "warning"
    return ("warning", "warning") if state is State.DONE and not one.good else _ICONS[state]


def words(one: Shown) -> str:
    """Its state in a few words."""
    return progress(one) if isinstance(one, Job) else one.words


def set_bar(bar: QProgressBar, fraction: float | None) -> None:
    """Have a bar show how much is done, or that nobody knows."""
    bar.setRange(0, 0 if fraction is None else _STEPS)
    bar.setValue(round((fraction or 0.0) * _STEPS))


def began(one: Shown) -> float | None:
    return one.started if isinstance(one, Job) else one.began


def clock(one: Shown) -> str:
    """The time of day at which it began; empty for one that waits."""
    at = began(one) or one.ended
    return time.strftime("%H:%M", time.localtime(at)) if at is not None else ""


def took(one: Shown) -> str:
    """How long it has run, or ran."""
    seconds = one.elapsed(time.time()) if isinstance(one, Job) else one.seconds
    # While it runs the last digit is of no use; then it is what its result says.
    return "" if seconds is None else say.seconds(round(seconds, 1) if active(one) else seconds)


def day(one: Shown, now: float) -> str:
    """The day of a job that has ended: today, yesterday, or its date."""
    at = time.localtime(one.ended or now)
    for back, name in ((0, _tr("Today")), (86_400, _tr("Yesterday"))):
        if at[:3] == time.localtime(now - back)[:3]:
            return name
    return time.strftime("%Y-%m-%d", at)


def left(job: Job) -> str:
    """How long a running job will still take: 40 s left; empty while nobody can say."""
    if job.state is not State.RUNNING or job.laps:
        return ""
    seconds = job.pace.left(time.monotonic())
    return "" if seconds is None else _tr("about {} left").format(coarse(seconds))


def progress(job: Job) -> str:
    """How far a job is and how long it will take, in a few words."""
    said, more = state_text(job), left(job)
    return said if more in said else f"{said} · {more}"


def far(job: Job) -> list[str]:
    """How far a job is that has not ended, and what it is at, without how long it will take."""
    if job.state is not State.RUNNING:
        return [state_text(job)]
    parts = jobs.far(job)
    # The name of the only variant says nothing beside that of its step.
    said = job.now in parts or (bool(parts) and len(job.variants.rows) == 1)
    return parts if said or not job.now else [*parts, job.now]


def doing(job: Job) -> str:
    """What a running job is at: Warming torchinductor_ada."""
    if job.place is None or not job.active:
        return job.title
    return outcomes.doing(job.kind, printable(Place(job.place).title, 40)) or job.title


def found_by(one: Shown, wanted: list[str]) -> bool:
    """Whether all words of a filter are in what is said of it."""
    hay = "\n".join((one.title, one.kind, one.place or "", words(one))).lower()
    return all(word in hay for word in wanted)


class JobRows(QtCore.QAbstractListModel):
    """Jobs and headings, newest first. Emits ``arranged`` when rows have come, gone or moved."""

    ItemRole = Qt.ItemDataRole.UserRole + 1

    arranged = Signal()

    def __init__(self, jobs: JobsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        #: Those from before this session, whether they are listed or not.
        self.past: list[Past] = []
        #: The jobs of other machines: those that run, and those whose end nobody here has seen.
        self.there: dict[str, list[Past]] = {}
        self._words: list[str] = []
        self._rows: list[str | Shown] = []
        #: The jobs that were active when the rows were put in order.
        self._active: set[int] = set()
        jobs.rowsInserted.connect(lambda *_: self.arrange())
        jobs.rowsRemoved.connect(lambda *_: self.arrange())
        jobs.dataChanged.connect(self._touched)
        self.arrange()

    def told_past(self, past: Sequence[Past]) -> None:
        """What the history holds that is not of this session."""
        own = {job.kept_as for job in self._jobs.jobs}
        self.past = [one for one in past if one.id not in own]
        self.arrange()

    def told_there(self, machine: str, jobs: list[Past]) -> None:
        """What goes on on a machine."""
        self.there[machine] = jobs
        self.arrange()

    def left(self, machine: str) -> None:
        """There is no connection to a machine."""
        self.there.pop(machine, None)
        self.arrange()

    def kept_as(self, there: str) -> str:
        """The id in the history of what a machine calls so; "" where it is not in it."""
        return next((one.id for one in self.past if one.there == there), "")

    def machine_of(self, one: Shown | None) -> str:
        """The other machine of a job that is not followed here; "" for any other job."""
        found = (x for x, jobs in self.there.items() if isinstance(one, Past) and one in jobs)
        return next(found, "")

    def filter(self, text: str) -> None:
        """Show only jobs with all words of a text."""
        self._words = text.lower().split()
        self.arrange()

    @property
    def items(self) -> list[Shown]:
        return [row for row in self._rows if not isinstance(row, str)]

    def arrange(self) -> None:
        jobs = self._jobs.jobs
        # What runs stands first, whatever was begun after it has ended already.
        running: list[Shown] = [job for job in jobs if job.active]
        self._active = {job.id for job in jobs if job.active}
        groups = {self.tr("Running or waiting"): running}
        # One whose line broke goes on as it is.
        known = {job.there for job in jobs if job.goes_on or job.state is not State.FAILED}
        every = [one for some in self.there.values() for one in some if one.id not in known]
        groups[self.tr("On other machines")] = [*(job for job in jobs if job.goes_on), *every]
        now = time.time()
        for job in jobs:
            if job.is_over:
                groups.setdefault(day(job, now), []).append(job)
        for one in self._before():
            title = self.tr("Before this session · {}").format(day(one, now))
            groups.setdefault(title, []).append(one)
        self.beginResetModel()
        self._rows = []
        for title, ones in groups.items():
            kept = [one for one in ones if found_by(one, self._words)]
            self._rows += [title, *kept] if kept else []
        self.endResetModel()
        self.arranged.emit()

    def _before(self) -> Iterator[Past]:
        """Those from before this session; what its machine tells of is where that is shown."""
        for one in self.past:
            there = self.there.get(machine_of(one.place)) if one.goes_on else None
            if there is None:
                yield one
            elif one.there not in {other.id for other in there}:
                yield replace(one, there="", words=self.tr("Ended there; nobody here heard how"))

    def _touched(self, first: QModelIndex, *_: object) -> None:
        if (job := first.data(JobsModel.JobRole)) is None:
            return
        if job.active != (job.id in self._active):
            self.arrange()
        elif (index := self.index_of(job)).isValid():
            self.dataChanged.emit(index, index)

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.item(index) is None:
            return Qt.ItemFlag.NoItemFlags  # nobody goes to a heading
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if isinstance(row, str):
            spoken = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return row if role in spoken else None
        if role == Qt.ItemDataRole.DisplayRole:
            return plain.shown(row.title)
        if role == JobRows.ItemRole:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain.tip(f"{row.title}\n{words(row)}")
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            return plain.shown(f"{row.title}: {words(row)}")
        return None

    def item(self, index: Index) -> Shown | None:
        """The job of a row; None for a heading."""
        row = self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else ""
        return None if isinstance(row, str) else row

    def index_of(self, one: Shown | None) -> QModelIndex:
        for number, row in enumerate(self._rows):
            if row is one or (isinstance(row, Past) and isinstance(one, Past) and row.id == one.id):
                return self.index(number, 0)
        return QModelIndex()


_NAMED = 4


def past_of(job: Job) -> Past:
    """What is kept of a job; it has ended, or is cut off now."""
    ended = job.ended or time.time()
    job.kept_as = job.kept_as or new_id(ended)
    state = State.CANCELLED if job.active else job.state
    error = job.error if state is State.FAILED else None
    return Past(
        id=job.kept_as,
        kind=job.kind,
        title=job.title,
        place=job.place or "",
        state=state.value,
        good=job.good,
        began=job.started,
        ended=ended,
        words=_tr("Stopped when the window was closed") if job.active else state_text(job),
        told=tuple(told(job)),
        asked=tuple(asked(job)),
        fruit=job.fruit or "",
        bundle=job.made_bundle,
        error=(error.what, error.why, error.remedy) if error is not None else None,
        log=tuple(list(job.log)[-MAX_LINES:]),
        there=job.there if job.goes_on else "",
    )


def told(job: Job) -> list[str]:
    """What came of a job, in sentences; its error is told apart."""
    if job.active or job.state is State.FAILED:
        return []
    if not job.has_outcome:
        return [job.note] if job.note else []
    found = outcome(job)
    reasons = sorted(job.reasons.items(), key=lambda pair: -pair[1])
    reasons = reasons if job.state is State.DONE else []
    lines = [f"{count:,} × {reason}" for reason, count in reasons[:_NAMED]]
    if len(reasons) > _NAMED:
        lines.append(_tr("and {} reasons more").format(len(reasons) - _NAMED))
    if lines:
        lines.insert(0, _tr("Left out:"))
    return [f"{found.title}.", *found.lines, *lines]


def asked(job: Job) -> list[tuple[str, str]]:
    """What a job was asked to do: names and values."""
    params = job.asked
    rows = [
        (_tr("From"), _paths([params.get("source"), *params.get("beside", ())])),
        (_tr("Files"), _paths(params.get("files") or ())),
        (_tr("Into") if job.traits.fills else _tr("Place"), _paths([job.place])),
        (_tr("File"), _paths([params.get("output")])),
        (_tr("Interpreter"), _paths([params.get("python")])),
        (_tr("On"), _names(params.get("on") or ())),
        (_tr("Recipes"), _names(params.get("recipes") or ())),
        (_tr("Profile"), str(params.get("profile") or "")),
        (_tr("Device"), str(params.get("device") or "")),
        (_tr("Threads"), str(params.get("threads") or "")),
    ]  # fmt: skip
    if job.laps:
        rows.append((_tr("Measures"), say.count(len(job.laps), "run", "runs")))
    return [(name, printable(text, 4096)) for name, text in rows if text]


def _paths(some: Sequence[Any]) -> str:
    found = [str(one) for one in some if one]
    return found[0] if len(found) == 1 else say.together(list(map(os.path.basename, found)), _NAMED)


def _names(some: Sequence[Any]) -> str:
    names = [os.path.basename(str(one).rstrip("/")) or str(one) for one in some]
    return say.together(names, _NAMED)


#: Milliseconds between two times that others are told how far a job is.
_TELL_MS = 2000


class Keeper(QObject):
    """Hears of each job. seen: whether the window is there, or only waits for its jobs to end."""

    def __init__(
        self, jobs: JobsModel, engines: Engines, seen: Callable[[], bool], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._jobs, self._engines, self._seen = jobs, engines, seen
        self._ended: list[Job] = []
        self._told: list[Running] = []
        self._soon, self._keeping = once(self, self._tell), once(self, self.keep)
        jobs.finished.connect(self._over)
        jobs.rowsInserted.connect(self.tell_soon)
        jobs.dataChanged.connect(lambda *_: self._soon.isActive() or self._soon.start(_TELL_MS))
        self.tell_soon()

    def tell_soon(self, *_: object) -> None:
        """Others are to know at once what is so now."""
        self._soon.start(0)

    def _over(self, job: Job) -> None:
        if not self._ended:
            # Whoever ends it has more to do first.
            self._keeping.start()
        self._ended.append(job)

    def keep(self) -> None:
        """Keep those that have ended since."""
        jobs, self._ended = self._ended, []
        if jobs:
            self._engines.keep_jobs([past_of(job) for job in jobs])
            self._tell()

    def close(self) -> None:
        """The window closes, and cuts off what still runs."""
        self._soon.stop()
        self._ended += self._jobs.active
        self.keep()
        if self._told:
            self._told = []
            self._engines.tell_running([])

    def _tell(self) -> None:
        told = [self._running(job) for job in self._jobs.active]
        if told != self._told:
            self._told = told
            self._engines.tell_running(told)

    def _running(self, job: Job) -> Running:
        job.kept_as = job.kept_as or new_id(time.time())
        return Running(
            id=job.kept_as,
            kind=job.kind,
            title=job.title,
            place=job.place or "",
            state=job.state.value,
            began=job.started,
            fraction=job.fraction(),
            words=progress(job),
            process=os.getpid(),
            window=self._seen(),
        )


#: Milliseconds that a job that went well is said to be done, and one of which something came that
#: can be opened; and between two pictures.
DONE_MS, _OPEN_MS = 6000, 60_000
_TICK_MS = 200
#: Seconds after which it is said how long a job has taken, of which nobody knows what is left.
_WONDER = 5.0
#: Pixels that the bar takes.
_BAR = 96
#: Pixels of the icon with what is around it; of the icon of the button, and of the button.
_PICTURE, _ICON, _BUTTON = 32, 16, 24
#: Pixels that the words have at least, and that are around and between all of it.
_WORDS, _EDGES, _GAP = 80, (4, 8), 4
#: Characters of all of it; and of what came of a job, where there is room for more than that.
_MOST, _BRIEF = 1000, 24


class _Words(QToolButton):
    """One line that is cut where there is no room; pressed, it goes to the job."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("beside")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._error = False
        self._said = ""

    def say(self, *parts: str, error: bool) -> None:
        """What to show: the name of a job, and what is so of it."""
        said = plain.shown(" · ".join(parts))
        if (said, error) != (self._said, self._error):
            self._said, self._error = said, error
            self.setText(plain.caption(said, _MOST))
            self.setAccessibleName(said)
            hint = _tr("Show this job and its result (Ctrl+J)")
            self.setToolTip(plain.tip(f"{said}\n{hint}"))
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        # A pixel more: what is drawn may be wider than the sum of its parts.
        return QSize(metrics.horizontalAdvance(self._said) + 14, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(_WORDS, self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        shades = theme.shades()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self.underMouse() or self.isDown():
                theme.rounded(painter, self.rect(), 4, shades.hover)
            if self.hasFocus():
                painter.setPen(QColor(shades.accent))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 4, 4)
            painter.setPen(QColor(shades.warning if self._error else shades.text))
            align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
            room, cut = self.rect().adjusted(4, 0, -8, 0), Qt.TextElideMode.ElideRight
            painter.drawText(
                room, align, self.fontMetrics().elidedText(self._said, cut, room.width())
            )


class JobStrip(QWidget):
    """Follows the jobs. A failure stays until somebody has looked at it."""

    opened = Signal(object)
    cancelled = Signal(object)
    #: What came of a job is to be shown.
    wanted = Signal(object)

    def __init__(self, jobs: JobsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._over: Job | None = None
        self._failed: list[Job] = []
        self.setAccessibleName(self.tr("Jobs"))
        # It has the room that the counts leave: the page above stays as it is when a job begins.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.picture = forms.label("")
        self.picture.setFixedWidth(_PICTURE)
        self.words = _Words()
        self.bar = forms.progress_bar(self.tr("Progress"))
        self.bar.setFixedWidth(_BAR)
        self.cancel = forms.icon_button("cancel", self.tr("Cancel this job"))
        # No higher than the counts.
        self.cancel.setIconSize(QSize(_ICON, _ICON))
        self.cancel.setFixedSize(_BUTTON, _BUTTON)
        hint = self.tr("Open the result of this job")
        self.result = forms.button(self.tr("Open"), hint=hint, enter=False)
        self.result.setProperty("link", True)
        self.result.setFixedHeight(_BUTTON)
        line = forms.REST, self.picture, self.words, self.result, self.bar, self.cancel
        self.setLayout(forms.row(*line, margin=(_EDGES[0], 0, _EDGES[1], 0), gap=_GAP))
        self._quiet = once(self, self._forget, DONE_MS)
        self._tick = every(self, self.refresh, _TICK_MS)
        jobs.rowsInserted.connect(self.refresh)
        jobs.rowsRemoved.connect(self.refresh)
        jobs.dataChanged.connect(lambda *_: None if self._tick.isActive() else self.refresh())
        jobs.finished.connect(self._ended)
        self.words.clicked.connect(lambda *_: self._with_job(self.opened.emit))
        self.cancel.clicked.connect(lambda *_: self._with_job(self.cancelled.emit))
        self.result.clicked.connect(lambda *_: self._with_job(self._open))
        theme.follow(self, self.refresh)

    @property
    def job(self) -> Job | None:
        """The job that it is about: what runs before what failed, and that before what is done."""
        active = self._jobs.active
        running = [job for job in active if job.state is not State.QUEUED]
        failed = [job for job in self._failed if self._jobs.index_of(job).isValid()]
        return next(iter([*running, *active, *reversed(failed)]), self._over)

    def looked(self) -> None:
        self._failed = []
        self._forget()

    def _forget(self) -> None:
        if not self.window().isVisible() or QApplication.activeModalWidget() is not None:
            # Nobody can have seen it: it is said once the window is back, and no dialog over it.
            self._quiet.start()
            return
        self._over = None
        self.refresh()

    def _ended(self, job: Job) -> None:
        self._failed = [one for one in self._failed if one is not job]
        if job.state is State.FAILED or (job.state is State.DONE and not job.good):
            self._failed.append(job)
        else:
            self._over = job
            self._quiet.start(_OPEN_MS if job.fruit else DONE_MS)
        self.refresh()

    def _open(self, job: Job) -> None:
        self.looked()
        self.wanted.emit(job)

    def refresh(self, *_: object) -> None:
        job = self.job
        self.setVisible(job is not None)
        if job is None:
            self._tick.stop()
            return
        self.words.say(*self._said(job), error=job.state is State.FAILED)
        name, colour = mark(job)
        shade = getattr(theme.shades(), colour)
        self.picture.setPixmap(theme.pixmap(name, 16, shade, self.devicePixelRatioF()))
        self.bar.setVisible(job.active)
        self.cancel.setVisible(job.active)
        self.result.setVisible(bool(job.fruit))
        self.result.setFixedWidth(self.result.sizeHint().width())
        self.cancel.setEnabled(job.state is not State.CANCELLING)
        fraction = job.fraction()
        set_bar(self.bar, 0.0 if fraction is None and job.state is State.QUEUED else fraction)
        if not job.active:
            self._tick.stop()
        elif not self._tick.isActive():
            self._tick.start()
        beside = [part for part in (self.result, self.bar, self.cancel) if not part.isHidden()]
        wide = sum(_EDGES) + _PICTURE + _GAP * (1 + len(beside))
        wide += sum(min(part.sizeHint().width(), part.maximumWidth()) for part in beside)
        self.setMinimumWidth(wide + _WORDS)
        self.setMaximumWidth(wide + max(_WORDS, self.words.sizeHint().width()))

    def _said(self, job: Job) -> list[str]:
        """Of one that has ended what came of it, in a sentence; else what it is at, and how far."""
        if job.state is State.DONE and job.has_outcome:
            found = outcome(job)
            return [found.title, *(found.lines[:1] if len(found.title) < _BRIEF else [])]
        return [doing(job), *(self._parts(job) if job.active else [progress(job)])]

    def _parts(self, job: Job) -> list[str]:
        """How far a job is, how many there are besides, and how long it will take, or takes."""
        parts = far(job)
        if (more := len(self._jobs.active) - 1) > 0:
            parts.append(self.tr("{} more").format(f"{more:,}"))
        if remaining := left(job):
            return [*parts, remaining]
        seconds = job.elapsed(time.time()) if job.state is State.RUNNING else None
        # At first nobody wonders. What has not passed yet is not said to have.
        passed = (seconds or 0.0) // _WONDER * _WONDER
        return [*parts, self.tr("for {}").format(coarse(passed))] if passed else parts

    def _with_job(self, do: Callable[[Job], object]) -> None:
        if (job := self.job) is not None:
            do(job)
