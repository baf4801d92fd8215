"""Proves a recipe that was recorded: it must find what the program has just compiled."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import output
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.cli.telling import Live
from torchkeeper.client import temporary
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.recipes import recording
from torchkeeper.client.recipes.recording import Proof
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import COPY, WARM
from torchkeeper.settings.known import BY_NAME, URL

if TYPE_CHECKING:
    from torchkeeper.client.recipes.recording import Note
    from torchkeeper.engine.messages.compiling import WarmResult
    from torchkeeper.engine.messages.findings import CellFinding, Finding
    from torchkeeper.verdict.probed import AotTold, GraphTold

#: What would find in a server, or write to one, what the folder is to have
#: (torch/_inductor/config.py, torch/_functorch/config.py).
_REMOTE = (
    "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE",
    "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE",
)  # fmt: skip
_GRAPHS = ("fxgraph", "aotautograd")


def prove(
    args: argparse.Namespace, notes: Sequence[Note], place: str, graphs: Sequence[GraphTold],
    autograd: Sequence[AotTold],
) -> Proof:  # fmt: skip
    """Run each cell of the recipe ``args.recipe`` on a copy of what the program looked up.

    place: the cache folder that the program was given. graphs, autograd: as ``explain_trace``
    tells of the program. Nothing is written to the place. Passes KeyboardInterrupt on.
    """
    program = recording.looked_up(graphs)
    if not program:
        return Proof(unproved="the program has asked no cache, or it is turned off")
    notes = [note for note in notes if note.get("compiled")]
    pythons = {str(note.get("python") or "") for note in notes}
    if len(pythons) != 1 or not os.path.isabs(python := pythons.pop()):
        return Proof(unproved="it is not known which Python compiled it")
    keys = program.keys() | {one["key"] for one in autograd if one["key"]}
    try:
        with temporary.folder("proof") as scratch:
            copy = os.path.join(scratch, "cache")
            there = _copied(args, _place(notes, place), copy, keys)
            if missing := len(program.keys() - there):
                return Proof(unproved=f"{missing:,} of the {len(program):,} graphs that the "
                             "program compiled are not in its cache folder")  # fmt: skip
            return _judged(args, python, notes, program, scratch, copy)
    except UserError as error:
        said = " ".join(part for part in (error.what, error.why) if part)
        return Proof(unproved=said.rstrip("."))


def _place(notes: Sequence[Note], place: str) -> str:
    """The folder that the program has its cache in: it may have named another one itself."""
    for note in notes:
        env = note.get("environment")
        named = env.get("TORCHINDUCTOR_CACHE_DIR") if isinstance(env, Mapping) else None
        if isinstance(named, str) and named:
            return os.path.abspath(os.path.join(str(note.get("folder") or ""), named))
    return place


def _copied(args: argparse.Namespace, place: str, copy: str, keys: set[str]) -> set[str]:
    """Copy what has these keys, and what it needs; the keys that there were."""
    with asking(args) as asker:
        asker.ask(protocol.LIST, place=place, filter=f"kind:{','.join(_GRAPHS)}")
        rows = [row for row in asker.rows if row.get("key") in keys]
        if rows:
            items = [[row["kind"], row["path"]] for row in rows]
            asker.ask(COPY, place=place, into=copy, select={"items": items})
    return {str(row["key"]) for row in rows}


def _judged(
    args: argparse.Namespace, python: str, notes: Sequence[Note], program: Mapping[str, str],
    scratch: str, copy: str,
) -> Proof:  # fmt: skip
    trace = os.path.join(scratch, "trace")
    os.mkdir(trace)
    used = [name for name in _REMOTE if os.environ.get(name)]
    env = {name: "0" for name in used if not BY_NAME[name].in_key}
    if len(env) < len(used):
        # What is part of keys stays as it is; with this it has no server at all.
        env[URL] = ""
    with Engine(python, {**env, "TORCH_TRACE": trace}) as engine:
        asker = Asker(engine, args.json)
        heard = _Heard(args.json, asker)
        answer: WarmResult = asker.ask(
            WARM, recipes=recipes.wire([args.recipe]), into=copy, each=True
        )
    if (torch := answer["torch"]) and any(note.get("torch") not in ("", torch) for note in notes):
        return Proof(unproved=f"{python} has torch {torch} here, and had another in the program")
    with asking(args) as asker:
        asker.ask(protocol.EXPLAIN_TRACE, trace=trace)
        graphs = [one["graph"] for one in asker.findings if "graph" in one]
        autograd = [one["aot"] for one in asker.findings if "aot" in one]
    keys = [one.get("key") for one in graphs if one["outcome"] == "hit"]
    keys += [one["key"] for one in autograd if one["outcome"] == "hit"]
    found = {key for key in keys if key}
    return recording.judged(program, heard.rows_of(answer), heard.missed, found)


class _Heard(Live):
    """Hears of the cells; missed: the indexes of those with a graph that was not found, but for
    backward passes.
    """

    def __init__(self, json: bool, asker: Asker) -> None:
        super().__init__(True, asker)
        self.missed: set[int] = set()
        if not json:
            output.note("Proving the recipe: each combination is run once in a fresh process …")

    def __call__(self, what: Finding) -> None:
        if "graph" in what:
            graph = what["graph"]
            if graph["outcome"] == "miss" and not recording.is_backward(graph["id"]):
                self.missed.add(graph["cell"])
        super().__call__(what)

    def _emit(self, cell: CellFinding) -> None:
        """Nothing: the cells are not what was asked for."""
