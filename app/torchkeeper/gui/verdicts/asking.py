"""Asking engines what of a place is of use in an environment, and what is dead in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from torchkeeper.client.engines import probes
from torchkeeper.client.engines.interpreters import not_started
from torchkeeper.client.engines.probes import Everywhere
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.verdicts.environments import Environment

if TYPE_CHECKING:
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.dead import SuggestParams, SuggestResult
    from torchkeeper.engine.messages.findings import Finding, JudgedFinding
    from torchkeeper.engine.messages.verdicts import (
        JudgeParams,
        JudgeResult,
        KnowParams,
        KnowResult,
    )
    from torchkeeper.gui.background.lookups import Found
    from torchkeeper.verdict.probed import Env

#: Milliseconds for which an engine is kept that may be asked again.
_KEPT_MS = 30_000
#: An engine that has ended, or never heard of the environment: another one is told.
_ANEW = frozenset({"engine-gone", "environment-forgotten"})


class Judging(QObject):
    """Asks one question at a time, of an engine of its own, which is kept for a while."""

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        #: The request that told the kept engine of an environment, which one that was, and the
        #: question under way.
        self._first: int | None = None
        self._knows: Env | None = None
        self._ticket: int | None = None
        self._rest = once(self, self.forget, _KEPT_MS)

    @property
    def busy(self) -> bool:
        """Whether a question is not answered yet."""
        return self._ticket is not None

    def ask(
        self,
        place: str,
        env: Environment,
        over: Callable[[JudgeResult], object],
        failed: Callable[[UserError], object],
        found: Callable[[list[JudgedFinding]], object] | None = None,
        anew: Callable[[], object] | None = None,
    ) -> None:
        """Ask for the verdicts of all entries of a place, instead of any other question. found:
        hears findings ``judged``; over: the counts in the end (engine/checking.py); anew: what was
        found is void, the question is asked once more.
        """
        if self._ticket is not None or self._knows is not env.facts:
            self.forget()
        self._rest.stop()
        again = self._first is not None

        def ended(error: UserError) -> None:
            self.forget()
            if again and error.code in _ANEW:
                if anew is not None:
                    anew()
                self.ask(place, env, over, failed, found)
            else:
                failed(error)

        def hear(told: list[Finding]) -> None:
            judged = [one["judged"] for one in told if "judged" in one]
            if judged and found is not None:
                found(judged)

        def answered(result: JudgeResult) -> None:
            self._ticket = None
            self._rest.start()
            over(result)

        def judge(_: KnowResult | None = None) -> None:
            listener = Listener(findings=hear, result=answered, failed=ended)
            params: JudgeParams = {"place": place, "envs": [env.python]}
            self._ticket = self._engines.ask(
                protocol.JUDGE, params, listener, keep=True, engine_of=self._first
            )

        if again:
            judge()
            return
        assert env.facts is not None
        told: KnowParams = {"python": env.python, "env": env.facts}
        self._knows = env.facts
        listener = Listener(result=judge, failed=ended)
        self._first = self._ticket = self._engines.ask(protocol.KNOW, told, listener, keep=True)

    def forget(self) -> None:
        """Leave the question, and the engine."""
        self._rest.stop()
        for ticket in (self._ticket, self._first):
            self._engines.forget(ticket)
        self._ticket = self._first = self._knows = None


#: Interpreters that are asked at once: each imports its torch.
_AT_ONCE = 2
#: Milliseconds until a number that is being changed is counted with.
_REST_MS = 250


class Suggestions(QObject):
    """What of one place could go, and why. older: seconds; keep: bytes."""

    changed = Signal()

    def __init__(
        self,
        engines: Engines,
        place: str,
        older: float,
        keep: int,
        without: Iterable[str] = (),
        parent: QObject | None = None,
    ) -> None:
        """without: interpreters that do not count where they cannot be asked."""
        super().__init__(parent)
        self._engines = engines
        self.place, self.older, self.keep = place, older, keep
        self.result: SuggestResult | None = None
        self.error: UserError | None = None
        #: How far the looking is: done, of how many, in what.
        self.progress: tuple[float, float | None, str] | None = None
        self.envs = Everywhere([], [])
        self.without = set(without)
        #: Those of them that could not be asked.
        self.left_out: list[str] = []
        #: How many interpreters there are, once that is known.
        self.total: int | None = None
        self._waiting: list[str] = []
        self._probing: dict[str, int] = {}
        self._tickets: list[int] = []
        #: The ticket by which the engine is known that has looked.
        self.engine: int | None = None
        self._judged: tuple[str, ...] = ()
        #: Interpreters that are no environments where they cannot be asked.
        self._passed_over: set[str] = set()
        self._judging: int | None = None
        self._recounting: int | None = None
        self._rest = once(self, self._recount, _REST_MS)

    def begin(self) -> None:
        """Look, whatever was found before."""
        self.close()
        self.result = self.error = self.progress = None
        self.envs, self.total = Everywhere([], []), None
        self._judged = ()
        self.left_out.clear()
        listener = Listener(result=self._looked, failed=self._failed, progress=self._progress)
        params = {"place": self.place, "older": self.older, "keep": self.keep}
        self.engine = self._engines.ask(protocol.SUGGEST, params, listener, keep=True)
        found = Listener(result=self._found, failed=self._failed)
        self._tickets.append(self._engines.background(found, lookups.interpreters))
        self.changed.emit()

    def close(self) -> None:
        """Ask no more, and let go of the engine."""
        for ticket in (*self._tickets, *self._probing.values()):
            self._engines.leave(ticket)
        self._engines.forget(self.engine)
        self._stop()

    def hand_over(self) -> None:
        """The engine is another's from now on."""
        for ticket in self._tickets:
            self._engines.leave(ticket, cancel=False)
        for ticket in self._probing.values():
            self._engines.leave(ticket)
        self._stop()

    def _stop(self) -> None:
        self._rest.stop()
        self._tickets.clear()
        self._waiting.clear()
        self._probing.clear()
        self.engine = self._judging = self._recounting = None

    @property
    def asking(self) -> bool:
        """Whether what is stale is still being found out."""
        waits = self.total is None or self._waiting or self._probing or self._judging is not None
        return self.error is None and bool(waits)

    @property
    def answered(self) -> int:
        """How many interpreters have said what they are."""
        return (self.total or 0) - len(self._waiting) - len(self._probing)

    def select(self, reason: str) -> Select:
        """The selection of what goes for one reason, exactly as it was found."""
        look = self.result["look"] if self.result is not None else None
        if reason == "stale":
            return {"look": look, "stale": True, "envs": list(self._judged)}
        if reason == "unused":
            return {"look": look, "older": self.older}
        if reason == "budget":
            return {"look": look, "keep": self.keep}
        return {"look": look, "orphans": reason == "orphan", "broken": reason == "broken"}

    def refusal(self) -> UserError | None:
        """Why nobody can say what is stale, once that is certain."""
        return None if self.asking else self.envs.refusal()

    def count_without(self, python: str) -> None:
        """Have an interpreter not count as long as it cannot be asked."""
        self.without.add(python)
        self.left_out.append(python)
        self.envs.failed[:] = [one for one in self.envs.failed if one[0] != python]
        self._judge()
        self.changed.emit()

    def set_limits(self, older: float, keep: int) -> None:
        """Count with other numbers, soon."""
        if (older, keep) != (self.older, self.keep):
            self.older, self.keep = older, keep
            self._rest.start()

    def _failed(self, error: UserError) -> None:
        self.close()
        self.error = error
        self.changed.emit()

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        self.progress = done, total, unit
        self.changed.emit()

    def _looked(self, result: SuggestResult) -> None:
        self.result = result
        self._judge()
        self.changed.emit()

    def _found(self, told: Found) -> None:
        self.total, self._waiting = len(told["interpreters"]), []
        for one in told["interpreters"]:
            python, facts = one["python"], one["facts"]
            if facts is not None and facts.get("torch"):
                self.envs.envs.append((python, facts))  # it is kept
            elif not one["starts"]:
                if one["counts"]:
                    self._not_asked(python, not_started(python))
            else:
                self._waiting.append(python)
                if not one["counts"]:
                    self._passed_over.add(python)
        if told["problem"] is not None:
            # Some of those that the user added may be missing.
            self.envs.failed.append(("", told["problem"]))
        self._probe()

    def _not_asked(self, python: str, error: UserError) -> None:
        if python in self.without:
            self.left_out.append(python)
        elif python not in self._passed_over:
            self.envs.failed.append((python, error))

    def _probe(self) -> None:
        while self._waiting and len(self._probing) < _AT_ONCE:
            self._ask(self._waiting.pop(0))
        self._judge()
        self.changed.emit()

    def _ask(self, python: str) -> None:
        def told(facts: Env) -> None:
            self._probing.pop(python, None)
            if facts.get("torch"):
                self.envs.envs.append((python, facts))
            elif why := facts.get("torch_error"):
                failed(user_error("torch-broken", {"python": python, "why": str(why)}))
                return
            self._probe()

        def failed(error: UserError) -> None:
            self._probing.pop(python, None)
            self._not_asked(python, error)
            self._probe()

        def late() -> None:
            # Whoever looks again asks again.
            if self._probing.get(python) == ticket:
                self._engines.forget(ticket)
                stuck = {"python": python, "seconds": round(probes.LIMIT)}
                failed(user_error("probe-stuck", stuck))

        listener = Listener(result=told, failed=failed)
        ticket = self._engines.ask(protocol.PROBE, {}, listener, python=python)
        self._probing[python] = ticket
        QTimer.singleShot(round(probes.LIMIT * 1000), self, late)

    def _judge(self) -> None:
        """Once all is known, ask what none of the environments can use."""
        waits = self.total is None or self._waiting or self._probing
        names = tuple(python for python, _ in self.envs.envs)
        if self.result is None or waits or self.envs.refusal() or names == self._judged:
            return
        for python, facts in self.envs.envs:
            params = {"python": python, "env": facts}
            self._further(protocol.KNOW, params, Listener(failed=self._failed))
        self._judged = names
        self._judging = self._count()

    def _count(self) -> int:
        params: SuggestParams = {"place": self.place, "older": self.older, "keep": self.keep}
        if self.result is not None:
            params["look"] = self.result["look"]
        if self._judged:
            params["envs"] = list(self._judged)
        listener = Listener(result=self._counted, failed=self._failed)
        return self._further(protocol.SUGGEST, params, listener)

    def _further(self, op: str, params: Mapping[str, object], listener: Listener) -> int:
        ticket = self._engines.ask(op, params, listener, keep=True, engine_of=self.engine)
        self._tickets.append(ticket)
        return ticket

    def _recount(self) -> None:
        if self.result is None or self.engine is None:
            if self.error is None:
                self._rest.start()  # it is not known yet
            return
        if self._recounting is not None:
            self._engines.leave(self._recounting, cancel=False)
        self._recounting = self._count()

    def _counted(self, result: SuggestResult) -> None:
        self.result = result
        if not self._judged or "stale" in result["reasons"]:
            self._judging = None
        self.changed.emit()
