"""Asking an engine on behalf of a command."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.cli import contract, output, screen
from torchkeeper.client.engines import asking as requests
from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import found
from torchkeeper.client.words.pace import Pace, coarse
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding, LeftFinding
    from torchkeeper.stores.shapes import CutOff


def say_finding(what: Finding) -> None:
    """A line on standard error for what one operation alone tells."""
    if text := found.noted(what):
        output.note(text)


class Asker:
    """Sends requests of one command to one engine and sorts what comes back. on_rows: hears of rows
    as they come; without it ``rows`` has those of the last request. left: over all requests.
    unreadable: whether a folder could not be read. findings: everything else that was found;
    on_finding: hears of each. aside: what the line that is rewritten on a terminal says besides how
    far it is.
    """

    def __init__(
        self,
        engine: Engine,
        quiet: bool = False,
        on_rows: Callable[[list[Any]], None] | None = None,
    ) -> None:
        self.engine = engine
        #: Who can change places, as it was said already.
        self.warned: list[object] = []
        self._progress = output.Progress(quiet)
        self.rows: list[Any] = []
        self.left: list[LeftFinding] = []
        self.findings: list[Finding] = []
        self.unreadable = False
        self.on_rows = on_rows or self.rows.extend
        self.on_finding: Callable[[Finding], None] | None = None
        self.aside: Callable[[], str] = str
        self._far = ""
        self._pace = Pace()
        #: What is carried just now.
        self._now = ""
        #: Tells a server the password for any; the servers of which one was typed.
        self._any = requests.any_password(self._call)
        self._typed: set[str] = set()
        #: Whether bundles are taken only from the user's signers, whatever is required.
        self.only_signed = False

    def ask(self, op: str, /, **params: Any) -> Any:
        """The result of one operation, which is of its type. Raises UserError."""
        self.rows.clear()
        return requests.ask(self._call, op, params, self.unlock, self.only_signed)

    def _call(self, op: str, params: Mapping[str, object]) -> Any:
        def interrupted(again: bool) -> None:
            with contextlib.suppress(OSError):  # the terminal may be gone
                self._progress.clear()
                output.notes(interrupted_lines(op, params, again))

        self._far = self._now = ""
        self._show()
        try:
            return self.engine.call(op, params, self._take, interrupted)
        finally:
            self._progress.clear()

    def unlock(self, place: str) -> bool:
        """Tell the engine a password for any server, then a typed one; whether there was one."""
        from torchkeeper.client import secrets

        if self._any(place):
            return True
        if place in self._typed or not output.can_ask():
            return False
        self._typed.add(place)
        password = output.ask_password(f"Password for {printable(place)}: ")
        secrets.give(place, password)
        self._call(protocol.SECRET, {"place": place, "password": password})
        return True

    def _take(self, message: protocol.Message) -> None:
        if message.type == "rows":
            self.on_rows([row for row in message.rows if isinstance(row, dict)])
        elif message.type == "progress":
            self._gone_on(message.body)
        elif message.type == "finding":
            self._found(message.finding)

    def _found(self, what: Finding) -> None:
        if "left" in what:
            self.left.append(what["left"])
        elif "unreadable" in what:
            self.unreadable = True
            self._progress.clear()
            output.complain(user_error("folder-unreadable", what["unreadable"]))
        elif "owners" in what:
            if what["owners"] in self.warned:
                return
            self.warned.append(what["owners"])
            self._progress.clear()
            output.tell_owners(what["owners"], for_use=True)
        elif "now" in what:
            kind, key = what["now"]["kind"], what["now"]["key"]
            self._now = f"{kind} {key[:12]}"
            self._show()
        elif line := found.alike(what):
            self.say(line)
            cut = what.get("recovered") or what.get("cut_off")
            if cut and (command := completing(cut)):
                output.note(command)
        else:
            self.findings.append(what)
            if self.on_finding:
                if not self.aside():
                    self._progress.clear()
                self.on_finding(what)
                if self._far and self.aside():
                    self._show()

    def _show(self) -> None:
        aside = self.aside() or self._now
        self._progress.update("; ".join(filter(None, [self._far, aside])))

    def carried(self, done: int, total: int) -> None:
        """So many bytes of a bundle have gone to another machine, or come from it."""
        self._gone_on({"done": done, "total": total, "unit": "bytes"})

    def _gone_on(self, body: Mapping[str, Any]) -> None:
        self._far = output.progress_text(body)
        done, total = body.get("done"), body.get("total")
        if body.get("unit") == "bytes" and isinstance(done, int) and isinstance(total, int):
            now = time.monotonic()
            self._pace.add(now, done, total)
            if left := self._pace.left(now):
                self._far += f", about {coarse(left)} left"
        self._show()

    def say(self, text: str) -> None:
        """A line on standard error, above the one that is rewritten."""
        self.clear()
        output.note(text)

    def clear(self) -> None:
        """Take that away, for whoever writes a line without us."""
        self._progress.clear()

    def end(self, args: argparse.Namespace, op: str, answer: Mapping[str, Any], place: str,
            more: Mapping[str, object] | None = None, **asked: object) -> int:  # fmt: skip
        """Say what was left and what came of an operation; returns its exit code. more: what its
        JSON has besides. place, asked: as of ``outcomes.Ended``.
        """
        from torchkeeper.client.words import outcomes, say

        one = outcomes.Ended(op, answer, place, asked, left=self.left, unreadable=self.unreadable)
        output.remark(args, [*output.left_lines(self.left), say.stays(answer)])
        if screen.now.quiet and not args.json:
            for text in output.left_lines(outcomes.failures(self.left)):
                output.warn(text)
        output.result(args, {**answer, "left": self.left, **(more or {})}, outcomes.line(one))
        return contract.number(outcomes.went(one))


def machine_of(args: argparse.Namespace) -> str:
    """The machine that a command's places are on; "" is this one. Raises UserError."""
    return far.machine_of(getattr(args, "place", None), *getattr(args, "places", ()))


