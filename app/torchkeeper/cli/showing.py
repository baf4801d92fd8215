"""The command that shows an entry: show."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import UNREAD
from torchkeeper.cli import output
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.looking import add_json, place
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import say
from torchkeeper.client.words.facts import WORDED, WORDED_OF_ALL, told
from torchkeeper.client.words.problems import not_looked_at, printable, user_error
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import EntryRow
    from torchkeeper.engine.messages.entries import Shown

#: Facts that only join entries, which is said under these titles.
_JOINING = frozenset({"kernels", "digest", "fx_keys", "triton_keys", "code_key", "code_keys"}
                     | {"code_names", "role", "opaque", "group", "warp", "widths", "own_key"}
                     | {"libs", "prints"})  # fmt: skip


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
        asker.ask(protocol.SHOW, place=args.place, key=args.key)
    shown: list[Shown] = [what["shown"] for what in asker.findings if "shown" in what]
    for number, one in enumerate(shown):
        if args.json:
            about = {name: value for name, value in one.items() if name not in ("entry", "files")}
            output.emit({**one["entry"], "file_list": one["files"], **about})
        else:
            if number:
                output.line()
            _print_shown(one)
    return 0


def _print_shown(one: Shown) -> None:
    entry, facts = one["entry"], dict(one["facts"])
    for name, text in _fields(entry):
        if text is not None:
            output.line(f"{name + ':':<11} {printable(text, 4000)}")
    if entry["problem"]:
        problem = user_error(entry["problem"], facts)
        title = "broken:" if entry["problem"] not in UNREAD else "not read:"
        output.line(f"{title:<11} {problem.what} {problem.why}")
    if entry["orphan"]:
        orphan = user_error(entry["orphan"], facts)
        output.line(f"{'orphan:':<11} {orphan.what} {orphan.why}")
    output.line("files:")
    for file in one["files"]:
        output.line(f"  {say.size(file['size']):>9}  {printable(file['path'], 4000)}")
    for title, names in (
        ("needs", one["needs"]),
        ("needs, and is not in this place", one["missing"]),
        ("needed by", one["needed_by"]),
    ):
        if names:
            output.line(f"{title}:")
        for kind, key in names:
            output.line(f"    {printable(kind)} {printable(key)}")
    if "unread" in one:
        output.line(f"needed by more? {not_looked_at(one['unread'])}")
    factors = facts.pop("factors", None)
    for fact in told(entry["kind"], facts):
        label = fact.label[0].lower() + fact.label[1:] if fact.label[1:2].islower() else fact.label
        _print_fact(label, fact.values if len(fact.values) > 1 else fact.values[0])
    worded = WORDED.get(entry["kind"], frozenset()) | WORDED_OF_ALL
    for name, value in facts.items():
        if name not in entry and name not in _JOINING and name not in worded and value:
            _print_fact(name.replace("_", " "), value)
    if isinstance(factors, list) and factors:
        output.line(f"key factors: ({len(factors)})")
        for _, name, value in factors:
            output.line(f"  {printable(name)}: {printable(str(value), 200)}")


def _fields(entry: EntryRow) -> Iterator[tuple[str, str | None]]:
    """What the row of an entry says, in order; None for nothing."""
    changed, used, expires = entry["mtime"], entry["used"], entry["expires"]
    taken, size = entry["compile_s"], entry["size"]
    yield "kind", entry["kind"]
    yield "key", entry["key"]
    yield "name", entry["name"]
    yield "content", f"{say.size(size)} ({size:,} bytes)"
    yield "files", str(entry["files"])
    yield "mtime", None if changed is None else f"{say.when(changed)} ({say.ago(changed)})"
    yield "torch", entry["torch"]
    yield "device", entry["device"]
    yield "compile", None if taken is None else say.seconds(taken)
    yield "path", entry["path"]
    yield "sha256", entry["sha256"]
    if expires is not None:
        yield "expires", f"{say.when(expires)} ({say.until(expires)})" if expires else "never"
    yield "used", None if used is None else f"{say.when(used)} ({say.ago(used)})"
    yield "verdict", entry["verdict"]
    yield "owner", entry["owner"]


def _print_fact(name: str, value: object) -> None:
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
