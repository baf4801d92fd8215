"""What the list and the page say of a job, of this window or of the history."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtWidgets import QProgressBar

from torchkeeper.client.kept.history import MAX_LINES, Past, Running, new_id
from torchkeeper.client.words import outcomes, say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.idle import once
from torchkeeper.gui.jobs import model as jobs
from torchkeeper.gui.jobs.model import Job, JobsModel, State, coarse, outcome, state_text
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.widgets import plain
from torchkeeper.gui.widgets.lists import Index

#: What a bar counts to.
_STEPS = 1000
#: A job that is known, or one from the history.
Shown = Job | Past

_ICONS = {
    State.QUEUED: ("queued", "muted"),
    State.RUNNING: ("running", "accent"),
    State.CANCELLING: ("running", "warning"),
    State.DONE: ("done", "good"),
    State.FAILED: ("error", "error"),
    State.CANCELLED: ("cancel", "muted"),
}


def _tr(text: str) -> str:
    return QCoreApplication.translate("Activity", text)


def state(one: Shown) -> State:
    """How far it is."""
    return one.state if isinstance(one, Job) else State(one.state)


def active(one: Shown) -> bool:
    """Whether it is still to end."""
    return isinstance(one, Job) and one.active


def mark(one: Shown) -> tuple[str, str]:
    """The icon of a job and the name of its colour."""
    found = state(one)
    return ("warning", "warning") if found is State.DONE and not one.good else _ICONS[found]


def words(one: Shown) -> str:
    """Its state in a few words."""
    return state_text(one) if isinstance(one, Job) else one.words


def set_bar(bar: QProgressBar, fraction: float | None) -> None:
    """Have a bar show how much is done, or that nobody knows."""
    bar.setRange(0, 0 if fraction is None else _STEPS)
    bar.setValue(round((fraction or 0.0) * _STEPS))


def fraction(one: Shown) -> float | None:
    """How much is done, from 0 to 1; None where nobody knows."""
    return one.fraction() if isinstance(one, Job) else 1.0


def began(one: Shown) -> float | None:
    """When it began to run."""
    return one.started if isinstance(one, Job) else one.began


def clock(one: Shown) -> str:
    """The time of day at which it began; empty for one that waits."""
    at = began(one) or one.ended
    return time.strftime("%H:%M", time.localtime(at)) if at is not None else ""


def took(one: Shown) -> str:
    """How long it has run, or ran."""
    seconds = one.elapsed(time.time()) if isinstance(one, Job) else one.seconds
    if seconds is None:
        return ""
    # While it runs the last digit is of no use; then it is what its result says.
    return say.seconds(round(seconds, 1) if active(one) else seconds)


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
    # The name of the only cell says nothing beside that of its step.
    said = job.now in parts or (bool(parts) and len(job.cells.rows) == 1)
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


# The rows of the list of jobs: what runs, then this session and those before, by day.


class JobRows(QAbstractListModel):
    """Jobs and headings, newest first. Emits ``arranged`` when rows have come, gone or moved."""

    ItemRole = Qt.ItemDataRole.UserRole + 1

    arranged = Signal()

    def __init__(self, jobs: JobsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        #: Those from before this session, whether they are listed or not.
        self.past: list[Past] = []
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

    def filter(self, text: str) -> None:
        """Show only jobs with all words of a text."""
        self._words = text.lower().split()
        self.arrange()

    @property
    def items(self) -> list[Shown]:
        """The jobs that are listed."""
        return [row for row in self._rows if not isinstance(row, str)]

    def arrange(self) -> None:
        """Put the rows in order."""
        jobs = self._jobs.jobs
        # What runs stands first, whatever was begun after it has ended already.
        running: list[Shown] = [job for job in jobs if job.active]
        self._active = {job.id for job in jobs if job.active}
        groups = {self.tr("Running or waiting"): running}
        now = time.time()
        for job in jobs:
            if not job.active:
                groups.setdefault(day(job, now), []).append(job)
        for one in self.past:
            title = self.tr("Before this session · {}").format(day(one, now))
            groups.setdefault(title, []).append(one)
        self.beginResetModel()
        self._rows = []
        for title, ones in groups.items():
            kept = [one for one in ones if found_by(one, self._words)]
            self._rows += [title, *kept] if kept else []
        self.endResetModel()
        self.arranged.emit()

    def _touched(self, first: QModelIndex, *_: object) -> None:
        job = self._jobs.job_at(first)
        if job is None:
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
        """Where a job stands."""
        for number, row in enumerate(self._rows):
            if row is one or (isinstance(row, Past) and isinstance(one, Past) and row.id == one.id):
                return self.index(number, 0)
        return QModelIndex()


# What is kept of a job that has ended, and what it was asked to do, in words.

#: Recipes and files that are named one by one.
_NAMED = 4


def past_of(job: Job) -> Past:
    """What is kept of a job; it has ended, or is cut off now."""
    ended = job.ended or time.time()
    if not job.kept_as:
        job.kept_as = new_id(ended)
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
    )


def told(job: Job) -> list[str]:
    """What came of a job, in sentences; its error is told apart."""
    if job.active or job.state is State.FAILED:
        return []
    if not job.has_dialog:
        return [job.note] if job.note else []
    found = outcome(job)
    return [f"{found.title}.", *found.lines]


def asked(job: Job) -> list[tuple[str, str]]:
    """What a job was asked to do: names and values."""
    params = job.asked
    rows = [
        (_tr("From"), _paths([params.get("source")])),
        (_tr("Files"), _paths(params.get("files") or ())),
        (_tr("Into") if job.traits.fills else _tr("Place"), _paths([job.place])),
        (_tr("File"), _paths([params.get("output")])),
        (_tr("Interpreter"), _paths([params.get("python")])),
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
    return found[0] if len(found) == 1 else _listed(map(os.path.basename, found))


def _names(some: Sequence[Any]) -> str:
    return _listed(os.path.basename(str(one).rstrip("/")) or str(one) for one in some)


def _listed(names: Iterable[str]) -> str:
    return say.together(list(names), _NAMED)


# Keeps the jobs of the window in the history as they end, and tells others what runs.

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
        self._soon = once(self, self._tell)
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
            QTimer.singleShot(0, self, self.keep)
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
        if not job.kept_as:
            job.kept_as = new_id(time.time())
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
