"""A place is a place: what can be asked of a store. The answers given here are those of one that
cannot; a kind of place that can says so in its own package.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from torchkeeper.artifacts.entry import KINDS, Problem
from torchkeeper.artifacts.layout import inner_cache
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import query
from torchkeeper.stores.describe import Carried, Described, Search, describe, unread
from torchkeeper.stores.folders.index import Index, signature
from torchkeeper.stores.items import Item, Left, Offered, Source, Taken, in_order, packed
from torchkeeper.stores.needs import TELLING, Living, Relatives, Told, relatives
from torchkeeper.stores.reader import Budget, Reader

if TYPE_CHECKING:
    from typing import Self

    from torchkeeper.artifacts.builds import MadeIn
    from torchkeeper.artifacts.shapes import Amount
    from torchkeeper.stores.bundles.parts import Makers
    from torchkeeper.stores.shapes import Beside, Done, Orphans, Owned, Room, Strays, Trash, Users

Batches = Iterator[list[Described]]
#: Entries in a batch of those that are known already.
_AT_ONCE = 500
#: Entries, and whence their bytes come.
Going = tuple[Sequence[Described], Source]
#: When each of some items was last used, and on what that rests.
Uses = tuple[list[float | None] | None, str | None]
#: Entries with all that is known of them.
InFull = Iterator[tuple[Described, Relatives]]


class Lost(Exception):
    """A server that entries come from or go to was lost, and did not come back in time; unlike a
    Problem or an OSError of a single entry, that ends all. problem: what was wrong at last.
    arrived: how many of ``total`` entries are in the target, counting those that were there before.
    waited: whether it was waited for in vain.
    """

    def __init__(self, problem: Problem, waited: bool = False) -> None:
        super().__init__(problem.code)
        self.problem, self.waited = problem, waited
        self.arrived = self.total = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """Something in a store that cannot be an entry of any place, and why."""

    kind: str
    key: str
    code: str
    params: dict[str, str | int | float | None]


class Memory(Protocol):
    """What whoever asks stores keeps for them, from one question to the next."""

    reader: Reader
    #: What was last asked about who needs whom: of what state of a place, and what is known.
    told: tuple[object, Told] | None
    #: What entries of the server that was last asked about name.
    named: object

    @property
    def index(self) -> str | None:
        """The file in which is kept what was read of folders."""


class Removal:
    """What a purge takes of a store: exactly what was shown."""

    place: str

    def add(self, chosen: Sequence[Described], report: Report, left: Left) -> dict[int, Item]:
        """Have these go; those that do, by their number, and as what. The others go to ``left``."""
        raise NotImplementedError

    def told(self) -> Amount:
        """How much goes: counts, ``files`` and ``measured``."""
        raise NotImplementedError

    def in_use(self) -> Users:
        """Which processes use what, as of folders.in_use; how much is ``left``, what ``stays``."""
        raise NotImplementedError

    def carry_out(self, now: bool, report: Report, left: Left, password: str | None) -> Done:
        """Do it; now: past the trash, where there is one. What it came to."""
        raise NotImplementedError


class Store(Source):
    """A place that is open for reading."""

    #: As the user named it, without secrets.
    place: str
    #: How many items the last survey found, once that is known.
    total: int | None = None
    #: What could not be read on the last survey, as (path, why).
    unreadable: Sequence[tuple[str, str]] = ()
    #: What of it no place can hold.
    refused: Sequence[Refused] = ()

    #: Which fields of a filter it tells of those that not every place does.
    tells: frozenset[str] = frozenset()
    #: Whether entries can be purged from it.
    purgeable = False
    #: Whether its files lie on this disk: what they take counts, and strangers' lie among them.
    on_disk = False
    #: Whether a survey that is ``whole`` has seen all that was there when it was begun.
    complete = True
    #: Whether a listing that would be the same need not be sent again (``mark``).
    marked = False
    #: Whether somebody may have signed it.
    signable = False
    #: Whether what entries name is found without reading all others.
    fetches_named = False

    @property
    def identity(self) -> object:
        """What tells it from every other place, whatever it is called; None where its path does."""
        return None

    @property
    def remote_cache(self) -> str | None:
        """How programs are told of it as their remote cache; None of what can be none."""
        return None

    @property
    def whole(self) -> bool:
        """Whether the last survey saw everything that is in it."""
        return True

    def items(self, report: Report) -> list[Item]:
        """Everything in it, unread, in order (stores.items.in_order)."""
        return in_order(self.stream(report))

    def stream(self, report: Report, index: Index | None = None) -> Iterator[Item]:
        """The same, some of it before the rest is known; without what the index ``glimpsed``."""
        raise NotImplementedError

    def items_beside(self, path: str, report: Report) -> list[Item]:
        """At least the items at a path, unread; none where nothing is."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def same_as(self, other: Store) -> bool:
        """Whether both are one place that is known by more than its path."""
        return self.identity is not None and self.identity == other.identity

    def survey(self, report: Report, memory: Memory | None = None) -> list[Item]:
        """As ``items``; what cannot be read is told. memory: where what one listing has proved is
        kept for the next. For showing only.
        """
        index = self.index(memory.index, proofs=True) if memory else None
        try:
            items = in_order(packed(self.stream(report, index))) if index else self.items(report)
            if index and not self.unreadable:
                index.finish()
        finally:
            if index:
                index.close()
        self.tell_unreadable(report)
        return items

    def tell_unreadable(self, report: Report) -> None:
        for path, why in self.unreadable:
            report.finding(unreadable={"path": path, "why": why})

    def items_of_key(self, key: str, report: Report) -> list[Item]:
        """The items of a key, or of the only one that begins so. Raises Problem("key-unknown" |
        "key-ambiguous").
        """
        return self._of_key(self.survey(report), key)

    def _of_key(self, items: list[Item], key: str) -> list[Item]:
        keys = {item.key for item in items if item.key.startswith(key)}
        if not key or not keys:
            raise Problem("key-unknown", key=key, place=self.place)
        if key not in keys and len(keys) > 1:
            raise Problem("key-ambiguous", key=key, count=len(keys), first=min(keys))
        wanted = key if key in keys else keys.pop()
        return [item for item in items if item.key == wanted]

    def read(
        self, items: Iterable[Item], reader: Reader, report: Report, full: bool = False,
        budget: Budget | None = None,
    ) -> Batches:  # fmt: skip
        """The entries of some items, as ``describe``. budget: what reading others has left."""
        return describe(items, self, reader, report, full, budget=budget or Budget())

    def index(
        self, file: str | None, glimpsing: bool = False, proofs: bool = False
    ) -> Index | None:
        """What was kept of its contents in a file; None of what keeps nothing. glimpsing, proofs:
        as of Index.
        """

    def entries(
        self, memory: Memory, report: Report, items: list[Item] | None = None,
        carried: Carried | None = None, all_of_it: bool = False, glimpsing: bool = False,
        search: Search | None = None,
    ) -> Batches:  # fmt: skip
        """Its entries in batches, with progress; ``items``: all of them, if known already.
        ``carried``, ``search``: as of ``describe``; ``all_of_it``: also what takes too long.
        ``glimpsing``: folders of kernels that look as they did are not looked into: their items
        have no files, and a file that was changed in place is told as it was. For showing only.
        """
        done = 0
        index = self.index(memory.index, glimpsing)
        living = Living(lambda: self.whole)
        coming = self.stream(report, index) if items is None else items
        try:
            described = describe(
                coming, self, memory.reader, report, index=index, living=living, carried=carried,
                budget=None if all_of_it else Budget(), search=search,
            )  # fmt: skip
            for batch in itertools.chain(described, _glimpsed(index, report)):
                self._own(batch)
                yield batch
                done += len(batch)
                # While nobody knows how many there are, the walk says how far it is.
                total = self.total if items is None else len(items)
                if total is not None:
                    report.progress(done, total, "entries")
            report.progress(done, done, "entries")
            if items is None:
                self.tell_unreadable(report)
            if index and not self.unreadable:
                # Otherwise what could not be looked at would be forgotten.
                index.finish()
        finally:
            if index:
                index.close()

    def _own(self, batch: list[Described]) -> None:
        """Say of entries which are another user's, where that is known."""

    def check_asked(self, fields: frozenset[str]) -> None:
        """Raises Problem for what a filter asks and it cannot tell: "age-unknown" where no files
        have times, "owner-unknown" where none have owners, "times-of-servers".
        """
        if "age" in fields - self.tells:
            raise Problem("age-unknown", place=self.place)
        if query.OWNER in fields - self.tells:
            raise Problem("owner-unknown", place=self.place)
        if fields & query.TIMES - self.tells:
            # With a minus in front, everything would match.
            raise Problem("times-of-servers", place=self.place)

    def tells_unread(self, fields: frozenset[str]) -> bool:
        """Whether ``unread`` entries, which take no time, tell enough for a filter of fields."""
        return False

    def unread(self, report: Report, at_once: int) -> Batches:
        """The entries in batches by what a survey alone tells."""
        yield [unread(item) for item in self.stream(report)]

    def timed(self, batches: Iterable[list[Described]], wanted: bool) -> Batches:
        """Batches; wanted: with when entries go, and when they were last used, if it knows that."""
        return iter(batches)

    def uses(self, items: Sequence[Item], report: Report) -> Uses:
        """When each item was last used, None where ``timed`` entries tell; and on what that rests
        (folders.folder.RESTS), None where nobody knows.
        """
        return None, None

    def mark(self, items: Sequence[Item]) -> str:
        """A text that changes, within one process, with any file of any item."""
        total = len(items) + sum(hash((*item.identity, signature(item))) for item in items)
        return f"{total + self._foreign() & 0xFFFFFFFFFFFFFFFF:016x}"

    def _foreign(self) -> int:
        """A number that changes with what is foreign in it."""
        return 0

    def owners(self) -> list[Owned] | None:
        """Who else can change it, as the last survey tells (folders.owners); None of a bundle."""

    def tell_beside(self, told: Beside, origins: Sequence[MadeIn | None]) -> None:
        """Say besides its entries what there is to say; origins: where each of these was made."""

    def strays(self) -> Strays:
        """How much there is in it that is not ours, where that is more than files."""
        return {}

    def room(self) -> Room:
        """{free_bytes, total_bytes, disk}, which places on one disk share; {} without a limit."""
        try:
            said, disk = os.statvfs(self.place), os.stat(self.place).st_dev
        except OSError:
            return {}
        free, total = said.f_bavail * said.f_frsize, said.f_blocks * said.f_frsize
        return {"disk": str(disk), "free_bytes": free, "total_bytes": total}

    def trash(self) -> Trash | None:
        """What lies in its trash, and what undo puts back; None where there is no trash."""

    def orphans(self, items: list[Item], index: str | None) -> Orphans | None:
        """How many of all its items nothing needs, as far as that costs no reading."""

    def relatives(self, kind: str, path: str, memory: Memory, report: Report) -> Relatives:
        """Who needs an item, and what it needs. Raises Problem("entry-gone")."""
        items = self.survey(report)
        of = next((i for i in items if i.identity == (kind, path)), None)
        if of is None:
            raise Problem("entry-gone", path=path)
        state = (self.place, os.stat(self.place).st_mtime_ns, self.mark(items))
        if memory.told is None or memory.told[0] != state:
            memory.told = (state, self._told(memory, report, items))
        return relatives(memory.told[1], items, of)

    def _told(self, memory: Memory, report: Report, items: list[Item]) -> Told:
        """What is known of the items that tell who needs whom; kernels are not read for that."""
        index = self.index(memory.index)
        telling = [item for item in items if item.kind in TELLING]
        try:
            batches = describe(telling, self, memory.reader, report, index=index, budget=Budget())
            return [(one.item, one.facts) for batch in batches for one in batch]
        finally:
            if index:
                index.close()

    def in_full(self, key: str, memory: Memory, report: Report) -> InFull:
        """The entries of ``items_of_key``, with all that is known of them."""
        items = self.survey(report)
        chosen = self._of_key(items, key)
        # The others are read too, briefly: a kernel's name is in the graph it belongs to.
        brief = [one for batch in self.entries(memory, report, items) for one in batch]
        known = {(one.item.kind, one.item.path, one.entry.sha256): one.entry for one in brief}
        told = [(one.item, one.facts) for one in brief if one.item.kind in TELLING]
        batches = self.read(chosen, memory.reader, report, full=True)
        shown = [one for batch in batches for one in batch]
        for one in sorted(shown, key=lambda one: (KINDS.index(one.entry.kind), one.entry.path)):
            about = one.item.kind, one.item.path, one.entry.sha256
            one.entry = known.get(about, one.entry)
            yield one, relatives(told, items, one.item)

    def graph_beside(self, item: Item, key: str) -> str:
        """The path of a graph that an item names."""
        return f"{inner_cache(item.path)}fxgraph/{key[1:3]}/{key}"

    def put_off(self, item: Item) -> Described | None:
        """An item as what is not even opened to be read in full; None where it can be."""

    def named_by(
        self, chosen: list[Described], kernels: bool, memory: Memory, report: Report
    ) -> list[Described]:
        """What some entries name besides, where ``fetches_named``; with kernels or without."""
        return []

    def check_purgeable(self) -> None:
        """Raises Problem("place-not-folder") where nothing can be purged."""
        if not self.purgeable:
            raise Problem("place-not-folder", place=self.place)

    def removal(self, insisted: bool) -> Removal:
        """What a purge is to take; insisted: also what processes use."""
        raise NotImplementedError

    def makers(self) -> Makers | None:
        """Who tells how its objects were built; None of a place that they are built in."""

    def be_patient(self) -> None:
        """Wait when a connection breaks; what then reads raises Lost where that is in vain."""

    def offer(
        self, chosen: Sequence[Described], report: Report, left: Left, to_server: bool = False
    ) -> Offered:
        """Entries as another place can take them; what none can goes to ``left``."""
        from torchkeeper.stores.offering import portable

        return Taken([one.item for one in portable(chosen, left)], self)

    def for_bundle(self, chosen: Sequence[Described], left: Left) -> Going:
        """What can go into a bundle, and whence its bytes come."""
        return chosen, self


def _glimpsed(index: Index | None, report: Report) -> Batches:
    """What an index knew by how its folders look."""
    entries = index.glimpsed if index else []
    for start in range(0, len(entries), _AT_ONCE):
        report.check()
        some = entries[start : start + _AT_ONCE]
        yield [Described(one, Item(one.kind, one.key, one.path), {}) for one in some]