def python_for(env: str | None, place: str | None) -> str:
    """The interpreter that compiles for a place, on the same machine. Raises UserError."""
    return interpreters.chosen(env, far.machine_of(place, env if far.is_far(env) else place))


def engine_of(args: argparse.Namespace) -> Engine:
    """The engine that is asked about a command's places, where they are: of this machine the one
    that was started ahead, if any. Raises UserError.
    """
    return engine_at(args, machine_of(args))


def engine_at(args: argparse.Namespace, machine: str) -> Engine:
    """The same of a machine; "" is this one."""
    if machine:
        return Engine(machine)
    # At once: several threads may ask for it.
    ahead: Engine | None = vars(args).pop("engine", None)
    return ahead or Engine()


@contextlib.contextmanager
def asking(args: argparse.Namespace, python: str | None = None) -> Iterator[Asker]:
    """What asks an engine for a command, while that runs; python: whose engine it is."""
    with Engine(python) if python else engine_of(args) as engine:
        asker = Asker(engine, args.json)
        # Of one command, which may ask several engines.
        asker.warned = vars(args).setdefault("warned", asker.warned)
        yield asker


def completing(told: CutOff) -> str:
    """A line: what completes what was cut off, or deals with it; "" where nobody can here."""
    how = f"torchkeeper recover {printable(shlex.quote(told['place']))}"
    if told["outcome"] == "waiting":
        return f"“{how}” completes it now."
    if told["outcome"] == "not-believed":
        return f"“{how} --forget” removes the record; “--believe” carries it out."
    return ""


def interrupted_lines(operation: str, params: Mapping[str, Any], again: bool) -> list[str]:
    """Lines for whoever has pressed Ctrl-C, once or ``again``, while an operation is under way."""
    how = protocol.ends(operation, params)
    if not how.changes:
        return []
    # What is written to; only a folder has a journal.
    place = str(params.get("into") or params.get("output") or params.get("place") or "")
    if again and os.path.isdir(place):
        command = f"torchkeeper recover {printable(shlex.quote(place))}"
        return [
            "The folder stays as it is now, maybe half done. A record of the change is kept: "
            f"“{command}” or the next change of the folder completes it."
        ]
    if again:
        return ["The folder stays as it is now."]
    if how is protocol.Ends.BACK:
        return ["Cancelling: the changes are taken back. Ctrl-C again leaves that for later."]
    return ["Cancelling: the changes made so far stay."]
