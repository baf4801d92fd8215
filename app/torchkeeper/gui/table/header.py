"""The header of the table: its sort mark stands beside the title, lines show where to drag."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QWidget

from torchkeeper.gui import theme

#: The padding of a section and the width of the mark, in device-independent pixels.
_PADDING, _MARK, _GAP = 8, 8, 6
#: How far the line between two sections keeps from the edges of the header.
_INSET = 7


class Header(QHeaderView):
    """Style sheets put the mark at an edge of the section, wherever the title is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setSectionsClickable(True)

    def paintSection(self, painter: QPainter, rect: QRect, index: int) -> None:
        painter.save()
        super().paintSection(painter, rect, index)
        painter.restore()
        painter.setPen(QColor(theme.shades().line))
        painter.drawLine(rect.right(), rect.top() + _INSET, rect.right(), rect.bottom() - _INSET)
        if self.isSortIndicatorShown() and index == self.sortIndicatorSection():
            self._mark(painter, rect, index)

    def _mark(self, painter: QPainter, rect: QRect, column: int) -> None:
        model, way = self.model(), Qt.Orientation.Horizontal
        title = str(model.headerData(column, way) or "")
        where = model.headerData(column, way, Qt.ItemDataRole.TextAlignmentRole)
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        used = _PADDING + QFontMetrics(font).horizontalAdvance(title) + _GAP
        if where is not None and int(where) & int(Qt.AlignmentFlag.AlignRight):
            left = rect.right() + 1 - used - _MARK
        else:
            left = rect.left() + used
        # Where a title fills its section, the mark takes the last of its room.
        left = max(rect.left() + 2, min(left, rect.right() - _MARK - 2))
        middle = rect.center().y() + 0.5
        down = 2 if self.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder else -2
        with_pen = QPen(QColor(theme.shades().text), 1.6)
        with_pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        with_pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(with_pen)
        corners = (0, -down), (_MARK / 2, down), (_MARK, -down)
        painter.drawPolyline([QPointF(left + x, middle + y) for x, y in corners])
        painter.restore()
