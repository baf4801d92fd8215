"""Lines as a table model: what Qt asks, and how a change of arrangement reaches the views."""

from __future__ import annotations

from operator import is_
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.table.arrangement import MAX_PIECES, Arrangement, Change, Line, difference
from torchkeeper.gui.table.cells import (
    COLUMNS,
    DEVICE,
    KEY,
    NUMBERS,
    SIZE,
    TORCH,
    VERDICT,
    accessible_text,
    cell_text,
    header_text,
    tooltip,
)
from torchkeeper.gui.table.grouping import Group
from torchkeeper.gui.table.ordering import SORT_KEYS, Row
from torchkeeper.gui.table.slices import finished
from torchkeeper.gui.widgets.plain import tip

Index = QModelIndex | QPersistentModelIndex

#: Where only the outcome is known, lists longer than this are not compared.
_MAX_COMPARED = 20_000

SortRole = Qt.ItemDataRole.UserRole + 1
#: The Group of a heading.
GroupRole = Qt.ItemDataRole.UserRole + 2


class LinesModel(QAbstractTableModel):
    """Shows an Arrangement. A line is an entry's or the heading of a group."""

    #: What is shown has changed: lines, their number, their order or their totals.
    changed = Signal()
    #: What is shown is about to be replaced by a later listing, and was.
    merging = Signal()
    merged = Signal()

    def __init__(self, here: Arrangement, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._here = here

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._here.lines)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        lines = self._here.lines
        if index.isValid() and isinstance(lines[index.row()], Group):
            # It can be the current one, so that keys work on it, but is never selected.
            return Qt.ItemFlag.ItemIsEnabled
        return flags | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else flags

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return header_text(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side(section)
        if role == Qt.ItemDataRole.WhatsThisRole:
            return whats_this(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        lines = self._here.lines
        if not index.isValid() or index.row() >= len(lines):
            return None
        line, column = lines[index.row()], index.column()
        if isinstance(line, Group):
            return _heading(line, column, role)
        entry = line.entry
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(entry, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(tooltip(entry, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return accessible_text(entry, column)
        if role == Qt.ItemDataRole.WhatsThisRole:
            return whats_this(column)
        if role == SortRole:
            return SORT_KEYS[column](line)
        return None

    @property
    def count(self) -> int:
        """How many entries the filter lets through; headings are none."""
        return self._here.count

    @property
    def groups(self) -> list[Group]:
        """The groups, as they stand; without grouping the one without a heading."""
        return list(self._here.rows)

    @property
    def lines(self) -> list[Line]:
        """Row by row what the table shows; not to be changed."""
        return self._here.lines

    def where(self, lines: set[Line]) -> dict[Line, int]:
        """The rows in which some lines stand, of those that are shown."""
        return self._here.all_where(lines)

    def stretches(self) -> list[tuple[int, int]]:
        """Where entries stand between headings: the first row and how many follow."""
        here = self._here
        open_ones = ((group, rows) for group, rows in here.rows.items() if not group.collapsed)
        return [(here.start(group) + group.headed, len(rows)) for group, rows in open_ones if rows]

    def group_of(self, row: Row) -> Group | None:
        """The group in which a row is."""
        return self._here.group_of(row)

    def entry_at(self, row: int) -> Entry:
        """The entry in a row, which must not be a heading's."""
        line = self._here.lines[row]
        assert isinstance(line, Row)
        return line.entry

    def become(self, new: Arrangement) -> None:
        """Show another arrangement, wherever it comes from."""
        old, lines = self._here.lines, new.lines
        if len(old) == len(lines) and all(map(is_, old, lines)):
            self.adopt(new, Change([], None, []))
        elif not old or not lines or len(old) > _MAX_COMPARED or len(lines) > _MAX_COMPARED:
            self.adopt(new, None)
        else:
            self.adopt(new, finished(difference(old, lines, set(old) ^ set(lines))))

    def adopt(self, new: Arrangement, change: Change | None) -> None:
        """Show another arrangement; without a change that leads to it, as a reset."""
        if change is None:
            self.beginResetModel()
            self._here = new
            new.adopt()
            self.endResetModel()
            return
        lines, target = self._here.lines, new.lines
        for first, last in reversed(change.gone):
            self.beginRemoveRows(QModelIndex(), first, last)
            del lines[first : last + 1]
            self.endRemoveRows()
        if change.middle is not None:
            self._reorder(new, change)
        # The arrangement's own list grows into what it is to be.
        new.lines = lines = self._here.lines
        self._here = new
        new.adopt()
        for first, last in change.come:
            self.beginInsertRows(QModelIndex(), first, last)
            lines[first:first] = target[first : last + 1]
            self.endInsertRows()
        self.tell_headings()

    def _reorder(self, new: Arrangement, change: Change) -> None:
        assert change.middle is not None
        self.layoutAboutToBeChanged.emit()
        lines = self._here.lines
        before = self.persistentIndexList()
        wanted = {lines[index.row()] for index in before}
        # What is still to come is not there yet.
        where = {
            line: number - sum(last - first + 1 for first, last in change.come if last < number)
            for line, number in new.all_where(wanted).items()
        }
        after = [self.index(where[lines[i.row()]], i.column()) for i in before]
        self._here.lines = change.middle
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def tell_changed(self, changed: set[Row]) -> None:
        """The entries of these rows are others than before."""
        if len(changed) > MAX_PIECES:
            self._tell(0, self.rowCount() - 1)
        else:
            for number in self._here.all_where(set(changed)).values():
                self._tell(number, number)

    def tell_headings(self) -> None:
        """The numbers in the headings are others than before."""
        if len(self._here.rows) > MAX_PIECES:
            self._tell(0, self.rowCount() - 1)
        elif self._here.by != "none":
            for group in self._here.rows:
                self._tell(self._here.start(group), self._here.start(group))

    def _tell(self, first: int, last: int) -> None:
        if 0 <= first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


def _side(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _heading(group: Group, column: int, role: int) -> Any:
    if role == Qt.ItemDataRole.DisplayRole:
        return f"{group.title} · {group.numbers}" if column == 0 else None
    if role == Qt.ItemDataRole.AccessibleTextRole:
        return group.spoken
    return group if role == GroupRole else None


def whats_this(column: int) -> str:
    """What a column is about."""
    # Loaded here: nobody asks before there is a table to ask about.
    from torchkeeper.gui.pages.help import ideas

    if column in (TORCH, DEVICE):
        return ideas.whats_this("environment")
    about = {VERDICT: "verdict", KEY: "key-factor", SIZE: "payload"}
    return ideas.whats_this(about.get(column, "entry"))
