"""The tiles of a map: where they go, how they are filled, and what is said of them. After Bruls,
Huizing and van Wijk, “Squarified treemaps” (2000). Knows nothing of windows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from PySide6 import QtGui
from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAccessibleInterface, QColor
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from torchkeeper.client.words import say
from torchkeeper.gui.theme import Shades

_tr = partial(QCoreApplication.translate, "Treemap")

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
    """Something that takes room. key: what it is called by who made it. name: what people read, all
    of it printable. shade: as ``fill`` knows it. detail: what else there is to say of it. held: how
    many entries it stands for, in words, where it stands for other things, too.
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
    """The tiles that are drawn, how large each is, and those that the last one stands for. shrunk:
    whether the last one is drawn smaller than it is, so that there is room for the others.
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
    """Those of some tiles, the largest first, that can be seen on so many square pixels; what is
    empty has none of its own. rest: stands for what is smaller than all of them, as far as whoever
    made them knows it. name, detail: what the tile of the rest is called, with a place for how many
    there are, and what else there is to say of it; empty: that, where all of them are empty.
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
        every = [*smaller, rest] if rest else smaller
        count = len(smaller) + (rest.entries if rest else 0)
        entries, size = sum(tile.entries for tile in every), sum(tile.bytes for tile in every)
        key = rest.key if rest else (*smaller[0].key[:-1], REST)
        last = Tile(key, name.format(f"{count:,}"), size, entries, detail=detail if size else empty)
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


#: Of the whole, so small a part is nothing: it would be lost among what floats round.
_NOTHING = 1e-12


class Box(NamedTuple):
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def area(self) -> float:
        return self.width * self.height


