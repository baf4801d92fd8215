"""Asking engines what of a place is of use in an environment, and what is dead in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.engines.probes import Everywhere
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.verdicts.environments import Environment, Environments
from torchkeeper.stores.dead import REASONS
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.dead import (
        PlanPurgeParams,
        PlanPurgeResult,
        SuggestParams,
        SuggestResult,
    )
    from torchkeeper.engine.messages.findings import Finding, JudgedFinding
    from torchkeeper.engine.messages.verdicts import (
        JudgeParams,
        JudgeResult,
        KnowParams,
    )
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
        #: The first question of the kept engine, which was told of an environment before, which one
        #: that was, and the question under way.
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

        assert env.facts is not None
        told: KnowParams = {"python": env.python, "env": env.facts}
        params: JudgeParams = {"place": place, "envs": [env.python]}
        listener = Listener(findings=hear, result=answered, failed=ended)
        self._knows = env.facts
        self._ticket = self._engines.ask(
            protocol.JUDGE, params, listener, keep=True, engine_of=self._first,
            before=() if again else ((protocol.KNOW, told),),
        )  # fmt: skip
        self._first = self._first or self._ticket

    def forget(self) -> None:
        """Leave the question, and the engine."""
        self._rest.stop()
        for ticket in (self._ticket, self._first):
            self._engines.forget(ticket)
        self._ticket = self._first = self._knows = None


#: Interpreters that are asked at once, each imports its torch; and places that are looked at.
_AT_ONCE = 2
#: Reasons that only environments can tell.
_JUDGED = frozenset({"stale", "broken"})
#: Milliseconds until a number that is being changed is counted with.
_REST_MS = 250


@dataclass
class Looked:
    """What is known of a place. error: why it is left out. planned: how it was asked for the plan,
    which may not have come yet.
    """

    place: str
    #: The ticket by which the engine is known that looks, and has looked.
    engine: int | None = None
    result: SuggestResult | None = None
    error: UserError | None = None
    #: How far the looking is: done, of how many, in what.
    progress: tuple[float, float | None, str] = (0, None, "")
    judged: tuple[str, ...] = ()
    planned: tuple[object, ...] = ()
    plan: PlanPurgeResult | None = None
    #: What was asked of its engine and is not answered yet.
    ticket: int | None = None

    @property
    def looking(self) -> bool:
        return self.engine is not None and self.result is None


class Suggestions(QObject):
    """What of places could go, and why: each place is looked at once, by an engine that stays, and
    asked for a plan of what is ticked of it, and how much more the rest would be; a server only
    when something of it is ticked first. older: seconds; keep: bytes.
    """

    changed = Signal()

    def __init__(
        self, engines: Engines, environments: Environments, places: Iterable[str],
        without: Iterable[str], parent: QObject,
    ) -> None:  # fmt: skip
        """without: interpreters that do not count where they cannot be asked."""
        super().__init__(parent)
        self._engines, self._environments = engines, environments
        self.without = set(without)
        #: Interpreters that are asked anew, once it is known which there are.
        self._to_ask: list[Environment] | None = None
        environments.changed.connect(self.go_on)
        #: What lies in another comes after it, and is not read twice: to read is to use.
        self.looks = {place: Looked(place) for place in sorted(places, key=len)}
        #: For which reasons something of each place is to go.
        self.ticks: dict[str, set[str]] = {place: set() for place in self.looks}
        self.older, self.keep, self.in_use = 0.0, 0, False
        self._rest = once(self, self.go_on, _REST_MS)
        environments.find()

    def close(self, but: Collection[str] = ()) -> None:
        """Ask no more, and let go of the engines, ``but`` those of some places."""
        self._rest.stop()
        self._environments.changed.disconnect(self.go_on)
        for one in self.looks.values():
            for ticket in (one.ticket, one.engine) if one.place not in but else ():
                self._engines.forget(ticket)

    @property
    def envs(self) -> Everywhere:
        """Which environments count, and which could not be asked."""
        return self._environments.everywhere(self.without)

    @property
    def asking(self) -> bool:
        """Whether that is still being found out."""
        return self._to_ask is None or bool(self._to_ask) or bool(self._environments.asking)

    @property
    def left_out(self) -> list[str]:
        """Interpreters that do not count, and could not be asked."""
        every = self._environments.everywhere()
        return [python for python, _ in every.failed if python in self.without]

    def refusal(self) -> UserError | None:
        """Why nobody can say what is stale, once that is certain."""
        return None if self.asking else self.envs.refusal()

    def count_without(self, python: str) -> None:
        """Have an interpreter not count as long as it cannot be asked."""
        self.without.add(python)
        self.go_on()

    def count_soon(self) -> None:
        """Something else is ticked, or wanted: have it counted."""
        self._rest.start()
        self.changed.emit()

    def why_not(self, place: str) -> dict[str, UserError]:
        """For which reasons nobody can say what goes of a place."""
        result, refusal = self.looks[place].result, self.refusal()
        why = {"stale": refusal} if refusal is not None else {}
        if result is not None and result["rests"] is None:
            of_use = user_error("use-unknown", {"server": place})
            why |= {"unused": of_use, "budget": of_use}
        return why

    def known(self, place: str) -> list[str]:
        """The reasons that are ticked, of which anybody can say what goes."""
        return sorted(self.ticks[place] - self.why_not(place).keys())

    def plan_anew(self, place: str) -> None:
        """An engine keeps few plans, and was asked for others meanwhile."""
        self.looks[place].planned = ()
        self.go_on()

    def select(self, place: str) -> Select:
        """The selection of what goes of a place, exactly as it was found."""
        result = self.looks[place].result
        look = result["look"] if result is not None else None
        select = self._dying(self.known(place))
        select["look"] = look
        return select

    def _dying(self, reasons: Collection[str]) -> Select:
        return {
            "stale": "stale" in reasons, "broken": "broken" in reasons,
            "orphans": "orphan" in reasons, "older": self.older if "unused" in reasons else None,
            "keep": self.keep if "budget" in reasons else None,
        }  # fmt: skip

    @property
    def plans(self) -> dict[str, PlanPurgeResult]:
        """What goes of each place of which anything is ticked, as far as that is known."""
        return {place: plan for place, plan in self.known_plans.items() if self.ticks[place]}

    @property
    def known_plans(self) -> dict[str, PlanPurgeResult]:
        """The same with the places of which nothing is ticked, for what else there is."""
        plans = {one.place: one.plan for one in self.looks.values() if one.ticket is None}
        return {
            place: plan
            for place, plan in plans.items()
            if plan is not None and self.looks[place].planned == self._wanted(place)
        }

    @property
    def waiting(self) -> bool:
        """Whether something is ticked of which nobody knows yet what goes."""
        return any(self.ticks[place] for place in self.unknown)

    @property
    def unknown(self) -> list[str]:
        """The places that are being looked at, or counted."""
        plans = self.known_plans
        return [
            one.place
            for one in self.looks.values()
            if one.error is None and self._asked(one.place) and one.place not in plans
        ]

    def _asked(self, place: str) -> bool:
        return bool(self.ticks[place]) or scheme_of(place).has_trash

    def _wanted(self, place: str) -> tuple[object, ...]:
        return self.looks[place].judged, *self.known(place), self.older, self.keep, self.in_use

    def go_on(self) -> None:
        """Ask what is still to be asked."""
        if self._to_ask is None and self._environments.found:
            self._to_ask = [one for one in self._environments.every if one.starts]
        while self._to_ask and self._environments.asking < _AT_ONCE:
            self._environments.ask(self._to_ask.pop(0))
        refused = self.refusal() is not None
        names = tuple(python for python, _ in self.envs.envs) if not self.asking else None
        self._cover()
        for one in sorted(self.looks.values(), key=lambda one: not self.ticks[one.place]):
            if one.error or one.ticket is not None or not self._asked(one.place):
                continue
            reasons = self.ticks[one.place] or _JUDGED
            if one.engine is None:
                if sum(other.looking for other in self.looks.values()) < _AT_ONCE:
                    self._look(one)
            elif reasons & _JUDGED and one.judged != names and not refused:
                # It is still to be said what is stale there, and what lacks what it needs.
                if not self.asking:
                    self._judge(one)
            elif one.planned != self._wanted(one.place):
                self._plan(one)
        self.changed.emit()

    def _look(self, one: Looked) -> None:
        def progress(*at: Any) -> None:
            one.progress = at
            self.changed.emit()

        beside = [place for place in self.looks if place != one.place]
        params: SuggestParams = {"place": one.place, "beside": beside}
        one.engine = one.ticket = self._ask(one, protocol.SUGGEST, params, self._looked, progress)

    def _looked(self, one: Looked, result: SuggestResult) -> None:
        one.result = result

    def _cover(self) -> None:
        """Leave out what lies in another place, unless only the inner one is ticked."""
        for one in list(self.looks.values()):
            for place, code in one.result["covers"].items() if one.result is not None else ():
                other, alone = self.looks[place], self.ticks[place] and not self.ticks[one.place]
                if other.error or alone:
                    continue
                for ticket in (other.ticket, other.engine):
                    self._engines.forget(ticket)
                about = {"place": place, "other": one.place}
                self.looks[place] = Looked(place, error=user_error(code, about))

    def _judge(self, one: Looked) -> None:
        envs, result = self.envs.envs, one.result
        assert result is not None
        for python, facts in envs:
            know: KnowParams = {"python": python, "env": facts}
            self._engines.ask(protocol.KNOW, know, Listener(), keep=True, engine_of=one.engine)
        names = tuple(python for python, _ in envs)
        params: SuggestParams = {"place": one.place, "look": result["look"], "envs": list(names)}

        def judged(one: Looked, _: SuggestResult) -> None:
            one.judged = names

        one.ticket = self._ask(one, protocol.SUGGEST, params, judged)

    def _plan(self, one: Looked) -> None:
        one.planned, one.plan = self._wanted(one.place), None
        params: PlanPurgeParams = {
            "place": one.place, "select": self.select(one.place), "in_use": self.in_use,
            "rows": False,
            "others": self._dying(set(REASONS) - self.ticks[one.place]),
        }  # fmt: skip

        def planned(one: Looked, plan: PlanPurgeResult) -> None:
            one.plan = plan

        one.ticket = self._ask(one, protocol.PLAN_PURGE, params, planned)

    def _ask(
        self, one: Looked, op: str, params: Mapping[str, object],
        then: Callable[[Looked, Any], None], progress: Callable[..., None] | None = None,
    ) -> int:  # fmt: skip
        def answered(result: Any) -> None:
            one.ticket = None
            then(one, result)
            self.go_on()

        def failed(error: UserError) -> None:
            self._engines.forget(one.engine)
            one.ticket, one.engine, one.error = None, None, error
            self.go_on()

        listener = Listener(result=answered, failed=failed, progress=progress)
        return self._engines.ask(op, params, listener, keep=True, engine_of=one.engine)
