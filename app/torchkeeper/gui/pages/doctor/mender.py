"""Mending what the doctor found: planned, agreed to, done as jobs in a row, looked at again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client import diagnosing
from torchkeeper.client.diagnosing import Told
from torchkeeper.client.engines.everywhere import Everywhere
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import MEND
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.jobs.model import State as JobState
from torchkeeper.gui.pages.doctor.diagnosis import Diagnosis
from torchkeeper.gui.verdicts.environments import State

if TYPE_CHECKING:
    from torchkeeper.engine.messages.doctor import MendResult
    from torchkeeper.engine.messages.environments import KnowParams
    from torchkeeper.gui.context import Context
    from torchkeeper.verdict.probed import Env


@dataclass(eq=False)
class Plan:
    """What a fix is about to do. ticket: the engine that holds it; answer: as ``mend`` with ``dry``
    told; entries: those that go.
    """

    told: Told
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
        """Whether there is anything to do."""
        return self.error is None and (self.prepares or not diagnosing.nothing(self.answer or {}))

    @property
    def will(self) -> str:
        """What it does, in a sentence."""
        return diagnosing.will(self.told.finding, self.answer or {})


@dataclass(eq=False)
class Mended:
    """What was mended. job: what did it; gone: whether the finding is."""

    told: Told
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
    #: Something was mended or brought back, or could not be.
    changed = Signal()

    def __init__(self, context: Context, diagnosis: Diagnosis, parent: QObject) -> None:
        super().__init__(parent)
        self._engines, self._environments = context.engines, context.environments
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
        context.environments.changed.connect(self._known)

    @property
    def busy(self) -> bool:
        """Whether something is being planned, done or looked at again."""
        return bool(self._plans or self._running or self._job or self._looking)

    @property
    def planning(self) -> bool:
        """Whether it is being found out what fixes would do, or asked whether they shall."""
        return bool(self._plans)

    def plan(self, some: Sequence[Told]) -> None:
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
        """Forget what was mended before."""
        self.drop()
        self.mended.clear()

    def _plan_next(self, at: int) -> None:
        if at == len(self._plans):
            self.planned.emit(list(self._plans))
            return
        plan = self._plans[at]

        def go_on() -> None:
            self._plan_next(at + 1)

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
        self._environments.find()
        self._environments.ask_all()  # which may have come here again
        waits = (State.UNASKED, State.ASKING)
        waiting = any(one.state in waits for one in self._environments.every)
        if self._environments.found and not waiting and (then := self._envs) is not None:
            self._envs = None
            then()

    def _everywhere(self, plan: Plan, then: Callable[[], None]) -> None:
        """What another environment needs stays."""
        every = self._environments.every
        envs = [(one.python, one.facts) for one in every if one.facts and one.torch]
        failed = [(one.python, why) for one in every if (why := one.unasked) is not None]
        plan.error = Everywhere(envs, failed).refusal()
        if plan.error is not None:
            then()
        else:
            self._ask(plan, envs, then)

    def _ask(self, plan: Plan, envs: Sequence[tuple[str, Env]], then: Callable[[], None]) -> None:
        names = [python for python, _ in envs]
        before: list[tuple[str, KnowParams]] = [
            ("know", {"python": python, "env": facts}) for python, facts in envs
        ]

        def told(answer: MendResult) -> None:
            plan.answer = answer
            then()

        def failed(error: UserError) -> None:
            plan.error = error
            then()

        listener = Listener(rows=plan.entries.extend, result=told, failed=failed)
        params = diagnosing.mending(plan.told.finding, names, dry=True)
        plan.ticket = self._engines.ask(MEND, params, listener, keep=True, before=before)

    # Doing it.

    def carry_out(self) -> None:
        """Do all that was planned, one after the other."""
        plans, self._plans = self._plans, []
        for plan in plans:
            if not plan.does:
                self._engines.forget(plan.ticket)
        self._running = [plan for plan in plans if plan.does]
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
        finding = plan.told.finding
        if plan.prepares:
            asked = self._diagnosis.asked
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
        job = self._operations.undo(one.told.finding.place, str(one.job.result["receipt"]))

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
