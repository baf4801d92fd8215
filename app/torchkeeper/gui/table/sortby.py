"""By what the table is sorted, for whoever does not click on its header: View > Sort by."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from torchkeeper.gui import icons, theme
from torchkeeper.gui.table.cells import COLUMNS, NUMBERS, header_text
from torchkeeper.gui.table.view import EntryTable


class SortBy(QObject):
    """Sorts by a column that is shown, and the other way round."""

    def __init__(self, table: EntryTable) -> None:
        super().__init__(table)
        self._table = table
        self._header = table.horizontalHeader()
        self._actions: list[QAction] = []

    def fill(self, menu: QMenu) -> None:
        """Add an item for each column, and one for the other way round."""
        group = QActionGroup(menu)
        for column in range(len(COLUMNS)):
            action = QAction(header_text(column), group)
            action.setCheckable(True)
            action.setStatusTip(self.tr("Sort by this column; once more, the other way round"))
            action.triggered.connect(partial(self.sort, column))
            self._actions.append(action)
        menu.addActions(self._actions)
        menu.addSeparator()
        turn = menu.addAction(self.tr("&The other way round"))
        theme.follow(turn, lambda: turn.setIcon(icons.icon("up")))
        turn.setStatusTip(self.tr("Have the last come first"))
        turn.triggered.connect(lambda: self.sort(self._header.sortIndicatorSection()))
        menu.aboutToShow.connect(self._tick)
        self._tick()

    def sort(self, column: int, _checked: bool = False) -> None:
        """Sort by a column: figures with the largest first; where it is sorted so, turn it."""
        ways = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
        descending = column in NUMBERS
        if column == self._header.sortIndicatorSection():
            descending = self._header.sortIndicatorOrder() == ways[0]
        self._table.sortByColumn(column, ways[descending])

    def _tick(self) -> None:
        for column, action in enumerate(self._actions):
            action.setVisible(not self._header.isSectionHidden(column))
            action.setChecked(column == self._header.sortIndicatorSection())
