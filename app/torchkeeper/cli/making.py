"""The command that builds ahead: prepare; and the words for what a compile tells."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Answer, Asker
from torchkeeper.link.engines import interpreters
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words import phases, preparing, say
from torchkeeper.link.words.problems import device_reason, printable

#: What PLACE is, and why.
_INTO = (
    "the temporary folder (TMPDIR) of the programs that will run; by default that of this "
    "environment. PyTorch looks in <temporary folder>/torchinductor_<user> for headers, whatever "
    "TORCHINDUCTOR_CACHE_DIR says, so no other folder would be of use. For another user's "
    "programs, name the folder torchinductor_<user> itself"
)


def add_prepare(command: argparse.ArgumentParser) -> None:
    """Arguments of prepare."""
    command.description = f"Prepare an environment for CPU programs. {preparing.WHY}"
    command.add_argument("--env", metavar="PYTHON", help="the interpreter that will run the "
                         f"programs; by default {interpreters.VARIABLE}, else the app's "
                         "own")  # fmt: skip
    command.add_argument("--into", metavar="PLACE", type=looking.path, help=_INTO)
    looking.add_json(command)


def prepare(args: argparse.Namespace) -> int:
    """torchkeeper prepare"""
    answer = _ask(args, "prepare", {"into": args.into} if args.into else {})
    output.result(args, answer, preparing.said(answer))
    if not args.json:
        output.note(preparing.finds(answer))
        if warning := preparing.warning(answer):
            output.note(warning)
    return 0


def _ask(args: argparse.Namespace, op: str, params: Answer) -> Answer:
    """What the interpreter that is meant answers; on the way it says what it does."""
    with Engine(interpreters.chosen(args.env)) as engine:
        asker = Asker(engine, args.json)
        if not args.json:
            asker.on_finding = saying()
        return {**asker.ask(op, **params), "left": asker.left}


def saying() -> Callable[[dict[str, Any]], None]:
    """``say_finding`` for one job: each graph is said once, when it is known how it ended."""
    said: set[tuple[object, object]] = set()

    def say_once(what: dict[str, Any]) -> None:
        graph = what.get("graph")
        if isinstance(graph, dict):
            which = graph.get("cell"), graph.get("id")
            if graph.get("outcome") == "compiling" or which in said:
                return
            said.add(which)
        say_finding(what)

    return say_once


def say_finding(what: dict[str, Any]) -> None:
    """A line on standard error for what a compile job tells."""
    if isinstance(device := what.get("device"), dict):
        why = device_reason(device.get("why"))
        output.note(printable(f"device: {device.get('name') or device.get('type')} ({why})"))
    elif isinstance(step := what.get("step"), dict):
        output.note(printable(f"step: {step.get('name')}"))
    elif isinstance(swept := what.get("swept"), dict):
        removed = [printable(str(path)) for path in swept.get("paths", [])]
        output.note(f"removed what an interrupted compile had left: {', '.join(removed)}")
    elif isinstance(graph := what.get("graph"), dict):
        taken = graph.get("seconds")
        time = f"  {say.seconds(taken)}" if isinstance(taken, (int, float)) else ""
        said = f"  {graph.get('outcome', '?'):<7} {graph.get('id', '')}  {graph.get('name') or ''}"
        if where := phases.line(graph):
            time += f"  ({where})"
        output.note(printable(said + time))
