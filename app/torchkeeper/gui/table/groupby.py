"""By what the table is grouped and sorted: what the View menu does, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from torchkeeper.gui import theme
from torchkeeper.gui.table.cells import COLUMNS, NUMBERS, header_text
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import GROUPINGS
from torchkeeper.gui.table.view import EntryTable

#: Where it is kept.
KEY = "table/group"


class GroupBy(QObject):
    """Groups the table, and remembers by what."""

    def __init__(self, model: EntriesModel, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._model, self._settings = model, settings
        kept = str(settings.value(KEY) or "")
        if kept in GROUPINGS:
            model.group(kept)

    def group(self, by: str, then: Callable[[], None] | None = None) -> None:
        """By one of GROUPINGS; ``then`` is called when rows are shown so."""
        self._model.group(by, then)
        self._settings.setValue(KEY, by)

    def fold(self, collapsed: bool) -> None:
        """Show the headings only, or what is under every one, too."""
        self._model.collapse(self._model.groups, collapsed)


class SortBy(QObject):
    """Sorts by a column that is shown, and the other way round."""

    def __init__(self, table: EntryTable) -> None:
        super().__init__(table)
        self._table, self._header = table, table.horizontalHeader()
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
        theme.follow(turn, lambda: turn.setIcon(theme.icon("up")))
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
