"""A map of what takes how much room, drawn as tiles; one control with many things in it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QToolTip

from torchkeeper.client.words import say
from torchkeeper.gui import theme
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap.layout import Box, Folded, Key, Tile, fold, neighbour, squarify
from torchkeeper.gui.widgets.plain import tip

GAP = 2
_ROUND = 4.0
#: Pixels between the edge of a tile and its text, and where it is no wider than that.
_PAD, _TIGHT, _SLIM = 10.0, 6.0, 110.0
#: A name of which less than this is left says nothing.
_FEWEST = 7
#: A tile at least this large says more than name and size; at least that large, the name larger.
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
        self._plain, self._bold = QFont(font), QFont(font)
        self._bold.setWeight(QFont.Weight.DemiBold)
        self._large = QFont(self._bold)
        if font.pixelSize() > 0:
            self._large.setPixelSize(round(font.pixelSize() * _LARGER))
        else:
            self._large.setPointSizeF(font.pointSizeF() * _LARGER)
        fonts = self._plain, self._bold, self._large
        self._metrics = {id(font): QFontMetricsF(font) for font in fonts}
        bold = self._metrics[id(self._bold)]
        self._narrowest = bold.averageCharWidth() * _FEWEST * 0.8
        self._lowest = math.ceil(bold.height())

    def lines(self, tile: Tile, box: QRectF, share: str) -> list[Line]:
        """The name, cut short; below it the size, where all of it fits; in a large tile more."""
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
    edges = box.left, box.top, box.right, box.bottom
    left, top, right, bottom = (round(edge * scale) / scale for edge in edges)
    width, height = max(0.0, right - left - GAP), max(0.0, bottom - top - GAP)
    return QRectF(left + GAP / 2, top + GAP / 2, width, height)


def depth(size: float, largest: float) -> int:
    """How pale a tile is: the larger, the less."""
    if size <= 0 or largest <= 0:
        return layout.DEPTHS - 1
    return min(layout.DEPTHS - 1, int(math.log(largest / size, _DEPTH)))


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
    if inside.width() >= 1 and inside.height() >= 1:
        bend = max(0.0, min(_ROUND - by / 2, inside.width() / 4, inside.height() / 4))
        painter.drawRoundedRect(inside, bend, bend)


#: How far a ring around the whole stands from its tiles.
_EDGE = 4
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class Treemap(layout.Heard):
    """Shows tiles, and what is behind that of the smallest; tells what is selected and opened."""

    #: The key of a tile that is to be gone into: a double click, or Enter.
    opened = Signal(tuple)
    chosen = Signal(list)
    #: Out of what was gone into last: Backspace.
    up = Signal()
    #: What is shown now is what was behind the tile of the smallest ones, or is not any more.
    turned = Signal()
    #: A context menu is asked for, at this point of the map.
    menu_asked = Signal(QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 96)
        #: What is said where there is nothing.
        self.nothing = self.tr("Nothing to show")
        #: What the tip of a tile says besides: what a double click does.
        self.hint = ""
        self._given: tuple[list[Tile], Tile | None] = [], None
        #: What was shown before each look behind the tile of the smallest ones.
        self._above: list[tuple[list[Tile], Tile | None]] = []
        self._folded = Folded([], [], [])
        self._total = 0
        self._boxes: list[QRectF] = []
        self._grounds: list[str] = []
        self._laid_for: tuple[object, ...] | None = None
        self._picture: QPixmap | None = None
        self._selected: dict[Key, None] = {}
        self._partly: frozenset[Key] = frozenset()
        self._at = self._hovered = -1
        theme.follow(self, self._dress, now=False)

    def show_tiles(self, tiles: Iterable[Tile], rest: Tile | None = None) -> None:
        """Show these tiles; ``rest`` stands for all that are smaller. The current one stays."""
        self._above.clear()
        self._show(sorted(tiles, key=lambda tile: -tile.bytes), rest)

    def _show(self, tiles: list[Tile], rest: Tile | None) -> None:
        current = self.current
        self._given = tiles, rest
        self._forget()
        self._at = self._number(current.key) if current is not None else -1
        self._hovered = -1
        self._lay_out()
        if self._at < 0 and self.hasFocus() and self._boxes:
            self._at = 0
        self._tell()

    def select(self, keys: Iterable[Key], partly: Iterable[Key] = ()) -> None:
        """Show these as selected, and of those some part; nobody is told."""
        self._selected = dict.fromkeys(keys)
        self._partly = frozenset(partly)
        self.update()
        self._tell()

    @property
    def selected(self) -> list[Key]:
        """The keys that are selected, as they were given or chosen."""
        return list(self._selected)

    @property
    def tiles(self) -> list[Tile]:
        """What is drawn, the largest first, and last what stands for the rest."""
        self._lay_out()
        return self._folded.tiles

    @property
    def zoomed(self) -> bool:
        """Whether what is shown was behind the tile of the smallest ones."""
        return bool(self._above)

    @property
    def current(self) -> Tile | None:
        """The tile that keys are about."""
        return self._folded.tiles[self._at] if 0 <= self._at < len(self._folded.tiles) else None

    def box_of(self, key: Key) -> QRectF:
        """Where a tile is drawn; empty where it is not."""
        self._lay_out()
        number = self._number(key)
        return self._boxes[number] if number >= 0 else QRectF()

    def go_to(self, key: Key) -> None:
        if (number := self._number(key)) >= 0:
            self._go(number)

    def spoken(self) -> str:
        """The current tile for whoever listens: what it is, and which of how many."""
        tile, count = self.current, len(self._folded.tiles)
        if tile is None:
            return say.count(count, "tile", "tiles") if count else self.nothing
        chosen, partly = tile.key in self._selected, tile.key in self._partly
        return layout.aloud(tile, self._total, self._at, count, chosen=chosen, partly=partly)

    def sizeHint(self) -> QSize:
        return QSize(480, 240)

    def _number(self, key: Key) -> int:
        self._lay_out()
        return next((n for n, tile in enumerate(self._folded.tiles) if tile.key == key), -1)

    def _number_at(self, at: QPointF) -> int:
        self._lay_out()
        return next((n for n, box in enumerate(self._boxes) if box.contains(at)), -1)

    def _lay_out(self) -> None:
        scale, edge = self.devicePixelRatioF(), _EDGE - GAP / 2
        width, height = self.width() - 2 * edge, self.height() - 2 * edge
        room = Box(edge, edge, max(1.0, width), max(1.0, height))
        asked = (room, scale, theme.shades().dark)
        if self._laid_for == asked:
            return
        moved = self._laid_for is None or self._laid_for[:2] != asked[:2]
        current = self._folded.tiles[self._at].key if self.current is not None else None
        tiles, rest = self._given
        hint = self.tr("Double-click or press Enter to see them")
        empty = self.tr("They take no room")
        self._folded = folded = fold(tiles, room.area, rest, self.tr("{} smaller"), hint, empty)
        self._total = sum(tile.bytes for tile in folded.tiles)
        # What stands for the rest may be the largest.
        order = sorted(range(len(folded.sizes)), key=lambda n: -folded.sizes[n])
        boxes = dict(zip(order, squarify([folded.sizes[n] for n in order], room), strict=True))
        self._boxes = [inner(boxes[n], scale) for n in range(len(order))]
        largest = folded.sizes[0] if folded.sizes else 0.0
        self._grounds = [
            layout.fill(theme.shades(), tile.shade, depth(size, largest))
            for tile, size in zip(folded.tiles, folded.sizes, strict=True)
        ]
        self._laid_for, self._picture = asked, None
        if current is not None:
            self._at = next((n for n, t in enumerate(folded.tiles) if t.key == current), -1)
        if moved:
            self._hovered = -1

    def _forget(self) -> None:
        self._laid_for = self._picture = None
        self.update()

    def _dress(self) -> None:
        # Where tiles are stays the same.
        self._picture = None
        self.update()

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self._dress()

    def _draw(self) -> QPixmap:
        """The tiles; drawn anew only where they, the size or the theme have changed."""
        scale = self.devicePixelRatioF()
        picture = QPixmap(self.size() * scale)
        picture.setDevicePixelRatio(scale)
        picture.fill(QColor(theme.shades().base))
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            writer = Writer(self.font())
            for number, ground in enumerate(self._grounds):
                self._draw_tile(painter, writer, number, ground)
        return picture

    def _draw_tile(self, painter: QPainter, writer: Writer, number: int, ground: str) -> None:
        """Draw one with a painter that has no pen, before and after."""
        tile, box, shades = self._folded.tiles[number], self._boxes[number], theme.shades()
        bend = min(_ROUND, box.width() / 4, box.height() / 4)
        painter.setBrush(QColor(ground))
        if bend >= 1:
            painter.drawRoundedRect(box, bend, bend)
        elif not box.isEmpty():
            painter.drawRect(box)
        if self._folded.shrunk and number == len(self._folded.tiles) - 1:
            # It is drawn smaller than it is.
            painter.setBrush(QBrush(QColor(shades.line), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(box, _ROUND, _ROUND)
        painter.setPen(QColor(shades.text))
        for line in writer.lines(tile, box, layout.share(tile, self._total)):
            painter.setFont(line.font)
            painter.drawText(line.at, line.text)
        painter.setPen(Qt.PenStyle.NoPen)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        self._lay_out()
        if self._picture is None:
            self._picture = self._draw()
        shades, seen = theme.shades(), QRectF(event.rect())
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._picture)
            if not self._boxes:
                painter.setPen(QColor(shades.muted))
                painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.nothing)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if 0 <= self._hovered < len(self._boxes):
                painter.setPen(Qt.PenStyle.NoPen)
                ground = layout.hovered(shades, self._grounds[self._hovered])
                self._draw_tile(painter, Writer(self.font()), self._hovered, ground)
                _outline(painter, self._boxes[self._hovered], shades.text, 1.0, 0.0)
            if self._selected or self._partly:
                for tile, box in zip(self._folded.tiles, self._boxes, strict=True):
                    whole = tile.key in self._selected
                    if not box.intersects(seen) or not (whole or tile.key in self._partly):
                        continue
                    # Dark and light, seen on every colour; dashed where it is some of it.
                    thick = 2.0 if min(box.width(), box.height()) >= 14 else 1.0
                    _outline(painter, box, shades.text, thick, 0.0, dashed=not whole)
                    if whole:
                        _outline(painter, box, shades.base, thick, thick)
            if self.hasFocus():
                painter.setPen(QPen(QColor(shades.accent), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
                if 0 <= self._at < len(self._boxes):
                    # The tile that keys are about; this fits into the ring of what is selected.
                    box = self._boxes[self._at]
                    inset = 5.0 if min(box.width(), box.height()) >= 20 else 2.0
                    _outline(painter, box, shades.text, 1.0, inset, dashed=True)

    def _repaint(self, number: int) -> None:
        if 0 <= number < len(self._boxes):
            self.update(self._boxes[number].toAlignedRect().adjusted(-1, -1, 1, 1))

    def _go(self, number: int) -> None:
        if number != self._at:
            self._repaint(self._at)
            self._at = number
            self._repaint(number)
            self._tell()

    def _choose(self, *keys: Key) -> None:
        self.select(keys)
        self.chosen.emit(list(keys))

    def _press(self, key: Key, held: Qt.KeyboardModifier) -> None:
        """Choose one alone, or with Control one more, or one less."""
        if not held & Qt.KeyboardModifier.ControlModifier:
            self._choose(key)
        elif key in self._selected:
            self._choose(*(each for each in self._selected if each != key))
        else:
            self._choose(*self._selected, key)

    def _open(self, tile: Tile) -> None:
        if tile is not self._folded.tiles[-1] or not self._folded.smaller:
            self.opened.emit(tile.key)
        elif tile.bytes:  # else there is nothing to see of them
            self._above.append(self._given)
            self._at = 0
            self._show(self._folded.smaller, self._given[1])
            self._go(0)
            self.turned.emit()

    def leave(self) -> None:
        """Out of what was gone into last, as Backspace does."""
        if self._above:
            self._show(*self._above.pop())
            self._go(len(self._folded.tiles) - 1)
            self.turned.emit()
        else:
            self.up.emit()

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        self._lay_out()
        key, count, current = Qt.Key(event.key()), len(self._boxes), self.current
        if key == Qt.Key.Key_Backspace:
            self.leave()
        elif not count:
            super().keyPressEvent(event)
        elif key in _ARROWS:
            boxes = [Box(b.left(), b.top(), b.width(), b.height()) for b in self._boxes]
            self._go(neighbour(boxes, self._at, *_ARROWS[key]) if current is not None else 0)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._go(0 if key == Qt.Key.Key_Home else count - 1)
        elif key == Qt.Key.Key_Space and current is not None:
            self._press(current.key, event.modifiers())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and current is not None:
            self._open(current)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        if (number := self._number_at(event.position())) < 0:
            return
        self._go(number)
        key = self._folded.tiles[number].key
        if event.button() == Qt.MouseButton.LeftButton:
            self._press(key, event.modifiers())
        elif event.button() == Qt.MouseButton.RightButton and key not in self._selected:
            self._choose(key)

    def mouseDoubleClickEvent(self, event: QtGui.QMouseEvent) -> None:
        number = self._number_at(event.position())
        if number >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self._open(self._folded.tiles[number])

    def contextMenuEvent(self, event: QtGui.QContextMenuEvent) -> None:
        at = event.pos()
        if event.reason() == QtGui.QContextMenuEvent.Reason.Keyboard and self._at >= 0:
            at = self._boxes[self._at].center().toPoint()
        self.menu_asked.emit(at)

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        self._hover(self._number_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    def _hover(self, number: int) -> None:
        if number != self._hovered:
            self._repaint(self._hovered)
            self._hovered = number
            self._repaint(number)

    def focusInEvent(self, event: QtGui.QFocusEvent) -> None:
        super().focusInEvent(event)
        self._lay_out()
        if self.current is None and self._boxes:
            self._at = 0
        self.update()
        self._tell()

    def focusOutEvent(self, event: QtGui.QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QtGui.QHelpEvent):
            if (number := self._number_at(QPointF(event.pos()))) < 0:
                QToolTip.hideText()
                event.ignore()
            else:
                where: QRect = self._boxes[number].toAlignedRect()
                tile = self._folded.tiles[number]
                shrunk = self._folded.shrunk and tile is self._folded.tiles[-1]
                told = layout.told(tile, self._total, shrunk=shrunk)
                text = "\n".join(filter(None, (told, self.hint)))
                QToolTip.showText(event.globalPos(), tip(text), self, where)
            return True
        return super().event(event)

    def _tell(self) -> None:
        """Say the current tile to whoever listens, where that has changed."""
        said = self.spoken()
        if said != self.accessibleDescription():
            self.setAccessibleDescription(said)
            layout.say_current(self, said)
