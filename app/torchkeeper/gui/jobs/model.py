"""Jobs: what was asked to be done, how far it is, and how it ended."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from PySide6.QtCore import QAbstractListModel, QCoreApplication, QModelIndex, QObject, Qt, Signal

from torchkeeper.client.engines.far import machine_of
from torchkeeper.client.overviewing import added
from torchkeeper.client.words import say
from torchkeeper.client.words.pace import Pace
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine.protocol import Operation, traits
from torchkeeper.gui.background.worker import HOLD
from torchkeeper.gui.widgets.lists import Index
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.client import programs
    from torchkeeper.client.kept.runs import ExplainedGraph
    from torchkeeper.client.words.outcomes import Outcome
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.gui.jobs.laps import Lap
    from torchkeeper.gui.matrix.cells import Cells
    from torchkeeper.gui.matrix.variants import Variants

_tr = partial(QCoreApplication.translate, "Jobs")


class Then(NamedTuple):
    """Where what was warmed goes: a new bundle, and a server; empty for neither."""

    bundle: str = ""
    server: str = ""


#: Everything.
_ALL: Select = {}


class Selection(NamedTuple):
    """Which entries: ``select`` for the request, ``hold`` for what is too long for one line. also:
    other places, all of which goes, too.
    """

    select: Select = _ALL
    hold: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()

    @staticmethod
    def of(entries: Sequence[Entry]) -> Selection:
        """Exactly these entries."""
        items = tuple(entry.identity for entry in entries)
        if len(items) > HOLD:
            return Selection({"held": True}, items)
        return Selection({"items": list(items)})


class Asked(TypedDict, total=False):
    """What a job was asked for. recipes: BUILTIN, files and folders. limit_s: seconds that a
    variant may take. jobs: processes at a time. source: the place that entries come from; beside:
    others; files, output: the bundles that are read and written. key: what signs. offer_prepare:
    whether programs would have to wait for a header. mark: what a place was like before it was
    verified. made_threads: how many threads a bundle was made with. warm: variants that are left
    out, each as its recipe and its name. paths: of the recipes, as they were read; before: for each
    what it is called, and how many of its variants are left out. also: those of the purges begun
    with it that are done. command: of a program. new: whether the place was not listed before. on:
    the targets of a fleet; prove: whether its cells are proven; share: whether its nodes have what
    others have compiled; slots: of each node.
    """

    device: str | None
    threads: int
    portable: bool
    profile: str
    limit_s: float
    jobs: int
    recipes: Sequence[str]
    python: str
    source: str
    beside: Sequence[str]
    files: list[str]
    output: str
    key: str
    offer_prepare: bool
    mark: str | None
    made_threads: int | None
    then: Then | None
    warm: Sequence[tuple[str, str]] | None
    paths: list[str]
    before: Sequence[tuple[str, int]] | None
    also: list[Job]
    receipt: str | None
    command: Sequence[str]
    new: bool
    on: Sequence[str]
    prove: bool
    share: bool
    slots: int | None


#: Lines kept of one job's log, and jobs kept in the history.
LOG_LINES, HISTORY = 5000, 200
#: The unit of a job that waits for ssh-keygen, which says nothing of how far it is.
SIGNING = "signing"
#: The unit of a job that was cancelled and takes back what it has done (folders.journal).
TAKING_BACK = "taken-back"


class State(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({State.DONE, State.FAILED, State.CANCELLED})


def _no_variants() -> Variants:
    from torchkeeper.gui.matrix.variants import Variants  # at the start there are no jobs

    return Variants()


def _no_cells() -> Cells:
    from torchkeeper.gui.matrix.cells import Cells

    return Cells()


@dataclass(eq=False)
class Job:
    """One job. kind: the operation. place: what it changes. left: how many entries it did not take;
    the log says which and why, ``reasons`` how many for each reason. now: what it is at. placed:
    kind and path of what an import, a copy or an undo has put there. partly: what was done for
    good, where it ended early. laps: the runs of a verification; variants: what a warm-up compiles;
    cells: what a fleet does. scratch: a folder that goes with it. flawed: whether some of its
    variants are not warm. kept_as: its id in the history, once it is there. result: of the
    operation's type; empty until it is done. graphs: what a program looked up until now; noted:
    pieces of what it noted; run: what is kept of it. there: what it is called on its machine, where
    it goes on without the connection; over: when it ended there, where that was before anybody here
    heard of it.
    """

    id: int
    title: str
    kind: str
    place: str | None = None
    state: State = State.QUEUED
    done: float = 0
    total: float | None = None
    unit: str = ""
    note: str = ""
    partly: str = ""
    left: int = 0
    left_lines: list[str] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    now: str = ""
    placed: list[tuple[str, str]] = field(default_factory=list)
    asked: Asked = field(default_factory=Asked)
    laps: list[Lap] = field(default_factory=list)
    variants: Variants = field(default_factory=_no_variants)
    cells: Cells = field(default_factory=_no_cells)
    scratch: str = ""
    pace: Pace = field(default_factory=Pace)
    started: float | None = None
    ended: float | None = None
    log: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    result: Any = field(default_factory=dict)
    error: UserError | None = None
    flawed: bool = False
    kept_as: str = ""
    graphs: dict[object, ExplainedGraph] = field(default_factory=dict)
    noted: list[str] = field(default_factory=list)
    run: programs.Ended | None = None
    there: str = ""
    over: float | None = None

    @property
    def traits(self) -> Operation:
        return traits(self.kind)

    @property
    def receipt(self) -> str | None:
        """By which what it has done is undone, if it can be; also the undo of an import."""
        undoable = self.traits.undoable or self.result.get("undid") == "import"
        return self.result.get("receipt") if undoable and self.place else None

    @staticmethod
    def undo_title(of: Job | None) -> str:
        """What the undo of a job is called, or that of whatever was last; {} is the place."""
        if of is None:
            return _tr("Undo in {}")
        return _tr("Undo import into {}" if of.traits.fills else "Undo purge of {}")

    @property
    def did(self) -> str:
        """What is undone of it, in a word or two."""
        return say.undoes("import" if self.traits.fills else "purge")

    @property
    def active(self) -> bool:
        """Whether it is still to end."""
        return self.state not in ENDED

    @property
    def goes_on(self) -> bool:
        """Whether nobody here hears of it any more, and it is still to end on its machine."""
        return bool(self.there and self.error and self.there in self.error.remedy)

    @property
    def is_over(self) -> bool:
        """Whether it has ended here, and goes on nowhere."""
        return not (self.active or self.goes_on)

    @property
    def has_outcome(self) -> bool:
        """Whether it is told in sentences what came of it."""
        of = self.traits
        return of.bundles or of.fills or of.compiles

    @property
    def made_bundle(self) -> bool:
        """Whether what it wrote is a bundle."""
        if self.traits.at_home and self.place:
            return scheme_of(self.place).becomes(self.place) == "bundle"
        return self.traits.bundles or self.result.get("what") == "bundle"

    @property
    def fruit(self) -> str | None:
        """The path that came of it: the bundle that was written, or the place that was filled."""
        if self.state is not State.DONE or not (self.made_bundle or self.traits.fills):
            return None
        # A bundle of nothing is not written; of one that was signed nobody counts the entries.
        # What a fleet gathers may have been there before.
        there = self.result.get("there", 0)
        if self.made_bundle and not (there or self.result.get("entries", True)):
            return None
        output: str | None = self.result.get("output")
        return output or self.place

    @property
    def can_go_on(self) -> bool:
        """Whether it is a warm-up that some variants of are not warm, and can be warmed again."""
        return self.traits.warms and self.is_over and bool(self.variants.bad)

    @property
    def good(self) -> bool:
        """Whether it has done all that it was asked for, and found what it looked for."""
        return self.state is State.DONE and not (self.flawed or self.result.get("good") is False)

    def hear(self, one: Finding) -> bool:
        """Note what is found of a program; whether it is of that."""
        from torchkeeper.client.engines.far import name_of
        from torchkeeper.client.kept import runs
        from torchkeeper.client.words import causes
        from torchkeeper.warm.traces.notes import fits

        if "graph" in one:
            graph = one["graph"]
            which = graph.get("process"), graph["id"], graph.get("key")
            self.graphs[which] = {**graph, "why": causes.cause(graph)}
        elif "run" in one:
            self.graphs.clear()
        elif "started" in one:
            machine = machine_of(self.place)
            named = name_of(machine, one["started"]["place"])
            self.place = named if scheme_of(named).is_files and named else machine
            self.asked.setdefault("command", runs.discreet(one["started"]["command"]))
        elif "noted" in one and fits(self.noted):
            self.noted.append(one["noted"])
        return bool({"graph", "run", "started", "noted"} & one.keys())

    def leave(self, line: str, reason: str) -> None:
        """Note an entry that was not taken."""
        self.left += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if len(self.left_lines) < LOG_LINES:
            self.left_lines.append(line)

    @property
    def counts_bytes(self) -> bool:
        """Whether it is told in bytes how far it is; not of a run before which some are copied."""
        runs = bool(self.laps or self.variants)
        return self.unit == "bytes" and bool(self.total) and not (runs and self.done == self.total)

    def elapsed(self, now: float) -> float | None:
        """Seconds it has run, or ran; None where nobody knows."""
        if self.started is None or self.goes_on:
            return None
        return (self.ended if self.ended is not None else now) - self.started

    def fraction(self) -> float | None:
        """How much is done, from 0 to 1; None where nobody knows."""
        if self.state is State.DONE:
            return 1.0
        # Of one thing nothing is done until all is.
        counted = self.total and (self.total > 1 or self.unit == "bytes")
        part = max(0.0, min(1.0, self.done / (self.total or 1))) if counted else None
        if self.laps:
            # What an engine says of its progress is of one run, and of bytes only that they are
            # copied before it begins.
            over = sum(lap.seconds is not None for lap in self.laps)
            part = part if self.unit == "steps" and over < len(self.laps) else None
            return (over + (part or 0.0)) / len(self.laps) if over or part else None
        if self.cells:
            return self.cells.part(bool(self.asked.get("prove")))
        if self.traits.proves and self.variants:
            over = self.variants.over
            return over / len(self.variants.rows) if over else None
        # Of a single variant nobody knows before it is over.
        return None if self.unit == "variants" and self.total == 1 else part


def held(jobs: Sequence[Job]) -> str:
    """How much some jobs that were decided together have moved or placed."""
    results = [one.result for one in jobs]
    return say.held_of(results[0] if len(results) == 1 else added(results))


def outcome(job: Job) -> Outcome:
    """How a job ended of which that is told in sentences."""
    from torchkeeper.client.words import outcomes

    place = job.place or ""
    if job.state is State.CANCELLED:
        return outcomes.cancelled(job.kind, place, job.partly)
    if job.state is State.FAILED:
        return outcomes.failed(job.error)
    variants = len(job.variants.rows), len(job.variants.bad)
    ended = outcomes.Ended(job.kind, job.result, place, job.asked, job.elapsed(0), *variants)
    return outcomes.outcome(ended)


def state_text(job: Job) -> str:
    if job.state is State.QUEUED:
        return _tr("Waiting for the job before it")
    if job.state is State.CANCELLING and job.unit == TAKING_BACK and job.total:
        text = _tr("Cancelling: {} of {} steps are taken back")
        return text.format(f"{job.done:,.0f}", f"{job.total:,.0f}")
    if job.state is State.CANCELLING:
        return _tr("Cancelling…")
    if job.state is State.CANCELLED:
        return _tr("Cancelled: {}").format(job.note) if job.note else _tr("Cancelled")
    if job.goes_on:
        return _tr("Goes on there; no connection")
    if job.state is State.FAILED:
        return _tr("Failed: {}").format(job.error.what if job.error else "?")
    if job.state is State.DONE:
        return job.note or _tr("Done")
    return " · ".join(far(job)) or _tr("Running")


def far(job: Job) -> list[str]:
    """How far a running job is, without how long it will take; of one thing nothing is counted."""
    parts = []
    if job.counts_bytes:
        parts += bytes_parts(job)
    elif job.laps and job.state is State.RUNNING:
        parts.append(lap_text(job))
    elif len(job.variants.rows) > 1 or job.variants.loading:
        parts.append(variants_text(job))
    elif job.cells:
        from torchkeeper.client.words import fleets

        parts += fleets.states(job.cells.counts)
    elif job.total and job.total > 1:
        parts.append(_tr("{} of {} {}").format(f"{job.done:,.0f}", f"{job.total:,.0f}", job.unit))
    if job.unit == SIGNING:
        parts.append(job.now or _tr("Signing…"))
    return [*parts, job.note] if job.note else parts


def lap_text(job: Job) -> str:
    """How far a verification is: run 3 of 4, step 5 of 8."""
    over, whole = sum(lap.seconds is not None for lap in job.laps), len(job.laps)
    if all(lap.began is None for lap in job.laps):
        return job.note or _tr("Starting…")
    text = _tr("Run {} of {}").format(min(over + 1, whole), whole)
    if job.total and job.unit == "steps":
        at = f"{min(job.done + 1, job.total):,.0f}"
        text += _tr(", step {} of {}").format(at, f"{job.total:,.0f}")
    return text


def variants_text(job: Job) -> str:
    """How far a warm-up is: 3 of 12 variants · 1 failed · step 2 of 8."""
    if job.variants.loading:
        return _tr("Loading PyTorch, which takes a while…")
    whole = say.count(len(job.variants.rows), "variant", "variants")
    parts = [_tr("{} of {}").format(f"{job.variants.over:,}", whole)]
    if failed := job.variants.counts.get("failed", 0):
        parts.append(_tr("{} failed").format(f"{failed:,}"))
    if job.unit == "steps" and job.total:
        parts.append(_tr("step {} of {}").format(f"{job.done:,.0f}", f"{job.total:,.0f}"))
    return " · ".join(parts)


def bytes_parts(job: Job) -> list[str]:
    """How far a job is that counts bytes: 12.3 MB of 80.1 MB, 41 MB/s."""
    parts = [_tr("{} of {}").format(say.size(job.done), say.size(job.total or 0))]
    rate = job.pace.rate(time.monotonic())
    if rate is not None and rate >= 1:
        parts.append(_tr("{}/s").format(say.size(rate)))
    return parts


class JobsModel(QAbstractListModel):
    """The jobs, newest first."""

    JobRole = Qt.ItemDataRole.UserRole + 1

    #: A job has ended, in whatever way.
    finished = Signal(object)
    #: Lines were added to the log of a job; none where it begins anew.
    logged = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs: list[Job] = []
        #: What can be undone of what this session did, by who decided it: the latest last.
        self.undoable: list[list[Job]] = []
        self._last = 0

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._jobs)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._jobs):
            return None
        return self._jobs[index.row()] if role == JobsModel.JobRole else None

    def add(self, title: str, kind: str, place: str | None) -> Job:
        """A new job, waiting."""
        self._last += 1
        job = Job(self._last, printable(title), kind, place)
        self.beginInsertRows(QModelIndex(), 0, 0)
        self._jobs.insert(0, job)
        self.endInsertRows()
        ended = [row for row, old in enumerate(self._jobs) if not old.active]
        if len(self._jobs) > HISTORY and ended:
            self._drop(ended[-1])
        return job

    def no_longer_undoable(self, by: Job) -> None:
        """A job has undone what was done, or has emptied the trash that it was in."""
        gone = [one for some in self.undoable for one in some if one.place == by.place]
        if "receipt" in by.asked:
            receipt = by.asked["receipt"] or (gone[-1].result["receipt"] if gone else None)
            gone = [one for one in gone if one.result["receipt"] == receipt]
        for some in self.undoable:
            some[:] = [one for one in some if one not in gone]
        self.undoable = list(filter(None, self.undoable))

    def _drop(self, row: int) -> None:
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._jobs[row]
        self.endRemoveRows()

    def begin(self, job: Job) -> None:
        job.started, job.state = job.started or time.time(), State.RUNNING
        self.touch(job)

    def begin_again(self, job: Job) -> None:
        """All that it tells is to be heard once more, from its beginning."""
        kept = {name: getattr(job, name) for name in ("place", "asked", "kept_as", "there")}
        vars(job).update(vars(Job(job.id, job.title, job.kind, **kept)))
        self.logged.emit(job, [])

    def progress(self, job: Job, done: float, total: float | None, unit: str) -> None:
        if not job.active:
            return
        if unit != job.unit:
            job.pace = Pace()
        job.pace.add(time.monotonic(), done, total)
        job.done, job.total, job.unit = done, total, unit
        self.touch(job)

    def cancelling(self, job: Job) -> None:
        """The user asked for an early end."""
        if job.active:
            job.state = State.CANCELLING
            self.touch(job)

    def end(
        self, job: Job, state: State, *, note: str = "", result: Mapping[str, Any] | None = None,
        error: UserError | None = None,
    ) -> None:  # fmt: skip
        if not job.active:
            return
        prove = bool(job.asked.get("prove"))
        job.ended, job.state, job.error = job.over or time.time(), state, error
        job.now, job.note, job.result = "", note, result or {}
        job.flawed = job.traits.warms and bool(job.variants.bad or job.cells.bad(prove))
        self.touch(job)
        self.finished.emit(job)

    def log(self, job: Job, lines: list[str]) -> None:
        if lines:
            job.log.extend(lines)
            self.logged.emit(job, lines)

    def touch(self, job: Job) -> None:
        index = self.index_of(job)
        if index.isValid():
            self.dataChanged.emit(index, index)

    def tick(self) -> None:
        """Time has passed: the running jobs show another."""
        for job in self._jobs:
            if job.state in (State.RUNNING, State.CANCELLING):
                self.touch(job)

    def forget(self, job: Job) -> None:
        if not job.active and job in self._jobs:
            self._drop(self._jobs.index(job))

    def clear_ended(self) -> None:
        for job in reversed(self.jobs):
            self.forget(job)

    def index_of(self, job: Job) -> QModelIndex:
        return self.index(self._jobs.index(job), 0) if job in self._jobs else QModelIndex()

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All jobs, newest first."""
        return tuple(self._jobs)

    @property
    def active(self) -> list[Job]:
        """The jobs that have not ended, oldest first."""
        return [job for job in reversed(self._jobs) if job.active]
