"""Keeps the jobs of the window in the history as they end."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from torchkeeper.gui.activity.past import past_of
from torchkeeper.gui.engines import Engines
from torchkeeper.gui.jobs import Job, JobsModel


class Keeper(QObject):
    """Hears of each job that ends."""

    def __init__(self, jobs: JobsModel, engines: Engines, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs, self._engines = jobs, engines
        self._ended: list[Job] = []
        jobs.finished.connect(self._over)

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

    def close(self) -> None:
        """The window closes, and cuts off what still runs."""
        self._ended += self._jobs.active
        self.keep()
