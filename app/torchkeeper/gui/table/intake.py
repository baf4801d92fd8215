"""The entries of one listing, while they arrive, and rows by the identity of their entry."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.table.ordering import Key, Row, dealt, merged
from torchkeeper.gui.table.slices import STEP, Work, let_go, pieces

Identity = tuple[str, str]
Shelf = dict[Identity, Row]

#: A power of two: with 200,000 rows each holds 800.
_SHELVES = 256


class Register:
    """Which row is an entry's. A dictionary that grows moves all: 25 ms at 170,000 rows."""

    def __init__(self) -> None:
        self._shelves: list[Shelf] = [{} for _ in range(_SHELVES)]

    def __len__(self) -> int:
        return sum(map(len, self._shelves))

    def shelf(self, identity: Identity) -> Shelf:
        """The dictionary that this identity belongs in."""
        return self._shelves[hash(identity) & (_SHELVES - 1)]

    def get(self, identity: Identity) -> Row | None:
        """The row of an entry; None where it is not known."""
        return self.shelf(identity).get(identity)

    def put(self, rows: Iterable[Row]) -> None:
        """Know these rows as well."""
        for row in rows:
            self.shelf(row.entry.identity)[row.entry.identity] = row

    def drop(self, rows: Iterable[Row]) -> None:
        """Know these rows no more."""
        for row in rows:
            self.shelf(row.entry.identity).pop(row.entry.identity, None)

    def rows(self) -> Iterator[list[Row]]:
        """All rows, some at a time."""
        for shelf in self._shelves:
            yield list(shelf.values())

    def let_go(self) -> Iterator[None]:
        """Free all rows in steps."""
        freed = 0
        for shelf in self._shelves:
            freed += len(shelf)
            shelf.clear()
            if freed > STEP:
                freed = 0
                yield


#: From so many rows on the garbage collector is told to leave them alone.
MANY = 5000
#: How many fields of an entry a listing tells.
_LISTED = Entry._fields.index("verdict")


class Intake:
    """What a listing has brought so far, and how it differs from what was known. known: the rows of
    an earlier listing. Where there are none, this listing is the first and puts its rows there at
    once; those of a later one are in ``fresh`` and ``new`` until its end. then: what to call when
    all of it is shown.
    """

    def __init__(self, number: int, known: Register) -> None:
        self.number = number
        self.first = not len(known)
        self.queue: deque[list[Entry]] = deque()
        self.complete = False
        self.then: Callable[[], None] | None = None
        self.new: list[Row] = []
        self.changed: set[Row] = set()
        self.gone: list[Row] = []
        self._known = known
        self._fresh = known if self.first else Register()
        self._named = 0
        self._count = len(known)
        self._settled = False
        self._replaced: list[tuple[Row, Entry]] = []

    @property
    def waiting(self) -> int:
        """How many entries have not been looked at."""
        return sum(map(len, self.queue))

    def take(self) -> list[Row]:
        """Look at one batch; what is new in it."""
        new = []
        number, known, fresh = self.number, self._known, self._fresh
        for entry in self.queue.popleft():
            identity = entry.identity
            shelf = fresh.shelf(identity)
            row = shelf.get(identity) or known.get(identity)
            if row is None:
                row = shelf[identity] = Row(entry, number)
                new.append(row)
            elif row.seen != number:
                row.seen = number
                self._named += 1
                old, listed = row.entry, slice(_LISTED)
                # A listing knows no verdicts.
                if old != entry if old.verdict is None else old[listed] != entry[listed]:
                    self._replaced.append((row, entry))
        if not self.first:
            self.new += new
        self._count += len(new)
        if self._count > MANY:
            # Rows are no garbage: looking through all of them for some takes 50 ms and more.
            gc.freeze()
        return new

    def settle(self) -> Iterator[None]:
        """Let the rows be about what the listing says, and find out which are gone: once."""
        while self._replaced:
            for row, entry in self._replaced[-500:]:
                row.take(entry)
                self.changed.add(row)
            del self._replaced[-500:]
            yield
        if self._settled:
            return
        gone: list[Row] = []
        if not self.first and self._named < len(self._known):
            for some in self._known.rows():
                gone += [row for row in some if row.seen != self.number]
                yield
        self.gone, self._settled = gone, True

    @property
    def brings_news(self) -> bool:
        """Whether anything is to change."""
        return bool(self.changed or self.gone or self.new or self.first)

    def sorted(self, rows: list[Row], key: Key, descending: bool) -> Work[list[Row]]:
        """The rows in order, with those that are new; ``rows`` were sorted before if not first."""
        if self.first:
            return (yield from in_order(rows, key, descending))
        kept = rows
        if self.changed or self.gone:
            leave = self.changed.union(self.gone)
            kept = []
            for piece in pieces(rows):
                kept += [row for row in piece if row not in leave]
                yield
        found = yield from in_order([*self.changed, *self.new], key, descending, kept)
        if kept is not rows:
            yield from let_go(kept)
        return found


def in_order(
    loose: list[Row], key: Key, descending: bool, among: Sequence[Row] = ()
) -> Work[list[Row]]:
    """Rows in order, together with those of ``among``, which are."""
    found: list[Row] = []
    for piece in dealt(loose, key, descending):
        found += piece
        yield
    if not among:
        return found
    both: list[Row] = []
    for piece in merged(among, found, key, descending):
        both += piece
        yield
    return both
