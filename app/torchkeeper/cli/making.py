"""The command that compiles: warm."""

from __future__ import annotations

import argparse
from typing import Any

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Asker
from torchkeeper.link import interpreters, say
from torchkeeper.link.process import Engine
from torchkeeper.link.words import DEVICE_REASONS, printable


def add_warm(command: argparse.ArgumentParser) -> None:
    """Arguments of warm."""
    command.add_argument("recipes", metavar="RECIPE", nargs="*", default=[],
                         help="what to compile; without one, the built-in recipe")  # fmt: skip
    command.add_argument(
        "--into", metavar="PLACE", type=looking.path, required=True, help="the cache folder to fill"
    )
    command.add_argument("--env", metavar="PYTHON", help="the interpreter whose torch compiles; "
                         f"by default {interpreters.VARIABLE}, else the app's own")  # fmt: skip
    command.add_argument("--device", metavar="NAME", help="cpu, cuda, …; by default the best one")
    looking.add_json(command)


def warm(args: argparse.Namespace) -> int:
    """torchkeeper warm"""
    python = interpreters.chosen(args.env)
    with Engine(python) as engine:
        asker = Asker(engine, args.json)
        if not args.json:
            asker.on_finding = say_finding
        params: dict[str, Any] = {"recipes": args.recipes or ["builtin"], "into": args.into}
        if args.device:
            params["device"] = args.device
        answer = asker.ask("warm", **params)
    hits = f"{answer['hits']} hits and {answer['misses']} misses"
    graphs = say.count(answer["graphs"], "graph", "graphs")
    added = say.count(answer["added"], "entry", "entries")
    said = f"{graphs} in {say.seconds(answer['seconds'])}: {hits}; {added} added."
    output.result(args, {**answer, "left": asker.left}, said)
    return 0


def say_finding(what: dict[str, Any]) -> None:
    """A line on standard error for what a compile job tells."""
    if isinstance(device := what.get("device"), dict):
        why = DEVICE_REASONS.get(str(device.get("why")), "")
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
        output.note(printable(said + time))
