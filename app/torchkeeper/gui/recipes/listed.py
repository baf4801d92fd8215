"""The list of recipes: names have the room that they need before what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QTreeWidget

from torchkeeper.gui.recipes.items import CELLS, FILE, NAME, SOURCE, WARMED
from torchkeeper.gui.widgets import trees

#: Characters of a name that are seen before anything stands beside it; longer ones are cut.
_NAME = 28
#: Pixels between what is in a column and the next.
_BETWEEN = 12


class RecipeList(QTreeWidget):
    """Where it is narrow, first the cells are left away and then what is compiled: both are said
    of the chosen recipe.
    """

    def __init__(self) -> None:
        super().__init__()
        self._fitting = False
        #: The widths that the user gave to columns.
        self._own: dict[int, int] = {}
        self.header().sectionResized.connect(self._resized)

    def head(self, labels: Sequence[str]) -> None:
        """Have these headings. When it was warmed and its file stand beside the list."""
        self._fitting = True
        self.setHeaderLabels(labels)
        trees.right(self, (CELLS,))
        trees.columns(self, (0,) * len(labels), NAME)
        for column in (WARMED, FILE):
            self.setColumnHidden(column, True)
        self._fitting = False

    def fit(self) -> None:
        """Give the columns their widths by what is in them now."""
        if self._fitting:
            return
        self._fitting = True
        room = self.viewport().width()
        name = max(self.sizeHintForColumn(NAME), trees.needed(self, NAME))
        least = min(name, self.fontMetrics().averageCharWidth() * _NAME)
        widths = {column: self._wanted(column) for column in (SOURCE, CELLS)}
        for column, others in ((CELLS, widths[SOURCE]), (SOURCE, 0)):
            self.setColumnHidden(column, room - others - widths[column] < least)
        for column, width in widths.items():
            if not self.isColumnHidden(column):
                self.header().resizeSection(column, width)
        self._fitting = False

    def _wanted(self, column: int) -> int:
        content = self.sizeHintForColumn(column) + _BETWEEN
        return self._own.get(column) or max(content, trees.needed(self, column))

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._fitting and width and column in (SOURCE, CELLS):
            self._own[column] = width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.fit()
