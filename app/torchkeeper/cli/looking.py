"""Commands that only look: places, ls, du."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts.entry import COUNTED_APART, COUNTS, Problem, measured, tally
from torchkeeper.artifacts.masking import has_login
from torchkeeper.cli import contract, hosts, listing, output, screen
from torchkeeper.cli.asking import Asker, engine_at
from torchkeeper.cli.commands import DEFAULT_ENV
from torchkeeper.cli.several import answers, at_each
from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.probes import asks_verdicts, know, known
from torchkeeper.client.kept import hosts as kept
from torchkeeper.client.kept import protected
from torchkeeper.client.words import owned, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.query import parse

if TYPE_CHECKING:
    from torchkeeper.client.engines.process import Engine
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages import places as msg
    from torchkeeper.stores.shapes import Orphans, Strays

_ASKS_TIMES = re.compile(r"\b(?:expires|used)[:<>=]", re.IGNORECASE)

_REASONS = {
    "default": "PyTorch's default",
    "triton-default": "Triton's default",
    "temporary": "in the temporary folder",
    "filled": "filled by Torchkeeper",
    "vllm": "vLLM",
    "ondisk": "PyTorch's generic cache",
}


def path(text: str) -> str:
    """A path as the engine needs it, which runs in a folder of its own."""
    if not text:
        # An empty shell variable must not become the current folder, least of all for purge.
        raise argparse.ArgumentTypeError("it is empty")
    if far.is_far(text):
        raise argparse.ArgumentTypeError("it is on another machine, where this cannot be done yet")
    if not scheme_of(text).local:
        # Otherwise it would be a folder, of such a name, in the current one.
        raise argparse.ArgumentTypeError(
            "it is a server; give a file or a folder. “torchkeeper copy” copies to and from servers"
        )
    if has_login(text) and not os.path.lexists(text):
        # As a name it would be shown, and kept on the disk.
        raise argparse.ArgumentTypeError(
            "it looks like a server's address with a password; give a file or a folder"
        )
    return os.path.abspath(text)


def place(text: str, *, alone: bool = False) -> str:
    """A place: an absolute path, or a server, whose password is taken out and kept apart; or a
    machine ``alone``.
    """
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    from torchkeeper.client.secrets import named, typed

    try:
        name = named(text, alone=alone)
        if typed(text):
            _warn_of_typed()
        return name
    except UserError as error:
        raise argparse.ArgumentTypeError(f"{error.what} {error.why} {error.remedy}") from None


def place_or_machine(text: str) -> str:
    """A place, or another machine, which stands for all places there."""
    return place(text, alone=True)


def server(text: str) -> str:
    """A place that programs can have as their remote cache."""
    name = place(text)
    if not scheme_of(name).remote_cache:
        raise argparse.ArgumentTypeError("it is not a redis://, rediss:// or unix:// address")
    return name


@functools.cache
def _warn_of_typed() -> None:
    """That a password was typed into an address; said once."""
    from torchkeeper.client.secrets import VARIABLE as PASSWORD

    output.note(
        "torchkeeper: Other users of this machine see the password in the address (ps), and it "
        f"stays in the history of the shell.\n  Give it in {PASSWORD}, or leave it out: a terminal "
        "asks for it."
    )


def add_place(command: argparse.ArgumentParser, nargs: str | None = None) -> None:
    command.add_argument("place", metavar="PLACE", type=place, nargs=nargs,
                         help="a cache folder, a bundle or a redis:// server; ssh://HOST/PATH is "
                         "a folder or a bundle on another machine, ssh://HOST/redis://… a server "
                         "that it reaches")  # fmt: skip


def add_several(command: argparse.ArgumentParser) -> None:
    """Places that are looked at, also on several machines."""
    command.add_argument("places", metavar="PLACE", type=place, nargs="+", help="a cache folder, a "
                         "bundle or a redis:// server; with several, each line names its place, "
                         "and the exit status is 4 if one cannot be read")  # fmt: skip


def folder(text: str) -> str:
    """A folder, or a bundle, on this machine or another."""
    return place(text) if far.is_far(text) else path(text)


def far_folder(text: str) -> str:
    """A folder on another machine."""
    if not far.is_far(text):
        raise argparse.ArgumentTypeError("it is none, as ssh://HOST/PATH is; here use “cd”")
    return place_or_machine(text)  # which is its home


def add_only(command: argparse.ArgumentParser) -> None:
    """--only, of a command that takes entries to where they are used."""
    command.add_argument("--only", metavar="WHAT", dest="usable", choices=("usable",),
                         help="“usable”: only what the interpreter there can use, and what that "
                         "needs")  # fmt: skip


def add_into(command: argparse.ArgumentParser, kind: Callable[[str], str] = path) -> None:
    there = "; ssh://HOST/PATH is one on another machine" if kind is folder else ""
    command.add_argument("--into", metavar="PLACE", type=kind, required=True,
                         help=f"the cache folder to fill{there}")  # fmt: skip


def add_into_one_or_each(command: argparse.ArgumentParser) -> None:
    """A folder, or all caches of a machine."""
    ways = command.add_mutually_exclusive_group(required=True)
    ways.add_argument("--into", metavar="PLACE", type=folder,
                      help="the cache folder to fill; ssh://HOST/PATH is one on another "
                      "machine")  # fmt: skip
    ways.add_argument("--into-each", metavar="MACHINE", type=machine, nargs="?", const=False,
                      help="put the entries of each cache, such as DeepGEMM's, where the variables "
                      "and defaults of this machine, or of ssh://HOST, say that it is")  # fmt: skip


def add_filter(command: argparse.ArgumentParser, *, several: bool = False) -> None:
    """--filter, with the one grammar; ``several``: environments may be given."""
    command.add_argument("--filter", metavar="Q", default="", help="only entries that match")
    if several:
        command.add_argument("--env", metavar="PYTHON", action="append", default=[],
                             help="the interpreter with the torch to ask for verdicts; may be "
                                  f"given several times; {DEFAULT_ENV}, and for --stale all known "
                                  "ones")  # fmt: skip
        return
    add_env(command)


def add_env(command: argparse.ArgumentParser) -> None:
    """--env, whose verdicts are wanted, or whose names of built objects."""
    command.add_argument("--env", metavar="PYTHON", help="the interpreter with the torch to ask, "
                         f"for verdicts and names of built objects; {DEFAULT_ENV}")  # fmt: skip


#: The names of the columns of places, as its --columns takes them.
_PLACES = ("place", "holds", "found-by")


def machine(text: str) -> str:
    """Another machine, as ssh://HOST or HOST; what is a place there is none."""
    try:
        (name,) = kept.named(text)
    except (UserError, ValueError):
        raise argparse.ArgumentTypeError("it names no machine: write ssh://HOST") from None
    return name


