"""Which tiles of the map are selected: what is selected in the table, looked at in short steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torchkeeper.gui.entrymap.gathering import Shown
from torchkeeper.gui.table.arrangement import Line
from torchkeeper.gui.table.grouping import Name
from torchkeeper.gui.table.ordering import Row
from torchkeeper.gui.table.slices import Work, pieces
from torchkeeper.gui.treemap.tiles import Key


class Marks(NamedTuple):
    """The tiles all of which is selected, and those some of which is."""

    whole: list[Key]
    partly: list[Key]


def marked(
    shown: Shown, lines: Sequence[Line], name: Callable[[Row], Name], inside: bool, where: Name
) -> Work[Marks]:
    """In steps: the tiles in which these lines of the table are.

    inside, where: whether the tiles are the entries of a group, and of which.
    """
    if inside:
        return (yield from _entries(shown, lines, name, where))
    counts: dict[Name, int] = {}
    for piece in pieces(lines):
        for line in piece:
            if isinstance(line, Row):
                which = name(line)
                counts[which] = counts.get(which, 0) + 1
        yield
    marks = Marks([], [])
    for tile in shown.tiles:
        count = counts.get(shown.groups[tile.key], 0)
        if count:
            (marks.whole if count >= tile.entries else marks.partly).append(tile.key)
    return marks


def _entries(
    shown: Shown, lines: Sequence[Line], name: Callable[[Row], Name], where: Name
) -> Work[Marks]:
    whole, smaller = list[Key](), False
    for piece in pieces(lines):
        for line in piece:
            if isinstance(line, Row):
                key = shown.rows.get(line)
                if key is not None:
                    whole.append(key)
                elif not smaller:
                    smaller = name(line) == where
        yield
    return Marks(whole, [shown.rest.key] if smaller and shown.rest is not None else [])
