"""Commands that say what will be used: check, env."""

from __future__ import annotations

import argparse
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import entry_from_json
from torchkeeper.cli import looking, output, owning
from torchkeeper.cli.asking import Asker
from torchkeeper.client.engines import interpreters, knowing, probes
from torchkeeper.client.engines.interpreters import Interpreter
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import environments, owned, verdicts
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.verdicts import CheckResult, SharedRow

#: What makes the exit code 1.
_BAD = ("unsafe", "stale", "broken")


def add_check(command: argparse.ArgumentParser) -> None:
    looking.add_place(command)
    looking.add_filter(command)


def check(args: argparse.Namespace) -> int:
    """torchkeeper check; 1 if anything is unsafe, stale or broken, or a filter matches nothing. Who
    else may write to a folder changes nothing about that.
    """
    python = interpreters.chosen(args.env)
    env = knowing.environment(python)
    with Engine() as engine:
        shown = _Shown(args.json)
        asker = Asker(engine, args.json, shown.take)
        shown.findings = asker.findings
        answer: CheckResult = asker.ask(
            protocol.CHECK, place=args.place, env=env, filter=args.filter, shared=True
        )
    output.remark(args, [printable(f"in {env.get('executable')}, torch {env.get('torch')}:")])
    shown.end()
    if not args.json:
        owning.tell(answer["owners"])
    told = {"owners": owned.to_json(answer["owners"])} if answer["owners"] is not None else {}
    result = {**answer, **told, "python": python, "torch": env["torch"]}
    output.result(args, result, verdicts.summary(answer))
    return int(any(answer["verdicts"].get(name) for name in _BAD) or not shown.count)


class _Shown:
    """Prints entries in their order; what many have in common is made into text once."""

    def __init__(self, json: bool) -> None:
        self.findings: list[Finding] = []
        self.count = 0
        self._json = json
        self._held: list[tuple[Any, Any, int]] = []

    def take(self, rows: list[SharedRow]) -> None:
        entries = [entry_from_json(row) for row in rows]
        fields = [entry.to_json() for entry in entries]
        shown: list[Any] = output.json_lines(fields) if self._json else entries
        for one, about, row in zip(shown, fields, rows, strict=True):
            key = looking.SORTS["kind"](about), about["path"]
            self._held.append((key, one, row["said"]))
        self.count += len(rows)

    def end(self) -> None:
        self._held.sort(key=operator.itemgetter(0))
        said = [one for what in self.findings if "judged" in what for one in what["judged"]["said"]]
        ends: list[str] = list(map(_end if self._json else verdicts.why, said))
        rest = dict(enumerate(ends))
        none = _end({"reasons": (), "conditions": ()}) if self._json else ""
        if self._json:
            output.lines([line[:-1] + rest.get(number, none) for _, line, number in self._held])
            return
        cells = [
            [e.kind, e.key[:12], e.verdict, e.name or "-", rest.get(number, none)]
            for _, e, number in self._held
            if e.verdict is not None
        ]
        if cells:
            output.table(["KIND", "KEY", "VERDICT", "NAME", "WHY"], cells, frozenset())


def _end(said: Mapping[str, object]) -> str:
    about = {name: said[name] for name in ("reasons", "conditions")}
    return ", " + output.json_line(about)[1:]


def add_env(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", metavar="PYTHON", action="append", default=[],
                         help="this interpreter only; may be given several times")  # fmt: skip
    change = command.add_mutually_exclusive_group()
    change.add_argument("--add", metavar="PYTHON", action="append", default=[],
                        help="put an interpreter on the list of those that are started, for the "
                        "window too; may be given several times")  # fmt: skip
    change.add_argument("--remove", metavar="PYTHON",
                        help="take an interpreter that was added off the list")  # fmt: skip


def env(args: argparse.Namespace) -> int:
    """torchkeeper env; 1 if one of the interpreters that were named has no torch."""
    if args.remove:
        gone = interpreters.remove(args.remove)
        output.result(args, {"removed": gone}, printable(f"{gone} is off the list."))
        return 0
    # What those that are added are is told, too: whoever adds one wants to know of what use it is.
    named = [*map(interpreters.chosen, args.env), *map(interpreters.add, args.add)]
    every = [Interpreter(python, "", starts=True) for python in dict.fromkeys(named)]
    code, found = 0, list[str]()
    for one in every or interpreters.with_torch():
        try:
            facts = probes.known(one)
        except UserError as error:
            if named:
                raise
            if one.starts:
                output.complain(error)
            else:
                found.append(one.python)
                _tell_found(args, one)
            continue
        if args.json:
            output.emit({"interpreter": one.python, **facts})
        else:
            output.lines([*map(printable, environments.lines(one.python, facts)), ""])
        code |= bool(named) and not facts.get("torch")
    if found and not args.json:
        output.note(printable(environments.to_add(found)))
    return int(code)


def _tell_found(args: argparse.Namespace, one: Interpreter) -> None:
    writers = interpreters.writers(one.python)
    if args.json:
        output.emit({"interpreter": one.python, "started": False, "found": one.label,
                     "writers": writers})  # fmt: skip
        return
    said = owned.of_interpreter(one.python, writers).why.splitlines() if writers else []
    lines = [one.python, f"  {environments.not_started(one.label)}", *(f"  {x}" for x in said)]
    output.lines([*map(printable, lines), ""])
