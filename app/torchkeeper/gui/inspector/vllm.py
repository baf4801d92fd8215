"""What the inspector says of keys of vLLM's: of a place while nothing is selected there, of the one
that an entry is of, and of what makes two different. All of it is strangers' and has a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.vllm import HASHES, piece
from torchkeeper.client.words import say, vllmwords
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.inspector.details import Section, Value
from torchkeeper.verdict import vllm

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.engine.messages.verdicts import VllmRow

_tr = partial(QCoreApplication.translate, "VllmKeys")

#: Rows that are kept of a place; keys, and lines of each sort, that are shown: the rest is counted.
KEPT = 512
_KEYS, _LINES = 4, 12


def is_place(place: str) -> bool:
    """Whether a place is where vLLM keeps its keys, or in there, by its path."""
    parts = place.rstrip("/").split("/")
    return layout.VLLM_KEYS in parts or parts[-1] == layout.VLLM


def is_key(entry: Entry) -> bool:
    """Whether an entry is of a key: what tells of it, or a piece."""
    name = entry.path.rpartition("/")[2]
    return layout.is_servers(name) or piece(name) is not None


def sections(rows: Sequence[VllmRow], entries: Sequence[Entry] = ()) -> list[Section]:
    """The words for the keys of a place, or those of some entries, with what makes each unlike the
    first.
    """
    trees = vllmwords.together(rows)
    if entries:
        paths = {entry.path.rpartition("/")[0] for entry in entries}
        trees = [one for one in trees if any(row["path"] in paths for row in one)]
    found = [_key(one, trees[0], facts=not _are_told(entries)) for one in trees[:_KEYS]]
    if (more := len(trees) - _KEYS) > 0:
        found.append(Section("", labelled=False))
        found[-1].add("", Value(_tr("and {} more").format(f"{more:,}"), muted=True))
    return found


def _are_told(entries: Sequence[Entry]) -> bool:
    """Whether the facts of what is shown tell of its key already."""
    return len(entries) == 1 and entries[0].kind == "code"


def _key(rows: Sequence[VllmRow], first: Sequence[VllmRow], *, facts: bool) -> Section:
    """facts: say also what the facts of each entry of it tell."""
    row = rows[0]
    section = Section(_tr("Key of vLLM’s: {}").format(_called(row)))
    if facts:
        section.add(_tr("Model"), printable(row["model"], 100))
    section.add(_tr("Name"), vllmwords.named(row))
    for of in HASHES if facts else ():
        text = printable(row["hashes"].get(of, ""), 100)
        section.add(vllmwords.name(of), Value(text, fixed=True) if text else None)
    section.add(_tr("Not the default"), *_some(vllmwords.changed(row), fixed=True))
    ranks = [" ".join(filter(None, (printable(x, 60) for x in (one["rank"], one["part"]))))
             for one in rows[:_LINES]]  # fmt: skip
    for name, one in zip(ranks, rows, strict=False):
        files = say.count(one["files"], "file", "files")
        held = f"{files} · {say.size(one['bytes'])}"
        section.add(name, vllmwords.pieces(one), Value(held, muted=True))
    if (more := len(rows) - _LINES) > 0:
        section.add("", Value(_tr("and {} more").format(f"{more:,}"), muted=True))
    unlike = [line for one in rows[1:_LINES] for line in vllmwords.lacking(row, one)]
    section.add(_tr("Ranks differ"), *_some(unlike))
    if rows is not first:
        judged = vllm.compare(vllmwords.factors(first[0]), vllmwords.factors(row))
        why = f"{vllmwords.sentence(judged)}.", vllmwords.sources(first[0], row)
        section.add(_tr("Unlike {}").format(_called(first[0])), *why)
    return section


def _called(row: VllmRow) -> str:
    return printable(row["folder"] or row["named"] or row["path"], 60)


def _some(lines: Sequence[str], *, fixed: bool = False) -> list[Value]:
    shown = [Value(line, fixed=fixed) for line in lines[:_LINES]]
    if (more := len(lines) - _LINES) > 0:
        shown.append(Value(_tr("and {} more").format(f"{more:,}"), muted=True))
    return shown
