"""Asking the doctor what is wrong, and mending it by jobs in a row. Nothing here waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client import diagnosing
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.jobs.model import State as JobState
from torchkeeper.gui.verdicts.environments import State

if TYPE_CHECKING:
    from torchkeeper.doctor.shapes import Toolchain
    from torchkeeper.engine.messages.doctor import DiagnoseParams, DiagnoseResult, MendResult
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.verdicts import KnowParams
    from torchkeeper.gui.context import Context
    from torchkeeper.verdict.probed import Env


class Asked(NamedTuple):
    """What is to be looked at. facts: as a probe tells, empty where there is no torch. machine:
    whether the user's other caches are looked at, too. reads: folders that other environments use.
    variables: the names of all that are set there. at: another machine, which knows both itself.
    """

    python: str
    facts: Env
    values: Mapping[str, str] | None
    places: tuple[str, ...]
    machine: bool
    reads: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    at: str = ""


class Diagnosis(QObject):
    """One look at places and the machine, and looks at single findings afterwards."""

    changed = Signal()

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        self.asked: Asked | None = None
        self._at = ""
        self.found: list[diagnosing.Told] = []
        #: What it came to, as ``diagnose`` answers; None until it has come to its end.
        self.result: DiagnoseResult | None = None
        #: When it had come to its end.
        self.at = 0.0
        self.error: UserError | None = None
        #: What the engine has written of it, for whoever reports a mistake of ours.
        self.log: list[str] = []
        #: Why it is not known what the interpreter can do.
        self.untried: UserError | None = None
        self.cancelled = False
        #: How many checks are made, and of how many; None while the interpreter is tried.
        self.progress: tuple[int, int] | None = None
        #: Seconds that the last look took, without trying what the interpreter can do.
        self.took = self._began = 0.0
        #: When each finding was last seen, by what it is about.
        self._seen: dict[tuple[object, ...], float] = {}
        self._request: DiagnoseParams = {"places": []}
        self._ticket: int | None = None
        self._again: int | None = None

    @property
    def running(self) -> bool:
        """Whether it is still being looked."""
        return self._ticket is not None

    @property
    def busy(self) -> bool:
        """Whether something is being looked at."""
        return self.running or self._again is not None

    def seen(self, one: diagnosing.Told) -> float:
        """When a finding was last seen, in seconds since the epoch."""
        return self._seen.get((one.check, *diagnosing.subject(one.finding)), self.at)

    def look_anew(self) -> None:
        """Make all checks again, without trying the interpreter; what was found stays meanwhile."""
        if self.busy or self.result is None:
            return
        heard: list[diagnosing.Told] = []
        began = time.time()

        def over(result: DiagnoseResult) -> None:
            self._began = began
            self._note(heard)
            self.found = diagnosing.in_order(heard)
            self._over(result)

        listener = Listener(
            findings=lambda some: self._take(some, heard), result=over, failed=self._failed
        )
        self._again = self._ask(self._request, listener)

    def _note(self, some: Sequence[diagnosing.Told]) -> None:
        now = time.time()
        self._seen |= {(one.check, *diagnosing.subject(one.finding)): now for one in some}

    def begin(self, asked: Asked) -> None:
        """Look, whatever was found before."""
        self.close()
        self.asked, self.found, self.result, self.progress = asked, [], None, None
        self._at = asked.at
        self.error = self.untried = None
        self.cancelled = False

        def not_tried(error: UserError) -> None:
            self.untried = error
            self._diagnose({})

        if asked.facts.get("torch"):
            self._try(asked.python, self._diagnose, not_tried)
        else:
            self._diagnose({})
        self.changed.emit()

    def cancel(self) -> None:
        """Look no further; what was found stays."""
        if self.running:
            self._engines.forget(self._ticket)
            self._ticket, self.cancelled = None, True
            self.changed.emit()

    def close(self) -> None:
        """Ask no more."""
        for ticket in (self._ticket, self._again):
            self._engines.forget(ticket)
        self._ticket = self._again = None

    def look_again(
        self, one: diagnosing.Told, then: Callable[[bool], object], *, prepared: bool = False
    ) -> None:
        """Have the check of a finding made again; ``then`` is told whether the finding is gone.
        prepared: what the interpreter can do may have changed, and is tried again.
        """
        if prepared and self.asked is not None:

            def tried(toolchain: Toolchain) -> None:
                self._request["toolchain"] = toolchain
                self.look_again(one, then)

            self._again = self._try(self.asked.python, tried, lambda _: self.look_again(one, then))
            return
        self._engines.forget(self._again)  # a look at all that began before it was mended
        params = diagnosing.again(self._request, one)
        heard: list[diagnosing.Told] = []

        def over(_: DiagnoseResult) -> None:
            self._again = None
            places = set(params["places"])
            kept = [
                other for other in self.found
                if other.check != one.check
                or (other.finding.place in self._request["places"]
                    and other.finding.place not in places)
            ]  # fmt: skip
            self._note(heard)
            self.found = diagnosing.in_order([*kept, *heard])
            self.changed.emit()
            then(not any(diagnosing.same(one, other) for other in heard))

        def failed(error: UserError) -> None:
            self._failed(error)
            then(False)

        listener = Listener(
            findings=lambda some: self._take(some, heard), result=over, failed=failed
        )
        self._again = self._ask(params, listener)

    def _try(
        self, python: str, then: Callable[[Toolchain], None], failed: Callable[[UserError], None]
    ) -> int:
        listener = Listener(result=then, failed=failed)
        ticket = self._engines.ask(protocol.TOOLCHAIN, {}, listener, python=python)
        self._ticket = ticket if self.result is None else self._ticket
        return ticket

    def _diagnose(self, toolchain: Toolchain) -> None:
        of = self.asked
        assert of is not None
        self._request = diagnosing.request(
            of.places, of.facts, of.values, toolchain, of.reads, of.machine, of.variables
        )
        listener = Listener(findings=self._heard, progress=self._progress, result=self._over,
                            failed=self._failed, log=partial(setattr, self, "log"))  # fmt: skip
        self._began = time.time()
        self._ticket = self._ask(self._request, listener)

    def _ask(self, params: DiagnoseParams, listener: Listener) -> int:
        return self._engines.ask(protocol.DIAGNOSE, params, listener, python=self._at or None)

    def _take(self, some: Sequence[Finding], into: list[diagnosing.Told]) -> None:
        into += [one for what in some if (one := diagnosing.told(what, self._at)) is not None]

    def _heard(self, some: Sequence[Finding]) -> None:
        heard: list[diagnosing.Told] = []
        self._take(some, heard)
        self._note(heard)
        self.found = diagnosing.in_order([*self.found, *heard])
        self.changed.emit()

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        if unit == "checks" and total:
            self.progress = int(done), int(total)
            self.changed.emit()

    def _over(self, result: DiagnoseResult) -> None:
        self._ticket = self._again = None
        self.result, self.at = result, time.time()
        self.took = self.at - self._began
        self.changed.emit()

    def _failed(self, error: UserError) -> None:
        self._ticket = self._again = None
        self.error = error
        self.changed.emit()


def report(diagnosis: Diagnosis) -> str:
    """What it found, to be handed on: no password is in it. It must have come to its end."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    asked, result = diagnosis.asked, diagnosis.result or diagnosing.NOTHING
    assert asked is not None
    if asked.python:
        torch = asked.facts.get("torch")
        yield f"Interpreter: {printable(asked.python)}" + (f", torch {torch}" if torch else "")
    for place in asked.places:
        yield f"Place: {printable(place, 4096)}"
    yield diagnosing.summary(diagnosis.found, result)
    for one in diagnosis.found:
        told = said(one.finding)
        yield ""
        yield f"{one.finding.severity}: {told.what}"
        for part in (told.why, told.remedy):
            yield from (f"    {line}" for line in part.splitlines() if line)
        place = f" of {printable(one.finding.place, 4096)}" if one.finding.place else ""
        yield f"    Check: {diagnosing.check_name(one.check)}{place}"
    if left := diagnosing.left_of(result):
        yield ""
    for check, place, why in left:
        where = f" of {printable(place, 4096)}" if place else ""
        yield f"not checked: {diagnosing.check_name(check)}{where}: {why.what} {why.why}".rstrip()
    if diagnosis.result is not None:
        yield ""
        yield f"Checked: {diagnosing.check_names(result['checks'])}."


