"""Asking an engine which entries of a place are of use in an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.verdicts.environments import Environment

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding, JudgedFinding
    from torchkeeper.engine.messages.verdicts import (
        JudgeParams,
        JudgeResult,
        KnowParams,
        KnowResult,
    )
    from torchkeeper.verdict.probed import Env

#: Milliseconds for which an engine is kept that may be asked again.
_KEPT_MS = 30_000
#: An engine that has ended, or never heard of the environment: another one is told.
_ANEW = frozenset({"engine-gone", "environment-forgotten"})

Found = Callable[["list[JudgedFinding]"], object]
Over = Callable[["JudgeResult"], object]
Failed = Callable[[UserError], object]


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
        over: Over,
        failed: Failed,
        found: Found | None = None,
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

        def answered(result: JudgeResult) -> None:
            self._ticket = None
            self._rest.start()
            over(result)

        def judge(_: KnowResult | None = None) -> None:
            listener = Listener(findings=_each(found), result=answered, failed=ended)
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


def _each(found: Found | None) -> Callable[[list[Finding]], None] | None:
    if found is None:
        return None

    def hear(told: list[Finding]) -> None:
        if judged := [one["judged"] for one in told if "judged" in one]:
            found(judged)

    return hear
