"""How the tiles of a map are drawn, and what is drawn over them."""

from __future__ import annotations

import math
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen

from torchkeeper.gui.theme import Shades
from torchkeeper.gui.treemap import colours
from torchkeeper.gui.treemap.layout import Box
from torchkeeper.gui.treemap.tiles import Tile
from torchkeeper.link.words import say

#: Pixels between two tiles.
GAP = 2
_ROUND = 4.0
#: Pixels between the edge of a tile and its text, and where it is no wider than that.
_PAD, _TIGHT, _SLIM = 10.0, 6.0, 110.0
#: A name of which less than this is left says nothing.
_FEWEST = 7
#: A tile at least this large says more than its name and size; one at least that large says its
#: name larger.
_ROOMY, _WIDE = (150.0, 84.0), (240.0, 120.0)
_LARGER = 1.3
#: Of the largest tile, each next depth begins at this part of the one before.
_DEPTH = 4.0


class Line(NamedTuple):
    """A text in a tile, and where its base line begins."""

    text: str
    at: QPointF
    font: QFont


class Writer:
    """Finds what there is room to write in a tile."""

    def __init__(self, font: QFont) -> None:
        self._plain, self._bold, self._large = QFont(font), QFont(font), QFont(font)
        self._bold.setWeight(QFont.Weight.DemiBold)
        self._large.setWeight(QFont.Weight.DemiBold)
        if font.pixelSize() > 0:
            self._large.setPixelSize(round(font.pixelSize() * _LARGER))
        else:
            self._large.setPointSizeF(font.pointSizeF() * _LARGER)
        self._metrics = {
            id(each): QFontMetricsF(each) for each in (self._plain, self._bold, self._large)
        }
        bold = self._metrics[id(self._bold)]
        self._narrowest = bold.averageCharWidth() * _FEWEST * 0.8
        self._lowest = math.ceil(bold.height())

    def lines(self, tile: Tile, box: QRectF, share: str) -> list[Line]:
        """What to write: the name, cut short between letters, and below it the size, where there
        is room for all of it; in a large tile what else there is.
        """
        beside = _PAD if box.width() > _SLIM else _TIGHT
        room, high = box.width() - 2 * beside, box.height()
        if room < self._narrowest or high < self._lowest + 4:
            return []
        font = self._large if box.width() >= _WIDE[0] and high >= _WIDE[1] else self._bold
        metrics = self._metrics[id(font)]
        name = metrics.elidedText(tile.name, Qt.TextElideMode.ElideRight, room)
        folder, slash, _ = tile.name.partition("/")
        if slash and not name.startswith(folder) and metrics.horizontalAdvance(folder) <= room:
            # It tells places apart of which all are called alike.
            name = folder
        if name != tile.name and len(name) < _FEWEST:
            return []
        left, top = box.left() + beside, box.top() + min(beside - 2, (high - self._lowest) / 2)
        found = [Line(name, QPointF(left, top + metrics.ascent()), font)]
        top += math.ceil(metrics.height()) + 1
        metrics = self._metrics[id(self._plain)]
        more = [say.size(tile.bytes)]
        if box.width() >= _ROOMY[0] and high >= _ROOMY[1]:
            entries = tile.counted if tile.entries != 1 else ""
            both = " · ".join(filter(None, (entries, share)))
            more += [both] if metrics.horizontalAdvance(both) <= room else [entries, share]
        for text in more:
            if top + metrics.height() > box.bottom() - 4 or metrics.horizontalAdvance(text) > room:
                break
            found.append(Line(text, QPointF(left, top + metrics.ascent()), self._plain))
            top += math.ceil(metrics.height())
        return found


def inner(box: Box, scale: float) -> QRectF:
    """Where a tile is drawn: on whole pixels, so that all gaps are alike, and inside its gap."""
    left, top = round(box.left * scale) / scale, round(box.top * scale) / scale
    right, bottom = round(box.right * scale) / scale, round(box.bottom * scale) / scale
    half = GAP / 2
    return QRectF(left + half, top + half, max(0.0, right - left - GAP),
                  max(0.0, bottom - top - GAP))  # fmt: skip


def depth(size: float, largest: float) -> int:
    """How pale a tile is: the larger, the less."""
    if size <= 0 or largest <= 0:
        return colours.DEPTHS - 1
    return min(colours.DEPTHS - 1, int(math.log(largest / size, _DEPTH)))


def paint_tile(painter: QPainter, box: QRectF, ground: str) -> None:
    """Draw one tile. The painter has no pen."""
    if box.width() <= 0 or box.height() <= 0:
        return
    painter.setBrush(QColor(ground))
    bend = min(_ROUND, box.width() / 4, box.height() / 4)
    if bend < 1:
        painter.drawRect(box)
    else:
        painter.drawRoundedRect(box, bend, bend)


def write(painter: QPainter, ink: str, lines: list[Line]) -> None:
    """Write into a tile, and leave the painter without a pen."""
    if lines:
        painter.setPen(QColor(ink))
        for line in lines:
            painter.setFont(line.font)
            painter.drawText(line.at, line.text)
        painter.setPen(Qt.PenStyle.NoPen)


def paint_shrunk(painter: QPainter, box: QRectF, shades: Shades) -> None:
    """Hatch the tile that is drawn smaller than it is."""
    painter.setBrush(QBrush(QColor(shades.line), Qt.BrushStyle.BDiagPattern))
    painter.drawRoundedRect(box, _ROUND, _ROUND)


def paint_chosen(painter: QPainter, box: QRectF, shades: Shades, partly: bool = False) -> None:
    """Draw the outline of what is selected: dark and light side by side, so that it is seen on
    every colour. partly: only some of what the tile stands for is.
    """
    thick = 2.0 if min(box.width(), box.height()) >= 14 else 1.0
    _outline(painter, box, shades.text, thick, 0.0, dashed=partly)
    if not partly:
        _outline(painter, box, shades.base, thick, thick)


def paint_hovered(painter: QPainter, box: QRectF, shades: Shades) -> None:
    """Draw the outline of what the pointer is over."""
    _outline(painter, box, shades.text, 1.0, 0.0)


def paint_current(painter: QPainter, box: QRectF, shades: Shades) -> None:
    """Draw the ring of the tile that keys are about; it fits into that of what is selected."""
    inset = 5.0 if min(box.width(), box.height()) >= 20 else 2.0
    _outline(painter, box, shades.text, 1.0, inset, dashed=True)


def _outline(
    painter: QPainter, box: QRectF, colour: str, thick: float, inset: float, *, dashed: bool = False
) -> None:
    pen = QPen(QColor(colour), thick)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    if dashed:
        pen.setDashPattern([3.0, 2.0])
    by = inset + thick / 2
    inside = box.adjusted(by, by, -by, -by)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if inside.width() < 1 or inside.height() < 1:
        return
    bend = max(0.0, min(_ROUND - by / 2, inside.width() / 4, inside.height() / 4))
    painter.drawRoundedRect(inside, bend, bend)