@dataclass(eq=False)
class Plan:
    """What a fix does. ticket: of its engine; answer: of a ``dry`` ``mend``; entries: what goes."""

    told: diagnosing.Told
    ticket: int | None = None
    answer: MendResult | None = None
    entries: list[Entry] = field(default_factory=list)
    error: UserError | None = None

    @property
    def prepares(self) -> bool:
        """Whether the interpreter's own engine does it."""
        return self.told.finding.fix == diagnosing.PREPARE

    @property
    def trashes(self) -> bool:
        """Whether it moves to the trash, from where it comes back."""
        return self.told.finding.fix.startswith("trash-")

    @property
    def does(self) -> bool:
        return self.error is None and (self.prepares or not diagnosing.nothing(self.answer or {}))

    @property
    def will(self) -> str:
        """What it does, in a sentence."""
        return diagnosing.will(self.told.finding, self.answer or {})


@dataclass(eq=False)
class Mended:
    """What was mended. job: what did it; gone: whether the finding is."""

    told: diagnosing.Told
    job: Job
    gone: bool

    @property
    def receipt(self) -> bool:
        """Whether it lies in the trash, and can come back."""
        return bool(self.job.result.get("receipt"))


class Mender(QObject):
    """Plans fixes and carries them out."""

    #: All that was to be planned is: a list of Plan.
    planned = Signal(object)
    changed = Signal()

    def __init__(self, context: Context, diagnosis: Diagnosis, parent: QObject) -> None:
        super().__init__(parent)
        self._engines, self._machines = context.engines, context.machines
        self._operations, self._diagnosis = context.operations, diagnosis
        self.mended: list[Mended] = []
        self.error: UserError | None = None
        self._plans: list[Plan] = []
        self._running: list[Plan] = []
        #: The job that is waited for, and what follows.
        self._job: tuple[Job, Callable[[Job], None]] | None = None
        self._envs: Callable[[], None] | None = None
        #: Whether what came back is being looked at.
        self._looking = False
        context.jobs.finished.connect(self._ended)
        context.machines.changed.connect(self._known)

    @property
    def busy(self) -> bool:
        """Whether something is being planned, done or looked at again."""
        return bool(self._plans or self._running or self._job or self._looking)

    @property
    def planning(self) -> bool:
        """Whether it is being found out what fixes would do, or asked whether they shall."""
        return bool(self._plans)

    def plan(self, some: Sequence[diagnosing.Told]) -> None:
        """Find out what mending these would do."""
        self.drop()
        self.error = None
        self._plans = [Plan(one) for one in some]
        self._plan_next(0)
        self.changed.emit()

    def drop(self) -> None:
        """Do nothing of what was planned."""
        for plan in self._plans:
            self._engines.forget(plan.ticket)
        self._plans, self._envs = [], None
        self.changed.emit()

    def clear(self) -> None:
        self.drop()
        self.mended.clear()

    def _plan_next(self, at: int) -> None:
        if at == len(self._plans):
            self.planned.emit(list(self._plans))
            return
        plan, go_on = self._plans[at], partial(self._plan_next, at + 1)
        if plan.prepares:
            go_on()
        elif plan.told.finding.fix == "trash-stale":
            self._envs = lambda: self._everywhere(plan, go_on)
            self._known()
        else:
            asked = self._diagnosis.asked
            own = [(asked.python, asked.facts)] if asked and asked.facts.get("torch") else []
            self._ask(plan, own, go_on)

    def _known(self) -> None:
        """Once all environments have said what they are, go on with what needs that."""
        if self._envs is None:
            return
        known = self._machines.shown
        known.find()
        known.ask_all()  # which may have come here again
        waits = (State.UNASKED, State.ASKING)
        waiting = any(one.state in waits for one in known.every)
        if known.found and not waiting and (then := self._envs) is not None:
            self._envs = None
            then()

    def _everywhere(self, plan: Plan, then: Callable[[], None]) -> None:
        """What another environment needs stays."""
        found = self._machines.shown.everywhere()
        plan.error = found.refusal()
        if plan.error is not None:
            then()
        else:
            self._ask(plan, found.envs, then)

    def _ask(self, plan: Plan, envs: Sequence[tuple[str, Env]], then: Callable[[], None]) -> None:
        know: list[KnowParams] = [{"python": python, "env": facts} for python, facts in envs]
        before = [("know", one) for one in know]

        def told(answer: MendResult) -> None:
            plan.answer = answer
            then()

        def failed(error: UserError) -> None:
            plan.error = error
            then()

        listener = Listener(rows=plan.entries.extend, result=told, failed=failed)
        params = diagnosing.mending(plan.told.finding, [python for python, _ in envs], dry=True)
        plan.ticket = self._engines.ask(protocol.MEND, params, listener, keep=True, before=before)

    def carry_out(self) -> None:
        """Do all that was planned, one after the other."""
        plans, self._plans = self._plans, []
        self._running = [plan for plan in plans if plan.does]
        for plan in plans:
            if not plan.does:
                self._engines.forget(plan.ticket)
        self._next()

    def _next(self) -> None:
        if not self._running:
            self.changed.emit()
            return
        plan = self._running[0]
        job = self._start(plan)

        def looked(gone: bool) -> None:
            if job.state is JobState.DONE:
                self.mended.append(Mended(plan.told, job, gone))
            self._running.pop(0)
            self._next()

        def ended(job: Job) -> None:
            self.error = job.error or self.error
            self._diagnosis.look_again(plan.told, looked, prepared=plan.prepares)

        self._job = job, ended
        self.changed.emit()

    def _start(self, plan: Plan) -> Job:
        finding, asked = plan.told.finding, self._diagnosis.asked
        if plan.prepares:
            return self._operations.prepare(asked.python if asked else "", None)
        number = (plan.answer or {}).get("plan", 0)
        assert plan.ticket is not None
        if plan.trashes:
            return self._operations.purge(finding.place, plan.ticket, number, False)
        params = diagnosing.mending(finding, plan=number)
        return self._operations.mend(finding.place, plan.ticket, params)

    def can_undo(self, one: Mended) -> bool:
        """Whether it is the last that went from its place: those before come back after it."""
        place = one.told.finding.place
        last = [x for x in self.mended if x.receipt and x.told.finding.place == place]
        return bool(last) and last[-1] is one and not self.busy

    def undo(self, one: Mended) -> None:
        """Bring back what a fix moved to the trash, and look again."""
        job = self._operations.undo(one.told.finding.place, one.job)

        def looked(_: bool) -> None:
            self._looking = False
            self.changed.emit()

        def ended(job: Job) -> None:
            if job.state is JobState.DONE:
                self.mended.remove(one)
                self._looking = True
                self._diagnosis.look_again(one.told, looked)
            else:
                self.error = job.error
                self.changed.emit()

        self._job = job, ended
        self.changed.emit()

    def _ended(self, job: Job) -> None:
        if self._job is not None and self._job[0] is job:
            then, self._job = self._job[1], None
            then(job)