def add_places(command: argparse.ArgumentParser) -> None:
    command.add_argument("machines", metavar="MACHINE", type=machine, nargs="*", help="ssh://HOST: "
                         "the caches of other machines, instead of those of this one")  # fmt: skip
    hosts.add_group(command)
    output.add_table(command, _PLACES, limit=True)
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
    machines = list(dict.fromkeys([*args.machines, *hosts.of_group(args)])) or [""]

    def look(machine: str) -> list[msg.PlacesRow]:
        with engine_at(args, machine) as engine:
            asker = Asker(engine, args.json or len(machines) > 1)
            asker.ask(protocol.PLACES, sizes=True)
        return far.placed(machine, asker.rows)

    of, failed = answers(machines, look, args.json)
    found = [row for rows in of.values() for row in rows]
    there = {row["path"] for row in found}
    # Those that nothing else finds: whoever wonders why a command refuses looks here.
    asked = (name for name in kept if scheme_of(name).machine(name) in of)
    for name in (name for name in asked if name not in there):
        exists = not scheme_of(name).local or os.path.exists(name)
        found.append({"path": name, "reason": "read-only", "exists": exists})
    if args.json:
        for row in found[: screen.now.limit]:
            shown: dict[str, object] = {**row, "read_only": row["path"] in kept}
            if some := row.get("owners"):
                shown["owners"] = owned.to_json(some)
            output.emit(shown)
        return _not_reached(args, failed)
    rows = []
    for row in found:
        path, reason = row["path"], row["reason"]
        if "entries" in row:
            held = say.held_of(row)
        elif (word := scheme_of(path).word) and not far.is_far(path):
            held = word  # which may be far away: “du” asks it
        elif reason == "read-only" and row["exists"]:
            held = "-"
        else:
            held = "cannot be read" if row["exists"] else "does not exist yet"
        why = _REASONS.get(reason, reason)
        if ranks := row.get("ranks"):
            why += f", {say.count(len(ranks), 'rank', 'ranks')}"
        if path in kept and reason != "read-only":
            why += "  [read-only]"
        if said := owned.short(row.get("owners")):
            why += f"  [{said}]"
        rows.append([path, held, why])
    rows += [[machine, "cannot be reached", "-"] for machine in failed]
    output.table(["PLACE", "HOLDS", "FOUND BY"], rows, frozenset())
    return _not_reached(args, failed)


