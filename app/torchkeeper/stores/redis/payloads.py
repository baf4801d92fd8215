"""What the values of a Redis hold: payloads, as items that any other place can take, entries with
what these say, and who needs whom.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from torchkeeper.artifacts import layout, remote, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described, describe, unread
from torchkeeper.stores.items import File, Item, Left, batches, in_order
from torchkeeper.stores.needs import Name, Relatives, known_as, needed
from torchkeeper.stores.offering import portable as portable_ones
from torchkeeper.stores.reader import MAX_PAYLOAD, Budget, Reader
from torchkeeper.stores.redis.connecting import Refusal, encoded, forbids_key, pack, problem_of
from torchkeeper.stores.redis.database import PIECE, Database
from torchkeeper.stores.store import InFull, Memory

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: Bytes of values that are fetched at once; a single one may be larger.
BATCH_BYTES = 16 << 20
#: And so many of them.
BATCH = 256
#: A value larger than this goes through a file: in memory it would take more than twice its size.
SPOOL = 32 << 20
#: A kernel has several values, which are fetched together as far as this.
MAX_KERNEL = 96 << 20
#: Values over this hold payloads that no reader is given.
MAX_READ = MAX_PAYLOAD // 3 * 4
_OURS = frozenset({
    "entry-gone", "value-wrong-type", "value-not-json", "value-not-base64", "value-without-data",
    "value-too-large", "value-forbidden", "name-refused", "redis-only", "server-forbids",
})  # fmt: skip


@dataclass
class Fetched:
    """An item of a Redis with its bytes, as another place would have it. item: as a folder lists
    it, its files with their sha256. origin: as the Redis lists it. compile_s: what the value says
    beside the payload, or None. It is a Source of its item's files until the next one is asked for.
    """

    item: Item
    origin: Item
    compile_s: float | None = None
    contents: dict[str, bytes] = field(default_factory=dict)
    spooled: BinaryIO | None = None

    def open(self, file: File) -> BinaryIO:
        """One of its files. Raises FileNotFoundError for another's."""
        if self.spooled:
            self.spooled.seek(0)
            # A copy of the handle, because whoever opens it closes it.
            return os.fdopen(os.dup(self.spooled.fileno()), "rb")
        if file.path not in self.contents:
            raise FileNotFoundError(file.path)
        return io.BytesIO(self.contents[file.path])


class Streamed:
    """A Source for ``describe`` of items that come one by one: of the last one only."""

    def __init__(self, fetched: Iterable[Fetched]) -> None:
        self._fetched = fetched
        self._last: Fetched | None = None

    def items(self) -> Iterator[Item]:
        """The items, each of which can be opened until the next is asked for."""
        for one in self._fetched:
            self._last = one
            yield one.item

    def open(self, file: File) -> BinaryIO:
        """A file of the last item. Raises FileNotFoundError for any other."""
        if self._last is None:
            raise FileNotFoundError(file.path)
        return self._last.open(file)


def portable(
    store: Database, items: Iterable[Item], report: Report, left: Left, describing: bool = False
) -> Iterator[Fetched]:
    """The items with their bytes, in their order, for copying; in bounded memory.

    ``left`` is told of every item that is gone or is not what its key promises:
    "entry-gone", "value-wrong-type", "value-not-json", "value-not-base64", "value-without-data",
    "value-too-large", "value-forbidden", "name-refused", "redis-only" for what no folder can hold;
    the last is given all the same where it is ``describing``.
    """
    for batch in batches(items, BATCH_BYTES, BATCH):
        report.check()
        kernel = batch[0].kind == "triton" and batch[0].size <= MAX_KERNEL
        spool = len(batch) == 1 and batch[0].size > SPOOL and not kernel
        values = iter(()) if spool else _values(store, batch)
        for item in batch:
            report.check()
            try:
                if spool:
                    one = _spooled(store, item, report, describing)
                else:
                    one = _made(store, item, values, describing)
            except Problem as problem:
                if problem.code in _OURS:
                    left(item, problem)
                    continue
                raise
            yield one
            if one.spooled:
                one.spooled.close()


def _values(store: Database, batch: list[Item]) -> Iterator[object]:
    """The answers for all files of a batch, in order, one byte too long where a value grew."""
    files = [file for item in batch for file in item.files]
    commands = [pack("GETRANGE", encoded(file.path), 0, file.size) for file in files]
    return iter(store.again(lambda: store.connection.many(commands)))


def _made(store: Database, item: Item, values: Iterator[object], describing: bool) -> Fetched:
    # All of them, whatever the first says: the others' answers come after.
    replies = [(file, next(values)) for file in item.files]
    contents = [(file, _content(store, file, reply)) for file, reply in replies]
    if item.kind == "triton":
        return _kernel(store, item, contents)
    value = contents[0][1]
    if item.kind == "unknown":
        raise Problem("redis-only", kind=item.kind)
    payload, compile_s, problem = remote.decode(item.kind, value)
    if payload is None:
        raise Problem(problem or "value-not-json")
    sha256 = hashlib.sha256(payload).hexdigest()
    path = _path(item, sha256, [payload], describing)
    found = Item(item.kind, item.key, path, [File(path, len(payload), sha256=sha256)])
    return Fetched(found, item, compile_s, {path: payload})


