"""Long work on the main thread, done a few milliseconds at a time. Also what the table shows, added
up so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject

from torchkeeper.artifacts.entry import COUNTED_APART, counted, tally
from torchkeeper.gui.idle import every
from torchkeeper.gui.table.ordering import Row

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally


T = TypeVar("T")

#: Seconds of work in one turn of the event loop; most of what a frame may take is left to Qt.
SLICE = 0.001
#: Rows that one step of such work looks at, so that a step takes a fraction of a millisecond.
STEP = 500

Work = Generator[None, None, T]


class Slices(QObject):
    """Does one piece of work, an iterator of short steps; the first slice at once."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work: Iterator[None] | None = None
        self._then: Callable[[], None] | None = None
        self._left = SLICE
        self._timer = every(self, self._turn)

    @property
    def busy(self) -> bool:
        """Whether there is work left."""
        return self._work is not None

    def start(self, work: Iterator[None], then: Callable[[], None] | None = None) -> None:
        """Do this work instead of any other, and call ``then`` when it is done."""
        self._work, self._then = work, then
        if self._left > 0:
            self._go_on()
        # A turn of the event loop may start work often: all of it shares one slice.
        self._timer.start()

    def stop(self) -> None:
        """Leave the work undone."""
        self._work = self._then = None

    def finish(self) -> None:
        """Do the rest now, however long it takes."""
        if self._work is not None:
            self._left = float("inf")
            self._go_on()
            self._left = 0.0

    def _turn(self) -> None:
        self._left = SLICE
        if self._work is None:
            self._timer.stop()
        else:
            self._go_on()

    def _go_on(self) -> None:
        if (work := self._work) is None:
            return
        begun = time.perf_counter()
        for _ in work:
            if self._work is not work:
                return  # a step has led to other work
            if time.perf_counter() - begun > self._left:
                self._left = 0.0
                return
        self._left -= time.perf_counter() - begun
        if self._work is work:
            then = self._then
            self._work = self._then = None
            if then is not None:
                then()


def finished(work: Work[T]) -> T:
    """The outcome of work that is done at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            outcome: T = end.value
            return outcome


def pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """A list cut so that each part is the work of one step."""
    for first in range(0, len(rows), STEP):
        yield rows[first : first + STEP]


def let_go(rows: list[Any]) -> Iterator[None]:
    """Free what a list holds: 200,000 rows at once would take 60 ms."""
    while rows:
        del rows[-STEP:]
        yield


# What the table shows, added up in short steps.


@dataclass
class Totals:
    """What is shown, added up. counts: as of ``artifacts.entry.tally``; files, bytes, and how many
    are broken or orphans, are of the entries alone, where there are any. verdicts: how many have
    which, None for those without one; torches: of what versions those are that are stale, None
    where that is not known.
    """

    counts: Tally = field(default_factory=lambda: tally(()))
    files: int = 0
    size: int = 0
    broken: int = 0
    unread: int = 0
    orphans: int = 0
    verdicts: Counter[str | None] = field(default_factory=Counter)
    torches: Counter[str | None] = field(default_factory=Counter)


def add_up(groups: Iterable[Sequence[Row]]) -> Work[Totals]:
    """Add up the rows of some groups; each step is the work of a few milliseconds."""
    totals, others, kinds = Totals(), Totals(), Counter[str]()
    for rows in groups:
        for piece in pieces(rows):
            entries = [row.entry for row in piece]
            kinds.update(entry.kind for entry in entries)
            totals.verdicts.update([entry.verdict for entry in entries])
            totals.torches.update([one.torch for one in entries if one.verdict == "stale"])
            for entry in entries:
                part = others if entry.kind in COUNTED_APART else totals
                part.files += entry.files
                part.size += entry.size
                part.broken += entry.broken
                part.unread += entry.put_off
                part.orphans += entry.orphan is not None
            yield
    counts = counted(kinds)
    return replace(totals if counts["entries"] else others, counts=counts)