def _not_reached(args: argparse.Namespace, failed: Mapping[str, UserError]) -> int:
    """Say why machines could not be asked; the exit status, where others could."""
    for error in failed.values():
        output.report(args, error)
    return contract.partly(True, failed)


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
    add_several(command)
    add_filter(command)
    output.flag(command, "--all", "also locks, headers and unknown files, which are not entries "
                "and have their own totals; a filter like kind:lock lists them")  # fmt: skip
    command.add_argument("--sort", metavar="COL", choices=sorted(listing.SORTS), default="kind",
                         help=f"one of {', '.join(listing.SORTS)}")  # fmt: skip
    output.add_table(command, listing.NAMES, limit=True)
    output.flag(command, "--times", "also the expiry and the last use of entries on a server")
    output.flag(command, "--facts", "also what only the values of a server tell, which takes long: "
                "torch, device, compile time")  # fmt: skip
    output.flag(command, "--read-all", "also read what the time limit of the place leaves unread, "
                "and kernels' folders that look unchanged; the results are remembered")  # fmt: skip


def ls(args: argparse.Namespace) -> int:
    """torchkeeper ls; ends partly where a folder could not be read, or a place not be looked at."""
    columns, places = screen.now.columns, list(dict.fromkeys(args.places))
    times = args.times or args.facts or not {args.sort, *columns}.isdisjoint(listing.TIMES)
    times = times or _ASKS_TIMES.search(args.filter) is not None
    apart, schemes = args.all, list(map(scheme_of, places))
    with contextlib.suppress(Problem):  # what is no filter, an engine refuses
        apart = apart or parse(args.filter).apart
    found: dict[str, msg.ListResult] = {}
    judged = args.env is not None or asks_verdicts(args.filter) or "verdict" in columns
    rows = listing.Rows(
        args.json, args.sort,
        unsorted=args.sort == "kind" and any(scheme.lazy for scheme in schemes),
        timed=times and any(scheme.keeps_times for scheme in schemes),
        judged=judged, apart=apart, several=len(places) > 1,
    )  # fmt: skip

    @functools.cache
    def envs(engine: Engine) -> list[str]:
        return know(engine, [interpreters.chosen(args.env, engine.machine)]) if judged else []

    def look(asker: Asker, place: str) -> None:
        asker.on_rows = rows.of(place)
        found[place] = asker.ask(
            protocol.LIST, place=place, filter=args.filter, times=times, facts=args.facts,
            envs=envs(asker.engine), all=args.read_all,
        )  # fmt: skip

    looked = at_each(args, places, look)
    rows.end()
    found = {place: found[place] for place in places if place in found}
    for place, totals in found.items():
        if not args.json:
            _sum_up(totals, f"{printable(place)}: " if len(places) > 1 else "", rows.apart)
    unread = sum(totals.get("unread", 0) for totals in found.values())
    if unread:
        many = say.count(unread, "entry was", "entries were")
        output.note(
            f"{many} not read: the time limit of the place ran out. “ls --read-all” reads all; "
            "“show” reads one."
        )
    output.notes(output.left_lines(looked.left))
    for totals in found.values():
        output.note_owners(totals.get("owners"))
    for error in looked.failed:
        output.report(args, error)
    return contract.partly(True, looked.short)


