"""The command that builds ahead: prepare; and what a compile tells on the way."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import asking, say_finding
from torchkeeper.client.engines import interpreters
from torchkeeper.client.words import outcomes, preparing
from torchkeeper.engine.protocol import PREPARE

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import PrepareParams, PrepareResult
    from torchkeeper.engine.messages.findings import Finding

#: What PLACE is, and why.
_INTO = (
    "the temporary folder (TMPDIR) of the programs that will run; by default that of this "
    "environment. PyTorch looks in <temporary folder>/torchinductor_<user> for headers, whatever "
    "TORCHINDUCTOR_CACHE_DIR says, so no other folder would be of use. For another user's "
    "programs, name the folder torchinductor_<user> itself"
)


def add_prepare(command: argparse.ArgumentParser) -> None:
    command.description = f"Prepare an environment for CPU programs. {preparing.WHY}"
    command.add_argument("--env", metavar="PYTHON", help="the interpreter that will run the "
                         f"programs; by default {interpreters.VARIABLE}, else the app's "
                         "own")  # fmt: skip
    command.add_argument("--into", metavar="PLACE", type=looking.path, help=_INTO)


def prepare(args: argparse.Namespace) -> int:
    params: PrepareParams = {"into": args.into} if args.into else {}
    with asking(args, interpreters.chosen(args.env)) as asker:
        if not args.json:
            asker.on_finding = saying()
        answer: PrepareResult = asker.ask(PREPARE, **params)
    told = {**answer, "left": asker.left}
    output.result(args, told, outcomes.line(outcomes.Ended(PREPARE, answer)))
    output.remark(args, [preparing.finds(answer), preparing.warning(answer)])
    return 0


def saying() -> Callable[[Finding], None]:
    """``say_finding`` for one job: each graph is said once, when it is known how it ended."""
    said: set[tuple[object, object]] = set()

    def say_once(what: Finding) -> None:
        if "graph" in what:
            graph = what["graph"]
            which = graph.get("cell"), graph["id"]
            if graph["outcome"] == "compiling" or which in said:
                return
            said.add(which)
        say_finding(what)

    return say_once
