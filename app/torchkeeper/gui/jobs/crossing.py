"""How far the bundles of jobs are that go to another machine, or come from one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.engines import ferry
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.jobs.model import Job, JobsModel

#: Seconds between two words of how far it is.
_EVERY = 0.1
#: Hears how many bytes have gone, and of how many.
Told = Callable[[int, int], None]


def sent(machine: str, files: Sequence[str], told: Told) -> dict[str, str]:
    """Carry files to a machine. Returns the name there of each."""
    return {file: ferry.send(machine, file, told) for file in files}


class Carried(QObject):
    """Tells the jobs, from whatever thread."""

    #: A job, how many bytes have gone, and of how many.
    _far = Signal(object, object, object)

    def __init__(self, jobs: JobsModel, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._far.connect(self._tell)

    def of(self, job: Job) -> Told:
        """Hears how far it is; raises where the job has ended meanwhile, so that it stops."""
        said = 0.0

        def told(done: int, total: int) -> None:
            nonlocal said
            if not job.active:
                raise user_error("cancelled", {})
            if (now := time.monotonic()) > said + _EVERY:
                said = now
                self._far.emit(job, done, total)

        return told

    def _tell(self, job: Job, done: int, total: int) -> None:
        if job.active:
            self._jobs.progress(job, done, total, "bytes")
