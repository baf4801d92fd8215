"""A plain table of texts: rows that can be filtered and copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.widgets.copykey import CopyKey
from torchkeeper.gui.widgets.plain import tip

Index = QModelIndex | QPersistentModelIndex

#: Characters of a cell that are drawn.
_CELL = 300


class RowsModel(QAbstractTableModel):
    """Rows of texts under titles. A filter keeps the rows with all its words."""

    def __init__(
        self,
        titles: Sequence[str],
        *,
        numbers: frozenset[int] = frozenset(),
        fixed: frozenset[int] = frozenset(),
        parent: QObject | None = None,
    ) -> None:
        """numbers: columns that stand to the right; fixed: those in the fixed-width font."""
        super().__init__(parent)
        self._titles = tuple(titles)
        self._numbers = numbers
        self._fixed = fixed
        self._all: list[tuple[str, ...]] = []
        self._hay: list[str] = []
        self._shown: list[tuple[str, ...]] = []
        self._words: list[str] = []
        self._font = QFont()
        theme.follow(self, self._fonts)

    def _fonts(self) -> None:
        self._font = theme.monospace()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._titles):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return None

    def _side(self, column: int) -> Qt.AlignmentFlag:
        right = column in self._numbers
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        column = index.column()
        text = self._shown[index.row()][column]
        if role == Qt.ItemDataRole.DisplayRole:
            return text[:_CELL]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(text)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(column)
        if role == Qt.ItemDataRole.FontRole and column in self._fixed:
            return self._font
        return None

    @property
    def total(self) -> int:
        """How many rows there are, shown or not."""
        return len(self._all)

    def row_at(self, row: int) -> tuple[str, ...]:
        """The texts of a row that is shown."""
        return self._shown[row]

    def fill(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Show these rows instead."""
        self.beginResetModel()
        self._all = list(rows)
        self._hay = ["\n".join(row).lower() for row in self._all]
        self._shown = self._matching(0)
        self.endResetModel()

    def add(self, rows: Sequence[tuple[str, ...]]) -> None:
        """More rows at the end."""
        first = len(self._all)
        self._all += rows
        self._hay += ["\n".join(row).lower() for row in rows]
        fresh = self._matching(first)
        if fresh:
            at = len(self._shown)
            self.beginInsertRows(QModelIndex(), at, at + len(fresh) - 1)
            self._shown += fresh
            self.endInsertRows()

    def filter(self, text: str) -> None:
        """Show the rows that hold all words of a text."""
        self._words = text.lower().split()
        self.beginResetModel()
        self._shown = self._matching(0)
        self.endResetModel()

    def _matching(self, first: int) -> list[tuple[str, ...]]:
        found = zip(self._all[first:], self._hay[first:], strict=True)
        return [row for row, hay in found if all(word in hay for word in self._words)]


class RowsView(QTableView):
    """The view of such a table. Copy takes what ``copied`` puts together."""

    copied = Signal()

    def __init__(self, model: RowsModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        CopyKey(self, self.copied.emit)
        self.setObjectName("rows")
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setModel(model)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(26)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(48)

    def rows(self) -> list[int]:
        """The selected rows, in order."""
        return sorted({index.row() for index in self.selectionModel().selectedRows()})
