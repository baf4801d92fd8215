"""Bundles that go to another machine for a job, or ahead of one, and those that come from one."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import carrying, crossing
from torchkeeper.client.engines import asking, far, ferry
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.background.worker import HOLD
from torchkeeper.gui.jobs.bundles import Naming, Steps, named
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.stores.names import SUFFIX

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyParams, CopyResult
    from torchkeeper.gui.verdicts.environments import Environment

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

    def __init__(
        self, engines: Engines, jobs: JobsModel, found: Heard, placed: Heard, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._engines = engines
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

    def go(
        self, job: Job, machine: str, files: Sequence[str], env: Environment | None
    ) -> Steps[tuple[Mapping[str, str], Naming | None]]:
        """Send files to a machine: what each is called there, and how an environment there names
        the objects in them.
        """
        look = self._engines.background
        there: Mapping[str, str]
        there = yield lambda heard: look(heard, ferry.send_all, machine, files, self.of(job))
        if env is None or not env.torch:
            return there, None
        naming, _ = yield from named(self._engines, env, list(there.values()))
        return there, naming

    def come(
        self, job: Job, made: str, file: str, size: int, replace: bool, aside: bool
    ) -> Steps[str]:
        """As ``ferry.fetch``; ``aside``: into a folder that goes with the job. The file."""
        if aside:
            job.scratch = yield partial(self._engines.scratch, "crossing")
            file = os.path.join(job.scratch, f"bundle{SUFFIX}")
        what = made, file, size, replace, self.of(job)
        yield lambda heard: self._engines.background(heard, ferry.fetch, *what)
        return file

    def of(self, job: Job) -> Told:
        """Hears how far it is; raises where the job has ended meanwhile, so that it stops."""
        return _telling(lambda: job.active, partial(self._far.emit, job))


class Ahead(QObject):
    """Files that are sent to a machine while the user looks at them."""

    changed = Signal()
    #: How much of a file has gone, of how much.
    progress = Signal(float, object, str)

    def __init__(self, engines: Engines, parent: QObject) -> None:
        super().__init__(parent)
        self._engines = engines
        self._of: tuple[str, tuple[str, ...]] | None = None
        #: Holds something while somebody wants what is under way.
        self._wanted: list[bool] = []
        #: What each file is called there; empty as long as they are not there.
        self.there: Mapping[str, str] = {}
        self.error: UserError | None = None

    @property
    def busy(self) -> bool:
        """Whether they are on their way."""
        return bool(self._wanted) and not self.there and self.error is None

    def send(self, machine: str, files: Sequence[str]) -> None:
        """Have files be on a machine; those of this one are there."""
        of = machine, tuple(files)
        if of == self._of:
            return
        self.forget()
        self._of = of
        if not machine or not files:
            self.there = {file: file for file in files}
            return
        self._wanted = wanted = [True]

        def came(there: dict[str, str]) -> None:
            if wanted:
                self.there = there
                self.changed.emit()
            else:
                self._engines.background(Listener(), ferry.drop, list(there.values()))

        def failed(error: UserError) -> None:
            if wanted:
                self.error = error
                self.changed.emit()

        told = _telling(lambda: bool(wanted), self.progress.emit)
        heard = Listener(result=came, failed=failed)
        self._engines.background(heard, ferry.send_all, machine, list(files), told)

    def forget(self) -> None:
        """Nobody wants them there any more."""
        self._wanted.clear()
        if self._of and self._of[0] and self.there:
            self._engines.background(Listener(), ferry.drop, list(self.there.values()))
        self._of, self.there, self.error = None, {}, None


def _telling(goes: Callable[[], bool], tell: Callable[[float, float | None, str], object]) -> Told:
    """Passes on how far something is, from time to time; ends it where it is to go no more."""
    said = 0.0

    def told(done: float, total: float | None, unit: str = "bytes") -> None:
        nonlocal said
        if not goes():
            raise user_error("cancelled", {})
        if (now := time.monotonic()) > said + _EVERY:
            said = now
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                tell(done, total, unit)

    return told