def squarify(sizes: Sequence[float], room: Box) -> list[Box]:
    """A box for each size, in the same order, which fill the room together; best where the largest
    size comes first. What is negative or no number counts as nothing, and gets a box without an
    area; where all are nothing, all get the same.
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
        strip, room = _cut(room, (room.width if upright else room.height) * share, upright)
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


def _row(parts: list[float], where: list[int], at: int, left: float, box: Box) -> tuple[int, float]:
    """How many of the next stand in a row, while that makes the worst squarer; their sum."""
    short = min(box.width, box.height)
    scale = box.area / left if left > 0 else 0.0
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
        return room._replace(width=long), room._replace(left=room.right - rest, width=rest)
    long = min(long, room.height)
    rest = room.height - long
    return room._replace(height=long), room._replace(top=room.bottom - rest, height=rest)


def neighbour(boxes: Sequence[Box], at: int, dx: int, dy: int) -> int:
    """The box beside another: to the right with dx 1, below with dy 1; the same where none is."""

    def edges(box: Box) -> tuple[float, float, float, float]:
        """Where it begins and ends in the direction that is gone, and across that."""
        along, across = (box.left, box.right), (box.top, box.bottom)
        return (*along, *across) if dx else (*across, *along)

    begin, end, first, last = edges(boxes[at])
    middle = (first + last) / 2
    best, nearest = at, (math.inf, math.inf, math.inf)
    for number, box in enumerate(boxes):
        near, far, low, high = edges(box)
        gap = near - end if dx + dy > 0 else begin - far
        if number == at or box.width <= 0 or box.height <= 0 or gap < -0.5:
            continue
        # How far it is from the middle of here comes first; half a pixel is no gap: edges that were
        # rounded touch.
        off = max(0.0, low - middle, middle - high)
        found = (off, max(0.0, round(gap)), abs(middle - (low + high) / 2))
        if found < nearest:
            best, nearest = number, found
    return best


# What a map says of its tiles. To a screen reader it is one control with a current tile.


def share(tile: Tile, total: int) -> str:
    """How much of all that is shown a tile is."""
    part = tile.bytes / total if total else 0.0
    return _tr("under 0.1%") if 0 < part < 0.001 else f"{part:.1%}"


def told(tile: Tile, total: int, *, shrunk: bool = False) -> str:
    """All there is to say of a tile, in lines. shrunk: it is drawn smaller than it is."""
    size = _tr("{} ({} bytes)").format(say.size(tile.bytes), f"{tile.bytes:,}")
    part = _tr("{} of what is shown").format(share(tile, total))
    numbers = f"{part} · {tile.counted}"
    small = _tr("Drawn smaller than its size, so that the others stay visible") if shrunk else ""
    return "\n".join(filter(None, (tile.name, size, numbers, tile.detail, small)))


def aloud(tile: Tile, total: int, at: int, count: int, *, chosen: bool, partly: bool) -> str:
    """One tile for whoever listens: what it is, whether it is selected, and which of how many."""
    said = (
        tile.name,
        say.size(tile.bytes),
        tile.counted,
        share(tile, total),
        tile.detail.replace("\n", ", "),
        _tr("selected") if chosen else _tr("partly selected") if partly else "",
        _tr("{} of {}").format(f"{at + 1:,}", f"{count:,}"),
    )
    return ", ".join(filter(None, said))


class Heard(QWidget):
    """A widget that a screen reader knows for a chart, whose value is what is current in it."""

    #: Qt deletes it with the widget, and Python must not before.
    heard: QAccessibleInterface | None = None
    _known = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        if not Heard._known:
            Heard._known = True
            QAccessible.installFactory(_make)


class _Chart(QAccessibleWidget):
    def __init__(self, view: Heard) -> None:
        super().__init__(view, QAccessible.Role.Chart)
        self._view = view

    def text(self, which: QAccessible.Text) -> str:
        if which == QAccessible.Text.Value:
            return self._view.accessibleDescription()
        return super().text(which)


def _make(_: str, of: QObject) -> QAccessibleInterface | None:
    """Asked by Qt what some object is to a screen reader, once there is one."""
    if not isinstance(of, Heard):
        return None
    of.heard = _Chart(of)
    return of.heard


def say_current(view: QWidget, said: str) -> None:
    """The current tile is another, or is selected now."""
    if not QAccessible.isActive():
        return
    QAccessible.updateAccessibility(QAccessibleEvent(view, QAccessible.Event.DescriptionChanged))
    if view.hasFocus():
        QAccessible.updateAccessibility(QtGui.QAccessibleAnnouncementEvent(view, said))


#: What text has to stand out from its ground by (WCAG 2, AA), and a little more.
CONTRAST = 4.6
#: How much of its colour a tile has, on a light and on a dark ground: the largest, the smallest.
_LIGHT, _DARK = (0.52, 0.28), (0.50, 0.28)
#: How much of the accent the first and the last of a sequence have.
_STEPS = (1.0, 0.25)
#: A tile's depth has so many steps, so that there are few colours.
DEPTHS = 6


def shade_of(what: str, which: str, number: int = 0, count: int = 1) -> str:
    """The shade of a kind, of a verdict ("" for none), or of one of several without own colours."""
    return f"{what}:{which}" if what in ("kind", "verdict") else f"step:{number}:{max(1, count)}"


@functools.lru_cache(maxsize=512)
def _fill(dark: bool, colour: str, base: str, text: str, depth: int) -> str:
    most, least = _DARK if dark else _LIGHT
    made = _mixed(colour, base, most + (least - most) * depth / max(1, DEPTHS - 1))
    while contrast(made, text) < CONTRAST:
        made = _mixed(made, base, 0.94)
    return made


def fill(shades: Shades, shade: str, depth: int = 0) -> str:
    """The ground of a tile; the smaller one is, the greater its depth, and the paler it is."""
    what, *which = shade.split(":")
    if what == "kind":
        colour = shades.kinds.get(which[0], shades.muted)
    elif what == "verdict":
        colour = shades.verdict(which[0])
    elif what == "step":
        number, count = map(int, which)
        strength = _STEPS[0] + (_STEPS[1] - _STEPS[0]) * min(1.0, number / max(1, count - 1))
        colour = _mixed(shades.accent, shades.selected_quiet, strength)
    else:
        return shades.selected_quiet
    return _fill(shades.dark, colour, shades.base, shades.text, min(max(depth, 0), DEPTHS - 1))


def hovered(shades: Shades, ground: str) -> str:
    """The ground of a tile under the pointer, nearer to the page: its text is read more easily."""
    return _mixed(ground, shades.base, 0.8)


def contrast(a: str, b: str) -> float:
    """The contrast ratio of WCAG."""
    high, low = sorted((_light(a), _light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@functools.lru_cache(maxsize=512)
def _light(colour: str) -> float:
    drawn = QColor(colour)
    parts = (0.2126, drawn.redF()), (0.7152, drawn.greenF()), (0.0722, drawn.blueF())
    return sum(
        weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in parts
    )


def _mixed(colour: str, ground: str, strength: float) -> str:
    above, below = QColor(colour), QColor(ground)
    parts = (
        round(part(above) * strength + part(below) * (1 - strength))
        for part in (QColor.red, QColor.green, QColor.blue)
    )
    return QColor(*parts).name()
