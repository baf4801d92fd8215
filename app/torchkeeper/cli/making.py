"""The command that builds ahead: prepare; and what a compile tells on the way."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Asker, say_finding
from torchkeeper.engine.protocol import PREPARE
from torchkeeper.link.engines import interpreters
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words import outcomes, preparing

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
    params = {"into": args.into} if args.into else {}
    with Engine(interpreters.chosen(args.env)) as engine:
        asker = Asker(engine, args.json)
        if not args.json:
            asker.on_finding = saying()
        answer = {**asker.ask(PREPARE, **params), "left": asker.left}
    output.result(args, answer, outcomes.line(outcomes.Ended(PREPARE, answer)))
    if not args.json:
        output.note(preparing.finds(answer))
        if warning := preparing.warning(answer):
            output.note(warning)
    return 0


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
