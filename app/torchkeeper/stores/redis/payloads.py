"""Payloads out of a Redis, as items that any other place can take."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from torchkeeper.artifacts import layout, remote, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import File, Item, Left
from torchkeeper.stores.redis.connecting import Refusal, encoded, forbids_key, pack, problem_of
from torchkeeper.stores.redis.database import PIECE, Database

#: Bytes of values that are fetched at once; a single one may be larger.
BATCH_BYTES = 16 << 20
#: And so many of them.
BATCH = 256
#: A value larger than this goes through a file: in memory it would take more than twice its size.
SPOOL = 32 << 20
#: A kernel has several values, which are fetched together as far as this.
MAX_KERNEL = 96 << 20


@dataclass
class Fetched:
    """An item of a Redis with its bytes, as another place would have it.

    item: as a folder lists it, its files with their sha256. origin: as the Redis lists it.
    compile_s: what the value says beside the payload, or None.
    It is a Source of its item's files until the next one is asked for.
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
        try:
            return io.BytesIO(self.contents[file.path])
        except KeyError:
            raise FileNotFoundError(file.path) from None


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
    for batch in _batches(items):
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


_OURS = frozenset({
    "entry-gone", "value-wrong-type", "value-not-json", "value-not-base64", "value-without-data",
    "value-too-large", "value-forbidden", "name-refused", "redis-only", "server-forbids",
})  # fmt: skip


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    waiting = 0
    for item in items:
        size = item.size
        if batch and (waiting + size > BATCH_BYTES or len(batch) >= BATCH):
            yield batch
            batch, waiting = [], 0
        batch.append(item)
        waiting += size
    if batch:
        yield batch


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
        group = name.startswith(triton.GROUP_PREFIX)
        made[path] = remote.group_from_redis(data) if group else data
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
        spool.flush()
        sha256 = digest.hexdigest()
        spool.seek(0)
        path = _path(item, sha256, iter(partial(spool.read, PIECE), b""), describing)
    except BaseException:
        spool.close()
        raise
    found = Item(item.kind, item.key, path, [File(path, size, sha256=sha256)])
    return Fetched(found, item, compile_s, spooled=spool)
