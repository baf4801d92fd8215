"""What is kept of a job that has ended, and what it was asked to do, in words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QTimer

from torchkeeper.client.kept.history import MAX_LINES, Past, new_id
from torchkeeper.client.kept.running import Running
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.jobs.model import Job, JobsModel, State, outcome, state_text
from torchkeeper.gui.later import once
from torchkeeper.gui.pages.activity import shown

#: Recipes and files that are named one by one.
_NAMED = 4


def _tr(text: str) -> str:
    return QCoreApplication.translate("Activity", text)


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
        runs = say.count(len(job.laps), "run", "runs")
        rows.append((_tr("Measures"), runs))
    return [(name, printable(text, 4096)) for name, text in rows if text]


def _paths(some: Sequence[Any]) -> str:
    found = [str(one) for one in some if one]
    if len(found) == 1:
        return found[0]
    return _listed([os.path.basename(one) for one in found])


def _names(some: Sequence[Any]) -> str:
    return _listed([os.path.basename(str(one).rstrip("/")) or str(one) for one in some])


def _listed(names: Sequence[str]) -> str:
    return say.together(names, _NAMED)


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
            words=shown.progress(job),
            process=os.getpid(),
            window=self._seen(),
        )
