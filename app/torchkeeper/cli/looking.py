"""Commands that only look: places, ls, du, show."""

from __future__ import annotations

import argparse
import operator
import os
from collections.abc import Callable
from typing import Any

from torchkeeper.artifacts.entry import KINDS, Entry, checked_row
from torchkeeper.cli import output
from torchkeeper.cli.asking import Answer, Asker
from torchkeeper.link import say
from torchkeeper.link.facts import WORDED, told
from torchkeeper.link.process import Engine
from torchkeeper.link.words import UserError, printable, user_error
from torchkeeper.stores.names import is_server

_RANKS: dict[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}
#: What entries are put in order by, given their fields.
SORTS: dict[str, Callable[[dict[str, Any]], Any]] = {
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
}


#: Facts that only join entries, which is said under these titles.
_JOINING = frozenset({"kernels", "digest", "fx_keys", "triton_keys", "code_key", "code_keys"}
                     | {"code_names", "role", "opaque"})  # fmt: skip
_RELATIVES = {
    "needs": "needs",
    "missing": "needs, and is not in this place",
    "needed_by": "needed by",
}
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
    return os.path.abspath(text)


def place(text: str) -> str:
    """A place: an absolute path, or a server, whose password is taken out and kept apart."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    from torchkeeper.link.secrets import named

    try:
        return named(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(f"{error.what} {error.why} {error.remedy}") from None


def add_json(command: argparse.ArgumentParser) -> None:
    """--json, which nearly every command has."""
    command.add_argument("--json", action="store_true", help="print one JSON object a line")


def add_filter(command: argparse.ArgumentParser) -> None:
    """--filter, with the one grammar."""
    command.add_argument("--filter", metavar="Q", default="", help="only entries that match")


def add_places(command: argparse.ArgumentParser) -> None:
    """Arguments of places."""
    add_json(command)


def places(args: argparse.Namespace) -> int:
    """torchkeeper places"""
    with Engine() as engine:
        asker = Asker(engine, args.json)
        asker.ask("places", sizes=True)
    if args.json:
        for row in asker.rows:
            output.emit(row)
        return 0
    rows = []
    for row in asker.rows:
        reason = str(row.get("reason"))
        entries, size = row.get("entries"), row.get("bytes")
        if isinstance(entries, int) and isinstance(size, int):
            held = say.count(entries, "entry", "entries") + ", " + say.size(size)
        elif is_server(str(row.get("path"))):
            held = "a server"  # which may be far away: “du” asks it
        else:
            held = "cannot be read" if row.get("exists") else "does not exist yet"
        rows.append([str(row.get("path")), held, _REASONS.get(reason, reason)])
    output.table(["PLACE", "HOLDS", "FOUND BY"], rows, frozenset())
    return 0


def add_ls(command: argparse.ArgumentParser) -> None:
    """Arguments of ls."""
    command.add_argument(
        "place", metavar="PLACE", type=place, help="a cache folder, a bundle or a redis:// server"
    )
    add_filter(command)
    command.add_argument("--sort", metavar="COL", choices=sorted(SORTS), default="kind",
                         help=f"one of {', '.join(SORTS)}")  # fmt: skip
    add_json(command)


def ls(args: argparse.Namespace) -> int:
    """torchkeeper ls; 1 if a filter matches nothing."""
    key = SORTS[args.sort]
    listed: list[tuple[Any, Any]] = []

    # A server may have millions: they are printed as they come, and none is kept.
    at_once = args.json and is_server(args.place) and args.sort == "kind"
    printed = 0

    def take(rows: list[Answer]) -> None:
        nonlocal printed
        # What is printed is made while the engine still reads.
        if at_once:
            output.lines([output.json_line(checked_row(row)) for row in rows])
            printed += len(rows)
            return
        for row in rows:
            fields = checked_row(row)
            shown = output.json_line(fields) if args.json else _cells(Entry(**fields))
            listed.append(((key(fields), fields["path"]), shown))

    with Engine() as engine:
        asker = Asker(engine, args.json, take)
        totals = asker.ask("list", place=args.place, filter=args.filter)
        listed.sort(key=operator.itemgetter(0))
        in_order = [shown for _, shown in listed]
        if args.json:
            output.lines(in_order)
        else:
            _print_cells(in_order)
            output.line(summary(totals))
    for text in output.left_lines(asker.left):
        output.note(text)
    return 1 if asker.unreadable or (args.filter and not listed and not printed) else 0


def print_entries(entries: list[Entry]) -> None:
    """The table of ls, in its order."""
    by_kind = sorted(entries, key=lambda entry: SORTS["kind"](entry.to_json()))
    _print_cells([_cells(entry) for entry in by_kind])


def _print_cells(rows: list[list[str]]) -> None:
    head = ["KIND", "KEY", "SIZE", "FILES", "CHANGED", "TORCH", "DEVICE", "COMPILE", "NAME"]
    if rows:
        output.table(head, rows, frozenset({2, 3, 7}))


def _cells(entry: Entry) -> list[str]:
    return [
        entry.kind,
        entry.key[:12],
        say.size(entry.size),
        str(entry.files),
        say.ago(entry.mtime) if entry.mtime is not None else "-",
        entry.torch or "-",
        entry.device or "-",
        say.seconds(entry.compile_s) if entry.compile_s is not None else "-",
        (entry.name or "-") + _marks(entry),
    ]


def _marks(entry: Entry) -> str:
    """What is wrong with an entry, and why nothing needs it."""
    broken = f"  [broken: {entry.problem}]" if entry.problem else ""
    return broken + (f"  [orphan: {entry.orphan}]" if entry.orphan else "")


def summary(totals: Answer) -> str:
    """``74 entries, 102 files, 4.1 MB; 2 broken; 3 orphans; trash 1.2 MB``."""
    said = ", ".join(
        (
            say.count(totals["entries"], "entry", "entries"),
            say.count(totals["files"], "file", "files"),
            say.size(totals["bytes"]),
        )
    )
    if totals.get("broken"):
        said += f"; {totals['broken']:,} broken"
    if totals.get("orphans"):
        said += f"; {say.count(totals['orphans'], 'orphan', 'orphans')}"
    if (trash := totals.get("trash")) and trash["files"]:
        said += f"; trash {say.size(trash['bytes'])}"
    return said


def add_du(command: argparse.ArgumentParser) -> None:
    """Arguments of du."""
    command.add_argument(
        "place", metavar="PLACE", type=place, help="a cache folder, a bundle or a redis:// server"
    )
    add_json(command)


def du(args: argparse.Namespace) -> int:
    """torchkeeper du"""
    with Engine() as engine:
        asker = Asker(engine, args.json)
        answer = asker.ask("du", place=args.place)
    rows: list[Answer] = list(answer["kinds"])
    # Orphans and the trash have lines of their own before the total. Orphans are part of the kinds
    # as well, the trash is part of neither the kinds nor the total.
    total = {
        "kind": "total",
        "entries": sum(row["entries"] for row in rows),
        "files": sum(row["files"] for row in rows),
        "bytes": sum(row["bytes"] for row in rows),
    }
    if orphans := answer.get("orphans"):
        rows.append({"kind": "orphans", **orphans})
    if trash := answer.get("trash"):
        rows.append({"kind": "trash", **{k: trash[k] for k in ("entries", "files", "bytes")}})
    rows.append(total)
    if args.json:
        for row in rows:
            output.emit(row)
        return int(asker.unreadable)
    cells = [
        [row["kind"], f"{row['entries']:,}", f"{row['files']:,}", say.size(row["bytes"])]
        for row in rows
        if row["kind"] != "orphans"
    ]
    output.table(["KIND", "ENTRIES", "FILES", "SIZE"], cells, frozenset({1, 2, 3}))
    if orphans and total["entries"] and (said := _orphans_of(orphans)):
        output.line(said)
    return int(asker.unreadable)


def _orphans_of(orphans: Answer) -> str:
    """What is said of orphans: how many there are, and whether there may be more."""
    count = say.count(orphans["entries"], "orphan", "orphans")
    found = f"{count}, {say.size(orphans['bytes'])}"
    if orphans["whole"]:
        return f"Of these {found}: “ls --filter is:orphan” says why." if orphans["entries"] else ""
    if not orphans["entries"]:
        return "Which of them are orphans is known once “ls” has read them."
    return f"Of these at least {found}; “ls” reads the entries and finds the others."


def add_show(command: argparse.ArgumentParser) -> None:
    """Arguments of show."""
    command.add_argument(
        "place", metavar="PLACE", type=place, help="a cache folder, a bundle or a redis:// server"
    )
    command.add_argument("key", metavar="KEY", help="a key, or the start of only one")
    add_json(command)


def show(args: argparse.Namespace) -> int:
    """torchkeeper show: every entry of a key."""
    with Engine() as engine:
        asker = Asker(engine, args.json)
        asker.ask("show", place=args.place, key=args.key)
    shown = [what["shown"] for what in asker.findings if isinstance(what.get("shown"), dict)]
    for number, one in enumerate(shown):
        if args.json:
            related = {name: one.get(name, []) for name in ("needs", "missing", "needed_by")}
            about = {"facts": one["facts"], "file_list": one["files"], **related}
            output.emit({**one["entry"], **about})
        else:
            if number:
                output.line()
            _print_shown(one)
    return 0


def _print_shown(one: dict[str, Any]) -> None:
    entry, facts = one["entry"], dict(one["facts"])
    for name, value in entry.items():
        if value is None or name in ("problem", "orphan"):
            continue
        if name == "mtime":
            value = f"{say.when(value)} ({say.ago(value)})"
        elif name == "size":
            value = f"{say.size(value)} ({value:,} bytes)"
        elif name == "compile_s":
            name, value = "compile", say.seconds(value)
        output.line(f"{name + ':':<11} {printable(str(value), 4000)}")
    if entry.get("problem"):
        problem = user_error(entry["problem"], facts)
        output.line(f"{'broken:':<11} {problem.what} {problem.why}")
    if entry.get("orphan"):
        orphan = user_error(entry["orphan"], facts)
        output.line(f"{'orphan:':<11} {orphan.what} {orphan.why}")
    output.line("files:")
    for file in one["files"]:
        output.line(f"  {say.size(file['size']):>9}  {printable(file['path'], 4000)}")
    for name in ("needs", "missing", "needed_by"):
        if one.get(name):
            output.line(f"{_RELATIVES[name]}:")
        for kind, key in one.get(name, ()):
            output.line(f"    {printable(kind)} {printable(key)}")
    factors = facts.pop("factors", None)
    for fact in told(entry["kind"], facts):
        label = fact.label[0].lower() + fact.label[1:] if fact.label[1:2].islower() else fact.label
        _print_fact(label, fact.values if len(fact.values) > 1 else fact.values[0])
    worded = WORDED.get(entry["kind"], frozenset())
    for name, value in facts.items():
        if name not in entry and name not in _JOINING and name not in worded and value:
            _print_fact(name.replace("_", " "), value)
    if factors:
        output.line(f"key factors: ({len(factors)})")
        for _, name, value in factors:
            output.line(f"  {printable(name)}: {printable(str(value), 200)}")


def _print_fact(name: str, value: Any) -> None:
    if isinstance(value, dict):
        output.line(f"{name}:")
        for key, inner in value.items():
            if inner not in (None, [], ""):
                _print_fact(f"  {key}", inner)
    elif isinstance(value, list):
        output.line(f"{name}:")
        for item in value:
            output.line(f"    {printable(str(item), 200)}")
    elif isinstance(value, str) and "\n" in value:
        output.line(f"{name}:")
        for text in value.splitlines():
            output.line(f"    {printable(text, 400)}")
    else:
        output.line(f"{name}: {printable(str(value), 400)}")
