"""How the table is painted, and how wide columns are: without Qt's styles, which take 20 ms for a
screenful, nor cell by cell, between which another thread may take its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView as View
from PySide6.QtWidgets import QApplication, QFrame, QHeaderView, QStyledItemDelegate, QWidget

from torchkeeper.artifacts.entry import KINDS, VERDICTS, Entry
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme
from torchkeeper.gui.table import rows as work
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import Group
from torchkeeper.gui.table.rows import KEY, KIND, NAME, NUMBERS, VERDICT, WIDTHS, Row

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyleOptionViewItem, QTableView

Index = QModelIndex | QPersistentModelIndex

ROW_HEIGHT = 30
#: Pixels at the sides of a text, and before one that stands beside a mark.
PAD, MARKED = 8, 28
#: Texts whose width is remembered.
_REMEMBERED = 4000
#: The padding of a section of the header and the width of its mark, in device-independent pixels.
_PADDING, _MARK, _GAP = 8, 8, 6
#: How far the line between two sections of the header keeps from its edges.
_INSET = 7
#: Logical column, left edge and width of what can be seen.
Columns = Sequence[tuple[int, int, int]]
# Plain numbers: Python's flags are slow, and this is done for every cell.
_LEFT = (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value
_RIGHT = (Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter).value


class EntryDelegate(QStyledItemDelegate):
    """Paints a cell: a coloured mark before the kind, keys in a fixed-width font."""

    def __init__(self, view: QTableView, model: EntriesModel) -> None:
        super().__init__(view)
        self._view, self._model = view, model
        self._font, self._fixed, self._bold = QFont(), QFont(), QFont()
        self._metrics = self._fixed_metrics = QFontMetrics(self._font)
        self._text = self._muted = QColor()
        self._fitted: dict[tuple[str, int, bool], str] = {}
        theme.follow(self, self._dress)

    def _dress(self) -> None:
        shades = theme.shades()
        self._fitted.clear()
        self._font, self._fixed = QApplication.font(), theme.monospace()
        self._bold = QFont(self._font)
        self._bold.setWeight(QFont.Weight.DemiBold)
        self._metrics, self._fixed_metrics = QFontMetrics(self._font), QFontMetrics(self._fixed)
        self._text, self._muted = QColor(shades.text), QColor(shades.muted)

    def paint_row(
        self, painter: QPainter, row: Row, top: int, columns: Columns, selected: bool
    ) -> None:
        """Paint the cells of one row, whose ground is there."""
        for column, left, width in columns:
            self._paint_cell(painter, row.entry, column, QRect(left, top, width, ROW_HEIGHT),
                             selected)  # fmt: skip

    def _paint_cell(
        self, painter: QPainter, entry: Entry, column: int, box: QRect, selected: bool
    ) -> None:
        indent = PAD
        if column == KIND or (column == NAME and entry.broken):
            self._mark(painter, box, entry.kind if column == KIND else "")
            indent = MARKED
        elif column == VERDICT and entry.verdict is not None:
            self._verdict(painter, box, entry.verdict)
            indent = MARKED
        if not (text := self._model.text(entry, column)):
            return
        fixed = column == KEY
        left, width = box.left() + indent, box.width() - indent - PAD
        text = self._fitting(text, width, fixed)
        painter.setFont(self._fixed if fixed else self._font)
        # What nothing needs steps back.
        strong = selected or column == KIND or (column == VERDICT and entry.verdict is not None)
        strong = strong or (column == NAME and entry.orphan is None)
        painter.setPen(self._text if strong else self._muted)
        side = _RIGHT if column in NUMBERS else _LEFT
        painter.drawText(left, box.top(), width, box.height(), side, text)

    def _fitting(self, text: str, width: int, fixed: bool) -> str:
        if (found := self._fitted.get((text, width, fixed))) is None:
            metrics = self._fixed_metrics if fixed else self._metrics
            mode = Qt.TextElideMode.ElideMiddle if fixed else Qt.TextElideMode.ElideRight
            if len(self._fitted) > _REMEMBERED:
                self._fitted.clear()
            found = self._fitted[text, width, fixed] = metrics.elidedText(text, mode, width)
        return found

    def _mark(self, painter: QPainter, box: QRect, kind: str) -> None:
        shades, scale = theme.shades(), self._view.devicePixelRatioF()
        if kind:
            drawn = theme.dot(shades.kinds.get(kind, shades.muted), scale)
            painter.drawPixmap(box.left() + 10, box.center().y() - 4, drawn)
        else:
            drawn = theme.pixmap("warning", 16, shades.warning, scale)
            painter.drawPixmap(box.left() + 6, box.center().y() - 7, drawn)

    def _verdict(self, painter: QPainter, box: QRect, verdict: str) -> None:
        shades, scale = theme.shades(), self._view.devicePixelRatioF()
        drawn = theme.pixmap(f"verdict-{verdict}", 16, shades.verdict(verdict), scale)
        painter.drawPixmap(box.left() + PAD, box.center().y() - 7, drawn)

    def paint_heading(self, painter: QPainter, box: QRect, group: Group, focus: bool) -> None:
        """Paint the heading of a group over the whole width of the table."""
        shades, scale = theme.shades(), self._view.devicePixelRatioF()
        # Not fillRect, as in the table: the first costs 50 ms.
        painter.setBackground(QColor(shades.window))
        painter.eraseRect(box)
        painter.setBackground(QColor(shades.line))
        painter.eraseRect(box.left(), box.bottom(), box.width(), 1)
        arrow = "closed-group" if group.collapsed else "open-group"
        drawn = theme.pixmap(arrow, 16, shades.muted, scale)
        painter.drawPixmap(box.left() + PAD, box.center().y() - 7, drawn)
        left = box.left() + MARKED
        if group.by == "verdict" and group.name is not None:
            self._verdict(painter, QRect(left - PAD, box.top(), 24, box.height()), str(group.name))
            left += 22
        if group.by == "kind":
            drawn = theme.dot(shades.kinds.get(str(group.name), shades.muted), scale)
            painter.drawPixmap(left + 2, box.center().y() - 4, drawn)
            left += 20
        room = max(0, box.right() - left - 2 * PAD)
        metrics = QFontMetrics(self._bold)
        title = metrics.elidedText(group.title, Qt.TextElideMode.ElideRight, room * 2 // 3)
        painter.setFont(self._bold)
        painter.setPen(self._text)
        painter.drawText(left, box.top(), room, box.height(), _LEFT, title)
        taken = metrics.horizontalAdvance(title) + 12
        room = max(0, room - taken)
        painter.setFont(self._font)
        painter.setPen(self._muted)
        text = self._metrics.elidedText(group.numbers, Qt.TextElideMode.ElideRight, room)
        painter.drawText(left + taken, box.top(), room, box.height(), _LEFT, text)
        if focus:
            self.paint_focus(painter, box)

    def paint_focus(self, painter: QPainter, box: QRect) -> None:
        """Paint the frame of what has the keyboard."""
        painter.setPen(QPen(QColor(theme.shades().accent), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(1, 1, -1, -1))

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if index.column() == KEY:
            option.font = self._fixed

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        if isinstance(self._model.lines[index.row()], Group):
            return QSize(0, ROW_HEIGHT)
        beside = MARKED if index.column() in (KIND, VERDICT) else PAD
        return QSize(super().sizeHint(option, index).width() + beside, ROW_HEIGHT)


#: What a text is narrower than its column at least.
_SPARE = 2
#: The least width of the name, in a narrow table and in a wide one; the other columns scroll.
_NAME_WIDTH, _READ = 180, 260


def as_rows(view: QTableView, high: int) -> None:
    """Have a table be rows of one height, which are chosen as a whole and scrolled by pixels."""
    view.setFrameShape(QFrame.Shape.NoFrame)
    view.setSelectionBehavior(View.SelectionBehavior.SelectRows)
    view.setSelectionMode(View.SelectionMode.ExtendedSelection)
    view.setEditTriggers(View.EditTrigger.NoEditTriggers)
    view.setHorizontalScrollMode(View.ScrollMode.ScrollPerPixel)
    view.setVerticalScrollMode(View.ScrollMode.ScrollPerPixel)
    view.setShowGrid(False)
    view.setAlternatingRowColors(True)
    view.setTabKeyNavigation(False)
    view.setWordWrap(False)
    lines = view.verticalHeader()
    lines.hide()
    lines.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    lines.setDefaultSectionSize(high)
    view.horizontalHeader().setHighlightSections(False)
    view.horizontalHeader().setMinimumSectionSize(48)


def first_widths() -> dict[int, int]:
    """How wide columns are until they are dragged: kinds and verdicts are never cut, nor titles."""
    metrics = QFontMetrics(QApplication.font())

    def wide(words: Iterable[str]) -> int:
        return max(map(metrics.horizontalAdvance, words)) + MARKED + PAD + _SPARE

    kinds, verdicts = wide(map(kind_words, KINDS)), wide(map(work.verdict_words, VERDICTS))
    titles = (_titled(QApplication.font(), work.header_text(at)) for at in range(len(WIDTHS)))
    found = dict(enumerate(map(max, WIDTHS, titles)))
    return found | {KIND: kinds, VERDICT: max(verdicts, found[VERDICT])}


def _titled(font: QFont, title: str) -> int:
    """The pixels of a title with the mark of a column that is sorted by."""
    bold = QFont(font)
    bold.setWeight(QFont.Weight.DemiBold)
    return _PADDING + QFontMetrics(bold).horizontalAdvance(title) + _GAP + _MARK + _SPARE


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
        wide = self._table.viewport().width()
        left = wide - header.length() + header.sectionSize(NAME)
        self._least = max(_NAME_WIDTH, min(_READ, wide * 2 // 5))
        self._fitting = True
        if left >= max(_NAME_WIDTH, self.own):
            header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        else:
            header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(NAME, self.own or self._least + self._edge())
        self._fitting = False

    def _edge(self) -> int:
        """Pixels in which the edge of a column would be seen; the name, if seen whole, has them."""
        header, at = self._table.horizontalHeader(), 0
        room, named = self._table.viewport().width(), False
        for place in range(header.count()):
            column = header.logicalIndex(place)
            wide = self._least if column == NAME else header.sectionSize(column)
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
        used = _titled(self.font(), title)
        if where is not None and int(where) & int(Qt.AlignmentFlag.AlignRight):
            left = rect.right() + 1 + _SPARE - used
        else:
            left = rect.left() + used - _MARK - _SPARE
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
