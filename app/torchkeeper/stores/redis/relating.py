"""Who needs whom on a server, as far as that can be told in a moment. Also entries with what their
payloads say.

A server does not know what its values name. What an entry needs stands in the entry itself; what
needs it, in any other, and of those only so many are fetched for one question. What they name is
kept, so that the next question begins where the last one ended.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO, cast

from torchkeeper.artifacts import remote, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described, describe, unread
from torchkeeper.stores.items import File, Item, Left, in_order
from torchkeeper.stores.needs import Name, Relatives, known_as, needed
from torchkeeper.stores.offering import portable as portable_ones
from torchkeeper.stores.reader import MAX_PAYLOAD, Budget, Reader
from torchkeeper.stores.redis.database import Database
from torchkeeper.stores.redis.payloads import Fetched, Streamed, portable
from torchkeeper.stores.store import Memory

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts


# The entries of a Redis with what their payloads say, and the same as others can take them.

#: Values over this hold payloads that no reader is given.
MAX_READ = MAX_PAYLOAD // 3 * 4


def described(
    store: Database,
    items: Iterable[Item],
    reader: Reader,
    report: Report,
    full: bool = False,
    budget: Budget | None = None,
) -> Iterator[list[Described]]:
    """The entries of some items in batches, in bounded memory; values that are bad are broken.
    Their items are those of a folder, the paths of the entries are redis keys.
    """
    # By identity: two profiles may come to one file, and each is an entry of its own.
    origins: dict[int, tuple[Item, float | None]] = {}
    bad: list[Described] = []

    def left(item: Item, problem: Problem) -> None:
        one = unread(item)
        if problem.code != "entry-gone":
            # What a newer PyTorch keeps there is not broken for being unknown.
            code = None if problem.code == "redis-only" else problem.code
            entry = one.entry._replace(problem=one.entry.problem or code)
            # The words of its problem find there what they need.
            facts = cast("Facts", problem.params)
            bad.append(replace(one, entry=entry, facts=facts))

    def noted() -> Iterator[Fetched]:
        for one in portable(store, items, report, left, describing=True):
            origins[id(one.item)] = one.origin, one.compile_s
            yield one

    streamed = Streamed(noted())
    for batch in describe(streamed.items(), streamed, reader, report, full, budget=budget):
        found, bad = bad, []
        for one in batch:
            origin, compile_s = origins.pop(id(one.item))
            entry = one.entry._replace(
                path=origin.path,
                size=origin.size,
                compile_s=one.entry.compile_s if compile_s is None else compile_s,
            )
            found.append(replace(one, entry=entry, origin=origin))
        yield found
    if bad:
        yield bad


def too_large(item: Item) -> Described:
    """An entry of which nothing is read because its value is large, and which says so."""
    one = unread(item)
    code = "value-large" if item.size <= MAX_READ else "payload-too-large"
    return replace(one, entry=one.entry._replace(problem=one.entry.problem or code))


class FromServer:
    """Some entries of a Redis, as ``described`` gives them, for another place to take."""

    def __init__(
        self, chosen: Iterable[Described], store: Database, left: Left, to_redis: bool = False
    ) -> None:
        """What is broken goes to ``left``, and what only another Redis can take."""
        self._store = store
        self._files: dict[str, tuple[str, File]] = {}
        self.chosen: list[Described] = []
        for one in portable_ones(chosen, left):
            if one.entry.kind == "autotune" and not to_redis:
                left(one.item, Problem("redis-only", kind=one.entry.kind))
                continue
            # In a server it has the size of its value, elsewhere that of the payload in it.
            entry = one.entry._replace(size=one.item.size)
            self.chosen.append(replace(one, entry=entry))
            sizes = {file.path: file.size for file in (one.origin or one.item).files}
            for file in one.item.files:
                key = one.entry.path
                if one.item.kind == "triton":
                    key = store.triton.key(one.item.key, file.name) or ""
                self._files[file.path] = one.item.kind, File(key, sizes.get(key, file.size))

    def items(self) -> list[Item]:
        return [one.item for one in self.chosen]

    def open(self, file: File) -> BinaryIO:
        """One of their files. Raises OSError."""
        kind, there = self._files[file.path]
        stream = self._store.open(there)
        if kind != "triton" or not file.name.startswith(triton.GROUP_PREFIX):
            return stream
        with stream:
            return io.BytesIO(remote.group_from_redis(stream.read()))


#: Seconds for one question, bytes of all values fetched for it, and of any one of them.
SECONDS = 4.0
MAX_BYTES = 64 << 20
MAX_VALUE = 8 << 20
#: Entries of which it is kept what they name, and how many are fetched at once.
_KEPT = 50_000
_AT_ONCE = 64
#: Keys that are told apart while one is looked for by its beginning.
_MAX_KEYS = 10_000
#: Whom entries of a kind can be needed by. Of the others nothing in a Redis speaks.
_NEEDERS: dict[str, frozenset[str]] = {
    "fxgraph": frozenset({"aotautograd"}),
    "triton": frozenset({"fxgraph", "aotautograd", "autotune"}),
}


@dataclass
class Named:
    """What entries of one server name, by path, with the size they had."""

    place: str
    names: dict[str, tuple[int, frozenset[Name]]] = field(default_factory=dict)

    def of(self, item: Item) -> frozenset[Name] | None:
        """What an item names; None where that is not known."""
        size, names = self.names.get(item.path, (-1, frozenset()))
        return names if size == item.size else None

    def keep(self, item: Item, names: frozenset[Name]) -> None:
        """Remember that; the oldest is forgotten where it is too much."""
        self.names[item.path] = item.size, names
        if len(self.names) > _KEPT:
            del self.names[next(iter(self.names))]


def related(
    memory: Memory, store: Database, of: Item, wanted: dict[Name, None], report: Report
) -> Relatives:
    """The relatives of an item of a server that names ``wanted``.

    ``unread`` of it is how many entries might need this one besides, and were not looked at in
    time: the server's whole rest where not even its keys could be gone through.
    """
    named = memory.named
    if not isinstance(named, Named) or named.place != store.place:
        memory.named = named = Named(store.place)
    search = _Search(memory, store, of, report, named)
    keys = {name: remote.redis_key(*name) for name in wanted}
    needs = store.items_at([key for key in keys.values() if key], report)
    kernels = {name for name in wanted if name[0] == "triton"}
    if kernels or of.kind in _NEEDERS:
        search.run(kernels)
    needs += search.kernels
    there = {(item.kind, item.key) for item in needs}
    # Whether a kernel is there can only be said once all keys were seen.
    known = wanted if search.whole else [name for name in wanted if name not in kernels]
    return Relatives(
        needs=needs,
        missing=[name for name in known if name not in there and name[0] != "kernel"],
        needed_by=search.found,
        unread=search.unread,
    )


class _Search:
    """Goes through a server once for what needs an item."""

    def __init__(
        self, memory: Memory, store: Database, of: Item, report: Report, named: Named
    ) -> None:
        self._memory = memory
        self._store = store
        self._report = report
        self._named = named
        self._names = known_as(of, {})
        self._needers = _NEEDERS.get(of.kind, frozenset())
        self._end = time.monotonic() + SECONDS
        self._bytes = MAX_BYTES
        self.kernels: list[Item] = []
        self.found: list[Item] = []
        self.unread = 0
        self.whole = False

    def run(self, kernels: set[Name]) -> None:
        """Look through all keys, and into what could need the item."""
        waiting: list[Item] = []
        for seen, item in enumerate(self._store.stream(self._report), 1):
            if (item.kind, item.key) in kernels:
                self.kernels.append(item)
            if item.kind in self._needers:
                self._look(item, waiting)
            if not seen % 500 and self._late:
                keys = self._store.connection.ask("DBSIZE")
                left = (keys if isinstance(keys, int) else seen) - seen
                self.unread += max(left, 1) + len(waiting)
                return
        self._read(waiting)
        self.whole = True

    @property
    def _late(self) -> bool:
        return time.monotonic() > self._end

    def _look(self, item: Item, waiting: list[Item]) -> None:
        if (names := self._named.of(item)) is not None:
            if not names.isdisjoint(self._names):
                self.found.append(item)
        elif item.size > MAX_VALUE or item.size > self._bytes or self._late:
            self.unread += 1
        else:
            self._bytes -= item.size
            waiting.append(item)
            if len(waiting) >= _AT_ONCE:
                self._read(waiting)
                waiting.clear()

    def _read(self, items: list[Item]) -> None:
        for batch in described(self._store, items, self._memory.reader, self._report):
            for one in batch:
                item, names = one.origin or one.item, frozenset(needed(one.facts))
                self._named.keep(item, names)
                if not names.isdisjoint(self._names):
                    self.found.append(item)


def in_full(
    memory: Memory, store: Database, key: str, report: Report
) -> Iterator[tuple[Described, Relatives]]:
    """The entries of a key, or of the only one that begins so, with all that is known of them.
    Raises Problem("key-unknown" | "key-ambiguous").
    """
    for item in of_key(store, key, report):
        # The graphs that it names tell what it is called.
        brief = [x for some in described(store, [item], memory.reader, report) for x in some]
        wanted = {name: None for one in brief for name in needed(one.facts)}
        paths = [path for name in wanted if (path := remote.redis_key(*name))]
        items = in_order([item, *store.items_at(paths, report)])
        for batch in described(store, items, memory.reader, report, full=True):
            for one in batch:
                if (one.origin or one.item).identity == item.identity:
                    yield one, related(memory, store, item, wanted, report)


def of_key(store: Database, key: str, report: Report) -> Sequence[Item]:
    paths = [remote.redis_key(kind, key) for kind in ("fxgraph", "aotautograd", "pgo")]
    if items := store.items_at([path for path in paths if path], report):
        return items  # whatever else there is, nothing has this key and a longer one
    found: dict[str, list[Item]] = {}
    count = 0
    for item in store.stream(report) if key else ():
        if not item.key.startswith(key):
            continue
        if item.key in found or len(found) < _MAX_KEYS:
            found.setdefault(item.key, []).append(item)
        count += 1
    if not found:
        raise Problem("key-unknown", key=key, place=store.place)
    if key in found:
        return found[key]
    if len(found) > 1:
        many = max(len(found), count if len(found) == _MAX_KEYS else 0)
        raise Problem("key-ambiguous", key=key, count=many, first=min(found))
    return next(iter(found.values()))
