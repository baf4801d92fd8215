"""How the table of cells is painted: its state, its numbers, and the phases as a bar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from torchkeeper.gui import icons, theme
from torchkeeper.gui.matrix.cells import CellState
from torchkeeper.gui.matrix.model import CELL, NUMBERS, PHASES, CellsModel, Line
from torchkeeper.gui.matrix.phases import PHASES as NAMES

if TYPE_CHECKING:
    from PySide6.QtWidgets import QTableView

Index = QModelIndex | QPersistentModelIndex

ROW_HEIGHT = 28
_PAD, _BAR = 8, 12
_LEFT = (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value
_RIGHT = (Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter).value
#: The icon of each state, and the name of its colour.
_MARKS = {
    "queued": ("queued", "muted"),
    "starting": ("running", "muted"),
    "compiling": ("running", "accent"),
    "done": ("done", "good"),
    "failed": ("error", "error"),
    "cancelled": ("cancel", "muted"),
}


def mark(cell: CellState) -> tuple[str, str]:
    """The icon of a cell and the name of its colour."""
    if cell.state == "done" and not cell.good:
        return "warning", "warning"
    return _MARKS.get(cell.state, _MARKS["queued"])


class CellDelegate(QStyledItemDelegate):
    """Paints without the style sheet, which takes long."""

    def __init__(self, view: QTableView, model: CellsModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._font = QFont()
        self._metrics = QFontMetrics(self._font)
        theme.follow(self, self._dress)

    def _dress(self) -> None:
        self._font = QApplication.font()
        self._metrics = QFontMetrics(self._font)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        shades = theme.shades()
        box: QRect = option.rect
        state: QStyle.StateFlag = option.state
        if state & QStyle.StateFlag.State_Selected:
            active = state & QStyle.StateFlag.State_Active
            painter.fillRect(box, QColor(shades.selected if active else shades.selected_quiet))
        line, column = self._model.line(index.row()), index.column()
        if column == PHASES:
            self._bar(painter, box, line)
            return
        text = self._model.text(index.row(), column, time.monotonic())
        left, width = box.left() + _PAD, box.width() - 2 * _PAD
        quiet = not isinstance(line, CellState) or line.state in ("queued", "starting", "cancelled")
        if column == CELL:
            shift = 24
            if isinstance(line, CellState):
                name, shade = mark(line)
                scale = self._view.devicePixelRatioF()
                drawn = icons.pixmap(name, 16, getattr(shades, shade), scale)
                painter.drawPixmap(left, box.center().y() - 7, drawn)
            left, width = left + shift, width - shift
        painter.setFont(self._font)
        painter.setPen(QColor(shades.muted if quiet else shades.text))
        shown = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        side = _RIGHT if column in NUMBERS else _LEFT
        painter.drawText(left, box.top(), width, box.height(), side, shown)

    def _bar(self, painter: QPainter, box: QRect, line: Line) -> None:
        """The phases, as long as they took beside the cell that took longest."""
        shades = theme.shades()
        every = line.phases or []
        longest = max(self._model.cells.longest, 1.0)
        now = time.monotonic()
        took = line.took(now) if isinstance(line, CellState) else None
        # Graphs that are compiled at once take more together than the cell.
        whole = max(took or 0.0, sum(every))
        longest = max(longest, whole)
        if whole <= 0:
            return
        room = box.width() - 2 * _PAD
        high = _BAR if isinstance(line, CellState) else _BAR - 4
        top, left = box.center().y() - high / 2 + 0.5, float(box.left() + _PAD)
        ground = QRectF(left, top, max(2.0, room * whole / longest), high)
        painter.fillRect(ground, QColor(shades.selected_quiet))
        painter.setPen(Qt.PenStyle.NoPen)
        for name, seconds in zip(NAMES, every, strict=False):
            width = room * seconds / longest
            if width <= 0:
                continue
            painter.fillRect(QRectF(left, top, width, high), QColor(shades.phases[name]))
            left += width
            if width > 3:
                # A seam, so that neighbours are told apart whatever their colours.
                painter.fillRect(QRectF(left - 1, top, 1, high), QColor(shades.base))
        painter.setPen(QPen(QColor(shades.muted), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(ground.adjusted(0, 0, -1, -1))
