"""A map of what takes how much room, drawn as tiles; one control with many things in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.treemap import colours, painting, speaking
from torchkeeper.gui.treemap.layout import Box, neighbour, squarify
from torchkeeper.gui.treemap.tiles import Folded, Key, Tile, fold
from torchkeeper.gui.widgets.plain import tip

#: How far a ring around the whole stands from its tiles.
_EDGE = 4
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
_CONTROL = Qt.KeyboardModifier.ControlModifier


class Treemap(speaking.Heard):
    """Shows tiles. It tells what the user selects and opens, and does nothing itself but show what
    is behind the tile of the smallest ones.
    """

    #: The key of a tile that is to be gone into: a double click, or Enter.
    opened = Signal(tuple)
    #: The keys that are selected now, by the user.
    chosen = Signal(list)
    #: Out of what was gone into last: Backspace.
    up = Signal()
    #: What is shown now is what was behind the tile of the smallest ones, or is not any more.
    turned = Signal()
    #: A context menu is asked for, at this point of the map.
    menu_asked = Signal(QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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

    # What is shown.

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

    def tile_at(self, at: QPoint | QPointF) -> Tile | None:
        """The tile at a point."""
        number = self._number_at(QPointF(at))
        return self._folded.tiles[number] if number >= 0 else None

    def go_to(self, key: Key) -> None:
        """Make a tile the current one."""
        number = self._number(key)
        if number >= 0:
            self._go(number)

    def spoken(self) -> str:
        """The current tile for whoever listens: what it is, and which of how many."""
        tile, count = self.current, len(self._folded.tiles)
        if tile is None:
            return speaking.counted(count) if count else self.nothing
        partly = tile.key in self._partly
        chosen = tile.key in self._selected
        return speaking.aloud(tile, self._total, self._at, count, chosen=chosen, partly=partly)

    def sizeHint(self) -> QSize:
        return QSize(480, 240)

    # Where things are.

    def _number(self, key: Key) -> int:
        self._lay_out()
        return next((n for n, tile in enumerate(self._folded.tiles) if tile.key == key), -1)

    def _number_at(self, at: QPointF) -> int:
        self._lay_out()
        return next((n for n, box in enumerate(self._boxes) if box.contains(at)), -1)

    def _room(self) -> Box:
        half = painting.GAP / 2
        return Box(_EDGE - half, _EDGE - half, max(1.0, self.width() - 2 * _EDGE + 2 * half),
                   max(1.0, self.height() - 2 * _EDGE + 2 * half))  # fmt: skip

    def _lay_out(self) -> None:
        room, scale = self._room(), self.devicePixelRatioF()
        asked = (room, scale, theme.shades().dark)
        if self._laid_for == asked:
            return
        moved = self._laid_for is None or self._laid_for[:2] != asked[:2]
        current = self._folded.tiles[self._at].key if self.current is not None else None
        tiles, rest = self._given
        hint = self.tr("A double click, or Enter, shows them")
        empty = self.tr("They take no room")
        self._folded = folded = fold(tiles, room.area, rest, self.tr("{} smaller"), hint, empty)
        self._total = sum(tile.bytes for tile in folded.tiles)
        # What stands for the rest may be the largest.
        order = sorted(range(len(folded.sizes)), key=lambda n: -folded.sizes[n])
        boxes = dict(zip(order, squarify([folded.sizes[n] for n in order], room), strict=True))
        self._boxes = [painting.inner(boxes[n], scale) for n in range(len(order))]
        largest = folded.sizes[0] if folded.sizes else 0.0
        self._grounds = [
            colours.fill(theme.shades(), tile.shade, painting.depth(size, largest))
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self._dress()

    # Painting.

    def _draw(self) -> QPixmap:
        """The tiles; drawn anew only where they, the size or the theme have changed."""
        scale = self.devicePixelRatioF()
        picture = QPixmap(self.size() * scale)
        picture.setDevicePixelRatio(scale)
        picture.fill(QColor(theme.shades().base))
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            writer = painting.Writer(self.font())
            for number, ground in enumerate(self._grounds):
                self._draw_tile(painter, writer, number, ground)
        return picture

    def _draw_tile(
        self, painter: QPainter, writer: painting.Writer, number: int, ground: str
    ) -> None:
        tile, box, shades = self._folded.tiles[number], self._boxes[number], theme.shades()
        painting.paint_tile(painter, box, ground)
        if self._folded.shrunk and number == len(self._folded.tiles) - 1:
            painting.paint_shrunk(painter, box, shades)
        lines = writer.lines(tile, box, speaking.share(tile, self._total))
        painting.write(painter, shades.text, lines)

    def paintEvent(self, event: QPaintEvent) -> None:
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
                ground = colours.hovered(shades, self._grounds[self._hovered])
                self._draw_tile(painter, painting.Writer(self.font()), self._hovered, ground)
                painting.paint_hovered(painter, self._boxes[self._hovered], shades)
            if self._selected or self._partly:
                for tile, box in zip(self._folded.tiles, self._boxes, strict=True):
                    if tile.key in self._selected and box.intersects(seen):
                        painting.paint_chosen(painter, box, shades)
                    elif tile.key in self._partly and box.intersects(seen):
                        painting.paint_chosen(painter, box, shades, partly=True)
            if self.hasFocus():
                painter.setPen(QPen(QColor(shades.accent), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
                if 0 <= self._at < len(self._boxes):
                    painting.paint_current(painter, self._boxes[self._at], shades)

    def _repaint(self, number: int) -> None:
        if 0 <= number < len(self._boxes):
            self.update(self._boxes[number].toAlignedRect().adjusted(-1, -1, 1, 1))

    # What the user does.

    def _go(self, number: int) -> None:
        if number != self._at:
            self._repaint(self._at)
            self._at = number
            self._repaint(number)
            self._tell()

    def _choose(self, keys: Sequence[Key]) -> None:
        self._selected, self._partly = dict.fromkeys(keys), frozenset()
        self.update()
        self._tell()
        self.chosen.emit(list(keys))

    def _toggle(self, key: Key) -> None:
        kept = [each for each in self._selected if each != key]
        self._choose(kept if len(kept) < len(self._selected) else [*kept, key])

    def _open(self, tile: Tile) -> None:
        tiles, rest = self._given
        last = tile is self._folded.tiles[-1]
        if last and self._folded.smaller and not tile.bytes:
            return  # there is nothing to see of them
        if last and self._folded.smaller:
            self._above.append((tiles, rest))
            self._at = 0
            self._show(self._folded.smaller, rest)
            self._go(0)
            self.turned.emit()
        else:
            self.opened.emit(tile.key)

    def leave(self) -> None:
        """Out of what was gone into last, as Backspace does."""
        if self._above:
            self._show(*self._above.pop())
            self._go(len(self._folded.tiles) - 1)
            self.turned.emit()
        else:
            self.up.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._lay_out()
        key, count = Qt.Key(event.key()), len(self._boxes)
        current = self.current
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
            if event.modifiers() & _CONTROL:
                self._toggle(current.key)
            else:
                self._choose([current.key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and current is not None:
            self._open(current)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self._number_at(event.position())
        if number < 0:
            return
        self._go(number)
        key = self._folded.tiles[number].key
        if event.button() == Qt.MouseButton.LeftButton:
            if event.modifiers() & _CONTROL:
                self._toggle(key)
            else:
                self._choose([key])
        elif event.button() == Qt.MouseButton.RightButton and key not in self._selected:
            self._choose([key])

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        number = self._number_at(event.position())
        if number >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self._open(self._folded.tiles[number])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = event.pos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard and self._at >= 0:
            at = self._boxes[self._at].center().toPoint()
        self.menu_asked.emit(at)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._number_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    def _hover(self, number: int) -> None:
        if number != self._hovered:
            self._repaint(self._hovered)
            self._hovered = number
            self._repaint(number)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._lay_out()
        if self.current is None and self._boxes:
            self._at = 0
        self.update()
        self._tell()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            number = self._number_at(QPointF(event.pos()))
            if number < 0:
                QToolTip.hideText()
                event.ignore()
            else:
                where: QRect = self._boxes[number].toAlignedRect()
                tile = self._folded.tiles[number]
                shrunk = self._folded.shrunk and tile is self._folded.tiles[-1]
                told = speaking.told(tile, self._total, shrunk=shrunk)
                text = "\n".join(line for line in (told, self.hint) if line)
                QToolTip.showText(event.globalPos(), tip(text), self, where)
            return True
        return super().event(event)

    def _tell(self) -> None:
        """Say the current tile to whoever listens, where that has changed."""
        said = self.spoken()
        if said != self.accessibleDescription():
            self.setAccessibleDescription(said)
            speaking.say_current(self, said)
