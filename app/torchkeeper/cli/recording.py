"""``torchkeeper run --recipe``: what a program compiles becomes a recipe that warms it again."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchkeeper.cli import looking, output, proving
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes import recorded, recording, toml
from torchkeeper.client.recipes.recording import NOT_CACHED, Proof
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.warm import processes
from torchkeeper.warm.recipes.recipe import items_of

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import AotTold, GraphTold

#: Reasons that are said on the command line; the recipe has more.
_REASONS = 3


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("--recipe", metavar="FILE", type=looking.path, help="write a recipe, "
                         "FILE.toml, that warms again what the program compiles")  # fmt: skip
    output.flag(command, "--force", "replace the recipe's file, if it is there")
    output.flag(command, "--unproved", "do not run the recipe once to see that it finds what the "
                "program compiled; for programs whose models take long to be built")  # fmt: skip


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


@contextlib.contextmanager
def heard(args: argparse.Namespace, env: dict[str, str]) -> Iterator[str]:
    """While the program runs: where it notes what it compiles; "" where nobody asked."""
    if not args.recipe:
        yield ""
        return
    with recording.heard(env) as notes:
        yield notes


@dataclass(frozen=True)
class Ran:
    """A program that has ended. command, env, code: what it was started as, with, and ended with.
    place: the cache folder that it was given. graphs, autograd: what its trace tells of
    (``explain_trace``).
    """

    command: Sequence[str]
    env: Mapping[str, str]
    code: int
    place: str
    graphs: Sequence[GraphTold]
    autograd: Sequence[AotTold]


def write(args: argparse.Namespace, notes: str, ran: Ran) -> Mapping[str, object] | None:
    """Write the recipe, if it was asked for, and prove it; what to say of it as JSON.

    Passes KeyboardInterrupt on: the recipe is written by then, and says that it is not proved.
    """
    if not args.recipe:
        return None
    found = recording.notes_in(notes)
    every = [one for note in found for one in note["compiled"]]
    cached = [x for x in every if not (isinstance(x, dict) and x.get("backend") in NOT_CACHED)]
    if not ran.graphs and not cached:
        why = "recording-failed" if ran.code else "recording-nothing"
        output.complain(user_error(why, {"file": args.recipe, "status": ran.code}))
        return {"file": None}
    asked = "it was not asked for" if args.unproved else "the proof was interrupted"
    proof = Proof(unproved=asked)
    made = recorded.recipe_of(found, ran.command, args.recipe, ran.env, proof.said)
    written = _written(args.recipe, made)
    if written and made.source == "callable" and not args.unproved:
        try:
            proof = proving.prove(args, found, ran.place, ran.graphs, ran.autograd)
        except KeyboardInterrupt:
            name = printable(args.recipe, 400)
            output.note(f"The recipe is written, and is not proved: {name}.")
            raise
        made = recorded.recipe_of(found, ran.command, args.recipe, ran.env, proof.said, proof.why)
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
        yield f"  and {len(made.why) - _REASONS:,} more reasons, which stand in the recipe."
    if made.hidden:
        yield ("What looks like a secret in the command is left out of it: the command has to take "
               "it from elsewhere.")  # fmt: skip
    if code:
        yield f"The command ended with {code}; in a warm-up it has to end with 0."
