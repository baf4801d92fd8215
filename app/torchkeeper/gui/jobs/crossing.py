"""What jobs do that reach over to another machine: bundles go there before them, or come after."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import carrying, crossing
from torchkeeper.client.engines import asking, far, ferry
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import sending
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message
from torchkeeper.gui.background.worker import HOLD
from torchkeeper.gui.jobs.bundles import First, Follow, GoOn, Values
from torchkeeper.gui.jobs.model import Job, JobsModel, Selection

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyParams, CopyResult
    from torchkeeper.warm.shapes import Compiling, SentRecipe

#: Seconds between two words of how far it is.
_EVERY = 0.1
#: Begins a step of a job that may wait: what hears the result, the function, and what that takes.
Look = Callable[..., None]
#: Hears what a job has found, or its rows.
Heard = Callable[[Job, list[Any]], None]


class Crossing(QObject):
    """Carries bundles of jobs; look: as of ``Operations``."""

    #: A job, how much is done, of how much, and of what.
    _carried = Signal(object, object, object, str)
    #: A job, and what an engine has found for it; a job, and rows.
    _found, _placed = Signal(object, object), Signal(object, object)

    def __init__(
        self, jobs: JobsModel, look: Look, found: Heard, placed: Heard, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._jobs, self._look = jobs, look
        self._carried.connect(jobs.progress)
        self._found.connect(found)
        self._placed.connect(placed)

    def to(
        self, machine: str, files: Sequence[str], manifests: Mapping[str, str]
    ) -> tuple[First, Follow]:
        """What sends files there, before an import by what they are called there, and has them
        removed there afterwards.
        """
        made = list[str]()

        def first(job: Job, then: GoOn) -> None:
            def sent(there: dict[str, str]) -> None:
                made[:] = there.values()
                seen = {there[file]: manifest for file, manifest in manifests.items()}
                then({"files": list(there.values()), **({"manifests": seen} if seen else {})})

            self._look(job, sent, self._send, job, machine, files)

        def follow(job: Job, result: Values, go_on: GoOn) -> None:
            self._look(job, lambda _: go_on(result), ferry.drop, made)

        return first, follow

    def recipes(self, machine: str, first: First) -> First:
        """The same as ``first``, which reads recipes, whose files are there then."""

        def both(job: Job, then: GoOn) -> None:
            def read(more: Values) -> None:
                def sent(there: Values) -> None:
                    then({**more, **there})

                self._look(job, sent, self._send_recipes, job, machine, more["recipes"])

            first(job, read)

        return both

    def verifying(self, machine: str, first: First) -> First | None:
        """The same, and the folder to work in there, which goes with the connection. None for this
        machine.
        """
        read = self.recipes(machine, first)

        def both(job: Job, then: GoOn) -> None:
            def sent(more: Values) -> None:
                self._look(
                    job, lambda at: then({**more, "scratch": at}), ferry.folder, machine
                )  # fmt: skip

            read(job, sent)

        return both if machine else None

    def back(self, machine: str, output: str, replace: bool) -> tuple[First, Follow]:
        """What has an export written there, and brings it here afterwards."""
        made: dict[Job, str] = {}

        def first(job: Job, then: GoOn) -> None:
            def named(name: str) -> None:
                made[job] = name
                then({"output": name, "replace": False})

            self._look(job, named, ferry.name, machine)

        def follow(job: Job, result: Values, go_on: GoOn) -> None:
            whole = {**result, "output": output}
            what = job, made.pop(job), output, result["size"], replace
            self._look(job, lambda _: go_on(whole), self._fetch, *what)

        return first, follow

    def copy(
        self, asked: CopyParams, chosen: Selection, direct: bool,
        done: Callable[[Job, Values], None],
    ) -> First | None:  # fmt: skip
        """What does all of a copy between machines, and tells ``done``; None on one. direct: as of
        ``crossing.copy``.
        """

        def first(job: Job, _: GoOn) -> None:
            self._look(job, partial(done, job), self._copy, job, asked, chosen, direct)

        apart = far.machine_of(asked["place"]) != far.machine_of(asked["into"])
        return first if apart else None

    def _copy(self, job: Job, asked: CopyParams, chosen: Selection, direct: bool) -> CopyResult:
        told = self._told(job)

        def hear(message: Message) -> None:
            done, total = message.body.get("done"), message.body.get("total")
            if isinstance(done, int | float) and isinstance(total, int | float | None):
                told(done, total, str(message.body.get("unit")))
            elif message.type == "finding":
                self._found.emit(job, [message.finding])
            self._placed.emit(job, message.rows)

        def names(file: str) -> str | None:
            find = partial(carrying.here_of, asked["env"], [file])
            here, _ = carrying.tell_names(to, [file], find, False)
            return here and here.python

        source, to = (Engine(far.machine_of(asked[one]) or None) for one in ("place", "into"))
        with source, to:
            for at in range(0, len(chosen.hold), HOLD):
                source.call(protocol.HOLD, {"items": chosen.hold[at : at + HOLD]})
            ask, ask_there = (
                partial(asking.ask, partial(one.call, on_message=hear), unlock=lambda _: False)
                for one in (source, to)
            )
            return crossing.copy(asked, ask, ask_there, names, told, direct)

    def _send(self, job: Job, machine: str, files: Sequence[str]) -> dict[str, str]:
        return {file: ferry.send(machine, file, self._told(job)) for file in files}

    def _send_recipes(
        self, job: Job, machine: str, recipes: Sequence[str | SentRecipe]
    ) -> Compiling:
        return sending.send(machine, recipes, self._told(job))

    def _fetch(self, job: Job, made: str, output: str, size: int, replace: bool) -> None:
        ferry.fetch(made, output, size, replace, self._told(job))

    def _told(self, job: Job) -> Callable[..., None]:
        """Hears how far it is; raises where the job has ended meanwhile, so that it stops."""
        said = 0.0

        def told(done: float, total: float | None, unit: str = "bytes") -> None:
            nonlocal said
            if not job.active:
                raise user_error("cancelled", {})
            if (now := time.monotonic()) > said + _EVERY:
                said = now
                self._carried.emit(job, done, total, unit)

        return told
