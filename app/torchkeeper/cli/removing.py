"""Commands that remove: purge, undo, trash."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.cli import dead, looking, output
from torchkeeper.cli.asking import Asker, asking, completing, say_finding
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected
from torchkeeper.client.words import cutoff, say
from torchkeeper.client.words.problems import printable, unseen_users, user_of_place
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import EMPTY_TRASH, PURGE, RECOVER, UNDO
from torchkeeper.stores import query
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import dead as msg
    from torchkeeper.stores.shapes import ReceiptRow, Users


#: Processes that are named before the rest is only counted.
_NAMED = 12


def folder(text: str) -> str:
    """A folder, which is all that has a trash."""
    if not scheme_of(text).has_trash:
        raise argparse.ArgumentTypeError(
            "a server has no trash: what is purged there is gone for good"
        )
    return looking.path(text)


def add_purge(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("place", metavar="PLACE", type=looking.place, help="a cache folder or a redis:// server")
    looking.add_filter(command, several=True)
    command.set_defaults(filter=None)
    dead.add_flags(command)
    output.flag(command, "--dry-run", "only print what would go")
    output.flag(command, "--yes", "do not ask")
    output.flag(command, "--now", "remove at once instead of moving to the trash")
    output.flag(command, "--unknown-too", "with --yes and --filter kind:unknown: also what no "
                "known writer wrote, such as your own files")  # fmt: skip
    output.flag(command, "--in-use", "also what processes use")


def _refuse_strange(args: argparse.Namespace) -> bool:
    """Whether kind:unknown is asked for by name. Raises UserError where --yes alone would do it."""
    named = False
    with contextlib.suppress(Problem):  # the engine says what is wrong with it
        named = "unknown" in query.parse(args.filter or "").kinds
    if named and args.yes and not args.unknown_too and not args.dry_run:
        raise output.misuse(
            "What no known writer wrote does not go with --yes alone.",
            "kind:unknown is whatever PyTorch, Triton and vLLM did not write: your own files, too.",
            "Look at it with --dry-run; then add --unknown-too, or leave out --yes to be asked.",
        )
    if args.unknown_too and not named:
        raise output.misuse(
            "--unknown-too needs --filter kind:unknown.",
            "What no known writer wrote goes only when it is asked for by name.",
            "Add --filter kind:unknown, or leave --unknown-too out.",
        )
    return named


def _name_users(in_use: Users) -> None:
    """Say on standard error which processes use the folder."""
    named = in_use["processes"][:_NAMED]
    output.notes(f"in use: {user_of_place(user)}" for user in named)
    if (more := in_use["count"] - len(named)) > 0:
        output.note(f"in use: {say.count(more, 'more process', 'more processes')}")
    output.notes(filter(None, [unseen_users(in_use)]))


def purge(args: argparse.Namespace) -> int:
    """torchkeeper purge: prints exactly what goes, asks, moves it; 1 if nothing matches."""
    if args.filter is not None and not args.filter.strip():
        raise output.misuse(
            "The filter is empty.",
            "It would match everything, which an empty shell variable hardly means.",
            "Leave --filter out to purge all.",
        )
    strange = _refuse_strange(args)
    if args.suggest:
        return dead.suggest(args)
    if not args.dry_run:
        protected.check(args.place, below=True)
    scheme = scheme_of(args.place)
    for_good = args.now or not scheme.has_trash
    with Engine() as engine:
        chosen = dead.chosen(args, engine)
        judged = bool(chosen.select.get("envs"))
        shown = args.dry_run or not args.yes
        rows: dead.Plan | looking.Rows = dead.Plan(args.json)
        if not chosen:
            rows = looking.Rows(args.json, unsorted=scheme.lazy, judged=judged)
        asker = Asker(engine, args.json, rows.take if shown else lambda _: None)
        if scheme.local and not args.dry_run:
            # What was cut off comes first: otherwise a half would be planned, and the rest stay.
            asker.ask(RECOVER, place=args.place)
        select = chosen.select
        select["filter"], select["unknown"] = args.filter or "", strange
        plan: msg.PlanPurgeResult = asker.ask(
            protocol.PLAN_PURGE, place=args.place, select=select, in_use=args.in_use
        )
        in_use, some, what = plan["in_use"], bool(plan["files"]), say.held_of(plan)
        _name_users(in_use)
        rows.end()
        chosen.note(args, plan)
        counts = {name: value for name, value in plan.items() if name not in ("plan", "in_use")}
        if stays := plan["unknown"]["stays"]:
            are = say.count(stays, "unknown file", "unknown files")
            output.note(f"{are} left out: no known writer wrote them, so they stay.")
        if kept := in_use["left"]:
            stay = say.held(in_use["stays"])
            output.note(f"{stay} left out, being in use. Add --in-use to purge them too.")
        if args.dry_run or not some:
            nothing = "All that matches is in use." if kept else "Nothing matches."
            said = f"Would purge {what}." if some else nothing
            output.result(args, {**counts, "left": asker.left, "in_use": in_use}, said)
            return int(not some)
        if not args.yes:
            how = "Remove for good" if for_good else "Move to the trash"
            output.check_can_ask("The purge")
            if goes := plan["unknown"]["goes"]:
                are = say.count(goes, "unknown file", "unknown files")
                output.note(f"Among these are {are}: no known writer wrote them; look at each.")
            if not output.confirm(f"{how}: {what}, from {printable(args.place)}?"):
                output.note("Nothing was purged.")
                return 1
        asker.on_finding = say_finding  # what is gone, where it ends early
        answer: msg.PurgeResult = asker.ask(
            PURGE, place=args.place, plan=plan["plan"], now=args.now
        )
    return asker.end(args, PURGE, answer, args.place, {"in_use": in_use}, now=for_good)


def add_undo(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="PLACE", type=folder, help="a cache folder")


def undo(args: argparse.Namespace) -> int:
    """torchkeeper undo; 1 if there is nothing to undo or not all could be put back."""
    with asking(args) as asker:
        answer: msg.UndoResult = asker.ask(UNDO, place=args.place)
    return asker.end(args, UNDO, answer, args.place)


def add_trash(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="PLACE", type=folder, help="a cache folder")
    output.flag(command, "--empty", "remove what is in it for good")
    output.flag(command, "--yes", "do not ask")


def trash(args: argparse.Namespace) -> int:
    """torchkeeper trash: what is in it; with --empty removes that, after asking."""
    with asking(args) as asker:
        totals: msg.TrashResult = asker.ask(protocol.TRASH, place=args.place)
        rows: list[ReceiptRow] = asker.rows
        held = say.held_of(totals)
        if not args.empty:
            if args.json:
                output.emit_all(rows)
            elif rows:
                head = ["RECEIPT", "PURGED", "ENTRIES", "BESIDE", "FILES", "ON DISK"]
                output.table(head, list(map(_receipt, rows)), frozenset({2, 4, 5}))
            said = f"The trash holds {held}." if totals["files"] else "The trash is empty."
            output.result(args, totals, said)
            return 0
        protected.check(args.place, below=True)
        if totals["files"] and not args.yes:
            output.check_can_ask("Emptying the trash")
            question = f"Remove {held} in the trash of {printable(args.place)} for good?"
            if not output.confirm(question):
                output.note("Nothing was removed.")
                return 1
        answer: msg.EmptyTrashResult = asker.ask(EMPTY_TRASH, place=args.place)
    from torchkeeper.client.words import outcomes

    output.result(args, answer, outcomes.line(outcomes.Ended(EMPTY_TRASH, answer)))
    return 0


def _receipt(row: ReceiptRow) -> list[str]:
    made = say.when(row["made"]) if row["made"] else "-"
    counts = [f"{row['entries']:,}", say.apart(row) or "-", f"{row['files']:,}"]
    return [row["receipt"], made, *counts, say.size(row["bytes"])]


#: What becomes of what is not believed, as the operation ``recover`` is told.
_BELIEVE, _FORGET = "believe", "forget"


def add_recover(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="PLACE", type=folder, help="a cache folder")
    which = command.add_mutually_exclusive_group()
    output.flag(which, "--dry-run", "only say what was cut off")
    which.add_argument("--believe", dest="insisted", action="store_const", const=_BELIEVE,
                       default="", help="carry out what is not known to be yours, too")  # fmt: skip
    which.add_argument("--forget", dest="insisted", action="store_const", const=_FORGET, default="",
                       help="remove the file that says so, and change nothing else")  # fmt: skip
    output.flag(command, "--yes", "do not ask")


def recover(args: argparse.Namespace) -> int:
    """torchkeeper recover: completes what was cut off; 1 if there is nothing, or something stays
    that is not believed.
    """
    from torchkeeper.client.words import outcomes

    with asking(args) as asker:
        told = asker.ask(RECOVER, place=args.place, dry=True)["recovered"]
        if not (args.dry_run or told):
            # A journal that says nothing yet goes without a word.
            told = asker.ask(RECOVER, place=args.place)["recovered"]
        if args.dry_run or not told:
            lines = [line for one in told for line in (cutoff.ended(one), completing(one)) if line]
            said = "\n".join(lines) or "Nothing was cut off there."
            output.result(args, {"recovered": told}, said)
            return int(not told)
        strange = [one for one in told if one["outcome"] == "not-believed"]
        if args.insisted and strange and not args.yes:
            output.notes(f"{cutoff.ended(one)} {cutoff.begun(one)}" for one in strange)
            output.check_can_ask("The recovery")
            verb = "Carry out what it says" if args.insisted == _BELIEVE else "Remove it"
            if not output.confirm(f"{verb}, in {printable(args.place)}?"):
                output.note("Nothing was done.")
                return 1
        done = asker.ask(RECOVER, place=args.place, insisted=args.insisted)["recovered"]
    one = outcomes.Ended(RECOVER, {"recovered": done})
    output.result(args, one.result, outcomes.line(one))
    return outcomes.code(one)
