"""Commands that say what will be used: check, env."""

from __future__ import annotations

import argparse
from typing import Any

from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Answer, Asker
from torchkeeper.link import environments, interpreters, knowing, probes, verdicts
from torchkeeper.link.process import Engine
from torchkeeper.link.words import UserError, printable

#: What makes the exit code 1.
_BAD = ("stale", "broken")


def add_check(command: argparse.ArgumentParser) -> None:
    """Arguments of check."""
    command.add_argument("place", metavar="PLACE", type=looking.place,
                         help="a cache folder, a bundle or a redis:// server")  # fmt: skip
    looking.add_filter(command)
    looking.add_json(command)


def check(args: argparse.Namespace) -> int:
    """torchkeeper check; 1 if anything is stale or broken, or a filter matches nothing."""
    python = interpreters.chosen(args.env)
    env = knowing.environment(python)
    with Engine() as engine:
        asker = Asker(engine, args.json)
        answer = asker.ask("check", place=args.place, env=env, filter=args.filter, shared=True)
    entries = sorted(((entry_from_json(row), _number(row)) for row in asker.rows), key=_order)
    said = [one for what in asker.findings for one in _said(what)]
    if args.json:
        output.lines(_json(entries, said))
    else:
        _print(entries, said, env)
    result = {**answer, "python": python, "torch": env["torch"]}
    output.result(args, result, verdicts.summary(answer))
    return int(any(answer["verdicts"].get(name) for name in _BAD) or not entries)


#: An entry, and the place of what is said of it.
_Judged = tuple[Entry, int]


def _number(row: Answer) -> int:
    number = row.get("said")
    return number if isinstance(number, int) else -1


def _said(finding: Answer) -> list[Answer]:
    judged = finding.get("judged")
    listed = judged.get("said") if isinstance(judged, dict) else None
    return [one if isinstance(one, dict) else {} for one in listed or ()]


def _of(number: int, said: list[Answer]) -> Answer:
    return said[number] if 0 <= number < len(said) else {}


def _order(one: _Judged) -> Any:
    entry = one[0]
    return looking.SORTS["kind"](entry.to_json()), entry.path


def _json(entries: list[_Judged], said: list[Answer]) -> list[str]:
    """The entries with reasons and conditions; what many have in common is made into text once."""
    ends: dict[int, str] = {}
    texts = []
    lines = output.json_lines([entry.to_json() for entry, _ in entries])
    for line, (_, number) in zip(lines, entries, strict=True):
        if number not in ends:
            one = _of(number, said)
            rest = {name: one.get(name) or [] for name in ("reasons", "conditions")}
            ends[number] = ", " + output.json_line(rest)[1:]
        texts.append(line[:-1] + ends[number])
    return texts


def _print(entries: list[_Judged], said: list[Answer], env: Answer) -> None:
    output.note(printable(f"in {env.get('executable')}, torch {env.get('torch')}:"))
    whys = [verdicts.why(one) for one in said]
    cells = [
        [
            entry.kind,
            entry.key[:12],
            entry.verdict,
            entry.name or "-",
            whys[number] if 0 <= number < len(whys) else "",
        ]
        for entry, number in entries
        if entry.verdict is not None
    ]
    if cells:
        output.table(["KIND", "KEY", "VERDICT", "NAME", "WHY"], cells, frozenset())


def add_env(command: argparse.ArgumentParser) -> None:
    """Arguments of env."""
    command.add_argument("--env", metavar="PYTHON", action="append", default=[],
                         help="this interpreter only; may be given several times")  # fmt: skip
    change = command.add_mutually_exclusive_group()
    change.add_argument("--add", metavar="PYTHON",
                        help="put an interpreter on the list, for the window too")  # fmt: skip
    change.add_argument("--remove", metavar="PYTHON",
                        help="take an interpreter that was added off the list")  # fmt: skip
    looking.add_json(command)


def env(args: argparse.Namespace) -> int:
    """torchkeeper env; 1 if one of the interpreters that were named has no torch."""
    if args.remove:
        gone = interpreters.remove(args.remove)
        output.result(args, {"removed": gone}, printable(f"{gone} is off the list."))
        return 0
    if args.add:
        # What it is, too: whoever adds one wants to know whether it is of use.
        args.env = [*args.env, interpreters.add(args.add)]
    if args.env:
        pythons = list(dict.fromkeys(interpreters.chosen(python) for python in args.env))
    else:
        pythons = [one.python for one in interpreters.with_torch()]
    code = 0
    for python in pythons:
        try:
            facts = probes.probe(python)
        except UserError as error:
            if args.env:
                raise
            output.complain(error)
            continue
        if args.json:
            output.emit({"interpreter": python, **facts})
        else:
            output.lines([*map(printable, environments.lines(python, facts)), ""])
        code |= bool(args.env) and not facts.get("torch")
    return int(code)
