"""``torchkeeper run --recipe``: what a program compiles becomes a recipe that warms it again."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchkeeper.cli import looking, output
from torchkeeper.link import recorded, recording, say, tomltext, whole
from torchkeeper.link.noted import NOT_CACHED
from torchkeeper.link.words import printable, user_error

#: Reasons that are said on the command line; the recipe has more.
_REASONS = 3


def add(command: argparse.ArgumentParser) -> None:
    """Arguments of run that are about recipes."""
    command.add_argument("--recipe", metavar="FILE", type=looking.path,
                         help="write a recipe, FILE.toml, that warms again what the program "
                         "compiles")  # fmt: skip
    command.add_argument("--force", action="store_true",
                         help="replace the recipe's file, if it is there")  # fmt: skip


def check(args: argparse.Namespace) -> None:
    """Before the program runs. Raises UserError where the recipe could not be written."""
    if not args.recipe:
        return
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


def write(
    args: argparse.Namespace,
    notes: str,
    command: Sequence[str],
    env: Mapping[str, str],
    code: int,
    graphs: int,
) -> dict[str, Any] | None:
    """Write the recipe, if it was asked for; what to say of it as JSON.

    code: the program's. graphs: how many its trace tells of.
    """
    if not args.recipe:
        return None
    found = recording.notes_in(notes)
    cached = [
        one
        for note in found
        for one in note["compiled"]
        if not (isinstance(one, dict) and one.get("backend") in NOT_CACHED)
    ]
    if not graphs and not cached:
        output.complain(user_error("recording-nothing", {"file": args.recipe}))
        return {"file": None}
    made = recorded.recipe_of(found, command, args.recipe, env)
    try:
        whole.write_text(args.recipe, tomltext.text_of(made.data, made.comment))
    except OSError as e:
        output.complain(
            user_error("recipe-unwritable", {"file": args.recipe, "why": e.strerror or str(e)})
        )
        return {"file": None}
    items = len(made.data[made.source])
    if not args.json:
        for line in _said(args.recipe, made, code):
            output.note(line)
    return {"file": args.recipe, "source": made.source, "items": items, "why": made.why,
            "hidden": made.hidden}  # fmt: skip


def _said(file: str, made: recorded.Recorded, code: int) -> Iterator[str]:
    name = printable(file, 400)
    if made.source == "callable":
        sizes = sum(len(values) for values in made.data.get("matrix", {}).values())
        calls = sum(len(one.get("calls", "1")) for one in made.data["callable"])
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