def _content(store: Database, file: File, reply: object) -> bytes:
    if isinstance(reply, Refusal):
        if str(reply).startswith("WRONGTYPE"):
            raise Problem("value-wrong-type")
        if forbids_key(str(reply)):
            raise Problem("value-forbidden")
        raise problem_of(str(reply), store.place)
    if not isinstance(reply, bytes) or len(reply) != file.size:
        # Gone, or another value since it was listed.
        raise Problem("entry-gone", path=file.path)
    return reply


def _path(item: Item, sha256: str, pieces: Iterable[bytes], describing: bool) -> str:
    if item.kind != "autotune":
        name = layout.file_name(item.kind, sha256, pieces)
        return layout.payload_path(item.kind, item.key, sha256, name)
    if describing:
        return item.path
    # Its file is named after a source that is not known here (torch/_inductor/runtime/
    # autotune_cache.py: _make_local_cache_key and the key of _setup_remote_autotune_cache).
    raise Problem("redis-only", kind=item.kind)


def _kernel(store: Database, item: Item, contents: list[tuple[File, bytes]]) -> Fetched:
    made: dict[str, bytes] = {}
    for file, data in contents:
        found = store.triton.locate(file.path)
        name = found.file if found and found.file else file.name
        path = layout.triton_path("0", item.key, name)
        made[path] = remote.group_from_redis(data) if name.startswith(triton.GROUP_PREFIX) else data
    files = [
        File(path, len(data), sha256=hashlib.sha256(data).hexdigest())
        for path, data in sorted(made.items())
    ]
    folder = files[0].path.rpartition("/")[0]
    return Fetched(Item("triton", item.key, folder, files), item, None, made)


def _spooled(store: Database, item: Item, report: Report, describing: bool) -> Fetched:
    if item.kind == "unknown":
        raise Problem("redis-only", kind=item.kind)
    if item.kind in ("autotune", "triton") or item.size > remote.MAX_VALUE:
        raise Problem("value-too-large")
    file = item.files[0]
    decoder, digest, size, done = remote.Decoder(), hashlib.sha256(), 0, 0
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the entry is of use
    try:
        while done < file.size:
            report.check()
            reply = store.reply_of(file.path, done)
            piece = _content(store, File(file.path, min(PIECE, file.size - done)), reply)
            done += len(piece)
            data = decoder.feed(piece)
            digest.update(data)
            size += len(data)
            spool.write(data)
        _, compile_s, problem = decoder.end()
        if problem:
            raise Problem(problem)
        sha256 = digest.hexdigest()
        spool.seek(0)
        path = _path(item, sha256, iter(partial(spool.read, PIECE), b""), describing)
    except BaseException:
        spool.close()
        raise
    found = Item(item.kind, item.key, path, [File(path, size, sha256=sha256)])
    return Fetched(found, item, compile_s, spooled=spool)


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
            bad.append(replace(one, entry=entry, facts=cast("Facts", problem.params)))

    def noted() -> Iterator[Fetched]:
        for one in portable(store, items, report, left, describing=True):
            origins[id(one.item)] = one.origin, one.compile_s
            yield one

    streamed = Streamed(noted())
    for batch in describe(streamed.items(), streamed, reader, report, full, budget=budget):
        found, bad = bad, []
        for one in batch:
            origin, compile_s = origins.pop(id(one.item))
            seconds = one.entry.compile_s if compile_s is None else compile_s
            entry = one.entry._replace(path=origin.path, size=origin.size, compile_s=seconds)
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
            self.chosen.append(replace(one, entry=one.entry._replace(size=one.item.size)))
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
    """The relatives of an item of a server that names ``wanted``. ``unread`` of it is how many
    entries might need this one besides, and were not looked at in time: the server's whole rest
    where not even its keys could be gone through.
    """
    search = _Search(memory, store, of, report)
    keys = [key for name in wanted if (key := remote.redis_key(*name))]
    needs = store.items_at(keys, report)
    kernels = {name for name in wanted if name[0] == "triton"}
    if kernels or of.kind in _NEEDERS:
        search.run(kernels)
    needs += search.kernels
    there = {(item.kind, item.key) for item in needs}
    # Whether a kernel is there can only be said once all keys were seen.
    known = wanted if search.whole else [name for name in wanted if name not in kernels]
    missing = [name for name in known if name not in there and name[0] != "kernel"]
    return Relatives(needs, missing, search.found, search.unread)


class _Search:
    """Goes through a server once for what needs an item."""

    def __init__(self, memory: Memory, store: Database, of: Item, report: Report) -> None:
        named = memory.named
        if not isinstance(named, Named) or named.place != store.place:
            memory.named = named = Named(store.place)
        self._memory, self._store, self._report, self._named = memory, store, report, named
        self._names = known_as(of, {})
        self._needers = _NEEDERS.get(of.kind, frozenset())
        self._end = time.monotonic() + SECONDS
        self._bytes = MAX_BYTES
        self.kernels: list[Item] = []
        self.found: list[Item] = []
        self.unread, self.whole = 0, False

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


def in_full(memory: Memory, store: Database, key: str, report: Report) -> InFull:
    """As ``Store.in_full``. Raises Problem("key-unknown" | "key-ambiguous")."""
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
