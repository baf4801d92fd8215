"""The commands that compile: warm, prepare."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Answer, Asker
from torchkeeper.link import interpreters, phases, preparing, say
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
    command.add_argument("--threads", metavar="N", type=int, help="for programs with N threads, "
                         "such as a container with N cores: the number is part of the keys. By "
                         "default as many as this machine gives")  # fmt: skip
    command.add_argument("--portable", action="store_true", help="without precompiled headers, "
                         "so that nothing is built where the cache is used, even in an empty "
                         f"container. {preparing.VARIABLE}=0 has then to be set there, too: it is "
                         "part of the keys")  # fmt: skip
    looking.add_json(command)


def warm(args: argparse.Namespace) -> int:
    """torchkeeper warm"""
    params: dict[str, Any] = {"recipes": args.recipes or ["builtin"], "into": args.into}
    if args.device:
        params["device"] = args.device
    if args.threads is not None:
        params["threads"] = args.threads
    if args.portable:
        params["portable"] = True
    answer = _ask(args, "warm", params)
    hits = f"{answer['hits']} hits and {answer['misses']} misses"
    graphs = say.count(answer["graphs"], "graph", "graphs")
    added = say.count(answer["added"], "entry", "entries")
    said = f"{graphs} in {say.seconds(answer['seconds'])}: {hits}; {added} added."
    output.result(args, answer, said)
    if args.threads is not None and not args.json:
        output.note(preparing.threads(args.threads))
    if args.portable and not args.json:
        for text in preparing.portable_lines():
            output.note(text)
    return 0


def add_prepare(command: argparse.ArgumentParser) -> None:
    """Arguments of prepare."""
    command.description = f"Prepare an environment for CPU programs. {preparing.WHY}"
    command.add_argument("--env", metavar="PYTHON", help="the interpreter that will run the "
                         f"programs; by default {interpreters.VARIABLE}, else the app's "
                         "own")  # fmt: skip
    command.add_argument("--into", metavar="PLACE", type=looking.path, help=preparing.INTO)
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
        if where := phases.line(graph):
            time += f"  ({where})"
        output.note(printable(said + time))
