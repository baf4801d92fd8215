"""Keeps the jobs of the window in the history as they end, and tells others what runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.later import once
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.pages.activity.past import past_of
from torchkeeper.link.kept.history import new_id
from torchkeeper.link.kept.running import Running

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