def _sum_up(totals: msg.ListResult, place: str, apart: bool) -> None:
    """What a place holds; apart: whether what is no entry was listed, too."""
    output.closing(place + summary(totals))
    if beside := say.apart(totals):
        more = "" if apart else ": --all lists them, too"
        output.closing(f"and {beside}, {say.content(totals['apart_bytes'])}{more}")
    _note_others(totals)


def _note_others(totals: Strays) -> None:
    if others := totals.get("others"):
        output.note(f"{say.count(others, 'other key', 'other keys')} there, never touched.")
    if maybe := totals.get("kernels_maybe"):
        output.note(
            f"{say.count(maybe, 'of them looks', 'of them look')} like Triton's in another format. "
            "To see kernels, set TRITON_REDIS_KEY_FORMAT as where they were compiled."
        )


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


#: The names of the columns of du, as its --columns takes them.
_DU = ("place", "kind", "entries", "files", "content", "on-disk", "compile")


def add_du(command: argparse.ArgumentParser) -> None:
    add_several(command)
    add_filter(command)
    output.add_table(command, _DU)


def du(args: argparse.Namespace) -> int:
    """torchkeeper du; ends partly where a folder could not be read, or a place not be looked at."""
    places = list(dict.fromkeys(args.places))
    return _du_of(args, places) if args.filter else _du_all(args, places)


def _du_all(args: argparse.Namespace, places: Sequence[str]) -> int:
    answers: dict[str, msg.DuResult] = {}

    def look(asker: Asker, place: str) -> None:
        answers[place] = asker.ask(protocol.DU, place=place)

    looked = at_each(args, places, look)
    answers = {place: answers[place] for place in places if place in answers}
    several = _names_places(places)
    disk = any(answer["disk_bytes"] is not None for answer in answers.values())
    cells = []
    for place, answer in answers.items():
        output.note_owners(answer["owners"])
        if args.json:
            output.emit_all(_of_place(place if several else None, _du_json(answer)))
        else:
            of = [place] if several else []
            cells += [[*of, *_held_in(row, disk)] for row in _du_rows(answer)]
    if not args.json:
        head = [*(["PLACE"] if several else []), "KIND", "ENTRIES", "FILES", "CONTENT"]
        head += ["ON DISK"] if disk else []
        output.table(head, cells, frozenset(range(len(head) - 3 - disk, len(head))))
    for place, answer in () if args.json else answers.items():
        _du_words(answer, printable(place) if several else "The place")
    for error in looked.failed:
        output.report(args, error)
    return contract.partly(True, looked.short)


def _names_places(places: Sequence[str]) -> bool:
    """Whether rows say which place they are of."""
    return len(places) > 1 or "place" in screen.now.columns


def _of_place(
    place: str | None, rows: Iterable[Mapping[str, object]]
) -> Iterable[Mapping[str, object]]:
    """The rows, with the place that they are of where that is not clear."""
    return rows if place is None else ({**row, "place": place} for row in rows)


def _trash_of(answer: msg.DuResult) -> list[msg.DuKind]:
    """The trash as a row, if there is one: it is part of neither the kinds nor the total."""
    if not (trash := answer["trash"]):
        return []
    counts = {name: one for name, one in trash.items() if name not in ("receipts", "last")}
    return [cast("msg.DuKind", {"kind": "trash", **counts})]


