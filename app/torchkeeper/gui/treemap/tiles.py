"""What a map shows: tiles, and those too small to be seen as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: So many tiles are drawn at most; the rest is one.
MOST = 600
#: The last part of the key of the tile that stands for the rest.
REST = "\0smaller"
#: Square pixels below which a tile is not seen any more.
_LEAST = 40.0
#: Square pixels that the tile of the rest has at least, so that a pointer meets it.
_LEAST_REST = 700.0

Key = tuple[str, ...]


class Tile(NamedTuple):
    """Something that takes room.

    key: what it is called by who made it.
    shade: its colour, as ``colours.fill`` knows it.
    detail: what else there is to say of it.
    """

    key: Key
    name: str
    bytes: int
    entries: int = 1
    shade: str = "rest"
    detail: str = ""


class Folded(NamedTuple):
    """The tiles that are drawn, how large each is, and those that the last one stands for."""

    tiles: list[Tile]
    sizes: list[float]
    smaller: list[Tile]


def fold(tiles: Sequence[Tile], area: float, rest: Tile | None = None, name: str = "{}") -> Folded:
    """Those of some tiles, the largest first, that can be seen on so many square pixels.

    rest: stands for what is smaller than all of them, as far as whoever made them knows it.
    name: what the tile of the rest is called, with a place for how many there are.
    """
    total = sum(tile.bytes for tile in tiles) + (rest.bytes if rest else 0)
    pixels = area / total if total else 0.0
    drawn = len(tiles)
    drawn = min(drawn, MOST)
    if total:
        while drawn > 1 and tiles[drawn - 1].bytes * pixels < _LEAST:
            drawn -= 1
    smaller = list(tiles[drawn:])
    shown = list(tiles[:drawn])
    sizes = [float(tile.bytes) for tile in shown]
    if not total:
        sizes = [1.0] * len(shown)
    last = rest
    if len(smaller) == 1 and rest is None:
        last, smaller = smaller[0], []
    elif smaller:
        entries = sum(tile.entries for tile in smaller) + (rest.entries if rest else 0)
        count = len(smaller) + (rest.entries if rest else 0)
        size = sum(tile.bytes for tile in smaller) + (rest.bytes if rest else 0)
        key = rest.key if rest else (*smaller[0].key[:-1], REST)
        last = Tile(key, name.format(f"{count:,}"), size, entries, "rest")
    if last is not None:
        shown.append(last)
        least = min(_LEAST_REST, area / 8) / pixels if pixels else 1.0
        sizes.append(max(float(last.bytes), least))
    return Folded(shown, sizes, smaller)
