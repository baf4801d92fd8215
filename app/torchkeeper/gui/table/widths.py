"""How wide the columns of the table are; the name takes what the others leave. Also the header,
whose sort mark stands beside the title.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QApplication, QHeaderView, QTableView, QWidget

from torchkeeper.artifacts.entry import KINDS, VERDICTS
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme
from torchkeeper.gui.table import cells
from torchkeeper.gui.table.cells import KIND, NAME, VERDICT, verdict_words
from torchkeeper.gui.table.delegate import MARKED, PAD

WIDTHS = {
    KIND: 0,  # as its words need
    NAME: 260,
    VERDICT: 112,
    cells.KEY: 82,
    cells.SIZE: 84,
    cells.FILES: 54,
    cells.MTIME: 106,
    cells.TORCH: 110,
    cells.DEVICE: 71,
    cells.COMPILE: 112,
    cells.EXPIRES: 92,
    cells.USED: 108,
}
#: What a text is narrower than its column at least.
_SPARE = 2
#: The name takes what the others leave, and no less than this.
_NAME_WIDTH = 180


def first_widths() -> dict[int, int]:
    """How wide columns are until they are dragged: kinds and verdicts are never cut."""
    metrics = QFontMetrics(QApplication.font())

    def wide(words: Iterable[str]) -> int:
        return max(map(metrics.horizontalAdvance, words)) + MARKED + PAD + _SPARE

    kinds, verdicts = wide(map(kind_words, KINDS)), wide(map(verdict_words, VERDICTS))
    return WIDTHS | {KIND: kinds, VERDICT: max(verdicts, WIDTHS[VERDICT])}


class NameColumn:
    """The width of the names. own: as they were dragged; 0: as there is room."""

    def __init__(self, table: QTableView) -> None:
        self.own = 0
        self._table = table
        self._fitting = False
        # Meanwhile the header shows what is hidden, and hides it again.
        self._relaid = False
        table.horizontalHeader().sectionResized.connect(self._resized)
        model = table.model()
        model.layoutAboutToBeChanged.connect(self._lay_out_again)
        model.layoutChanged.connect(self._laid_out)
        self.fit()

    def fit(self) -> None:
        """Have the name take what the others leave; where that is too little, all can scroll."""
        header = self._table.horizontalHeader()
        left = self._table.viewport().width() - header.length() + header.sectionSize(NAME)
        self._fitting = True
        if left >= max(_NAME_WIDTH, self.own):
            header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        else:
            header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(NAME, self.own or _NAME_WIDTH + self._edge())
        self._fitting = False

    def have(self, width: int) -> None:
        """Have the name as wide as if it had been dragged so; 0: as there is room."""
        self.own = width
        self.fit()

    def _edge(self) -> int:
        """Pixels in which the edge of a column would be seen; the name, if seen whole, has them."""
        header, at = self._table.horizontalHeader(), 0
        room, named = self._table.viewport().width(), False
        for place in range(header.count()):
            column = header.logicalIndex(place)
            wide = _NAME_WIDTH if column == NAME else header.sectionSize(column)
            if at + wide > room:
                break
            at += wide
            named = named or column == NAME
        return room - at if named else 0

    def _resized(self, column: int, old: int, new: int) -> None:
        if self._relaid:
            return
        if column != NAME:
            self.fit()
        elif old and new and not self._fitting:
            mode = self._table.horizontalHeader().sectionResizeMode(NAME)
            if mode is QHeaderView.ResizeMode.Interactive:
                self.own = new

    def _lay_out_again(self) -> None:
        self._relaid = True

    def _laid_out(self) -> None:
        self._relaid = False
        self.fit()


# The header of the table: its sort mark stands beside the title, lines show where to drag.

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
