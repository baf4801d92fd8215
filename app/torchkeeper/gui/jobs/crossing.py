"""How far the bundles of jobs are that go to another machine, or come from one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import carrying, crossing
from torchkeeper.client.engines import asking, far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message
from torchkeeper.gui.background.worker import HOLD
from torchkeeper.gui.jobs.model import Job, JobsModel

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyParams, CopyResult

#: Seconds between two words of how far it is.
_EVERY = 0.1
#: Hears how much is done, of how much, and of what, if it is not bytes.
Told = Callable[..., None]
#: Hears what a job has found, or its rows.
Heard = Callable[[Job, list[Any]], None]


class Carried(QObject):
    """Tells the jobs, from whatever thread."""

    #: A job, how much is done, of how much, and of what.
    _far = Signal(object, object, object, str)
    #: A job, and what an engine has found for it; a job, and rows.
    _found, _placed = Signal(object, object), Signal(object, object)

    def __init__(self, jobs: JobsModel, found: Heard, placed: Heard, parent: QObject) -> None:
        super().__init__(parent)
        self._far.connect(jobs.progress)
        self._found.connect(found)
        self._placed.connect(placed)

    def copy(
        self, job: Job, asked: CopyParams, hold: Sequence[tuple[str, str]], direct: bool
    ) -> CopyResult:
        """All of a copy between machines. direct: as of ``crossing.copy``. Raises UserError."""
        told = self.of(job)

        def hear(message: Message) -> None:
            done, total = message.body.get("done"), message.body.get("total")
            if isinstance(done, int | float) and isinstance(total, int | float | None):
                told(done, total, str(message.body.get("unit")))
            elif message.type == "finding":
                self._found.emit(job, [message.finding])
            self._placed.emit(job, message.rows)

        def names(file: str) -> str | None:
            # The one that is named is of this machine.
            env = None if to.machine else asked["env"]
            find = partial(carrying.here_of, env, [file], to.machine)
            here, _ = carrying.tell_names(to, [file], find, False)
            return here and here.python

        source, to = (Engine(far.machine_of(asked[one]) or None) for one in ("place", "into"))
        with source, to:
            for at in range(0, len(hold), HOLD):
                source.call(protocol.HOLD, {"items": hold[at : at + HOLD]})
            ask, ask_there = (
                partial(
                    asking.ask, partial(one.call, on_message=hear),
                    unlock=asking.any_password(one.call),
                )
                for one in (source, to)
            )  # fmt: skip
            return crossing.copy(asked, ask, ask_there, names, told, direct)

    def of(self, job: Job) -> Told:
        """Hears how far it is; raises where the job has ended meanwhile, so that it stops."""
        said = 0.0

        def told(done: float, total: float | None, unit: str = "bytes") -> None:
            nonlocal said
            if not job.active:
                raise user_error("cancelled", {})
            if (now := time.monotonic()) > said + _EVERY:
                said = now
                self._far.emit(job, done, total, unit)

        return told
