"""The entries of a place as a table model over plain Python lists.

Sorting and filtering make a new list of rows; no proxy model, which takes half a minute over
Python data at 200,000 rows. A change of what is shown reaches the views as removed, moved and
inserted rows, so that selection, current row and scroll position stay with their entries.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from itertools import compress
from operator import attrgetter, is_
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from torchkeeper.artifacts.entry import KINDS, Entry
from torchkeeper.link import say
from torchkeeper.link.words import printable, user_error
from torchkeeper.stores.query import Query, parse

Index = QModelIndex | QPersistentModelIndex

#: A change of more separate pieces than this is told as a reset: pieces cost more than that.
MAX_PIECES = 64
#: So is one of which only the outcome is known, where more rows than this would be compared,
#: and one that touches more rows than this.
MAX_CHANGE, MAX_TOUCHED = 20_000, 5000

COLUMNS = ("kind", "name", "key", "size", "files", "mtime", "torch", "device", "compile_s")
KIND, NAME, KEY, SIZE, FILES, MTIME, TORCH, DEVICE, COMPILE = range(len(COLUMNS))
_NUMBERS = frozenset({SIZE, FILES, COMPILE})
_KIND_RANK = {kind: rank for rank, kind in enumerate(KINDS)}

SortRole = Qt.ItemDataRole.UserRole + 1
EntryRole = Qt.ItemDataRole.UserRole + 2


class Row:
    """An entry and its text to search in. The object stays the same when the entry changes."""

    __slots__ = ("entry", "hay", "low")

    def __init__(self, entry: Entry) -> None:
        self.take(entry)

    def take(self, entry: Entry) -> None:
        """Be about this entry from now on."""
        self.entry = entry
        self.low = (entry.name or "").lower()
        # What plain words are looked for in; none matches across the line break.
        self.hay = f"{entry.key.lower()}\n{self.low}"


@functools.lru_cache(maxsize=256)
def _version(text: str | None) -> tuple[Any, ...]:
    if text is None:
        return ()
    return tuple((0, int(x), "") if x.isdigit() else (1, 0, x) for x in re.split(r"[.+]", text))


#: What each column is sorted by; entries without a value come first, as the smallest.
SORT_KEYS: tuple[Callable[[Row], Any], ...] = (
    lambda r: _KIND_RANK[r.entry.kind],
    attrgetter("low"),
    attrgetter("entry.key"),
    attrgetter("entry.size"),
    attrgetter("entry.files"),
    lambda r: r.entry.mtime or -1.0,
    lambda r: _version(r.entry.torch),
    lambda r: r.entry.device or "",
    lambda r: -1.0 if r.entry.compile_s is None else r.entry.compile_s,
)

#: Words that need no look at the entry itself.
_PLAIN_WORD = re.compile(r"-?[^\s\"\-:<>=][^\s\":<>=]*")
_ENTRY: Callable[[Row], Entry] = attrgetter("entry")


def _terms(query: Query) -> list[str] | None:
    """The terms of a filter, one for each of its tests; None if that is not easily told."""
    terms = query.text.lower().split()
    return None if '"' in query.text or len(terms) != len(query.tests) else terms


def narrows(old: Query, new: Query) -> bool:
    """Whether whatever a filter lets through was let through by another one before.

    A no may be wrong, a yes is not.
    """
    before, after = _terms(old), _terms(new)
    if before is None or after is None:
        return False
    words = [term for term in after if term[0] != "-" and _PLAIN_WORD.fullmatch(term)]
    for term in before:
        if _PLAIN_WORD.fullmatch(term) and term[0] != "-":
            if not any(term in word for word in words):
                return False
        elif term not in after or "age" in term:  # ages change by themselves
            return False
    return True


def select_rows(rows: Iterable[Row], query: Query) -> list[Row]:
    """The rows a filter lets through, in their order."""
    found = list(rows)
    terms = _terms(query) or [""] * len(query.tests)
    for term, test in zip(terms, query.tests, strict=True):
        if not _PLAIN_WORD.fullmatch(term):
            found = list(compress(found, map(test, map(_ENTRY, found))))
        elif term[0] == "-":
            word = term[1:]
            found = [row for row in found if word not in row.hay]
        else:
            found = [row for row in found if term in row.hay]
    return found


def _tr(text: str) -> str:
    return QCoreApplication.translate("Entries", text)


def kind_words(kind: str) -> str:
    """A kind as people call it."""
    return {
        "fxgraph": _tr("FX graph"),
        "aotautograd": _tr("AOTAutograd"),
        "code": _tr("Code"),
        "triton": _tr("Triton kernel"),
        "autotune": _tr("Autotune"),
        "pgo": _tr("PGO profile"),
        "header": _tr("C++ header"),
        "lock": _tr("Lock"),
        "unknown": _tr("Unknown"),
    }.get(kind, kind)


def header_text(column: int) -> str:
    """The title of a column."""
    return (
        _tr("Kind"),
        _tr("Name"),
        _tr("Key"),
        _tr("Size"),
        _tr("Files"),
        _tr("Last change"),
        _tr("Torch"),
        _tr("Device"),
        _tr("Compile time"),
    )[column]


def shown_name(entry: Entry) -> str:
    """The name to show: without one, the last part of the path."""
    return printable(entry.name or entry.path.rpartition("/")[2] or entry.key)


def cell_text(entry: Entry, column: int) -> str:
    """The text of one cell; empty where nothing is known."""
    if column == KIND:
        return kind_words(entry.kind)
    if column == NAME:
        return shown_name(entry)
    if column == KEY:
        return printable(entry.key)
    if column == SIZE:
        return say.size(entry.size)
    if column == FILES:
        return f"{entry.files:,}"
    if column == MTIME:
        return "" if entry.mtime is None else say.ago(entry.mtime)
    if column == TORCH:
        return printable(entry.torch or "")
    if column == DEVICE:
        return printable(entry.device or "")
    return "" if entry.compile_s is None else say.seconds(entry.compile_s)


def problem_text(entry: Entry) -> str:
    """Why an entry is broken, in words; empty where it is not."""
    return str(user_error(entry.problem, {})) if entry.problem else ""


def _tooltip(entry: Entry, column: int) -> str:
    if column in (KIND, NAME) and entry.problem:
        return f"{shown_name(entry)}\n\n{problem_text(entry)}"
    if column == NAME:
        return f"{shown_name(entry)}\n{printable(entry.path)}"
    if column == KEY:
        return f"{printable(entry.key)}\n{printable(entry.path)}"
    if column == SIZE:
        return _tr("{} bytes").format(f"{entry.size:,}")
    if column == MTIME and entry.mtime is not None:
        return say.when(entry.mtime)
    return cell_text(entry, column) or _tr("Not recorded in this entry")


class EntriesModel(QAbstractTableModel):
    """What a place holds, sorted and filtered."""

    #: What is shown has changed: rows, their number or their order.
    changed = Signal()
    #: What is shown is about to be replaced by a later listing, and was.
    merging = Signal()
    merged = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[Row] = []
        self._by_identity: dict[tuple[str, str], Row] = {}
        self._shown: list[Row] = []
        self._query = parse("")
        self._column = SIZE
        self._descending = True
        self._in_order = False
        self._incoming: dict[tuple[str, str], Row] | None = None
        self._replaced: list[tuple[Row, Entry]] = []
        self._fresh: list[Row] = []

    # What Qt asks.

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else flags

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return header_text(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = (
                Qt.AlignmentFlag.AlignRight if section in _NUMBERS else Qt.AlignmentFlag.AlignLeft
            )
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        row, column = self._shown[index.row()], index.column()
        entry = row.entry
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(entry, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column in _NUMBERS else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tooltip(entry, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return _accessible(entry, column)
        if role == SortRole:
            return SORT_KEYS[column](row)
        if role == EntryRole:
            return entry
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column. Equal entries stay in their order."""
        if 0 <= column < len(COLUMNS):
            descending = order == Qt.SortOrder.DescendingOrder
            if self._in_order and (self._column, self._descending) == (column, descending):
                return  # a header says it twice
            self._column, self._descending = column, descending
            # All of them are kept in order, so that a filter need not sort.
            self._all = self._sorted(self._all)
            if len(self._shown) == len(self._all):
                self._reorder(list(self._all))
            else:
                shown = set(map(id, self._shown))
                self._reorder([row for row in self._all if id(row) in shown])
            self.changed.emit()

    # What the window asks.

    @property
    def total(self) -> int:
        """How many entries there are, shown or not."""
        return len(self._all)

    @property
    def query(self) -> Query:
        """The filter in use."""
        return self._query

    def entry_at(self, row: int) -> Entry:
        """The entry in a row."""
        return self._shown[row].entry

    def shown(self) -> list[Entry]:
        """The entries that are shown, in order."""
        return [row.entry for row in self._shown]

    def everything(self) -> list[Entry]:
        """All entries, shown or not."""
        return [row.entry for row in self._all]

    def rows_of(self, identities: set[tuple[str, str]]) -> list[int]:
        """The rows in which entries are shown, in order."""
        known = self._by_identity
        wanted = {id(known[identity]) for identity in identities if identity in known}
        return [n for n, row in enumerate(map(id, self._shown)) if row in wanted]

    def of_keys(self, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], list[Entry]]:
        """The entries of these kinds and keys, shown or not."""
        keys = {key for _, key in wanted}
        found: dict[tuple[str, str], list[Entry]] = {}
        for row in self._all:
            entry = row.entry
            if entry.key in keys and (entry.kind, entry.key) in wanted:
                found.setdefault((entry.kind, entry.key), []).append(entry)
        return found

    def filter(self, query: Query) -> None:
        """Show what a filter lets through."""
        # One more letter can only take away from what is shown.
        among = self._shown if narrows(self._query, query) else self._all
        self._query = query
        self._become(select_rows(among, query))

    def clear(self) -> None:
        """Forget everything: another place comes."""
        self.abandon()
        self.beginResetModel()
        self._all, self._shown, self._by_identity = [], [], {}
        self.endResetModel()
        self.changed.emit()

    def begin(self) -> None:
        """The entries of the place follow in batches.

        A first listing is shown while it arrives; a later one replaces what is shown at its end,
        so that a refresh does not make the table flicker.
        """
        self.abandon()
        self._incoming = None if not self._all else {}

    def add(self, entries: list[Entry]) -> None:
        """One batch of a listing."""
        if self._incoming is None:
            self._add_at_once(entries)
            return
        for entry in entries:
            if entry.identity in self._incoming:
                continue
            row = self._by_identity.get(entry.identity)
            if row is None:
                row = Row(entry)
                self._fresh.append(row)
            elif row.entry != entry:
                self._replaced.append((row, entry))
            self._incoming[entry.identity] = row

    def _add_at_once(self, entries: list[Entry]) -> None:
        fresh = []
        for entry in entries:
            if entry.identity not in self._by_identity:
                row = Row(entry)
                self._by_identity[entry.identity] = row
                fresh.append(row)
        self._all += fresh
        self._in_order = False
        visible = select_rows(fresh, self._query)
        if visible:
            # In the order of arrival; ``end`` sorts once.
            first = len(self._shown)
            self.beginInsertRows(QModelIndex(), first, first + len(visible) - 1)
            self._shown.extend(visible)
            self.endInsertRows()
        self.changed.emit()

    def end(self) -> None:
        """The listing is complete."""
        incoming, fresh, replaced = self._incoming, self._fresh, self._replaced
        self.abandon()
        if incoming is None:
            self._all = self._sorted(self._all)
            self._become(select_rows(self._all, self._query))
        else:
            gone: set[int] = set()
            if len(incoming) != len(self._all) + len(fresh):
                known = self._by_identity
                gone = {id(known[identity]) for identity in known.keys() - incoming.keys()}
            self._by_identity = incoming
            if fresh or replaced or gone:
                self._merge(fresh, replaced, gone)
        # Even where the rows are the same: totals and empty states hang on it.
        self.changed.emit()

    def _merge(self, fresh: list[Row], replaced: list[tuple[Row, Entry]], gone: set[int]) -> None:
        self.merging.emit()
        for row, entry in replaced:
            row.take(entry)
        changed = {id(row) for row, _ in replaced}
        # What stays keeps its order: what is nearly sorted is soon sorted.
        stays = [row for row in self._all if id(row) not in gone] if gone else self._all
        self._all = self._sorted(stays + fresh)
        touched = changed | gone | {id(row) for row in fresh}
        self._become(select_rows(self._all, self._query), touched)
        self._tell_changed(changed)
        self.merged.emit()

    def _tell_changed(self, changed: set[int]) -> None:
        last = len(COLUMNS) - 1
        if len(changed) > MAX_PIECES and self._shown:
            below = self.index(len(self._shown) - 1, last)
            self.dataChanged.emit(self.index(0, 0), below)
        elif changed:
            for number, row in enumerate(map(id, self._shown)):
                if row in changed:
                    self.dataChanged.emit(self.index(number, 0), self.index(number, last))

    def abandon(self) -> None:
        """The listing did not come to its end: what is shown stays."""
        self._incoming = None
        self._replaced, self._fresh = [], []

    def _sorted(self, rows: list[Row]) -> list[Row]:
        self._in_order = True
        return sorted(rows, key=SORT_KEYS[self._column], reverse=self._descending)

    def _become(self, new: list[Row], touched: set[int] | None = None) -> None:
        """Show these rows, telling the views what was removed, moved and inserted.

        touched: the rows that may be in only one of the two; None where nobody knows.
        """
        old = self._shown
        if len(old) == len(new) and all(map(is_, old, new)):
            return
        many = MAX_CHANGE if touched is None else MAX_TOUCHED
        if not old or not new or len(touched or new) > many or len(touched or old) > many:
            self._reset(new)
        else:
            self._mend(old, new, touched)
        self.changed.emit()

    def _mend(self, old: list[Row], new: list[Row], touched: set[int] | None) -> None:
        if touched is None:
            known, stays = set(map(id, old)), set(map(id, new))
        else:
            known = {row for row in map(id, old) if row in touched}
            stays = {row for row in map(id, new) if row in touched}
        added = stays - known
        fresh, gone = _pieces(new, added), _pieces(old, known - stays)
        if fresh is None or gone is None:
            self._reset(new)
            return
        self._remove(gone)
        self._reorder([row for row in new if id(row) not in added] if fresh else new)
        self._insert(fresh, new)

    def _reset(self, rows: list[Row]) -> None:
        self.beginResetModel()
        self._shown = rows
        self.endResetModel()

    def _remove(self, pieces: list[tuple[int, int]]) -> None:
        for first, last in reversed(pieces):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._shown[first : last + 1]
            self.endRemoveRows()

    def _insert(self, pieces: list[tuple[int, int]], new: list[Row]) -> None:
        for first, last in pieces:
            self.beginInsertRows(QModelIndex(), first, last)
            self._shown[first:first] = new[first : last + 1]
            self.endInsertRows()

    def _reorder(self, rows: list[Row]) -> None:
        if all(map(is_, self._shown, rows)):
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        wanted = {id(self._shown[i.row()]) for i in before}
        where = {row: n for n, row in enumerate(map(id, rows)) if row in wanted} if wanted else {}
        after = [self.index(where[id(self._shown[i.row()])], i.column()) for i in before]
        self._shown = rows
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()


def _accessible(entry: Entry, column: int) -> str:
    text = cell_text(entry, column) or _tr("not known")
    if column == NAME and entry.problem:
        return _tr("{}, broken").format(text)
    return text


def _pieces(rows: list[Row], which: set[int]) -> list[tuple[int, int]] | None:
    """The runs of some of the rows, as (first, last); None if there are more than MAX_PIECES."""
    found: list[tuple[int, int]] = []
    for number in (n for n, row in enumerate(map(id, rows)) if row in which) if which else ():
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        elif len(found) == MAX_PIECES:
            return None
        else:
            found.append((number, number))
    return found
