"""A list whose names have the room that they need before what stands beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QTreeWidget

from torchkeeper.gui.widgets import lists

#: Characters of a name that are seen before anything stands beside it, and of that, at most;
#: what is longer is cut.
_NAME, _BESIDE = 28, 32
#: Pixels between what is in a column and the next.
_BETWEEN = 12


class Fitted(QTreeWidget):
    """Columns are as wide as their content, names as there is room; others are left away first."""

    def __init__(self, name: int, leaves: Sequence[int]) -> None:
        """name: the column of the names; leaves: those that are left away, the first first."""
        super().__init__()
        self._name, self._leaves = name, leaves
        self._never: Collection[int] = ()
        self._fitting = False
        #: The widths that the user gave to columns.
        self._own: dict[int, int] = {}
        self.header().sectionResized.connect(self._resized)

    def head(self, labels: Sequence[str], right: Collection[int], never: Collection[int]) -> None:
        """Have these headings, some of them at the right; ``never``: those that are not shown."""
        self._fitting = True
        self._never = never
        self.setHeaderLabels(labels)
        lists.right(self, right)
        lists.columns(self, (0,) * len(labels), self._name)
        for column in never:
            self.setColumnHidden(column, True)
        self._fitting = False

    def fit(self) -> None:
        """Give the columns their widths by what is in them now."""
        if self._fitting:
            return
        self._fitting = True
        others = [column for column in range(self.columnCount())
                  if column != self._name and column not in self._never]  # fmt: skip
        widths = {column: self._wanted(column) for column in others}
        name = max(self.sizeHintForColumn(self._name), lists.needed(self, self._name))
        least = min(name, self.fontMetrics().averageCharWidth() * _NAME)
        room = self.viewport().width() - sum(widths.values())
        for column in self._leaves:
            gone = room < least
            self.setColumnHidden(column, gone)
            room += widths[column] if gone else 0
        for column, width in widths.items():
            if not self.isColumnHidden(column):
                self.header().resizeSection(column, width)
        self._fitting = False

    def _wanted(self, column: int) -> int:
        content = self.sizeHintForColumn(column) + _BETWEEN
        content = min(content, self.fontMetrics().averageCharWidth() * _BESIDE)
        return self._own.get(column) or max(content, lists.needed(self, column))

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._fitting and width and column != self._name:
            self._own[column] = width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.fit()