def _du_json(answer: msg.DuResult) -> Iterable[Mapping[str, object]]:
    yield from answer["kinds"]
    if orphans := answer["orphans"]:  # which are part of the kinds as well
        yield {"kind": "orphans", **orphans}
    yield from _trash_of(answer)
    room = answer["disk_bytes"]
    last: dict[str, object] = {**_total(answer["kinds"], room is not None)}
    if "others" in answer:
        last |= {"others": answer["others"], "kernels_maybe": answer["kernels_maybe"]}
    if room is not None:
        last["place_disk_bytes"] = room
    yield last


def _du_rows(answer: msg.DuResult) -> list[msg.DuKind]:
    """What is counted apart has rows, and its numbers in the total, whose files and bytes are of
    the entries alone.
    """
    total = _total(answer["kinds"], answer["disk_bytes"] is not None)
    rows = [*answer["kinds"], *_trash_of(answer), total]
    beside = ("trash", *COUNTED_APART)
    return sorted(
        (row for row in rows),
        key=lambda row: (row["kind"] in beside, row["kind"] == "total"),
    )  # fmt: skip


def _du_words(answer: msg.DuResult, place: str) -> None:
    if answer["disk_bytes"] is not None:
        output.closing(f"{place} takes {say.on_disk(answer['disk_bytes'])}, without the trash.")
    orphans = answer["orphans"]
    if orphans and any(row["entries"] for row in answer["kinds"]):
        output.closing(_orphans_of(orphans))
    _note_others(answer)


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


def _held_in(row: msg.DuKind, disk: bool) -> list[str]:
    """A line of du. What is counted apart is no entry, and of the trash only its room is known."""
    entries = "-" if row["kind"] in COUNTED_APART else f"{row['entries']:,}"
    content = "-" if row["kind"] == "trash" else say.size(row["bytes"])
    cells = [row["kind"], entries, f"{row['files']:,}", content]
    if disk:
        cells.append(say.size(row["disk_bytes"]) if "disk_bytes" in row else "-")
    return cells


def _du_of(args: argparse.Namespace, places: Sequence[str]) -> int:
    """What some of places comes to, and what compiling it took: for that it is read."""
    answers: dict[str, msg.SumResult] = {}
    several = _names_places(places)

    @functools.cache
    def select(engine: Engine) -> Select:
        return {"filter": args.filter, "envs": known(engine, args.filter, args.env)}

    def look(asker: Asker, place: str) -> None:
        answers[place] = asker.ask(protocol.SUM, place=place, select=select(asker.engine))

    looked = at_each(args, places, look)
    answers = {place: answers[place] for place in places if place in answers}
    cells = []
    for place, answer in answers.items():
        sums = {name: value for name, value in answer.items() if name != "kinds"}
        rows = [*answer["kinds"], cast("msg.SumKind", {"kind": "total", **sums})]
        if args.json:
            output.emit_all(_of_place(place if several else None, rows))
            continue
        for row in rows:
            compiled = say.seconds(row["compile_s"]) if row["timed"] else "-"
            cells.append([*([place] if several else []), *_held_in(row, False), compiled])
    if not args.json:
        head = [*(["PLACE"] if several else []), "KIND", "ENTRIES", "FILES", "CONTENT", "COMPILE"]
        output.table(head, cells, frozenset(range(len(head) - 4, len(head))))
    for error in looked.failed:
        output.report(args, error)
    return contract.partly(True, looked.short)


def _orphans_of(orphans: Orphans) -> str:
    """What is said of orphans: how many there are, and whether there may be more."""
    found = f"{say.held(orphans)} that nothing needs, {say.on_disk(orphans['disk_bytes'])}"
    some = any(orphans[name] for name in COUNTS)
    if orphans["whole"]:
        return f"Of these {found}: “ls --all --filter is:orphan” says why." if some else ""
    if not some:
        return "“ls” reads the entries, and tells which of them nothing needs."
    return f"Of these at least {found}; “ls” reads the entries and finds the others."
