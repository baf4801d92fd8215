"""Parts of the manual that are made from the tables of the code: ``python -m tests.manual`` says
which pages are out of date, with 1 if any is; ``--write`` writes them.

A part stands between ``<!-- made: NAME -->`` and ``<!-- end -->``; each name is in ``PARTS``.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests import fields
from tests.described import KINDS, VARIABLES
from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.artifacts.jits.known import CACHES
from torchkeeper.cli import contract
from torchkeeper.cli.commands import COMMANDS
from torchkeeper.client.words import say
from torchkeeper.gui.pages import glossary
from torchkeeper.settings.known import GROUPS, SETTINGS, Setting, default
from torchkeeper.stores.query import FILTERS

MANUAL = Path(__file__).parents[1] / "resources/manual"
_PART = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WIDE = 100
#: Headings of the groups of settings.
_HEADINGS = dict(zip(GROUPS, (
    "On this machine", "Folders", "On a Redis server", "Which server",
    "Profiles of jobs (PGO)", "What is part of keys", "Triton",
), strict=True))  # fmt: skip


def settings() -> Iterator[str]:
    """Each setting, by group."""
    yield f"There are {len(SETTINGS)}, of torch 2.9 and Triton 3.5 or later."
    for group in GROUPS:
        yield f"\n### {_HEADINGS[group]}\n"
        for one in SETTINGS:
            if one.group == group:
                yield _item(f"`{one.name}`: {one.does} {_facts(one)}")


def _facts(one: Setting) -> str:
    value = default(one)
    of = "Triton" if one.source.startswith("triton/") else "torch"
    facts = [f"Default: `{value}`." if value is not None else "No default."]
    facts += [f"Since {of} {one.since}." for _ in [0] if one.since]
    facts += [f"Until {of} {one.until}." for _ in [0] if one.until]
    facts += ["Part of the key." for _ in [0] if one.in_key]
    return " ".join(facts)


def verdicts() -> Iterator[str]:
    """Each verdict, what it means and what can be done."""
    yield from _table(("Verdict", "Means"), [(name, glossary.of(name).text) for name in VERDICTS])


def kinds() -> Iterator[str]:
    """Each kind of entry."""
    rows = [(f"`{kind}`", say.kind_words(kind), *told) for kind, told in KINDS.items()]
    yield from _table(("Kind", "Called", "What it is", "Who writes it"), rows)


def jits() -> Iterator[str]:
    """Each cache of another compiler, and where it is looked for."""
    rows = [
        (one.title, ", ".join(f"`{home.format(tmp='/tmp', user='USER')}`"
                              for home in one.homes if not home.startswith("$")),
         ", ".join(f"`{home[1:]}`" for home in one.homes if home.startswith("$")))
        for one in CACHES
    ]  # fmt: skip
    yield from _table(("Compiler", "Folder", "Variable, and what comes below it"), rows)


def filters() -> Iterator[str]:
    """Each word of a filter."""
    rows = [(f"`{word}`", finds) for word, finds in FILTERS.items()]
    yield from _table(("Word", "Finds"), rows)


def variables() -> Iterator[str]:
    """Each environment variable that Torchkeeper reads."""
    for number, (about, some) in enumerate(VARIABLES.items()):
        yield f"{chr(10) if number else ''}## {about}\n"
        yield from (_item(f"`{name}`: {what}") for name, what in some.items())


def commands() -> Iterator[str]:
    """Each command in a line."""
    rows = [(f"`torchkeeper {name}`", one.about) for name, one in COMMANDS.items()]
    yield from _table(("Command", "What it does"), rows)


def statuses() -> Iterator[str]:
    """The exit statuses, and which command ends how."""
    yield from _table(("Status", "Name", "Meaning"), contract.rows())
    by: dict[tuple[int, ...], list[str]] = {}
    for command, numbers in contract.BEYOND.items():
        by.setdefault(numbers, []).append(f"`{command}`")
    ends = [f"{', '.join(names)} can end with {' and '.join(map(str, numbers))}, too."
            for numbers, names in by.items()]  # fmt: skip
    for text in (*ends, contract.RUN):
        yield "\n" + textwrap.fill(text, _WIDE, break_on_hyphens=False)


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "settings": settings, "verdicts": verdicts, "kinds": kinds, "jits": jits, "filters": filters,
    "variables": variables, "commands": commands, "statuses": statuses,
    "fields": lambda: iter([fields.page()]),
}  # fmt: skip


def made(text: str) -> str:
    """A page with its parts as they would be made now. Raises KeyError for an unknown part."""
    return _PART.sub(lambda x: x[1] + "\n".join(PARTS[x[2]]()) + "\n" + x[3], text)


def parts_in(text: str) -> list[str]:
    """The names of the parts that a page has."""
    return [found[2] for found in _PART.finditer(text)]


def _item(text: str) -> str:
    return textwrap.fill(text, _WIDE, initial_indent="- ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
                for row in rows)  # fmt: skip


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(prog="python -m tests.manual", description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    pages = sorted(MANUAL.glob("*.md"))
    stale = [page for page in pages if made(page.read_text()) != page.read_text()]
    for page in stale:
        if write:
            page.write_text(made(page.read_text()))
        print(f"{page.name}: {'written' if write else 'out of date'}")
    return int(bool(stale) and not write)


if __name__ == "__main__":
    sys.exit(main())
