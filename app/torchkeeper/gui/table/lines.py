"""The lines of the table as a model, and how one arrangement of them becomes another."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from torchkeeper.artifacts.entry import WITHOUT_VERDICT
from torchkeeper.gui.idle import STEP, Work, finished, let_go, pieces
from torchkeeper.gui.table import rows as work
from torchkeeper.gui.table.grouping import Group, Name, Weight, in_order, naming
from torchkeeper.gui.table.rows import COLUMNS, DEVICE, KEY, NUMBERS, SIZE, SORT_KEYS, TORCH, Row
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from torchkeeper.artifacts.entry import Entry

Line = Row | Group

#: A change of more separate pieces than this is told as a reset: each takes some 0.3 ms.
MAX_PIECES = 24
#: So is one that touches more lines than this.
MAX_TOUCHED = 5000
#: So many lines are looked up one by one, more of them by going through all lines once.
_FEW = 1000


class Arrangement:
    """Rows in groups, in the order of the table. rows: what each group holds, in the order in which
    groups stand. It is the group's own only once ``adopt`` was called. ordered: whether the rows of
    each group are sorted; otherwise they stand as they came.
    """

    def __init__(self, by: str, now: float, key: work.Key, descending: bool, ordered: bool) -> None:
        self.by, self.ordered = by, ordered
        self.rows: dict[Group, list[Row]] = {}
        self.sizes: dict[Group, Weight] = {}
        self.lines: list[Line] = []
        #: Entries have changed since: rows need not be where they would be sorted to.
        self.stale = False
        self.name: Callable[[Row], Name] = naming(by, now)
        self._key, self._descending = key, descending
        self._starts: dict[Group, int] | None = None
        self._named: dict[Name, Group] | None = None

    @property
    def count(self) -> int:
        """How many rows there are, those under collapsed headings as well."""
        return sum(map(len, self.rows.values()))

    def every_row(self) -> list[Row]:
        """All rows, those under collapsed headings as well, as the groups stand."""
        return list(chain.from_iterable(self.rows.values()))

    def draw_up(self) -> Work[None]:
        """Make the lines, in steps."""
        self.lines, self._starts = [], None
        for group, rows in self.rows.items():
            if group.headed:
                self.lines.append(group)
            if not group.collapsed:
                for piece in pieces(rows):
                    self.lines += piece
                    yield

    def adopt(self) -> None:
        """From now on this is what is shown."""
        for group, rows in self.rows.items():
            group.take(rows, self.sizes.get(group))

    def start(self, group: Group) -> int:
        """The line of a group's heading, or of the first row where there is none."""
        if self._starts is None:
            self._starts, at = {}, 0
            for each, rows in self.rows.items():
                self._starts[each] = at
                at += each.headed + (0 if each.collapsed else len(rows))
        return self._starts.get(group, -1)

    def group_of(self, row: Row) -> Group | None:
        if self._named is None or len(self._named) != len(self.rows):
            self._named = {group.name: group for group in self.rows}
        return self._named.get(self.name(row))

    def grow(self, group: Group, rows: list[Row]) -> tuple[int, list[Line]]:
        """Put rows at the end of a group; which lines are to be put into ``lines``, and where."""
        new = group not in self.rows
        if new:
            group.take([])
            names = {each.name: each for each in (*self.rows, group)}
            self.rows[group] = group.rows
            self.rows = {names[name]: self.rows[names[name]] for name in in_order(self.by, names)}
            self._starts = None
        first = self.start(group)
        if not new:
            first += group.headed + len(group.rows)
        group.extend(rows)
        self.sizes.pop(group, None)
        self._starts = None
        coming: list[Line] = [group] if new and group.headed else []
        return first, coming if group.collapsed else [*coming, *rows]

    def _few_where(self, lines: set[Line]) -> dict[Line, int]:
        found: dict[Line, int] = {}
        # Rows that are sorted by the same value may be very many: they are gone through once.
        among: dict[tuple[Group, int, int], set[Row]] = {}
        for line in lines:
            if not isinstance(line, Group):
                group = self.group_of(line)
                if group is not None and not group.collapsed:
                    among.setdefault((group, *self._like(self.rows[group], line)), set()).add(line)
            elif line.headed:
                found[line] = self.start(line)
        for (group, first, last), wanted in among.items():
            at = self.start(group) + group.headed + first
            rows = self.rows[group][first:last]
            places = compress(range(len(rows)), map(wanted.__contains__, rows))
            found.update((rows[place], at + place) for place in places)
        if self.stale:
            for line in lines:
                if line not in found and not isinstance(line, Group):
                    with contextlib.suppress(ValueError):
                        found[line] = self.lines.index(line)
        return found

    def _like(self, rows: list[Row], row: Row) -> tuple[int, int]:
        if not self.ordered:
            return 0, len(rows)
        value = self._key(row)
        first = work.bisect(rows, self._key, value, self._descending)
        return first, work.bisect_after(rows, self._key, value, self._descending, first)

    def all_where(self, lines: set[Line]) -> dict[Line, int]:
        """The numbers of those of some lines that are shown."""
        if len(lines) <= _FEW:
            return self._few_where(lines)
        found: dict[Line, int] = {}
        for group, rows in self.rows.items():
            at = self.start(group)
            if group.headed:
                found[group] = at
            if not group.collapsed:
                some = enumerate(rows, at + group.headed)
                found.update((row, n) for n, row in some if row in lines)
        return found


