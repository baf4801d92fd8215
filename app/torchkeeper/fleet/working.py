"""Hands cells out to nodes, a few at a time, until each is done or has failed where it could be.

One thread waits for each unit that runs. What decides is in one place, under one lock (``_next``):
cells of a group, which may share graphs, go to one node; a cell that failed goes to another node
once more; one whose node was lost goes to any. How many cells a unit has follows from how long
they take, so that what is lost with a node is little, and what a start costs, too.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.fleet.cells import Cell, Place, can
from torchkeeper.placing.target import Lost

#: Seconds that a unit should take at most and at least, and cells that it has at most, while nobody
#: knows how long one takes and ever.
UNIT, LEAST, FEW, MOST = 60.0, 10.0, 8, 200
#: Tries of a cell, each on another node; losses of a node in a row, after which it is given up, and
#: seconds until it is tried again after each.
TRIES, LOSSES, AGAIN = 2, 3, (1.0, 5.0, 15.0)


@dataclass
class Waiting:
    """A cell that is to be done. failed_on: the nodes that it failed on, with why."""

    cell: Cell
    failed_on: dict[str, str] = field(default_factory=dict)


#: What is done with some cells on a node: the idents of those that are done, and of those that have
#: failed, with why. Raises Lost, and UserError for what none of them is to blame for.
Do = Callable[[Place, Sequence[Cell]], tuple[set[str], dict[str, str]]]


class Work:
    """Cells and the nodes that they are done on. failed: hears of each cell that failed for good.
    prefers: whether a node is to have a cell if another could as well. at_once: how many cells of a
    unit a node does at a time; it has as many units fewer.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        places: Sequence[Place],
        do: Do,
        lost: Callable[[Place, UserError, bool], None],
        failed: Callable[[Cell, dict[str, str]], None],
        stop: threading.Event,
        prefers: Callable[[Cell, Place], bool] = lambda *_: True,
        at_once: Callable[[Place], int] = lambda _: 1,
    ) -> None:
        self._places, self._do, self._lost, self._failed = places, do, lost, failed
        self._stop, self._prefers, self._at_once = stop, prefers, at_once
        self._changed = threading.Condition()
        #: What waits, by its kind and its group: the longest group first, as what is last should be
        #: short.
        self._groups = dict[str, dict[str, deque[Waiting]]]()
        #: Units that run, cells that are neither done nor failed for good, and those that wait.
        self._running = self._left = self._queued = 0
        self._gone = set[str]()
        #: What the last node said that was given up because of what it answers.
        self._refused: UserError | None = None
        #: Seconds that cells took where each is alone, and how many.
        self._spent, self._done = 0.0, 0
        self.error: BaseException | None = None
        cells = list(cells)
        sizes = Counter(cell.group for cell in cells)
        cells.reverse()  # each is put before the others
        for cell in sorted(cells, key=lambda one: -sizes[one.group]):
            self._put(Waiting(cell))
            self._left += 1

    def work(self) -> None:
        """Until nothing is left that a node could do. Raises what a unit raised that is nobody's
        fault, and what the last node answered where none was of use.
        """
        threads = [
            threading.Thread(target=self._serve, args=(place,), name=f"fleet-{place.name}-{slot}")
            for place in self._places
            for slot in range(place.node.slots // self._at_once(place))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.error:
            raise self.error
        if self._refused and not self._done and self._gone.issuperset(x.name for x in self._places):
            raise self._refused
        if not self._stop.is_set():
            for one in self._waiting():
                self._failed(one.cell, one.failed_on)

    def _serve(self, place: Place) -> None:
        losses = 0
        try:
            while some := self._next(place):
                try:
                    self._one(place, some)
                    losses = 0
                except Lost as e:
                    losses = LOSSES if e.for_good else losses + 1
                    self._refused = e.why if e.for_good else self._refused
                    self._lost(place, e.why, losses >= LOSSES)
                    if losses >= LOSSES or self._stop.wait(AGAIN[losses - 1]):
                        break
        except BaseException as e:  # noqa: BLE001  # it is for whoever waits in work
            self.error = self.error or e
            self._stop.set()
        finally:
            with self._changed:
                if losses >= LOSSES:
                    self._gone.add(place.name)
                self._changed.notify_all()

    def _one(self, place: Place, some: list[Waiting]) -> None:
        begun, left = time.monotonic(), {one.cell.ident: one for one in some}
        try:
            done, failed = self._do(place, [one.cell for one in some])
            if not (done or failed or self._stop.is_set()):
                raise Lost(user_error("fleet-nothing", {"node": place.name}))
            for ident in done:
                left.pop(ident, None)
            with self._changed:
                self._spent += (time.monotonic() - begun) * self._at_once(place)
                self._done += len(done)
            for ident, why in failed.items():
                if (one := left.get(ident)) is None:
                    continue
                one.failed_on[place.name] = why
                if len(one.failed_on) >= TRIES:
                    del left[ident]
                    self._failed(one.cell, one.failed_on)
        finally:
            with self._changed:
                self._running -= 1
                self._left -= len(some) - len(left)
                for one in reversed(list(left.values())):
                    self._put(one)
                self._changed.notify_all()

    def _next(self, place: Place) -> list[Waiting]:
        """The next cells for a node; waits while others may still come to it; none at the end."""
        with self._changed:
            while not self._stop.is_set():
                if some := self._take(place):
                    self._running += 1
                    return some
                if not self._running and not self._hope():
                    break
                self._changed.wait(1.0)
        return []

    def _hope(self) -> bool:
        """Whether a node that is still there could do something that waits."""
        here = [one for one in self._places if one.name not in self._gone]
        return any(self._fits(one, place, False) for one in self._waiting() for place in here)

    def _waiting(self) -> Iterator[Waiting]:
        return (one for groups in self._groups.values() for x in groups.values() for one in x)

    def _put(self, one: Waiting) -> None:
        """Have a cell wait, before the others of its group."""
        groups = self._groups.setdefault(one.cell.kind, {})
        groups.setdefault(one.cell.group, deque()).appendleft(one)
        self._queued += 1

    def _take(self, place: Place) -> list[Waiting]:
        slots = sum(one.node.slots for one in self._places if one.name not in self._gone)
        most = self._most(max(slots, 1)) * self._at_once(place)
        for exact in (True, False):
            for kind in (place.kind, ""):
                groups = self._groups.get(kind, {})
                for name, group in groups.items():
                    taken, passed = list[Waiting](), list[Waiting]()
                    while group and len(taken) < most:
                        one = group.popleft()
                        (taken if self._fits(one, place, exact) else passed).append(one)
                    group.extendleft(reversed(passed))
                    if not group:
                        del groups[name]
                    if taken:
                        self._queued -= len(taken)
                        return taken
        return []

    def _fits(self, one: Waiting, place: Place, exact: bool) -> bool:
        if place.name in one.failed_on or not can(one.cell, place):
            return False
        if self._prefers(one.cell, place):
            return True
        # Somebody it prefers may come for it, unless there is nobody.
        rest = (x for x in self._places if x.name not in self._gone and can(one.cell, x))
        return not exact and not any(self._prefers(one.cell, x) for x in rest)

    def _most(self, slots: int) -> int:
        """How many cells a unit has. At first each worker has its share of all; later half of its
        share of what waits, so that all end at about the same time, and none starts for nothing.
        """
        if not self._done:
            return max(1, min(-(-self._left // slots), FEW))
        each = max(self._spent / self._done, 1e-3)
        share = max(-(-self._queued // (2 * slots)), round(LEAST / each))
        return max(1, min(share, round(UNIT / each), MOST))
