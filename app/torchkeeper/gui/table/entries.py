"""The entries of a place as a table model over plain lists: a proxy model takes half a minute over
Python data at 200,000 rows. Views are told of removed, moved and inserted rows, so that selection,
current row and scroll position stay with their entries. What a listing brings is worked in by
slices; what the user asks for, at once.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QObject, Qt

from torchkeeper.artifacts.entry import Entry, counted
from torchkeeper.gui.idle import Slices, finished, let_go, once, pieces
from torchkeeper.gui.table import lines
from torchkeeper.gui.table import rows as work
from torchkeeper.gui.table.grouping import GROUPINGS, PASSING, Group, Name
from torchkeeper.gui.table.lines import Arrangement, Change, Line, LinesModel, arrange, difference
from torchkeeper.gui.table.rows import SIZE, VERDICT, Identity, Intake, Register, Row, sort_key
from torchkeeper.stores.query import VERDICT as OF_VERDICT
from torchkeeper.stores.query import Query, parse

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally

#: Whose verdict it is, the verdict, and why.
Told = tuple[Identity, str | None, str | None]

_KIND: Callable[[Row], str] = attrgetter("entry.kind")
#: So many rows are worked in at once: it takes less than a slice or two.
SMALL = 2000
#: How many know of a list that only one variable has: that, and who asks.
_OURS = 2
#: Milliseconds between two times that rows which arrive are shown.
_SHOW_MS = 200


class EntriesModel(LinesModel):
    """What a place holds, sorted, filtered and grouped."""

    def __init__(self, parent: QObject | None = None) -> None:
        by, key = GROUPINGS[0], sort_key(SIZE, True)
        super().__init__(Arrangement(by, 0.0, key, descending=True, ordered=True), parent)
        #: The rows of all entries, shown or not; not to be changed.
        self.every_row: list[Row] = []
        self._by_identity = Register()
        #: The filter in use.
        self.query = parse("")
        #: Whether what is no entry is shown whatever the filter says.
        self.apart_wanted = False
        #: How many rows there are of each kind, shown or not.
        self._kinds = Counter[str]()
        self._column = SIZE
        self._descending = True
        self._in_order = False
        #: By what rows are grouped, where there are very many in a moment only: one of GROUPINGS.
        self.wanted_grouping = by
        self._groups: dict[str, dict[Name, Group]] = {by: {} for by in GROUPINGS}
        self._number = 0
        self._renewed: set[Row] = set()
        self._intake: Intake | None = None
        self._unshown: dict[Name, list[Row]] = {}
        self._totals: work.Totals | None = None
        #: Whether verdicts are others than when they were added up.
        self._rejudged = False
        self._waited_for = False
        self._slices = Slices(self)
        #: Called when rows are grouped as they are to be.
        self._grouped: Callable[[], None] | None = None
        self._counting = Slices(self)
        self._leaving = Slices(self)
        self._show_timer = once(self, self._show_new, _SHOW_MS)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, within groups. Equal entries stay in their order."""
        descending = order == Qt.SortOrder.DescendingOrder
        same = self._in_order and (self._column, self._descending) == (column, descending)
        if same or not 0 <= column < len(work.COLUMNS):
            return  # a header says it twice
        self._show_new()
        self._column, self._descending = column, descending
        # All of them are kept in order, so that a filter need not sort.
        key = sort_key(column, descending)
        self.every_row = sorted(self.every_row, key=key, reverse=descending)
        self._in_order = True
        rows = list(self.every_row)
        if self._here.count != len(rows):
            shown = set(map(id, self._here.every_row()))
            rows = [row for row in rows if id(row) in shown]
        new = self._empty()
        if new.by == self._here.by:
            new.name = self._here.name  # ages stay what they were
        finished(arrange(new, rows, self._groups[self.wanted_grouping]))
        if self._here.stale:
            self.become(new)
        else:
            self.adopt(new, Change([], new.lines, []))
        self._again()

    @property
    def total(self) -> int:
        """How many entries there are, shown or not; others are no entries (``every``)."""
        return self.every["entries"]

    @property
    def rows(self) -> int:
        """How many rows there are, shown or not."""
        return len(self.every_row)

    @property
    def every(self) -> Tally:
        """How many entries there are, shown or not, and what else (``artifacts.entry.tally``)."""
        return counted(self._kinds)

    @property
    def kinds(self) -> Counter[str]:
        """How many there are of each kind, shown or not."""
        return Counter(self._kinds)

    @property
    def grouping(self) -> str:
        """By what rows are grouped, as they are shown: one of GROUPINGS."""
        return self._here.by

    def shown(self) -> list[Entry]:
        """The entries that the filter lets through, in order; also those in collapsed groups."""
        return [row.entry for row in self._here.every_row()]

    def rows_of(self, identities: set[Identity]) -> list[int]:
        """The rows in which entries are shown, in order."""
        found = map(self._by_identity.get, identities)
        wanted: set[Line] = {row for row in found if row is not None}
        return sorted(self._here.all_where(wanted).values())

    def of_keys(self, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], list[Entry]]:
        """The entries of these kinds and keys, shown or not."""
        keys = {key for _, key in wanted}
        found: dict[tuple[str, str], list[Entry]] = {}
        for entry in (row.entry for row in self.every_row):
            if entry.key in keys and (entry.kind, entry.key) in wanted:
                found.setdefault((entry.kind, entry.key), []).append(entry)
        return found

    def totals(self) -> work.Totals | None:
        """What is shown, added up; None while many are being counted: ``changed`` follows."""
        if self._totals is None and not self._counting.busy:
            self._waited_for = False
            self._counting.start(self._count(), self._counted)
            if self._here.count <= SMALL:
                self._counting.finish()
            self._waited_for = True
        return self._totals

    def filter(self, query: Query) -> None:
        self._show_new()
        # One more letter can only take away from what is shown.
        before, old = self.shows_apart, self.query
        self.query = query
        narrower = before >= self.shows_apart and work.narrows(old, query)
        self._rearrange(self._select(self._here.every_row() if narrower else self.every_row))

    def show_apart(self, shown: bool) -> None:
        """Show locks, headers and unknown files as well, or only where the filter names them."""
        if shown != self.apart_wanted:
            self._show_new()
            self.apart_wanted = shown
            self._rearrange(self._select(self.every_row))

    @property
    def shows_apart(self) -> bool:
        """Whether what is no entry is shown among the others."""
        return self.apart_wanted or self.query.apart

    def _select(self, rows: Iterable[Row]) -> list[Row]:
        return work.select_rows(rows, self.query, self.shows_apart)

    def group(self, by: str, then: Callable[[], None] | None = None) -> None:
        """Group by one of GROUPINGS; then call ``then``, unless others are wanted before."""
        self._grouped = then
        if by != self.wanted_grouping:
            self._show_new()
            self.wanted_grouping = by
            if len(self.every_row) <= SMALL:
                self._rearrange(self._select(self.every_row))
            else:
                self._work()
        self._tell_grouped()

    def _tell_grouped(self) -> None:
        if self._here.by == self.wanted_grouping and (then := self._grouped) is not None:
            self._grouped = None
            then()

    def collapse(self, groups: list[Group], collapsed: bool = True) -> None:
        """Hide or show what is under some headings."""
        self._show_new()
        groups = [group for group in groups if group.collapsed != collapsed and group.headed]
        if not groups:
            return
        for group in groups:
            group.collapsed = collapsed
        new = self._empty()
        new.by, new.name, new.ordered = self._here.by, self._here.name, self._here.ordered
        new.rows, new.sizes = dict(self._here.rows), dict(self._here.sizes)
        finished(new.draw_up())
        if len(groups) == 1 and groups[0] in new.rows:
            first = new.start(groups[0]) + 1
            piece = [(first, first + len(groups[0].rows) - 1)]
            self.adopt(new, Change(piece, None, []) if collapsed else Change([], None, piece))
        else:
            self.become(new)
        self._again()

    def expand_to(self, identities: set[Identity]) -> None:
        """Show what is under the headings of these entries, where the filter lets them through."""
        rows = map(self._by_identity.get, identities)
        groups = {self._here.group_of(row) for row in rows if row is not None}
        self.collapse([group for group in groups if group is not None], False)

    def clear(self) -> None:
        """Forget everything: another place comes."""
        self._drop()
        self._leaving.finish()
        if self.every_row or len(self._by_identity):
            # Freeing many rows takes long.
            self._leaving.start(chain(self._by_identity.let_go(), let_go(self.every_row)))
            self._by_identity = Register()
            gc.unfreeze()
        self.beginResetModel()
        self.every_row, self._renewed = [], set()
        self._kinds = Counter()
        for groups in self._groups.values():
            for group in groups.values():
                group.take([])
        self._here = self._empty()
        self._totals = None
        self.endResetModel()
        self.changed.emit()

    def begin(self) -> None:
        """Entries follow in batches: a first listing is shown as it arrives, another at its end."""
        if self._intake is not None or self._here.by == self.wanted_grouping:
            self.settle()
        self.abandon()
        self._number += 1
        if not self.every_row:
            gc.freeze()  # what the window itself is made of is no garbage either
        self._intake = Intake(self._number, self._by_identity)

    def add(self, entries: list[Entry]) -> None:
        """One batch of a listing."""
        if self._intake is not None:
            self._intake.queue.append(entries)
            self._go_on()

    def end(self, then: Callable[[], None] | None = None) -> None:
        """The listing is complete; ``then`` is called when all of it is shown."""
        if self._intake is not None:
            self._intake.complete, self._intake.then = True, then
            self._go_on()

    def renew(self, entries: Iterable[Entry], seen: range) -> None:
        """More is known of some entries, which stay where they are. seen: the lines on the screen;
        views are told of no others: to find one among a million takes 10 ms.
        """
        known = {
            row: new
            for entry in entries
            if (row := self._by_identity.get(entry.identity)) is not None
            and row.entry != (new := _with_verdict_of(row.entry, entry))
        }
        if not known:
            return
        # The next listing puts them where they are to be sorted to.
        self._here.stale, self._in_order = True, False
        self._renewed |= set(known)
        for row, entry in known.items():
            row.take(entry)
        self._tell_seen(seen, known)
        self.changed.emit()

    def _tell_seen(self, seen: range, changed: Container[Row]) -> None:
        for number, line in enumerate(self._here.lines[seen.start : seen.stop], seen.start):
            if isinstance(line, Row) and line in changed:
                self._tell(number, number)

    def judge(self, told: Iterable[Told], seen: range) -> None:
        """Entries have these verdicts; rows move when ``judged``. seen: as of ``renew``."""
        changed = set[Row]()
        for identity, verdict, why in told:
            row = self._by_identity.get(identity)
            if row is not None and (row.entry.verdict != verdict or row.entry.why != why):
                row.entry = row.entry._replace(verdict=verdict, why=why)
                changed.add(row)
        if not changed:
            return
        self._rejudged = True
        if len(self.every_row) > work.MANY:
            gc.freeze()  # as while they were listed: entries are no garbage
        if self.by_verdict:
            self._here.stale = True
            self._in_order = self._in_order and self._column != VERDICT
            self._renewed |= changed
        self._tell_seen(seen, changed)
        self.changed.emit()

    def forget_verdicts(self, seen: range) -> Iterator[None]:
        """In steps: no verdict is known from now on. What is on the screen comes first."""
        told = [line for line in self._here.lines[seen.start : seen.stop] if isinstance(line, Row)]
        for piece in chain([told], pieces(self.every_row)):
            self.judge(((row.entry.identity, None, None) for row in piece), seen)
            yield
        self.judged()

    def judged(self) -> None:
        """All verdicts have come: rows stand where these put them, and are added up again."""
        if self._rejudged:
            self._rejudged = False
            self._totals = None
            self._counting.stop()
        if self.by_verdict and self._renewed and self._intake is None:
            self._work()

    @property
    def by_verdict(self) -> bool:
        """Whether what is shown, and where, depends on verdicts."""
        asked = not self.query.fields.isdisjoint((OF_VERDICT, "is"))
        return asked or self._column == VERDICT or self.wanted_grouping == "verdict"

    def same(self) -> None:
        """The listing said that the place is as it was; ages are not."""
        self.abandon()
        if self.wanted_grouping == "age" and self._in_order:
            self._slices.start(self._swap(self.every_row, set(), set()))

    def abandon(self) -> None:
        """The listing did not come to its end: what is shown stays."""
        self._drop()
        if self._here.by != self.wanted_grouping:
            self._work()

    def _drop(self) -> None:
        self._slices.stop()
        self._intake = None
        self._unshown = {}

    def settle(self) -> None:
        """Work in now what has arrived, however long it takes."""
        self._slices.finish()
        self._show_new()

    def _go_on(self) -> None:
        if (intake := self._intake) is None:
            return
        if not self._slices.busy:
            self._work()
        if len(self.every_row) + len(intake.new) + sum(map(len, intake.queue)) <= SMALL:
            self._slices.finish()

    def _told(self) -> None:
        intake = self._intake
        if intake is not None and not intake.complete:
            return
        self._intake = None
        self._tell_grouped()
        # Even where the rows are the same: totals and empty states hang on it.
        self.changed.emit()
        if intake is not None:
            self._leaving.finish()
            self._leaving.start(let_go(intake.gone))
            if intake.then is not None:
                intake.then()

    def _again(self) -> None:
        """What is being worked in was meant for what was shown before: begin anew."""
        if self._slices.busy:
            self._work()
        self.changed.emit()

    def _work(self) -> None:
        self._slices.start(self._steps(), self._told)

    def _steps(self) -> Iterator[None]:
        if self._here.by != self.wanted_grouping:
            yield from self._group_anew()
        if self._intake is not None:
            yield from self._take_in(self._intake)
        elif self._renewed:
            yield from self._resettle()
        elif self.wanted_grouping == "age" and self._in_order:
            yield from self._swap(self.every_row, set(), set())

    def _group_anew(self) -> Iterator[None]:
        """Group what is there as it is to be from now on; it stays in its order."""
        rows: list[Row] = []
        for piece in pieces(self.every_row):
            rows += self._select(piece)
            yield
        new = self._empty()
        yield from arrange(new, rows, self._groups[self.wanted_grouping])
        yield
        before: list[Sequence[object]] = [self._here.lines, *self._here.rows.values()]
        self.merging.emit()
        self.adopt(new, None)
        self.merged.emit()
        yield
        self._tell_grouped()
        self.changed.emit()
        yield from _one_by_one(before)

    def _take_in(self, intake: Intake) -> Iterator[None]:
        while intake.queue:
            new = intake.take()
            if intake.first and new:
                self.every_row += new
                self._kinds.update(map(_KIND, new))
                self._in_order = False
                self._keep_unshown(self._select(new))
                if not self._show_timer.isActive():
                    self._show_new()
            yield
        if intake.complete:
            self._show_new()
            yield
            yield from self._merge(intake)

    def _keep_unshown(self, rows: list[Row]) -> None:
        found, here = self._unshown, self._here
        if here.by == "none":
            found.setdefault(None, []).extend(rows)
        else:
            for row in rows:
                found.setdefault(here.name(row), []).append(row)

    def _show_new(self) -> None:
        """Show what has arrived, below what is there: it is sorted once, in the end."""
        found, self._unshown = self._unshown, {}
        if not found:
            return
        self._show_timer.start()
        self._counting.stop()
        here = self._here
        here.ordered = False
        known = self._groups[here.by]
        for name, some in found.items():
            group = known.get(name) or known.setdefault(name, Group(here.by, name))
            first, coming = here.grow(group, some)
            if coming:
                self.beginInsertRows(QModelIndex(), first, first + len(coming) - 1)
                here.lines[first:first] = coming
                self.endInsertRows()
        self.tell_headings()
        self._totals = None
        self.changed.emit()

    def _merge(self, intake: Intake) -> Iterator[None]:
        self._here.stale = True
        yield from intake.settle()
        intake.changed |= self._renewed.difference(intake.gone)
        self._renewed = set()
        every, touched = self.every_row, set[Line]()
        if intake.changed or intake.gone or intake.new or intake.first:
            key = sort_key(self._column, self._descending)
            every = yield from intake.sorted(self.every_row, key, self._descending)
        elif self.wanted_grouping != "age":
            self._here.stale = False
            return
        if not intake.first:
            for some in pieces(intake.gone):
                self._by_identity.drop(some)
                yield
            for some in pieces(intake.new):
                self._by_identity.put(some)
                yield
            touched.update(intake.changed, intake.gone, intake.new)
        yield from self._swap(every, touched, intake.changed)

    def _resettle(self) -> Iterator[None]:
        # Very many may have changed: no set of them is copied.
        changed, every, count = self._renewed, self.every_row, len(self._renewed)
        if not self._in_order:
            key = sort_key(self._column, self._descending)
            every = yield from work.in_order(every, key, self._descending)
        touched = None if count > lines.MAX_TOUCHED else set[Line](changed)
        yield from self._swap(every, touched, changed)
        if len(changed) == count:
            self._renewed = set()

    def _swap(
        self, every: list[Row], touched: set[Line] | None, changed: set[Row]
    ) -> Iterator[None]:
        """Show these rows, all of which are sorted. The last step alone is what can be seen.
        touched: as of ``difference``; None where so many are that nobody looks which.
        """
        rows: list[Row] = []
        kinds = Counter[str]()
        for piece in pieces(every):
            rows += self._select(piece)
            kinds.update(map(_KIND, piece))
            yield
        key = sort_key(self._column, self._descending)
        new = Arrangement(self.wanted_grouping, time.time(), key, self._descending, ordered=True)
        yield from arrange(new, rows, self._groups[self.wanted_grouping])
        if touched is not None and self.wanted_grouping in PASSING:
            # Rows may have moved into a group that is collapsed, or out of one.
            for group in {*new.rows, *self._here.rows}:
                if group.collapsed:
                    touched.update(new.rows.get(group, ()), group.rows)
                    yield
        change = None
        if touched is not None:
            touched = touched.symmetric_difference(new.rows).symmetric_difference(self._here.rows)
            change = yield from difference(self._here.lines, new.lines, touched)
        yield
        before: list[Sequence[object]] = [self.every_row, self._here.lines, new.lines]
        before += self._here.rows.values()
        self.merging.emit()
        self.every_row, self._in_order, self._kinds = every, True, kinds
        self.adopt(new, change)
        self.tell_changed(changed)
        self.merged.emit()
        change = None
        yield from _one_by_one(before)

    def adopt(self, new: Arrangement, change: Change | None) -> None:
        self._totals = None
        self._counting.stop()
        super().adopt(new, change)

    def _empty(self) -> Arrangement:
        key = sort_key(self._column, self._descending)
        new = Arrangement(self.wanted_grouping, time.time(), key, self._descending, self._in_order)
        new.stale = self._intake is not None and self._intake.complete
        return new

    def _rearrange(self, rows: list[Row]) -> None:
        new = self._empty()
        finished(arrange(new, rows, self._groups[self.wanted_grouping]))
        self.become(new)
        self._again()

    def _count(self) -> Iterator[None]:
        self._totals = yield from work.add_up(list(self._here.rows.values()))

    def _counted(self) -> None:
        if self._waited_for:
            self.changed.emit()


def _one_by_one(lists: list[Sequence[object]]) -> Iterator[None]:
    """Empty lists that nobody else has before they go: a very long one takes milliseconds."""
    while lists:
        yield
        last = lists.pop()
        if isinstance(last, list) and sys.getrefcount(last) == _OURS:
            yield from let_go(last)


def _with_verdict_of(old: Entry, new: Entry) -> Entry:
    kept = old.verdict is not None and new.verdict is None
    return new._replace(verdict=old.verdict, why=old.why) if kept else new
