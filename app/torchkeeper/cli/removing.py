"""Commands that remove: purge, with what is dead and why, undo, trash, recover."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts.entry import Problem, entry_from_json
from torchkeeper.cli import contract, hosts, listing, looking, output, overviewing
from torchkeeper.cli.asking import Asker, asking, completing, engine_of, say_finding
from torchkeeper.cli.overviewing import know_all, measure
from torchkeeper.client import secrets
from torchkeeper.client.engines import interpreters
from torchkeeper.client.engines.probes import Everywhere, asks_verdicts, everywhere, know
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected
from torchkeeper.client.words import dead, problems, say
from torchkeeper.client.words.found import become_of, begun
from torchkeeper.client.words.problems import UserError, printable, unseen_users
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import EMPTY_TRASH, PURGE, RECOVER, UNDO
from torchkeeper.stores import query
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages import dead as msg
    from torchkeeper.stores.shapes import ReceiptRow

#: Processes that are named before the rest is only counted.
_NAMED = 12


def folder(text: str) -> str:
    """A folder, which is all that has a trash."""
    if not scheme_of(text).has_trash:
        raise argparse.ArgumentTypeError("a server has no trash: a purge there is for good")
    return looking.folder(text)


def add_purge(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("places", metavar="PLACE", nargs="*", type=looking.place_or_machine, help="a cache folder "
        "or a redis:// server; with --suggest several, by default all known ones; ssh://HOST: "
        "those of another machine")  # fmt: skip
    hosts.add_group(command)
    looking.add_filter(command, several=True)
    command.set_defaults(filter=None)
    add_flags(command)
    output.flag(command, "--dry-run", "only print the entries to purge")
    output.flag(command, "--yes", "do not ask")
    output.flag(command, "--now", "remove at once, without the trash")
    output.flag(command, "--unknown-too", "with --yes and --filter kind:unknown: also unknown "
                "files, such as your own")  # fmt: skip
    output.flag(command, "--in-use", "also purge entries in use")
    output.flag(command, "--shared", "with --yes: also in a folder that other machines may use, as "
                "on NFS")  # fmt: skip


def _refuse_strange(args: argparse.Namespace) -> bool:
    """Whether kind:unknown is asked for by name. Raises UserError where --yes alone would do it."""
    named = False
    with contextlib.suppress(Problem):  # the engine says what is wrong with it
        named = "unknown" in query.parse(args.filter or "").kinds
    if named and args.yes and not args.unknown_too and not args.dry_run:
        raise output.misuse(
            "--yes alone does not purge unknown files.",
            "kind:unknown is all that PyTorch, Triton and vLLM did not write: your own files, too.",
            "Look at it with --dry-run; then add --unknown-too, or leave out --yes to be asked.",
        )
    if args.unknown_too and not named:
        raise output.misuse(
            "--unknown-too needs --filter kind:unknown.",
            "Unknown files go only if the filter names them.",
            "Add --filter kind:unknown, or leave --unknown-too out.",
        )
    return named


def check_shared(args: argparse.Namespace, plan: msg.PlanPurgeResult) -> None:
    """Say that other machines may use what goes. Raises UserError where --yes alone would do it."""
    if not (said := dead.of_others(args.place, plan)):
        return
    if args.yes and not args.shared and not args.dry_run:
        raise output.misuse(
            "--yes alone does not purge a folder that other machines may use.", said,
            "Look at it with --dry-run; then add --shared, or leave out --yes to be asked.",
        )  # fmt: skip
    output.note(said)


def purge(args: argparse.Namespace) -> int:
    """torchkeeper purge: prints exactly what goes, asks, moves it."""
    if args.filter is not None and not args.filter.strip():
        raise output.misuse(
            "The filter is empty.",
            "It would match everything, which an empty shell variable hardly means.",
            "Leave --filter out to purge all.",
        )
    strange = _refuse_strange(args)
    if args.suggest:
        return overviewing.suggest(args)
    if len(args.places) != 1 or args.hosts:
        raise output.misuse(
            "A purge is of one place.",
            "Each place has its own preview and its own undo.",
            "Name one, or add --suggest to see dead entries in several.",
        )
    args.place = secrets.named(*args.places)
    if not args.dry_run:
        protected.check(args.place, below=True)
    scheme = scheme_of(args.place)
    for_good = args.now or not scheme.has_trash
    with engine_of(args) as engine:
        chosen = chosen_dead(args, engine)
        judged = bool(chosen.select.get("envs"))
        shown = args.dry_run or not args.yes
        rows: Plan | listing.Rows = Plan(args.json)
        if not chosen:
            rows = listing.Rows(args.json, unsorted=scheme.lazy, judged=judged)
        asker = Asker(engine, args.json, rows.take if shown else lambda _: None)
        if scheme.has_trash and not args.dry_run:
            # What was cut off comes first: otherwise a half would be planned, and the rest stay.
            asker.ask(RECOVER, place=args.place)
        select = chosen.select
        select["filter"], select["unknown"] = args.filter or "", strange
        plan: msg.PlanPurgeResult = asker.ask(
            protocol.PLAN_PURGE, place=args.place, select=select, in_use=args.in_use, rows=shown
        )
        in_use, some, what = plan["in_use"], bool(plan["files"]), say.held_of(plan)
        named = in_use["processes"][:_NAMED]
        output.notes(f"in use: {problems.user_of_place(user)}" for user in named)
        if (more := in_use["count"] - len(named)) > 0:
            output.note(f"in use: {say.count(more, 'more process', 'more processes')}")
        output.notes(filter(None, [unseen_users(in_use)]))
        rows.end()
        if some:
            check_shared(args, plan)
        chosen.note(args, plan)
        counts = {name: value for name, value in plan.items() if name not in ("plan", "in_use")}
        if stays := plan["unknown"]["stays"]:
            are = say.count(stays, "unknown file", "unknown files")
            output.note(f"{are} left out: these are not caches' files, so they stay.")
        if kept := in_use["left"]:
            stay = say.held(in_use["stays"])
            output.note(
                f"{stay} left out, because they are in use. Add --in-use to purge them too."
            )
        if args.dry_run or not some:
            nothing = "All matching entries are in use." if kept else "Nothing matches."
            said = f"Would purge {what}." if some else nothing
            output.result(args, {**counts, "left": asker.left, "in_use": in_use}, said)
            short = kept or asker.left or asker.unreadable
            return contract.partly(some, short)
        if not args.yes:
            how = "Remove for good" if for_good else "Move to the trash"
            output.check_can_ask("The purge")
            if goes := plan["unknown"]["goes"]:
                are = say.count(goes, "unknown file", "unknown files")
                output.note(f"Among these are {are}: they may be your own; look at each.")
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
    """torchkeeper undo, of a purge, an import or a copy; 1 if there is nothing to undo."""
    with asking(args) as asker:
        answer: msg.UndoResult = asker.ask(UNDO, place=args.place, rows=False)
    return asker.end(args, UNDO, answer, args.place)


def add_trash(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="PLACE", type=folder, help="a cache folder")
    output.flag(command, "--empty", "remove its contents for good")
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
                head = ["RECEIPT", "OF", "MADE", "ENTRIES", "BESIDE", "FILES", "ON DISK"]
                cells = [
                    [row["receipt"], "import" if row["placed"] else "purge",
                     say.when(row["made"]) if row["made"] else "-", *_counts(row["placed"] or row)]
                    for row in rows
                ]  # fmt: skip
                output.table(head, cells, frozenset({3, 5, 6}))
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
    return asker.end(args, EMPTY_TRASH, answer, args.place)


#: What becomes of what is not believed, as the operation ``recover`` is told.
_BELIEVE, _FORGET = "believe", "forget"


def add_recover(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="PLACE", type=folder, help="a cache folder")
    which = command.add_mutually_exclusive_group()
    output.flag(which, "--dry-run", "only print what was cut off")
    which.add_argument("--believe", dest="insisted", action="store_const", const=_BELIEVE,
                       default="", help=(
                           "also carry out a record that may not be yours"
                       ))  # fmt: skip
    which.add_argument("--forget", dest="insisted", action="store_const", const=_FORGET, default="",
                       help="remove the record, and change nothing else")  # fmt: skip
    output.flag(command, "--yes", "do not ask")


def recover(args: argparse.Namespace) -> int:
    """torchkeeper recover; ends partly, or with 1, if something stays that is not believed."""
    from torchkeeper.client.words import outcomes

    with asking(args) as asker:
        told = asker.ask(RECOVER, place=args.place, dry=True)["recovered"]
        if not (args.dry_run or told):
            # A journal that says nothing yet goes without a word.
            told = asker.ask(RECOVER, place=args.place)["recovered"]
        if args.dry_run or not told:
            lines = [line for one in told for line in (become_of(one), completing(one)) if line]
            said = "\n".join(lines) or "Nothing was cut off there."
            output.result(args, {"recovered": told}, said)
            return contract.DONE
        strange = [one for one in told if one["outcome"] == "not-believed"]
        if args.insisted and strange and not args.yes:
            output.notes(f"{become_of(one)} {begun(one)}" for one in strange)
            output.check_can_ask("The recovery")
            verb = "Carry out what it says" if args.insisted == _BELIEVE else "Remove it"
            if not output.confirm(f"{verb}, in {printable(args.place)}?"):
                output.note("Nothing was done.")
                return 1
        done = asker.ask(RECOVER, place=args.place, insisted=args.insisted)["recovered"]
    one = outcomes.Ended(RECOVER, {"recovered": done})
    output.result(args, one.result, outcomes.line(one))
    return contract.number(outcomes.went(one))


_HELP = (
    "Several options add up; with --filter, only matching entries go. What an entry needs counts "
    "as used with it, and never goes before it; code that only removed entries need goes with "
    "them. Unknown files stay."
)


def add_flags(command: argparse.ArgumentParser) -> None:
    flags = command.add_argument_group("what is dead", _HELP)
    output.flag(flags, "--stale", "entries that no known environment can use; with --env only "
                "these environments count")  # fmt: skip
    output.flag(flags, "--broken", "entries that are damaged or lack what they need")
    output.flag(flags, "--orphans", "entries that nothing needs")
    flags.add_argument("--older", metavar="AGE", type=measure(query.seconds_in), help="entries not "
                       "used for this long: 30d, 12h; days without a unit")  # fmt: skip
    flags.add_argument("--keep", metavar="SIZE", type=measure(query.bytes_in),
                       help="entries used longest ago, until the rest takes at most this much: "
                            "10G, 500M; counts what the other options leave")  # fmt: skip
    output.flag(flags, "--suggest", "only print how much would go for each reason, in these "
                "places or in all; an entry counts once; --older is "
                f"{dead.DAYS}d by default")  # fmt: skip


class Chosen(NamedTuple):
    """What is selected as dead, and the environments that count; False for nothing."""

    select: Select
    envs: Everywhere

    def __bool__(self) -> bool:
        # “--keep 0” is one, too.
        some = {self.select.get("older"), self.select.get("keep")} != {None}
        return some or any(map(self.select.get, ("stale", "broken", "orphans")))

    def note(self, args: argparse.Namespace, plan: msg.PlanPurgeResult) -> None:
        """Say on standard error what a plan rests on, and how much goes for which reason."""
        if args.stale:
            output.note(f"environments: {dead.environments(self.envs)}")
            if scheme_of(args.place).shared:
                output.note(dead.SHARED)
        timed = args.older is not None or args.keep is not None
        if timed and (text := dead.rests(plan.get("rests"))):
            output.note(text)
        output.notes(f"goes: {text}" for text in dead.totals(plan))


def chosen_dead(args: argparse.Namespace, engine: Engine) -> Chosen:
    """What the flags ask for. Raises UserError where nobody can say what is stale everywhere."""
    select: Select = {"stale": args.stale, "broken": args.broken, "orphans": args.orphans,
                      "older": args.older, "keep": args.keep}  # fmt: skip
    if args.stale:
        found = known_everywhere(engine, args.env)
        select["envs"] = [python for python, _ in found.envs]
        return Chosen(select, found)
    wanted = bool(args.env) or asks_verdicts(args.filter or "")
    named = args.env or [None]
    pythons = [interpreters.chosen(python, engine.machine) for python in named] if wanted else []
    envs = know(engine, pythons)
    if args.broken and not envs and scheme_of(args.place).has_trash:
        # Only verdicts tell what lacks what it needs; what cannot be read tells itself. What a
        # server lacks, a folder may have, and what goes there is gone for good.
        with contextlib.suppress(UserError):
            envs = know(engine, [interpreters.chosen(None, engine.machine)])
    select["envs"] = envs
    return Chosen(select, Everywhere([], []))


def known_everywhere(engine: Engine, pythons: list[str]) -> Everywhere:
    """The environments in all of which stale is stale, after the engine is told of them. Raises
    UserError where nothing can be called stale.
    """
    found = everywhere(pythons, engine.machine, engine)
    if (refusal := found.refusal()) is not None:
        raise refusal
    know_all(engine, found)
    return found


class Plan:
    """Prints what goes in the order of ls, with the reason of each."""

    def __init__(self, json: bool) -> None:
        self._json = json
        self._rows: list[tuple[tuple[Any, str], msg.PlanPurgeRow]] = []

    def take(self, rows: list[msg.PlanPurgeRow]) -> None:
        for row in rows:
            fields = entry_from_json(row).to_json()
            order = listing.SORTS["kind"](fields), fields["path"]
            why, used = row["because"], row["last_used"]
            self._rows.append((order, {**fields, "because": why, "last_used": used}))

    def end(self) -> None:
        rows = [row for _, row in sorted(self._rows, key=lambda one: one[0])]
        if self._json:
            output.lines(output.json_lines(rows))
        elif rows:
            head = ["KIND", "KEY", "CONTENT", "USED", "TORCH", "WHY", "NAME"]
            output.table(head, [self._cells(row) for row in rows], frozenset({2}))

    def _cells(self, row: msg.PlanPurgeRow) -> list[str]:
        used = "-" if row["last_used"] is None else say.ago(row["last_used"])
        about = [
            say.kind_of(row["kind"], row["name"]),
            listing.short(row["key"]),
            say.size(row["size"]),
            used,
        ]
        return [*about, row["torch"] or "-", dead.because(row), row["name"] or "-"]


def _counts(one: ReceiptRow | Amount) -> list[str]:
    counts = [f"{one['entries']:,}", say.apart(one) or "-", f"{one['files']:,}"]
    return [*counts, say.size(one["bytes"])]
