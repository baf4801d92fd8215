"""Which columns the table shows, in what order and how wide; by which it is sorted, and by what it
is grouped. The columns are kept as JSON that names them: a later version understands it, and of a
damaged one what makes sense is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSettings, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent
from PySide6.QtWidgets import QMenu

from torchkeeper.gui import theme
from torchkeeper.gui.idle import once
from torchkeeper.gui.table import rows as work
from torchkeeper.gui.table.delegate import first_widths
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import GROUPINGS
from torchkeeper.gui.table.rows import (
    COLUMNS,
    NAME,
    NOT_SERVERS,
    NUMBERS,
    RANKED,
    SERVERS,
    header_text,
)
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.widgets import forms

#: Where it is kept, and what it must say to be understood.
KEY, VERSION = "table/columns", 1
#: Where it is kept by what it is grouped.
_GROUPED = "table/group"
#: Pixels a column may be wide.
_NARROWEST, _WIDEST = 48, 2000
#: A drag of a border is many changes; it is kept when it has rested this long.
_REST_MS = 400


def letter(actions: Iterable[QAction]) -> None:
    """Have each action of a menu go by a letter of its text that no other has, if any is left."""
    taken = "R"
    for action in actions:
        text = action.text()
        if free := next((x for x in text if x.isalpha() and x.upper() not in taken), ""):
            action.setText(forms.lettered(text, free))
            taken += free.upper()


class Columns(QObject):
    """Lets the user choose columns, and remembers what was chosen."""

    def __init__(self, table: EntryTable, settings: QSettings) -> None:
        super().__init__(table)
        self._table, self._settings = table, settings
        self._header = table.horizontalHeader()
        self._header.setSectionsMovable(True)
        self._header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._header.setToolTip(self.tr("Click to sort, drag to reorder, right-click to choose"))
        self._rest = once(self, self.keep, _REST_MS)
        #: Those of no use in the place that is shown: they are neither shown nor offered.
        self._useless = SERVERS | RANKED
        #: The widths that are kept, also of what is hidden; how the other sort of place is sorted.
        self._widths: dict[str, int] = {}
        self._other_sort: object = None
        self._wanted = set[int]()
        self._actions: list[QAction] = []
        self.restore()
        self._header.customContextMenuRequested.connect(self._context)
        for change in (self._header.sectionMoved, self._header.sortIndicatorChanged):
            change.connect(lambda *_: self._rest.start())
        self._header.sectionResized.connect(self._resized)

    @property
    def actions(self) -> list[QAction]:
        """What shows or hides each column; made when a menu is first filled with it."""
        if not self._actions:
            self._actions = [self._action(column) for column in range(len(COLUMNS))]
            letter(self._actions)
            self._show_wanted()
        return self._actions

    def _action(self, column: int) -> QAction:
        action = QAction(header_text(column), self)
        action.setCheckable(True)
        action.setStatusTip(self.tr("Show or hide this column"))
        action.triggered.connect(lambda shown: self._choose(column, shown))
        return action

    def fill(self, menu: QMenu) -> None:
        """Add an item for each column, and the one that resets them."""
        menu.installEventFilter(self)
        menu.addActions(self.actions)
        menu.addSeparator()
        reset = menu.addAction(self.tr("&Reset columns"))
        theme.follow(reset, lambda: reset.setIcon(theme.icon("refresh")))
        reset.setStatusTip(
            self.tr("Restore the default columns, with their order, width and sorting")
        )
        reset.triggered.connect(self.reset)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        action = watched.activeAction() if isinstance(watched, QMenu) else None
        if action is None or not action.isCheckable() or event.key() != Qt.Key.Key_Space:
            return False
        action.trigger()  # the menu stays: more than one may be wanted
        return True

    def _context(self, at: QPoint) -> None:
        menu = QMenu(self._table)
        menu.setObjectName("columns")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu)
        menu.popup(self._header.viewport().mapToGlobal(at))

    def use(self, server: bool, ranked: bool = False) -> None:
        """Show a server's columns, or those of a folder or a bundle, as far as they are wanted;
        ranked: the place has ranks.
        """
        useless = (NOT_SERVERS if server else SERVERS) | (frozenset[int]() if ranked else RANKED)
        if useless == self._useless:
            return
        waits = self._rest.isActive()
        self._widths |= self._seen_widths()
        sort, another = None, (self._useless ^ useless) - RANKED
        self._useless = useless
        self._show_wanted()
        if another:
            sort, self._other_sort = self._other_sort, self._sorted()
        if sort is not None or self._header.sortIndicatorSection() in useless:
            self._sort(sort)
        if not waits:
            self._rest.stop()  # nothing that the user has done

    def _choose(self, column: int, shown: bool) -> None:
        (self._wanted.add if shown else self._wanted.discard)(column)
        self._show_wanted()
        self._rest.start()

    def _show_wanted(self) -> None:
        seen = self._wanted.difference(self._useless) or {NAME}
        for column in range(len(COLUMNS)):
            if self._header.isSectionHidden(column) == (column in seen):
                self._header.setSectionHidden(column, column not in seen)
        for column, action in enumerate(self._actions):
            action.setChecked(column in self._wanted)
            action.setVisible(column not in self._useless)
            # One column stays: a table without any has no header to bring them back with.
            action.setEnabled(seen != {column})

    def _resized(self, column: int, _old: int, new: int) -> None:
        # The name takes what the others leave, until it is dragged; a hidden column's width is 0.
        if new and (column != NAME or new == self._table.name.own):
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
        self._apply(kept if isinstance(kept, dict) and kept.get("version") == VERSION else {})
        self._rest.stop()

    def keep(self) -> None:
        self._rest.stop()
        order = sorted(range(len(COLUMNS)), key=self._header.visualIndex)
        self._widths |= self._seen_widths()
        kept = {
            "version": VERSION,
            "order": [COLUMNS[column] for column in order],
            "hidden": [name for n, name in enumerate(COLUMNS) if n not in self._wanted],
            "widths": self._widths | {COLUMNS[NAME]: self._table.name.own},
            "sort": self._sorted(),
        }
        self._settings.setValue(KEY, json.dumps(kept))

    def _seen_widths(self) -> dict[str, int]:
        header = self._header
        shown = (n for n in range(len(COLUMNS)) if n != NAME and not header.isSectionHidden(n))
        return {COLUMNS[n]: header.sectionSize(n) for n in shown}

    def keep_if_changed(self) -> None:
        """Remember what has not rested yet."""
        if self._rest.isActive():
            self.keep()

    def _apply(self, kept: Mapping[str, object]) -> None:
        hidden = kept.get("hidden")
        shown = {n for n, name in enumerate(COLUMNS) if name not in _names(hidden)}
        first = set(range(len(COLUMNS))) - work.HIDDEN_FIRST
        self._wanted = (shown if isinstance(hidden, list) else None) or first
        self._show_wanted()
        order = list(dict.fromkeys(_names(kept.get("order"))))
        # A column that this does not know of stands where it stands by default.
        for column, name in enumerate(COLUMNS):
            if name not in order:
                order.insert(column, name)
        for place, name in enumerate(order):
            self._header.moveSection(self._header.visualIndex(COLUMNS.index(name)), place)
        widths = kept.get("widths")
        self._widths = {
            name: own
            for name, own in (widths.items() if isinstance(widths, dict) else ())
            if name in COLUMNS and isinstance(own, int) and _NARROWEST <= own <= _WIDEST
        }
        for column, width in first_widths().items():
            self._header.resizeSection(column, self._widths.get(COLUMNS[column], width))
        self._table.name.own = self._widths.get(COLUMNS[NAME], 0)
        self._table.name.fit()
        self._other_sort = None
        self._sort(kept.get("sort"))

    def _sorted(self) -> list[object]:
        descending = self._header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        return [COLUMNS[self._header.sortIndicatorSection()], descending]

    def _sort(self, kept: object) -> None:
        column, descending = work.SIZE, True
        if isinstance(kept, list) and len(kept) == 2 and kept[0] in COLUMNS:
            if COLUMNS.index(kept[0]) in self._useless:
                self._other_sort = kept
            else:
                column, descending = COLUMNS.index(kept[0]), kept[1] is True
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self._table.sortByColumn(column, order)


def _names(kept: object) -> list[str]:
    names = kept if isinstance(kept, list) else []
    return [name for name in names if isinstance(name, str) and name in COLUMNS]


class GroupBy(QObject):
    """Groups the table, and remembers by what."""

    def __init__(self, model: EntriesModel, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._model, self._settings = model, settings
        kept = str(settings.value(_GROUPED) or "")
        if kept in GROUPINGS:
            model.group(kept)

    def group(self, by: str, then: Callable[[], None] | None = None) -> None:
        """By one of GROUPINGS; ``then`` is called when rows are shown so."""
        self._model.group(by, then)
        self._settings.setValue(_GROUPED, by)

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
            action.setStatusTip(self.tr("Sort by this column; again, in reverse order"))
            action.triggered.connect(partial(self.sort, column))
            self._actions.append(action)
        letter(self._actions)
        menu.addActions(self._actions)
        menu.addSeparator()
        turn = menu.addAction(self.tr("&Reverse order"))
        theme.follow(turn, lambda: turn.setIcon(theme.icon("up")))
        turn.setStatusTip(self.tr("Show the last entries first"))
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
