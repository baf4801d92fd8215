"""Commands that only look: places, ls, du."""

from __future__ import annotations

import argparse
import contextlib
import functools
import operator
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from torchkeeper.artifacts.entry import (
    COUNTED_APART,
    COUNTS,
    KINDS,
    UNREAD,
    Entry,
    Problem,
    entry_from_json,
    measured,
    tally,
)
from torchkeeper.artifacts.masking import has_login
from torchkeeper.cli import contract, output
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.client.engines.interpreters import DEFAULT
from torchkeeper.client.engines.probes import known
from torchkeeper.client.engines.process import Engine, early
from torchkeeper.client.kept import protected
from torchkeeper.client.words import owned, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.query import parse

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import EntryRow
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages import places as msg
    from torchkeeper.stores.shapes import Orphans, Strays

_RANKS: dict[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}
#: What entries are put in order by, given their fields.
SORTS: dict[str, Callable[[EntryRow], Any]] = {
    "kind": lambda e: (_RANKS[e["kind"]], (e["name"] or "").lower(), e["key"]),
    "key": operator.itemgetter("key"),
    "name": lambda e: (e["name"] is None, (e["name"] or "").lower()),
    "size": lambda e: -e["size"],
    "files": lambda e: -e["files"],
    "mtime": lambda e: -(e["mtime"] or 0),
    "torch": lambda e: (e["torch"] is None, e["torch"] or ""),
    "device": lambda e: (e["device"] is None, e["device"] or ""),
    "compile_s": lambda e: -(e["compile_s"] or 0),
    "path": operator.itemgetter("path"),
    # What is first: the next to go, 0 being never, and what was not used for longest.
    "expires": lambda e: (e["expires"] is None, not e["expires"], e["expires"] or 0),
    "used": lambda e: (e["used"] is None, e["used"] or 0),
}
#: Those that a server is asked for only when somebody wants to know.
_TIMES = ("expires", "used")
_ASKS_TIMES = re.compile(r"\b(?:expires|used)[:<>=]", re.IGNORECASE)

_REASONS = {
    "default": "PyTorch's default",
    "triton-default": "Triton's default",
    "temporary": "in the temporary folder",
    "vllm": "vLLM",
    "ondisk": "PyTorch's generic cache",
}


def path(text: str) -> str:
    """A path as the engine needs it, which runs in a folder of its own."""
    if not text:
        # An empty shell variable must not become the current folder, least of all for purge.
        raise argparse.ArgumentTypeError("it is empty")
    if not scheme_of(text).local:
        # Otherwise it would be a folder, of such a name, in the current one.
        raise argparse.ArgumentTypeError(
            "it is a server, and a file or folder is needed; “torchkeeper copy” copies to servers "
            "and from them"
        )
    if has_login(text) and not os.path.lexists(text):
        # As a name it would be shown, and kept on the disk.
        raise argparse.ArgumentTypeError(
            "it looks like a server's address with a password; that of a file or folder is needed"
        )
    return os.path.abspath(text)


