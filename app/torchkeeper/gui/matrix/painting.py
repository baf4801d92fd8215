"""How tables of variants look; their cells are painted without the style sheet, which is slow."""

from __future__ import annotations

from PySide6 import QtWidgets
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyleOptionViewItem, QTableView

from torchkeeper.gui import theme

ROW_HEIGHT = 28


def dress(view: QTableView, name: str, rows: int) -> None:
    """A table of this name for screen readers, no lower than so many rows; one is chosen in it."""
    view.setAccessibleName(name)
    view.setMinimumHeight(rows * ROW_HEIGHT)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setShowGrid(False)
    view.setTabKeyNavigation(False)
    view.setWordWrap(False)
    view.verticalHeader().hide()
    view.verticalHeader().setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.Fixed)
    view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
    view.horizontalHeader().setHighlightSections(False)
    view.horizontalHeader().setStretchLastSection(False)


class PlainDelegate(QtWidgets.QStyledItemDelegate):
    """What paints a cell of a view, in the font of the window."""

    def __init__(self, view: QTableView) -> None:
        super().__init__(view)
        self._view = view
        theme.follow(self, self._dress)

    def _dress(self) -> None:
        self._font = QtWidgets.QApplication.font()
        self._metrics = QFontMetrics(self._font)

    def ground(self, painter: QPainter, option: QStyleOptionViewItem) -> QRect:
        """Paint what is behind a cell; where that is."""
        box: QRect = option.rect
        state: QStyle.StateFlag = option.state
        if state & QStyle.StateFlag.State_Selected:
            shades, active = theme.shades(), state & QStyle.StateFlag.State_Active
            painter.fillRect(box, QColor(shades.selected if active else shades.selected_quiet))
        return box

    def mark(self, painter: QPainter, left: int, box: QRect, name: str, role: str) -> None:
        """Paint an icon in the colour of this role."""
        shade, scale = getattr(theme.shades(), role), self._view.devicePixelRatioF()
        painter.drawPixmap(left, box.center().y() - 7, theme.pixmap(name, 16, shade, scale))

    def words(self, painter: QPainter, room: QRect, text: str, colour: str, side: int) -> None:
        """Paint a text, as much of it as there is room for."""
        painter.setFont(self._font)
        painter.setPen(QColor(colour))
        cut = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room.left(), room.top(), room.width(), room.height(), side, cut)
