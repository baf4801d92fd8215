"""The command that shows an entry: show."""

from __future__ import annotations

import argparse
from typing import Any

from torchkeeper.artifacts.entry import UNREAD
from torchkeeper.cli import output
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.looking import add_json, place
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words import say
from torchkeeper.link.words.facts import WORDED, WORDED_OF_ALL, told
from torchkeeper.link.words.problems import not_looked_at, printable, user_error

#: Facts that only join entries, which is said under these titles.
_JOINING = frozenset({"kernels", "digest", "fx_keys", "triton_keys", "code_key", "code_keys"}
                     | {"code_names", "role", "opaque", "group", "warp", "widths", "own_key"}
                     | {"libs", "prints"})  # fmt: skip
_RELATIVES = {
    "needs": "needs",
    "missing": "needs, and is not in this place",
    "needed_by": "needed by",
}


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
            if one.get("unread"):
                related["unread"] = one["unread"]
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
        elif name == "expires":
            value = f"{say.when(value)} ({say.until(value)})" if value else "never"
        elif name == "used":
            value = f"{say.when(value)} ({say.ago(value)})"
        elif name == "size":
            name, value = "content", f"{say.size(value)} ({value:,} bytes)"
        elif name == "compile_s":
            name, value = "compile", say.seconds(value)
        output.line(f"{name + ':':<11} {printable(str(value), 4000)}")
    if entry.get("problem"):
        problem = user_error(entry["problem"], facts)
        title = "broken:" if entry["problem"] not in UNREAD else "not read:"
        output.line(f"{title:<11} {problem.what} {problem.why}")
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
    if one.get("unread"):
        output.line(f"needed by more? {not_looked_at(one['unread'])}")
    factors = facts.pop("factors", None)
    for fact in told(entry["kind"], facts):
        label = fact.label[0].lower() + fact.label[1:] if fact.label[1:2].islower() else fact.label
        _print_fact(label, fact.values if len(fact.values) > 1 else fact.values[0])
    worded = WORDED.get(entry["kind"], frozenset()) | WORDED_OF_ALL
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
