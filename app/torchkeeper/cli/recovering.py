"""The command that completes what was cut off in a folder: recover."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from typing import Any

from torchkeeper.engine.protocol import RECOVER, Ends, ends
from torchkeeper.link.words import cutoff
from torchkeeper.link.words.problems import printable

#: What becomes of what is not believed, as the operation ``recover`` is told.
_BELIEVE, _FORGET = "believe", "forget"


def command(told: Mapping[str, Any]) -> str:
    """A line: what completes what was cut off, or deals with it; "" where nobody can here. told: a
    Recovered by the names of its fields.
    """
    how = f"torchkeeper recover {printable(shlex.quote(str(told.get('place'))))}"
    if told.get("outcome") == "waiting":
        return f"“{how}” completes it now."
    if told.get("outcome") == "not-believed":
        return f"“{how} --forget” removes it; “--believe” carries out what it says."
    return ""


def interrupted(operation: str, params: Mapping[str, Any], again: bool) -> list[str]:
    """Lines for whoever has pressed Ctrl-C, once or ``again``, while an operation is under way."""
    how = ends(operation, params)
    if not how.changes:
        return []
    # What is written to; only a folder has a journal.
    place = str(params.get("into") or params.get("output") or params.get("place") or "")
    if again and os.path.isdir(place):
        command = f"torchkeeper recover {printable(shlex.quote(place))}"
        return [
            "It is left as it is now, which may be a half. What was begun is written down: "
            f"“{command}” brings it to its end, and so does the next change of the folder."
        ]
    if again:
        return ["It is left as it is now."]
    if how is Ends.BACK:
        return ["Cancelling: what was done is taken back. Ctrl-C once more leaves that for later."]
    return ["Cancelling: what was done by now stays."]


def add_recover(command: argparse.ArgumentParser) -> None:
    """Arguments of recover."""
    from torchkeeper.cli import looking, removing

    command.add_argument("place", metavar="PLACE", type=removing.folder, help="a cache folder")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--dry-run", action="store_true", help="only say what was cut off")
    which.add_argument("--believe", dest="insisted", action="store_const", const=_BELIEVE,
                       default="", help="carry out what is not known to be yours, too")  # fmt: skip
    which.add_argument(
        "--forget", dest="insisted", action="store_const", const=_FORGET, default="",
        help="remove the file that says so, and change nothing else",
    )  # fmt: skip
    command.add_argument("--yes", action="store_true", help="do not ask")
    looking.add_json(command)


def recover(args: argparse.Namespace) -> int:
    """torchkeeper recover: completes what was cut off; 1 if there is nothing, or something stays
    that is not believed.
    """
    from torchkeeper.cli import output, removing
    from torchkeeper.cli.asking import Asker
    from torchkeeper.link.engines.process import Engine
    from torchkeeper.link.words import outcomes

    with Engine() as engine:
        asker = Asker(engine, args.json)
        told = asker.ask(RECOVER, place=args.place, dry=True)["recovered"]
        if args.dry_run or not told:
            lines = [line for one in told for line in (cutoff.ended(one), command(one)) if line]
            nothing = "Nothing was cut off there."
            output.result(args, {"recovered": told}, "\n".join(lines) or nothing)
            return 0 if told else 1
        strange = [one for one in told if one["outcome"] == "not-believed"]
        if args.insisted and strange and not args.yes:
            for one in strange:
                output.note(f"{cutoff.ended(one)} {cutoff.begun(one)}")
            if not output.can_ask():
                raise removing.needs_answer("The recovery")
            verb = "Carry out what it says" if args.insisted == _BELIEVE else "Remove it"
            if not output.confirm(f"{verb}, in {printable(args.place)}?"):
                output.note("Nothing was done.")
                return 1
        done = asker.ask(RECOVER, place=args.place, insisted=args.insisted)["recovered"]
    one = outcomes.Ended(RECOVER, {"recovered": done})
    output.result(args, one.result, outcomes.line(one))
    return outcomes.code(one)
