"""Which columns the table shows, in what order and how wide; remembered by name.

What is kept is plain JSON that names the columns, not Qt's own state of a header: a later version
with more columns still understands it, and of a damaged one the parts that make sense are used.
"""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import QObject, QPoint, QSettings, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from torchkeeper.gui.table.cells import COLUMNS, NAME, SIZE, header_text
from torchkeeper.gui.table.view import WIDTHS, EntryTable

#: Where it is kept, and what it must say to be understood.
KEY, VERSION = "table/columns", 1
#: Pixels a column may be wide.
_NARROWEST, _WIDEST = 48, 2000
#: A drag of a border is many changes; it is kept when it has rested this long.
_REST_MS = 400


class Columns(QObject):
    """Lets the user choose columns, and remembers what was chosen."""

    def __init__(self, table: EntryTable, settings: QSettings) -> None:
        super().__init__(table)
        self._table = table
        self._settings = settings
        self._header = table.horizontalHeader()
        self._header.setSectionsMovable(True)
        self._header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._header.setToolTip(self.tr("Click to sort, drag to reorder, right-click to choose"))
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self.keep)
        self.actions = [self._action(column) for column in range(len(COLUMNS))]
        self._all = QAction(self.tr("&Reset columns"), self)
        self._all.setStatusTip(self.tr("Show all columns in their first order, width and sorting"))
        self._all.triggered.connect(self.reset)
        self.restore()
        self._header.customContextMenuRequested.connect(self._context)
        for change in (self._header.sectionMoved, self._header.sortIndicatorChanged):
            change.connect(lambda *_: self._rest.start())
        self._header.sectionResized.connect(self._resized)

    def _action(self, column: int) -> QAction:
        action = QAction(header_text(column), self)
        action.setCheckable(True)
        action.setChecked(True)
        action.toggled.connect(lambda shown: self._show(column, shown))
        return action

    def fill(self, menu: QMenu) -> None:
        """Add an item for each column, and the one that resets them."""
        menu.addActions(self.actions)
        menu.addSeparator()
        menu.addAction(self._all)

    def _context(self, at: QPoint) -> None:
        menu = QMenu(self._table)
        menu.setObjectName("columns")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu)
        menu.popup(self._header.viewport().mapToGlobal(at))

    def _show(self, column: int, shown: bool) -> None:
        self._header.setSectionHidden(column, not shown)
        seen = [action for action in self.actions if action.isChecked()]
        for action in self.actions:
            # One column stays: a table without any has no header to bring them back with.
            action.setEnabled(seen != [action])
        self._rest.start()

    def _resized(self, column: int, _old: int, new: int) -> None:
        # The name takes what the others leave; a width of 0 is a hidden column's.
        if column != NAME and new:
            self._rest.start()

    def reset(self) -> None:
        """As it was in the beginning."""
        self._apply({})
        self.keep()

    def restore(self) -> None:
        """As it was left."""
        try:
            kept = json.loads(str(self._settings.value(KEY) or "{}"))
        except (ValueError, RecursionError):
            kept = {}
        understood = isinstance(kept, dict) and kept.get("version") == VERSION
        self._apply(kept if understood else {})
        self._rest.stop()

    def keep(self) -> None:
        """Remember how it is now."""
        self._rest.stop()
        header = self._header
        order = sorted(range(len(COLUMNS)), key=header.visualIndex)
        descending = header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        kept = {
            "version": VERSION,
            "order": [COLUMNS[column] for column in order],
            "hidden": [name for n, name in enumerate(COLUMNS) if header.isSectionHidden(n)],
            "widths": {
                name: header.sectionSize(n)
                for n, name in enumerate(COLUMNS)
                if n != NAME and not header.isSectionHidden(n)
            },
            "sort": [COLUMNS[header.sortIndicatorSection()], descending],
        }
        self._settings.setValue(KEY, json.dumps(kept))

    def keep_if_changed(self) -> None:
        """Remember what has not rested yet."""
        if self._rest.isActive():
            self.keep()

    def _apply(self, kept: dict[str, Any]) -> None:
        hidden = set(_names(kept.get("hidden")))
        if len(hidden) == len(COLUMNS):
            hidden = set()
        for column, name in enumerate(COLUMNS):
            self.actions[column].setChecked(name not in hidden)
        order = list(dict.fromkeys(_names(kept.get("order"))))
        # A column that this does not know of stands where it stands by default.
        for column, name in enumerate(COLUMNS):
            if name not in order:
                order.insert(column, name)
        for place, name in enumerate(order):
            self._header.moveSection(self._header.visualIndex(COLUMNS.index(name)), place)
        widths = kept.get("widths")
        for column, width in WIDTHS.items():
            own = widths.get(COLUMNS[column]) if isinstance(widths, dict) else None
            if isinstance(own, int) and _NARROWEST <= own <= _WIDEST:
                width = own
            self._header.resizeSection(column, width)
        self._table.fit_name()
        self._sort(kept.get("sort"))

    def _sort(self, kept: object) -> None:
        column, descending = SIZE, True
        if isinstance(kept, list) and len(kept) == 2 and kept[0] in COLUMNS:
            column, descending = COLUMNS.index(kept[0]), kept[1] is True
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self._table.sortByColumn(column, order)


def _names(kept: object) -> list[str]:
    """The columns that a list names."""
    if not isinstance(kept, list):
        return []
    return [name for name in kept if isinstance(name, str) and name in COLUMNS]