def arrange(new: Arrangement, rows: list[Row], known: dict[Name, Group]) -> Work[None]:
    """Put sorted rows into their groups. ``known`` are groups that were there before."""
    if new.by == "none":
        new.rows[known.setdefault(None, Group("none", None))] = rows
    else:
        found, name = defaultdict[Name, list[Row]](list), new.name
        for piece in pieces(rows):
            for row in piece:
                found[name(row)].append(row)
            yield
        for each in in_order(new.by, found):
            group = known.setdefault(each, Group(new.by, each))
            new.rows[group] = found[each]
            weight = new.sizes[group] = Weight()
            for piece in pieces(found[each]):
                weight.add(piece)
                yield
    yield from new.draw_up()


class Change(NamedTuple):
    """How one list of lines becomes another: some go, the rest may be reordered, some come."""

    gone: list[tuple[int, int]]
    middle: list[Line] | None
    come: list[tuple[int, int]]


def difference(old: list[Line], new: list[Line], touched: set[Line]) -> Work[Change | None]:
    """What changes, all of which is among ``touched``; None where it would be too many pieces."""
    if (yield from _same(old, new)):
        return Change([], None, [])
    if len(touched) > MAX_TOUCHED:
        return None
    before = yield from _positions(old, touched)
    after = yield from _positions(new, touched)
    gone = _runs(before[line] for line in before if line not in after)
    come = _runs(after[line] for line in after if line not in before)
    if len(gone) + len(come) > MAX_PIECES:
        return None
    left = (yield from _without(old, gone)) if gone else old
    middle = (yield from _without(new, come)) if come else new
    same = yield from _same(left, middle)
    for rest in (left if gone else [], middle if same and come else []):
        yield from let_go(rest)
    return Change(gone, None if same else middle, come)


def _same(some: Sequence[Line], others: Sequence[Line]) -> Work[bool]:
    if len(some) != len(others):
        return False
    for piece, other in zip(pieces(some), pieces(others), strict=True):
        if piece != other:
            return False
        yield
    return True


def _positions(lines: Sequence[Line], which: set[Line]) -> Work[dict[Line, int]]:
    found, first = dict[Line, int](), 0
    for piece in pieces(lines):
        if not which.isdisjoint(piece):
            found.update((line, n) for n, line in enumerate(piece, first) if line in which)
        first += len(piece)
        yield
    return found


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers as (first, last) of those that follow each other."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _without(lines: Sequence[Line], runs: list[tuple[int, int]]) -> Work[list[Line]]:
    left, at = list[Line](), 0
    for first, last in [*runs, (len(lines), len(lines))]:
        for begin in range(at, first, STEP):
            left += lines[begin : min(begin + STEP, first)]
            yield
        at = last + 1
    return left


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

    #: What stands where a verdict would, and why; empty where there is one, or will be.
    unjudged = "", ""

    def __init__(self, here: Arrangement, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._here = here

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._here.lines)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        if not index.isValid():
            return flags
        # A heading can be the current one, so that keys work on it, but is never selected.
        heading = isinstance(self._here.lines[index.row()], Group)
        return Qt.ItemFlag.ItemIsEnabled if heading else flags | Qt.ItemFlag.ItemIsDragEnabled

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return work.header_text(section)
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
            if role == Qt.ItemDataRole.DisplayRole:
                return f"{line.title} · {line.numbers}" if column == 0 else None
            if role == Qt.ItemDataRole.AccessibleTextRole:
                return line.spoken
            return line if role == GroupRole else None
        entry = line.entry
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(entry, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            lacking = column == work.VERDICT and self.unjudged[1] and self.text(entry, column)
            why = self.unjudged[1] if lacking and entry.verdict is None else ""
            return tip(why or work.tooltip(entry, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return work.accessible_text(entry, column)
        if role == Qt.ItemDataRole.WhatsThisRole:
            return whats_this(column)
        if role == SortRole:
            return SORT_KEYS[column](line)
        return None

    def text(self, entry: Entry, column: int) -> str:
        """The text of a cell; of a verdict that nobody can tell, what is lacking."""
        if column == work.VERDICT and entry.verdict is None and entry.kind not in WITHOUT_VERDICT:
            return self.unjudged[0]
        return work.cell_text(entry, column)

    def tell_unjudged(self, short: str, why: str) -> None:
        """There are no verdicts because of that, which is ``short``; or there will be."""
        told = (short, why) if why else ("", "")
        if told != self.unjudged:
            self.unjudged = told
            if self.rowCount():
                first = self.index(0, work.VERDICT)
                self.dataChanged.emit(first, self.index(self.rowCount() - 1, work.VERDICT))

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
        return self._here.group_of(row)

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


def whats_this(column: int) -> str:
    # Loaded here: nobody asks before there is a table to ask about.
    from torchkeeper.gui.pages import glossary

    if column in (TORCH, DEVICE):
        return glossary.whats_this("environment")
    about = {work.VERDICT: "verdict", KEY: "key-factor", SIZE: "payload"}
    return glossary.whats_this(about.get(column, "entry"))
