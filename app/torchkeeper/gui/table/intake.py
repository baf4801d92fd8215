"""The entries of one listing, while they arrive."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.table.ordering import Key, Row, merged
from torchkeeper.gui.table.slices import Work, pieces

Identity = tuple[str, str]
#: Rows that are sorted at once, in two milliseconds or three.
_RUN = 4096
#: From so many rows on the garbage collector is told to leave them alone.
_MANY = 5000


class Intake:
    """What a listing has brought so far, and how it differs from what was known.

    known: the rows of an earlier listing; none in a first one, whose rows go into ``fresh``.
    then: what to call when all of it is shown.
    """

    def __init__(self, number: int, known: dict[Identity, Row], fresh: dict[Identity, Row]) -> None:
        self.number = number
        self.first = not known
        self.queue: deque[list[Entry]] = deque()
        self.complete = False
        self.then: Callable[[], None] | None = None
        self.fresh = fresh
        self.changed: set[Row] = set()
        self.gone: list[Row] = []
        self._known = known
        self._named = 0
        self._settled = False
        self._replaced: list[tuple[Row, Entry]] = []

    @property
    def waiting(self) -> int:
        """How many entries have not been looked at."""
        return sum(map(len, self.queue))

    def take(self) -> list[Row]:
        """Look at one batch; what is new in it."""
        new = []
        number, known, fresh = self.number, self._known, self.fresh
        for entry in self.queue.popleft():
            identity = entry.identity
            row = known.get(identity) or fresh.get(identity)
            if row is None:
                row = fresh[identity] = Row(entry, number)
                new.append(row)
            elif row.seen != number:
                row.seen = number
                self._named += 1
                if row.entry != entry:
                    self._replaced.append((row, entry))
        if len(known) + len(fresh) > _MANY:
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
        if self._named < len(self._known):
            for piece in pieces(list(self._known.values())):
                gone += [row for row in piece if row.seen != self.number]
                yield
        self.gone, self._settled = gone, True

    @property
    def brings_news(self) -> bool:
        """Whether anything is to change."""
        return bool(self.changed or self.gone or self.fresh)

    def sorted(self, rows: list[Row], key: Key, descending: bool) -> Work[list[Row]]:
        """The rows in order, with those that are new; ``rows`` were sorted before if not first."""
        if self.first:
            runs, loose = [], rows
        else:
            runs, loose = [rows], [*self.changed, *self.fresh.values()]
            if self.changed or self.gone:
                leave = self.changed.union(self.gone)
                runs = [[]]
                for piece in pieces(rows):
                    runs[0] += [row for row in piece if row not in leave]
                    yield
        for first in range(0, len(loose), _RUN):
            runs.append(sorted(loose[first : first + _RUN], key=key, reverse=descending))
            yield
        found: list[Row] = []
        for piece in merged(runs, key, descending):
            found += piece
            yield
        return found
