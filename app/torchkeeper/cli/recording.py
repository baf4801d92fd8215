"""``torchkeeper run --recipe``: makes a recipe of what a program compiles, and proves it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.cli.telling import Live
from torchkeeper.client import temporary
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.recipes import recorded, recording, toml
from torchkeeper.client.recipes.recording import NOT_CACHED, Proof
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import COPY, WARM
from torchkeeper.settings.known import BY_NAME, URL, remotes
from torchkeeper.warm import processes
from torchkeeper.warm.recipes.recipe import items_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import WarmResult
    from torchkeeper.engine.messages.findings import Finding, VariantFinding
    from torchkeeper.verdict.probed import AotTold, GraphTold
    from torchkeeper.warm.shapes import SentRecipe
    from torchkeeper.warm.traces.notes import Note

#: Reasons that are said on the command line; the recipe has more.
_REASONS = 3


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("--recipe", metavar="FILE", type=looking.path, help="write a recipe, "
                         "FILE.toml, of what the program compiles")  # fmt: skip
    output.flag(command, "--force", "replace the recipe's file if it exists")
    output.flag(command, "--unproved", "do not prove the recipe by running it once; for programs "
                "with models that take long to build")  # fmt: skip


def check(args: argparse.Namespace, command: Sequence[str]) -> None:
    """Before the program runs. Raises UserError where the recipe could not be written."""
    if not args.recipe:
        return
    if processes.is_python(command[0]) and command[1:2] in ([], ["-"]):
        raise user_error("recording-stdin", {})
    if os.path.lexists(args.recipe) and not args.force:
        raise user_error("recipe-exists", {"file": args.recipe})
    above = os.path.dirname(args.recipe)
    if not os.access(above, os.W_OK):
        why = "Its folder cannot be written" if os.path.isdir(above) else "There is no such folder"
        raise user_error("recipe-unwritable", {"file": args.recipe, "why": why})


@dataclass(frozen=True)
class Ran:
    """A program that has ended. command, env, code: what it was started as, with, and ended with.
    place: the cache folder that it was given. graphs, autograd: what its trace tells of. notes:
    what it noted. machine: another one that it ran on, in this folder there.
    """

    command: Sequence[str]
    env: Mapping[str, str]
    code: int
    place: str
    graphs: Sequence[GraphTold]
    autograd: Sequence[AotTold]
    notes: Sequence[Note]
    machine: str = ""
    folder: str = ""

    def recipe(self, file: str, proof: Proof) -> recorded.Recorded:
        """What is written into a file."""
        return recorded.recipe_of(
            self.notes, self.command, file, self.env, proof.said, proof.why, self.folder,
            self.machine,
        )  # fmt: skip


def write(args: argparse.Namespace, ran: Ran) -> Mapping[str, object] | None:
    """Write the recipe, if it was asked for, and prove it; what to say of it as JSON. Passes
    KeyboardInterrupt on: the recipe is written by then, and says that it is not proved.
    """
    if not args.recipe:
        return None
    every = [one for note in ran.notes for one in note["compiled"]]
    cached = [x for x in every if not (isinstance(x, dict) and x.get("backend") in NOT_CACHED)]
    if not ran.graphs and not cached:
        why = "recording-failed" if ran.code else "recording-nothing"
        output.complain(user_error(why, {"file": args.recipe, "status": ran.code}))
        return {"file": None}
    asked = "it was not asked for" if args.unproved else "the proof was interrupted"
    proof = Proof(unproved=asked)
    made = ran.recipe(args.recipe, proof)
    written = _written(args.recipe, made)
    if written and made.source == "callable" and not args.unproved:
        try:
            proof = prove(args, ran)
        except KeyboardInterrupt:
            name = printable(args.recipe, 400)
            output.note(f"The recipe is written, but not proved: {name}.")
            raise
        made = ran.recipe(args.recipe, proof)
        written = _written(args.recipe, made)
    if not written:
        return {"file": None}
    tried = made.source == "callable" or proof.why
    proved = printable(f"{proof.said}.", 1000) if tried else None
    output.remark(args, [*_said(args.recipe, made, ran.code), proved])
    items = len(items_of(made.data)[1])
    return {"file": args.recipe, "source": made.source, "items": items, "why": made.why,
            "hidden": made.hidden, "proof": proof.to_json() if tried else None}  # fmt: skip


def _written(file: str, made: recorded.Recorded) -> bool:
    try:
        whole.write_text(file, toml.text_of(made.data, made.comment))
    except OSError as e:
        about = {"file": file, "why": e.strerror or str(e)}
        output.complain(user_error("recipe-unwritable", about))
        return False
    return True


def _said(file: str, made: recorded.Recorded, code: int) -> Iterator[str]:
    name = printable(file, 400)
    if made.source == "callable":
        sizes = sum(len(values) for values in made.data.get("matrix", {}).values())
        calls = sum(len(one.get("calls", "1")) for one in items_of(made.data)[1])
        many = say.count(sizes or calls, "call", "calls")
        yield f"Recipe written: {name}, {many} of the program's own models and functions."
        return
    yield f"Recipe written: {name}. It runs the command again, because"
    for reason in made.why[:_REASONS]:
        yield f"  {printable(reason, 300)}"
    if len(made.why) > _REASONS:
        yield f"  and {len(made.why) - _REASONS:,} more reasons, which the recipe lists."
    if made.hidden:
        yield ("The recipe leaves out what looks like a secret in the command: the command has to "
               "take it from elsewhere.")  # fmt: skip
    if code:
        yield f"The command ended with {code}; in a warm-up it has to end with 0."


def prove(args: argparse.Namespace, ran: Ran) -> Proof:
    """Run each variant of a recipe on a copy of what was looked up, on the machine that the program
    ran on. Passes KeyboardInterrupt on.
    """
    program = recording.looked_up(ran.graphs)
    if not program:
        return Proof(unproved="the program used no cache, or the cache is turned off")
    notes = [note for note in ran.notes if note.get("compiled")]
    pythons = {str(note.get("python") or "") for note in notes}
    if len(pythons) != 1 or not os.path.isabs(python := pythons.pop()):
        return Proof(unproved="it is not known which Python compiled it")
    keys = program.keys() | {one["key"] for one in ran.autograd if one["key"]}
    try:
        with temporary.folder("proof") as folder:
            # That of another machine goes with the connection.
            scratch = ferry.name(ran.machine, "") if ran.machine else folder
            there = _copied(args, ran, _place(notes, ran), f"{scratch}/cache", keys)
            if missing := len(program.keys() - there):
                return Proof(unproved=f"{missing:,} of the {len(program):,} graphs that the "
                             "program compiled are not in its cache folder")  # fmt: skip
            return _judged(args, ran, python, notes, program, scratch)
    except UserError as error:
        said = " ".join(part for part in (error.what, error.why) if part)
        return Proof(unproved=said.rstrip("."))


def _place(notes: Sequence[Note], ran: Ran) -> str:
    """The folder that the program has its cache in: it may have named another one itself."""
    for note in notes:
        env = note.get("environment")
        named = env.get("TORCHINDUCTOR_CACHE_DIR") if isinstance(env, Mapping) else None
        if isinstance(named, str) and named:
            path = os.path.abspath(os.path.join(str(note.get("folder") or ""), named))
            return far.name_of(ran.machine, path) or ran.place
    return ran.place


def _copied(args: argparse.Namespace, ran: Ran, place: str, copy: str, keys: set[str]) -> set[str]:
    """Copy what has these keys, and what it needs; the keys that there were."""
    with asking(args, ran.machine) as asker:
        asker.ask(protocol.LIST, place=place, filter="kind:fxgraph,aotautograd")
        rows = [row for row in asker.rows if row.get("key") in keys]
        if rows:
            items = [[row["kind"], row["path"]] for row in rows]
            asker.ask(COPY, place=place, into=copy, select={"items": items})
    return {str(row["key"]) for row in rows}


def _judged(
    args: argparse.Namespace, ran: Ran, python: str, notes: Sequence[Note],
    program: Mapping[str, str], scratch: str,
) -> Proof:  # fmt: skip
    copy, trace, used = f"{scratch}/cache", f"{scratch}/trace", remotes(ran.env)
    env = {name: "0" for name in used if not BY_NAME[name].in_key}
    if len(env) < len(used):
        # What is part of keys stays as it is; with this it has no server at all.
        env[URL] = ""
    python = far.python_of(ran.machine, python) if ran.machine else python
    with asking(args, python) as asker:
        heard = _Heard(args.json, asker)
        answer: WarmResult = asker.ask(
            WARM, recipes=[_sent(args.recipe, ran, env)], into=copy, each=True,
            trace=trace,
        )  # fmt: skip
    if (torch := answer["torch"]) and any(note.get("torch") not in ("", torch) for note in notes):
        return Proof(unproved=f"{python} has torch {torch} here, and had another in the program")
    with asking(args, ran.machine) as asker:
        asker.ask(protocol.EXPLAIN_TRACE, trace=trace)
        graphs = [one["graph"] for one in asker.findings if "graph" in one]
        autograd = [one["aot"] for one in asker.findings if "aot" in one]
    keys = [one.get("key") for one in graphs if one["outcome"] == "hit"]
    keys += [one["key"] for one in autograd if one["outcome"] == "hit"]
    found = {key for key in keys if key}
    return recording.judged(program, heard.rows_of(answer), heard.missed, found)


def _sent(file: str, ran: Ran, env: Mapping[str, str]) -> SentRecipe:
    """The recipe of a file with variables more; its modules are in the folder that it names."""
    recipe = recipes.read(file).to_wire()
    data = {**recipe["data"], "environment": {**recipe["data"].get("environment", {}), **env}}
    return {**recipe, "data": data, "folder": ran.folder or recipe["folder"]}


class _Heard(Live):
    """missed: the indexes of variants with a graph that was not found, but for backward passes."""

    def __init__(self, json: bool, asker: Asker) -> None:
        super().__init__(True, asker)
        self.missed: set[int] = set()
        if not json:
            output.note("Proving the recipe: each combination is run once in a fresh process …")

    def __call__(self, what: Finding) -> None:
        if "graph" in what:
            graph = what["graph"]
            if graph["outcome"] == "miss" and not recording.is_backward(graph["id"]):
                self.missed.add(graph["variant"])
        super().__call__(what)

    def _emit(self, variant: VariantFinding) -> None:
        """Nothing: the variants are not what was asked for."""
