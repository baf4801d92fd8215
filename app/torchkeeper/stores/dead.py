"""Which entries of a place are dead: stale, broken, orphaned, unused for long, or over a budget.

From facts alone, without looking. What is not recognised is a user's own and never dead, and in a
folder that is mostly such nothing is. What one file lists goes together, and only when all of it is
dead. What an entry is needed by counts as a use of it, and it never goes before that; code that
only what goes has named goes along.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.layout import eager_folder, is_code_stem
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item, OnDisk, amount_of
from torchkeeper.stores.needs import OLD, YOUNG, Name, known_as, needed
from torchkeeper.stores.preconditions import strange_in

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount

#: Why an entry goes, in the order in which it is told; "needless" is code of what goes.
REASONS = ("stale", "broken", "orphan", "unused", "budget", "needless")
#: An autotuning result names the code it is about, and is as good without.
_HOLDS = frozenset({"fxgraph", "aotautograd", "precompile", "code", "aoti_eager"})
_GRAPHS = frozenset({"fxgraph", "aotautograd"})

#: Which entries may go at all.
May = Callable[[Entry], bool]


@dataclass(frozen=True)
class Wanted:
    """Which entries count as dead: those of any of these. stale: that cannot be used by any
    environment that was asked; the entries have verdicts then. older: not used for more than so
    many seconds. keep: bytes; those that were used longest ago, until what is left takes no more.
    """

    stale: bool = False
    broken: bool = False
    orphans: bool = False
    older: float | None = None
    keep: int | None = None

    @property
    def reasons(self) -> list[str]:
        """For which reasons something goes."""
        on = self.stale, self.broken, self.orphans, self.older is not None, self.keep is not None
        return [reason for reason, asked in zip(REASONS[:-1], on, strict=True) if asked]

    def __bool__(self) -> bool:
        return bool(self.reasons)


class Dead:
    """What is dead among all entries of one place. used: when each was last used, None where nobody
    knows. whole: whether everything in the place could be seen. allocated: bytes on the disk count,
    and a file with several names once; otherwise apparent bytes do.
    """

    def __init__(
        self,
        found: list[Described],
        used: Sequence[float | None],
        whole: bool,
        allocated: bool,
        now: float | None = None,
    ) -> None:
        self.found = found
        self._whole = whole
        self.on_disk = allocated
        self._now = time.time() if now is None else now
        #: What strangers wrote; None of a server, which is listed by the names of known writers.
        self.strange = strange_in(one.origin or one.item for one in found) if allocated else None
        self._needs: dict[int, set[int]] = {}
        self._needed_by: dict[int, set[int]] = {}
        holding = [(n, needed(x.facts)) for n, x in enumerate(found) if x.item.kind in _HOLDS]
        named: dict[Name, list[int]] = {name: [] for _, names in holding for name in names}
        for number, one in enumerate(self.found if named else ()):
            for name in known_as(one.item, one.facts) & named.keys():
                named[name].append(number)
        for number, names in holding:
            for other in (n for name in names for n in named[name]):
                if other != number:
                    self._needs.setdefault(number, set()).add(other)
                    self._needed_by.setdefault(other, set()).add(number)
        self._used = self._last_uses(used)

    def chosen(self, wanted: Wanted, may: May = lambda _: True) -> dict[int, list[str]]:
        """Entries that go, by their number in ``found``, and why. may: which of them may go.
        ``keep`` counts what all the others leave.
        """
        why: dict[int, list[str]] = {}
        if self.strange is not None and self.strange.most:
            return why
        every = [one.entry for one in self.found]
        mine = {n for n, one in enumerate(every) if one.kind != "unknown" and may(one)}
        older = inf if wanted.older is None else wanted.older
        tests: tuple[tuple[str, bool, Callable[[int], object]], ...] = (
            ("stale", wanted.stale, lambda n: every[n].verdict == "stale"),
            ("broken", wanted.broken, lambda n: every[n].broken or every[n].verdict == "broken"),
            ("orphan", wanted.orphans, lambda n: every[n].orphan and not self._is_kept(n)),
            ("unused", wanted.older is not None, lambda n: self._is_unused(n, older)),
        )
        for reason, asked, holds in tests:
            for number in mine if asked else ():
                if holds(number):
                    why.setdefault(number, []).append(reason)
        going = set(why)
        self._go_along(going, mine, why)
        if wanted.keep is not None:
            for number in self._over(wanted.keep, going, mine):
                going.add(number)
                why.setdefault(number, []).append("budget")
            # Code of what went last is of no use either.
            self._go_along(going, mine, why)
        return {n: why[n] for n in sorted(going)}

    def told(self, going: Iterable[int]) -> Amount:
        """How much some of them are."""
        return amount_of([self.item(n) for n in going], on_disk=self.on_disk)

    def last_used(self, number: int) -> float | None:
        """When an entry, or what needs it, was last used; None where nobody knows."""
        time = self._used[number]
        return None if time == inf else time

    def item(self, number: int) -> Item:
        """What goes with an entry."""
        one = self.found[number]
        return one.origin or one.item

    def _last_uses(self, used: Sequence[float | None]) -> list[float]:
        """When each entry was last used, itself or by what needs it; ``inf`` where nobody knows."""
        own = [inf if time is None else time for time in used]
        found = list(own)
        # Those that were used last reach what they need first.
        for number in sorted(self._needs, key=lambda number: -own[number]):
            waiting = [number]
            while waiting:
                for reached in self._needs.get(waiting.pop(), ()):
                    if found[reached] < own[number]:
                        found[reached] = own[number]
                        waiting.append(reached)
        return found

    def _is_kept(self, number: int) -> bool:
        """Whether it is a lock as every cache has many of: empty, and nobody gains by its going."""
        item = self.item(number)
        return item.kind == "lock" and not any(file.size for file in item.files)

    def _is_unused(self, number: int, seconds: float) -> bool:
        if self.found[number].entry.kind == "lock":
            seconds = max(seconds, OLD)
        return not self._is_kept(number) and self._now - self._used[number] > seconds

    def _go_along(self, going: set[int], mine: set[int], why: dict[int, list[str]]) -> None:
        """Add the code that only what goes has named."""
        if not going or not self._sure(going):
            return
        waiting = list(going)
        while waiting:
            for one in self._needs.get(waiting.pop(), ()):
                if one not in going and self._needed_by[one] <= going and self._code(one, mine):
                    going.add(one)
                    waiting.append(one)
                    why[one] = [*why.get(one, ()), "needless"]

    def _sure(self, going: set[int]) -> bool:
        """Whether nothing that stays could name code without saying so."""
        return self._whole and not any(
            one.item.kind == "precompile"
            or (one.item.kind in _GRAPHS and (one.facts.get("opaque") or not needed(one.facts)))
            for number, one in enumerate(self.found)
            if number not in going
        )

    def _code(self, number: int, mine: set[int]) -> bool:
        """Whether it is code of graphs, which no compile may be at work on."""
        one = self.found[number]
        graphs = one.facts.get("role") and is_code_stem(one.item.key)
        if number not in mine or not graphs or eager_folder(one.item.path):
            return False
        times = [f.mtime_ns for f in one.item.files if f.mtime_ns is not None]
        return not times or self._now - max(times) / 1e9 > YOUNG

    def _over(self, limit: int, gone: set[int], mine: set[int]) -> list[int]:
        """Those used longest ago, until the rest takes ``limit`` bytes at most. Nothing goes before
        what needs it; code goes with the last that does.
        """
        items = [self.item(n) for n in range(len(self.found))]
        room = _Room(items) if self.on_disk else _Apparent(items)
        for number in gone:
            room.take(self.item(number))
        needing = {
            number: len(self._needed_by.get(number, set()) - gone)
            for number in mine - gone
            if self.found[number].entry.kind != "lock"  # which are of those who write
        }
        heap = [self._rank(number, False) for number, count in needing.items() if not count]
        heapq.heapify(heap)
        found: list[int] = []
        while heap and room.left > limit:
            number = heapq.heappop(heap)[-1]
            found.append(number)
            room.take(self.item(number))
            for other in self._needs.get(number, ()):
                if other in needing:
                    needing[other] -= 1
                    if not needing[other]:
                        heapq.heappush(heap, self._rank(other, True))
        return found

    def _rank(self, number: int, needless: bool) -> tuple[float, int, str, int]:
        """What goes first is least; ``needless``: nothing needs it any more."""
        one = self.found[number]
        code = needless and one.item.kind == "code"
        # Of what was used at the same time the largest goes first: then fewer go.
        return -inf if code else self._used[number], -one.entry.size, one.entry.path, number


class _Room:
    """Bytes on the disk that some items take; a file with several names takes them once."""

    def __init__(self, items: list[Item]) -> None:
        self.left = OnDisk(items).bytes
        self._names = Counter(file.inode or file.path for item in items for file in item.files)

    def take(self, item: Item) -> None:
        """Count without this one."""
        for file in item.files:
            name = file.inode or file.path
            self._names[name] -= 1
            if not self._names[name]:
                self.left -= file.allocated


class _Apparent(_Room):
    """The same for a server: bytes of values."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.left = sum(item.size for item in items)

    def take(self, item: Item) -> None:
        self.left -= item.size
