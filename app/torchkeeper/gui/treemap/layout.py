"""Where the tiles of a map go: rectangles as large as what they stand for, as square as can be.

After Bruls, Huizing and van Wijk, “Squarified treemaps” (2000). Knows nothing of windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

#: Of the whole, so small a part is nothing: it would be lost among what floats round.
_NOTHING = 1e-12


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    @property
    def area(self) -> float:
        """How large it is."""
        return self.width * self.height

    def holds(self, x: float, y: float) -> bool:
        """Whether a point is in it."""
        return self.left <= x < self.right and self.top <= y < self.bottom


def squarify(sizes: Sequence[float], room: Box) -> list[Box]:
    """A box for each size, in the same order, which fill the room together.

    They are best where the largest size comes first. What is negative or no number counts as
    nothing, and gets a box without an area; where all are nothing, all get the same.
    """
    parts = _parts(sizes)
    found = [Box(room.right, room.bottom, 0.0, 0.0)] * len(parts)
    where = [number for number, part in enumerate(parts) if part > 0]
    left = sum(parts[number] for number in where)
    at = 0
    while at < len(where):
        end, whole = _row(parts, where, at, left, room)
        # What is last takes all that is left, so that nothing is lost to rounding.
        share = 1.0 if end == len(where) else whole / left
        upright = room.width >= room.height
        thick = (room.width if upright else room.height) * share
        strip, room = _cut(room, thick, upright)
        for number in where[at:end]:
            part = parts[number] / whole if whole > 0 else 1.0
            whole -= parts[number]
            if number == where[end - 1]:
                part = 1.0
            long = (strip.height if upright else strip.width) * part
            found[number], strip = _cut(strip, long, not upright)
        left = max(left - sum(parts[number] for number in where[at:end]), 0.0)
        at = end
    return found


def _parts(sizes: Sequence[float]) -> list[float]:
    """The sizes as parts of the largest; no sum of them can be too large for a float."""
    known = [size if math.isfinite(size) and size > 0 else 0.0 for size in sizes]
    largest = max(known, default=0.0)
    if largest <= 0:
        return [1.0] * len(known)
    parts = [size / largest for size in known]
    least = sum(parts) * _NOTHING
    return [part if part > least else 0.0 for part in parts]


def _row(
    parts: list[float], where: list[int], at: int, left: float, room: Box
) -> tuple[int, float]:
    """How many of the next ones stand beside each other, and their sum: as long as that makes the
    worst of them squarer.
    """
    short = min(room.width, room.height)
    scale = room.area / left if left > 0 else 0.0
    if short <= 0 or scale <= 0:
        return len(where), sum(parts[number] for number in where[at:])
    square = short * short / scale
    whole = least = most = parts[where[at]]
    worst = _worst(whole, least, most, square)
    end = at + 1
    while end < len(where):
        part = parts[where[end]]
        wider = _worst(whole + part, min(least, part), max(most, part), square)
        if wider > worst:
            break
        worst, whole = wider, whole + part
        least, most = min(least, part), max(most, part)
        end += 1
    return end, whole


def _worst(whole: float, least: float, most: float, square: float) -> float:
    """How far the least square of a row is from a square: 1 where it is one."""
    if whole <= 0 or least <= 0:
        return math.inf
    return max(square / whole * (most / whole), whole / square * (whole / least))


def _cut(room: Box, long: float, upright: bool) -> tuple[Box, Box]:
    """A room in two: a strip of this width (height, unless ``upright``), and the rest."""
    if upright:
        long = min(long, room.width)
        rest = room.width - long
        first = Box(room.left, room.top, long, room.height)
        return first, Box(room.right - rest, room.top, rest, room.height)
    long = min(long, room.height)
    rest = room.height - long
    first = Box(room.left, room.top, room.width, long)
    return first, Box(room.left, room.bottom - rest, room.width, rest)


def neighbour(boxes: Sequence[Box], at: int, dx: int, dy: int) -> int:
    """The box that lies beside another: to the right with dx 1, below it with dy 1.

    Where none does, the same.
    """
    here = boxes[at]
    best, nearest = at, (math.inf, math.inf, math.inf)
    for number, box in enumerate(boxes):
        if number == at or box.width <= 0 or box.height <= 0:
            continue
        if dx:
            gap = box.left - here.right if dx > 0 else here.left - box.right
            off = _beside(here.top, here.bottom, box.top, box.bottom)
            depth = abs(_middle(here.top, here.bottom) - _middle(box.top, box.bottom))
        else:
            gap = box.top - here.bottom if dy > 0 else here.top - box.bottom
            off = _beside(here.left, here.right, box.left, box.right)
            depth = abs(_middle(here.left, here.right) - _middle(box.left, box.right))
        if gap < -0.5:
            continue
        # Half a pixel is no gap: edges that were rounded touch.
        found = (off, max(0.0, round(gap)), depth)
        if found < nearest:
            best, nearest = number, found
    return best


def _middle(first: float, last: float) -> float:
    return (first + last) / 2


def _beside(first: float, last: float, begin: float, end: float) -> float:
    """How far the middle of a stretch is from another stretch; 0 where it is in it."""
    middle = _middle(first, last)
    return max(0.0, begin - middle, middle - end)
