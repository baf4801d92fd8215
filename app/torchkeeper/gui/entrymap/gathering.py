"""What the map of entries shows: groups, or the largest entries of one; added up in short steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import KINDS, Entry, tallied
from torchkeeper.gui.table.cells import MTIME as CHANGED
from torchkeeper.gui.table.cells import cell_text, shown_name, verdict_words
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import Group, Name, in_order, naming
from torchkeeper.gui.table.ordering import Row
from torchkeeper.gui.table.slices import Work, pieces
from torchkeeper.gui.treemap import colours
from torchkeeper.gui.treemap.tiles import MOST, Key, Tile
from torchkeeper.link.words import say
from torchkeeper.link.words.kinds import kind_words
from torchkeeper.link.words.problems import printable

#: By what entries are grouped in the map where the table does not group them.
DEFAULT = "kind"
#: So many of the largest are kept before the smaller ones among them are dropped.
_KEPT = 4 * MOST
#: Tiles that one step makes.
_STEP = 50
_SIZE: Callable[[Row], int] = attrgetter("entry.size")


def _tr(text: str) -> str:
    return QCoreApplication.translate("EntryMap", text)


@dataclass
class Shown:
    """What is on the map.

    groups: the groups that are tiles, by key; rows: the keys of the entries that are.
    """

    tiles: list[Tile] = field(default_factory=list)
    rest: Tile | None = None
    entries: int = 0
    bytes: int = 0
    groups: dict[Key, Name] = field(default_factory=dict)
    rows: dict[Row, Key] = field(default_factory=dict)


def by(model: EntriesModel) -> str:
    """By what the map groups: as the table does, or by kind."""
    return DEFAULT if model.grouping == "none" else model.grouping


def group_name(model: EntriesModel) -> Callable[[Row], Name]:
    """What tells the name of a row's group on the map."""
    if model.grouping == "none":
        return naming(DEFAULT, time.time())

    def name(row: Row) -> Name:
        group = model.group_of(row)
        return None if group is None else group.name

    return name


def gathered_groups(model: EntriesModel) -> Work[Shown]:
    """In steps: each group as a tile."""
    which = by(model)
    sizes: dict[Name, int] = {}
    counts: dict[Name, int] = {}
    held_of: dict[Name, str] = {}
    if model.grouping == "none":
        for rows in [group.rows for group in model.groups]:
            for piece in pieces(rows):
                kinds = [row.entry.kind for row in piece]
                for kind, size in zip(kinds, map(_SIZE, piece), strict=True):
                    sizes[kind] = sizes.get(kind, 0) + size
                for kind in set(kinds):
                    counts[kind] = counts.get(kind, 0) + kinds.count(kind)
                yield
    else:
        for group in model.groups:
            sizes[group.name], counts[group.name] = group.size, len(group.rows)
            held_of[group.name] = group.counted
            yield
    shown = Shown(entries=sum(counts.values()), bytes=sum(sizes.values()))
    names = in_order(which, counts)
    hint = _tr("A double click, or Enter, looks inside")
    for number, name in enumerate(names):
        key = (f"{number}:{name}",)
        title = Group(which, name).title
        shade = _shade(which, name, number, len(names))
        held = say.held(tallied(counts[name], str(name))) if which == "kind" else held_of[name]
        shown.tiles.append(Tile(key, title, sizes[name], counts[name], shade, hint, held))
        shown.groups[key] = name
    return shown


def _shade(which: str, name: Name, number: int, count: int) -> str:
    if which == "kind":
        return colours.of_kind(str(name))
    if which == "verdict":
        return colours.of_verdict("" if name is None else str(name))
    return colours.of_step(number, count)


def gathered_entries(model: EntriesModel, name: Name, skipped: int) -> Work[Shown]:
    """In steps: the largest entries of a group as tiles, after so many larger ones, and one for
    all that are smaller.
    """
    shown, kept = Shown(), list[Row]()
    # What is empty takes no room on a map.
    floor, most = 0, skipped + MOST
    for piece in _of_group(model, name):
        shown.entries += len(piece)
        shown.bytes += sum(map(_SIZE, piece))
        kept += [row for row in piece if row.entry.size > floor]
        if len(kept) > most + _KEPT:
            kept = _largest(kept, most)
            floor = kept[-1].entry.size
        yield
    kept = _largest(kept, most)
    yield
    above, kept = kept[:skipped], kept[skipped:]
    entries, size = shown.entries - len(above), shown.bytes - sum(map(_SIZE, above))
    for first in range(0, len(kept), _STEP):
        for row in kept[first : first + _STEP]:
            tile = _tile(row.entry)
            shown.tiles.append(tile)
            shown.rows[row] = tile.key
        yield
    left = entries - len(kept)
    if left > 0:
        size -= sum(map(_SIZE, kept))
        text = _tr("{} smaller").format(f"{left:,}")
        hint = _tr("A double click, or Enter, shows the largest of them")
        if not size:
            hint = _tr("They take no room")
        shown.rest = Tile(("", "smaller"), text, size, left, detail=hint)
    return shown


def _of_group(model: EntriesModel, name: Name) -> Iterator[Sequence[Row]]:
    if model.grouping != "none":
        for group in model.groups:
            if group.name == name:
                yield from pieces(group.rows)
        return
    for rows in [group.rows for group in model.groups]:
        for piece in pieces(rows):
            yield [row for row in piece if row.entry.kind == name]


def _largest(rows: list[Row], most: int) -> list[Row]:
    rows.sort(key=_SIZE, reverse=True)
    return rows[:most]


def _tile(entry: Entry) -> Tile:
    verdict = verdict_words(entry.verdict) if entry.verdict else ""
    torch = _tr("torch {}").format(printable(entry.torch, 60)) if entry.torch else ""
    about = [kind_words(entry.kind), verdict, torch, cell_text(entry, CHANGED)]
    kind = entry.kind if entry.kind in KINDS else "unknown"
    detail = " · ".join(filter(None, about))
    return Tile(entry.identity, shown_name(entry), entry.size, 1, colours.of_kind(kind), detail)