def place(text: str) -> str:
    """A place: an absolute path, or a server, whose password is taken out and kept apart."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    from torchkeeper.client.secrets import named, typed

    try:
        name = named(text)
        if typed(text):
            _warn_of_typed()
        return name
    except UserError as error:
        raise argparse.ArgumentTypeError(f"{error.what} {error.why} {error.remedy}") from None


def server(text: str) -> str:
    """A place that programs can have as their remote cache."""
    name = place(text)
    if not scheme_of(name).remote_cache:
        raise argparse.ArgumentTypeError("it is no redis://, rediss:// or unix:// address")
    return name


@functools.cache
def _warn_of_typed() -> None:
    """That a password was typed into an address; said once."""
    from torchkeeper.client.secrets import VARIABLE as PASSWORD

    output.note(
        "torchkeeper: The password in the address is seen by other users of this machine (ps), and "
        f"stays in the history of the shell.\n  Give it in {PASSWORD}, or leave it out: on a "
        "terminal it is asked for."
    )


def add_place(command: argparse.ArgumentParser, nargs: str | None = None) -> None:
    command.add_argument("place", metavar="PLACE", type=place, nargs=nargs,
                         help="a cache folder, a bundle or a redis:// server")  # fmt: skip


def add_into(command: argparse.ArgumentParser) -> None:
    command.add_argument("--into", metavar="PLACE", type=path, required=True,
                         help="the cache folder to fill")  # fmt: skip


def add_filter(command: argparse.ArgumentParser, *, several: bool = False) -> None:
    """--filter, with the one grammar; ``several``: environments may be given."""
    command.add_argument("--filter", metavar="Q", default="", help="only entries that match")
    if several:
        command.add_argument("--env", metavar="PYTHON", action="append", default=[],
                             help="the interpreter whose torch is asked for verdicts; may be "
                             f"given several times; {DEFAULT}, "
                             "and for --stale all that are known")  # fmt: skip
        return
    add_env(command)


def add_env(command: argparse.ArgumentParser) -> None:
    """--env, whose verdicts are wanted, or whose names of built objects."""
    command.add_argument("--env", metavar="PYTHON", help="the interpreter whose torch is asked, "
                         "for verdicts and for the names of built objects; "
                         f"{DEFAULT}")  # fmt: skip


def add_places(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument("--protect", metavar="PLACE", type=place,
                       help="make a place read-only, for commands and the window")  # fmt: skip
    which.add_argument("--unprotect", metavar="PLACE", type=place,
                       help="allow changes in a place again")  # fmt: skip


def places(args: argparse.Namespace) -> int:
    """torchkeeper places: lists them, or makes one read-only, or no longer."""
    if args.protect or args.unprotect:
        return _protect(args)
    kept = protected.protected()
    with asking(args) as asker:
        asker.ask(protocol.PLACES, sizes=True)
    found: list[msg.PlacesRow] = asker.rows
    there = {row["path"] for row in found}
    # Those that nothing else finds: whoever wonders why a command refuses looks here.
    for name in (name for name in kept if name not in there):
        exists = not scheme_of(name).local or os.path.exists(name)
        found.append({"path": name, "reason": "read-only", "exists": exists})
    if args.json:
        for row in found:
            shown: dict[str, object] = {**row, "read_only": row["path"] in kept}
            if some := row.get("owners"):
                shown["owners"] = owned.to_json(some)
            output.emit(shown)
        return 0
    rows = []
    for row in found:
        path, reason = row["path"], row["reason"]
        if "entries" in row:
            held = say.held_of(row)
        elif word := scheme_of(path).word:
            held = word  # which may be far away: “du” asks it
        elif reason == "read-only" and row["exists"]:
            held = "-"
        else:
            held = "cannot be read" if row["exists"] else "does not exist yet"
        why = _REASONS.get(reason, reason)
        if path in kept and reason != "read-only":
            why += "  [read-only]"
        if said := owned.short(row.get("owners")):
            why += f"  [{said}]"
        rows.append([path, held, why])
    output.table(["PLACE", "HOLDS", "FOUND BY"], rows, frozenset())
    return 0


def _protect(args: argparse.Namespace) -> int:
    on = args.protect is not None
    name = args.protect or args.unprotect
    before = protected.protected()
    if not on and name not in before and (other := protected.covering(name, before)):
        name = other  # as whoever is told “read-only” of it sees it
    changed = on != (name in before)
    kept = protected.protect(name, on) if changed else before
    state = "read-only" if on else "not read-only any more"
    said = f"{printable(name)} is {state}." if changed else f"{printable(name)} was so already."
    result = {"path": name, "read_only": on, "changed": changed, "protected": kept}
    output.result(args, result, said)
    return 0


def add_ls(command: argparse.ArgumentParser) -> None:
    add_place(command)
    add_filter(command)
    output.flag(command, "--all", "also locks, headers and unknown files, which are no entries and "
                "are counted apart; a filter such as kind:lock lists them, too")  # fmt: skip
    command.add_argument("--sort", metavar="COL", choices=sorted(SORTS), default="kind",
                         help=f"one of {', '.join(SORTS)}")  # fmt: skip
    output.flag(command, "--times", "also when a server drops entries and when they were used last")
    output.flag(command, "--facts", "also all else that the keys of a server do not tell, which "
                "takes long: torch, device, compile time")  # fmt: skip
    output.flag(command, "--read-all", "read also what takes longer than the place is given for "
                "its size on the disk, and look into kernels' folders that look as they did; what "
                "is found is remembered")  # fmt: skip


def ls(args: argparse.Namespace) -> int:
    """torchkeeper ls; ends partly where a folder could not be read."""
    times = args.times or args.facts or args.sort in _TIMES
    times = times or _ASKS_TIMES.search(args.filter) is not None
    apart, scheme = args.all, scheme_of(args.place)
    with contextlib.suppress(Problem):  # what is no filter, an engine refuses
        apart = apart or parse(args.filter).apart
    with early.pop() if early else Engine() as engine:
        envs = known(engine, args.filter, args.env)
        rows = Rows(args.json, args.sort, unsorted=scheme.lazy and args.sort == "kind",
                    timed=times and scheme.keeps_times, judged=bool(envs),
                    apart=apart)  # fmt: skip
        asker = Asker(engine, args.json, rows.take)
        totals: msg.ListResult = asker.ask(
            protocol.LIST, place=args.place, filter=args.filter, times=times, facts=args.facts,
            envs=envs, all=args.read_all,
        )  # fmt: skip
        rows.end()
        if not args.json:
            output.line(summary(totals))
            if beside := say.apart(totals):
                more = "" if rows.apart else ": --all lists them, too"
                output.line(f"and {beside}, {say.content(totals['apart_bytes'])}{more}")
            _note_others(totals)
    if totals.get("unread"):
        many = say.count(totals["unread"], "entry was", "entries were")
        output.note(
            f"{many} not read: that would take longer than the place is given for its size on the "
            "disk. “ls --read-all” reads all; “show” reads one."
        )
    output.notes(output.left_lines(asker.left))
    output.note_owners(totals.get("owners"))
    return contract.partly(True, asker.unreadable)


class Rows:
    """Prints entries in their order; those of a server, of which there may be millions, as they
    come: as JSON at once, as a table from HELD rows on. None of them is kept then.
    """

    #: Rows of a table that are put in order before anything is printed.
    HELD = 10_000

    def __init__(
        self,
        json: bool,
        sort: str = "kind",
        unsorted: bool = False,
        timed: bool = False,
        judged: bool = False,
        apart: bool = True,
    ) -> None:
        """timed: with what a server says. judged: with verdicts. apart: also what is no entry."""
        self.apart = apart
        self._json = json
        self._columns = Columns(timed, judged)
        self._key = SORTS[sort]
        self._unsorted = unsorted
        self._held: list[tuple[Any, Any]] = []
        self._widths: list[int] | None = None
        self.count = 0

    def take(self, rows: list[EntryRow]) -> None:
        """Some more. What is printed is made while the engine still reads."""
        entries = [entry_from_json(row) for row in rows]
        if not self.apart:
            entries = [entry for entry in entries if entry.kind not in COUNTED_APART]
        self.count += len(entries)
        said = [entry.to_json() for entry in entries]
        shown: list[Any] = output.json_lines(said) if self._json else []
        if self._unsorted and self._json:
            output.lines(shown)
        elif self._widths is not None:
            cells = [self._columns.cells(entry) for entry in entries]
            self._columns.print(cells, self._widths)
        else:
            shown = shown or [self._columns.cells(entry) for entry in entries]
            keys = [(self._key(one), one["path"]) for one in said]
            self._held += zip(keys, shown, strict=True)
            if self._unsorted and self.count > self.HELD:
                self._print()

    def end(self) -> None:
        if self._widths is None:
            self._print()

    def _print(self) -> None:
        self._held.sort(key=operator.itemgetter(0))
        in_order = [shown for _, shown in self._held]
        self._held = []
        if self._json:
            output.lines(in_order)
        else:
            self._widths = self._columns.print(in_order)


def _note_others(totals: Strays) -> None:
    if others := totals.get("others"):
        output.note(f"{say.count(others, 'other key', 'other keys')} there, never touched.")
    if maybe := totals.get("kernels_maybe"):
        output.note(
            f"{say.count(maybe, 'of them looks', 'of them look')} like Triton's in another format. "
            "To see kernels, set TRITON_REDIS_KEY_FORMAT as where they were compiled."
        )


class Columns(NamedTuple):
    """The columns of ls, as ``Rows`` has them."""

    timed: bool = False
    judged: bool = False

    def print(self, rows: list[list[str]], below: list[int] | None = None) -> list[int] | None:
        """A table, or more of one with columns of these widths; the widths."""
        when = ["EXPIRES", "USED"] if self.timed else ["CHANGED"]
        verdict = ["VERDICT"] if self.judged else []
        head = ["KIND", "KEY", *verdict, "CONTENT", "FILES", *when, "TORCH", "DEVICE", "COMPILE"]
        if not rows:
            return below
        right = frozenset({head.index(name) for name in ("CONTENT", "FILES", "COMPILE")})
        return output.table([] if below else [*head, "NAME"], rows, right, below)

    def cells(self, entry: Entry) -> list[str]:
        verdict = [entry.verdict or "-"] if self.judged else []
        when = [say.ago(entry.mtime) if entry.mtime is not None else "-"]
        if self.timed:
            when = ["-" if entry.expires is None else say.until(entry.expires),
                    "-" if entry.used is None else say.ago(entry.used)]  # fmt: skip
        size = [say.size(entry.size), str(entry.files)]
        compiled = say.seconds(entry.compile_s) if entry.compile_s is not None else "-"
        made = [entry.torch or "-", entry.device or "-", compiled]
        name = (entry.name or "-") + _marks(entry)
        return [entry.kind, entry.key[:12], *verdict, *size, *when, *made, name]


def _marks(entry: Entry) -> str:
    broken = f"  [broken: {entry.problem}]" if entry.broken else ""
    broken = f"  [not read: {entry.problem}]" if entry.problem in UNREAD else broken
    orphan = f"  [orphan: {entry.orphan}]" if entry.orphan else ""
    return broken + orphan + (f"  [owner: {entry.owner}]" if entry.owner else "")


def summary(totals: msg.ListResult) -> str:
    """``74 entries, 102 files, 4.1 MB of content; 2 broken; 3 orphans; trash 1.2 MB on disk``."""
    files = say.count(totals["files"], "file", "files")
    said = f"{say.count(totals['entries'], 'entry', 'entries')}, {files}, "
    said += say.content(totals["bytes"])
    if totals.get("broken"):
        said += f"; {totals['broken']:,} broken"
    if totals.get("unread"):
        said += f"; {totals['unread']:,} not read"
    if totals.get("orphans"):
        said += f"; {say.count(totals['orphans'], 'orphan', 'orphans')}"
    if (trash := totals.get("trash")) and trash["files"]:
        said += f"; trash {say.on_disk(trash['bytes'])}"
    return said


def add_du(command: argparse.ArgumentParser) -> None:
    add_place(command)
    add_filter(command)


def du(args: argparse.Namespace) -> int:
    """torchkeeper du; ends partly where a folder could not be read."""
    if args.filter:
        return _du_of(args)
    with asking(args) as asker:
        answer: msg.DuResult = asker.ask(protocol.DU, place=args.place)
    output.note_owners(answer["owners"])
    # Orphans are part of the kinds as well. The trash is part of neither the kinds nor the total.
    # What is counted apart has rows, and its numbers in the total, whose files and bytes are of the
    # entries alone.
    room = answer["disk_bytes"]
    folder = room is not None
    total = _total(answer["kinds"], folder)
    orphans, rows = answer["orphans"], list(answer["kinds"])
    if trash := answer["trash"]:
        counts = {name: one for name, one in trash.items() if name not in ("receipts", "last")}
        rows.append(cast("msg.DuKind", {"kind": "trash", **counts}))
    if args.json:
        output.emit_all(answer["kinds"])
        if orphans:
            output.emit({"kind": "orphans", **orphans})
        output.emit_all(rows[len(answer["kinds"]) :])
        last: dict[str, object] = {**total}
        if "others" in answer:
            last |= {"others": answer["others"], "kernels_maybe": answer["kernels_maybe"]}
        if folder:
            last["place_disk_bytes"] = room
        output.emit(last)
        return contract.partly(True, asker.unreadable)
    beside = ("trash", *COUNTED_APART)
    shown = [row for row in [*rows, total] if row["kind"] not in beside]
    shown += [row for row in rows if row["kind"] in beside]
    disk = ["ON DISK"] if folder else []
    head = ["KIND", "ENTRIES", "FILES", "CONTENT", *disk]
    output.table(head, [_held_in(row, folder) for row in shown], frozenset({1, 2, 3, 4}))
    if room is not None:
        output.line(f"The place takes {say.on_disk(room)}, without the trash.")
    if orphans and total["entries"] and (said := _orphans_of(orphans)):
        output.line(said)
    _note_others(answer)
    return contract.partly(True, asker.unreadable)


def _total(rows: list[msg.DuKind], folder: bool) -> msg.DuKind:
    """Of rows of kinds: all counts, and of the entries the files and bytes."""
    own = [row for row in rows if row["kind"] not in COUNTED_APART]
    counts = tally(())
    for name in COUNTS:
        counts[name] = sum(row[name] for row in rows)
    total: msg.DuKind = {
        "kind": "total", **counts, "files": sum(row["files"] for row in own),
        **measured(sum(row["bytes"] for row in own), on_disk=False),
    }  # fmt: skip
    if folder:
        total["disk_bytes"] = sum(row["disk_bytes"] for row in own)
    return total


def _held_in(row: msg.DuKind, folder: bool) -> list[str]:
    """A line of du. What is counted apart is no entry, and of the trash only its room is known."""
    entries = "-" if row["kind"] in COUNTED_APART else f"{row['entries']:,}"
    content = "-" if row["kind"] == "trash" else say.size(row["bytes"])
    disk = [say.size(row["disk_bytes"])] if folder else []
    return [row["kind"], entries, f"{row['files']:,}", content, *disk]


def _du_of(args: argparse.Namespace) -> int:
    """What some of a place comes to, and what compiling it took: for that it is read."""
    with asking(args) as asker:
        select: Select = {"filter": args.filter, "envs": known(asker.engine, args.filter, args.env)}
        answer: msg.SumResult = asker.ask(protocol.SUM, place=args.place, select=select)
    sums = {name: value for name, value in answer.items() if name != "kinds"}
    rows = [*answer["kinds"], cast("msg.SumKind", {"kind": "total", **sums})]
    if args.json:
        output.emit_all(rows)
    else:
        cells = [
            [*_held_in(row, folder=False),
             say.seconds(row["compile_s"]) if row["timed"] else "-"] for row in rows
        ]  # fmt: skip
        head = ["KIND", "ENTRIES", "FILES", "CONTENT", "COMPILE"]
        output.table(head, cells, frozenset({1, 2, 3, 4}))
    return contract.partly(True, asker.unreadable)


def _orphans_of(orphans: Orphans) -> str:
    """What is said of orphans: how many there are, and whether there may be more."""
    found = f"{say.held(orphans)} that nothing needs, {say.on_disk(orphans['disk_bytes'])}"
    some = any(orphans[name] for name in COUNTS)
    if orphans["whole"]:
        return f"Of these {found}: “ls --all --filter is:orphan” says why." if some else ""
    if not some:
        return "Which of them are orphans is known once “ls” has read them."
    return f"Of these at least {found}; “ls” reads the entries and finds the others."
