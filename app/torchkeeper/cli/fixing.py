"""Mending what the doctor found: what will be done is said, asked, done, and looked at again."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchkeeper.cli import output
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.removing import needs_answer
from torchkeeper.engine.protocol import MEND, PREPARE
from torchkeeper.link import diagnosing
from torchkeeper.link.diagnosing import Told
from torchkeeper.link.engines.everywhere import everywhere
from torchkeeper.link.engines.knowing import know
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words.problems import UserError, printable

if TYPE_CHECKING:
    from torchkeeper.engine.messages.doctor import MendResult

#: Asks for the findings of some checks again.
Again = Callable[[Told], list[Told]]


class Fixer:
    """Mends findings one after the other. failed: whether one could not be mended."""

    def __init__(
        self, args: argparse.Namespace, python: str, engine: Engine, asker: Asker, again: Again
    ) -> None:
        self.failed = False
        self._args, self._python, self._again = args, python, again
        self._engine, self._asker = engine, asker

    def all(self, found: list[Told]) -> list[Told]:
        """Mend what can be; what is wrong afterwards."""
        wrong = []
        for one in found:
            if not diagnosing.mends(one.finding):
                wrong.append(one)
                continue
            try:
                wrong += self._one(one)
            except UserError as error:
                if error.code == "wrong-usage":
                    raise
                output.complain(error)
                self.failed = True
                wrong.append(one)
        return wrong

    def _one(self, one: Told) -> list[Told]:
        """Mend one finding; what is left of it."""
        prepares = one.finding.fix == diagnosing.PREPARE
        plan: MendResult = {} if prepares else self._plan(one)
        said = printable(diagnosing.will(one.finding, plan), 600)
        if not prepares and diagnosing.nothing(plan):
            self._say(one, said, done=False)
            output.note("  Nothing of it can be done: it is in use, or gone.")
            return [one]
        if self._args.dry_run:
            self._say(one, said, done=False)
            return [one]
        if not self._args.yes:
            if not output.can_ask():
                raise needs_answer("The fix")
            if not output.confirm(said):
                self._say(one, said, done=False)
                return [one]
        answer: MendResult = {}
        if prepares:
            self._prepare()
        else:
            answer = self._mend(one, plan["plan"])
        left = [other for other in self._again(one) if diagnosing.same(one, other)]
        self._say(one, said, done=True, gone=not left, undo=diagnosing.undone(one.finding, answer))
        self.failed = self.failed or bool(left and not diagnosing.leaves(one.finding))
        return left

    def _plan(self, one: Told) -> MendResult:
        envs: list[str] = []
        if one.finding.fix == "trash-stale":
            # What another environment needs stays.
            found = everywhere()
            if (refusal := found.refusal()) is not None:
                raise refusal
            for python, facts in found.envs:
                self._engine.call("know", {"python": python, "env": facts})
                envs.append(python)
        elif one.finding.fix == "trash-broken":
            # Only verdicts tell what lacks what it needs; what cannot be read tells itself.
            with contextlib.suppress(UserError):
                envs = know(self._engine, [self._python])
        plan: MendResult = self._asker.ask(MEND, **diagnosing.mending(one.finding, envs, dry=True))
        return plan

    def _mend(self, one: Told, plan: int) -> MendResult:
        done: MendResult = self._asker.ask(MEND, **diagnosing.mending(one.finding, plan=plan))
        return done

    def _prepare(self) -> None:
        with Engine(self._python) as engine:
            Asker(engine, self._args.json).ask(PREPARE)

    def _say(
        self, one: Told, said: str, done: bool, gone: bool | None = None, undo: str = ""
    ) -> None:
        if self._args.json:
            output.emit({"fix": one.finding.fix, "code": one.finding.code, "done": done,
                         "place": one.finding.place, "will": said, "gone": gone})  # fmt: skip
        elif not done:
            output.line(f"would: {said}" if self._args.dry_run else f"left: {said}")
        else:
            output.line(f"done: {said}")
            end = "It is gone." if gone else diagnosing.rest(one.finding)
            output.line(f"  {end} “{undo}” takes it back." if undo else f"  {end}")
