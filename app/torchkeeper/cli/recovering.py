"""The command that completes what was cut off in a folder: recover."""

from __future__ import annotations

import argparse

from torchkeeper.cli import looking, output, removing
from torchkeeper.cli.asking import Asker, completing
from torchkeeper.engine.protocol import RECOVER
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words import cutoff
from torchkeeper.link.words.problems import printable

#: What becomes of what is not believed, as the operation ``recover`` is told.
_BELIEVE, _FORGET = "believe", "forget"


def add_recover(command: argparse.ArgumentParser) -> None:
    """Arguments of recover."""
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
    from torchkeeper.link.words import outcomes

    with Engine() as engine:
        asker = Asker(engine, args.json)
        told = asker.ask(RECOVER, place=args.place, dry=True)["recovered"]
        if args.dry_run or not told:
            lines = [line for one in told for line in (cutoff.ended(one), completing(one)) if line]
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
