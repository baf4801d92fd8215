"""What a map shows: tiles, and those too small to be seen as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from torchkeeper.client.words import say

#: So many tiles are drawn at most; the rest is one.
MOST = 600
#: The last part of the key of the tile that stands for the rest.
REST = "\0smaller"
#: Square pixels below which a tile is not seen any more.
_LEAST = 40.0
#: Square pixels that the tile of the rest has at least, so that a pointer meets it.
_LEAST_REST = 700.0
#: Of all square pixels it has this part at most, however much it stands for: of half a million
#: entries the largest would be a single pixel each.
_MOST_REST = 0.25

Key = tuple[str, ...]


class Tile(NamedTuple):
    """Something that takes room.

    key: what it is called by who made it. name: what people read; all of it can be printed.
    shade: its colour, as ``colours.fill`` knows it.
    detail: what else there is to say of it. held: how many entries it stands for, in words, where
    there is other than these in it.
    """

    key: Key
    name: str
    bytes: int
    entries: int = 1
    shade: str = "rest"
    detail: str = ""
    held: str = ""

    @property
    def counted(self) -> str:
        """How many entries it stands for, in words."""
        return self.held or say.count(self.entries, "entry", "entries")


class Folded(NamedTuple):
    """The tiles that are drawn, how large each is, and those that the last one stands for.

    shrunk: whether the last one is drawn smaller than it is, so that there is room for the others.
    """

    tiles: list[Tile]
    sizes: list[float]
    smaller: list[Tile]
    shrunk: bool = False


def fold(
    tiles: Sequence[Tile],
    area: float,
    rest: Tile | None = None,
    name: str = "{}",
    detail: str = "",
    empty: str = "",
) -> Folded:
    """Those of some tiles, the largest first, that can be seen on so many square pixels.

    rest: stands for what is smaller than all of them, as far as whoever made them knows it.
    name, detail: what the tile of the rest is called, with a place for how many there are, and what
        else there is to say of it; empty: that, where all of them are empty.
    What is empty has no tile of its own: it takes no room.
    """
    if not any(tile.bytes for tile in tiles) and not (rest and rest.bytes):
        return Folded([], [], [])
    drawn = _seen(tiles, area, rest)
    shown, smaller = list(tiles[:drawn]), list(tiles[drawn:])
    whole = sum(tile.bytes for tile in shown)
    sizes = [float(tile.bytes) for tile in shown] if whole else [1.0] * len(shown)
    last = rest
    if len(smaller) == 1 and rest is None and smaller[0].bytes:
        last, smaller = smaller[0], []
    elif smaller:
        count = len(smaller) + (rest.entries if rest else 0)
        entries = sum(tile.entries for tile in smaller) + (rest.entries if rest else 0)
        size = sum(tile.bytes for tile in smaller) + (rest.bytes if rest else 0)
        key = rest.key if rest else (*smaller[0].key[:-1], REST)
        last = Tile(key, name.format(f"{count:,}"), size, entries,
                    detail=detail if size else empty)  # fmt: skip
    if last is None:
        return Folded(shown, sizes, smaller)
    shown.append(last)
    most = sum(sizes) * _MOST_REST / (1 - _MOST_REST) if sizes else 1.0
    least = sum(sizes) * min(_LEAST_REST / max(area, 1.0), _MOST_REST)
    sizes.append(min(max(float(last.bytes), least), most))
    return Folded(shown, sizes, smaller, shrunk=last.bytes > most > 0)


def _seen(tiles: Sequence[Tile], area: float, rest: Tile | None) -> int:
    """How many of the largest tiles are large enough to be seen, beside one for all others."""
    before = list(accumulate((tile.bytes for tile in tiles), initial=0))
    total = before[-1] + (rest.bytes if rest else 0)
    drawn = min(len(tiles), MOST)
    while total and drawn > 1:
        beside = min(total - before[drawn], before[drawn] * _MOST_REST / (1 - _MOST_REST))
        if tiles[drawn - 1].bytes * area >= _LEAST * (before[drawn] + beside):
            break
        drawn -= 1
    return drawn
