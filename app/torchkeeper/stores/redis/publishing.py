"""Putting payloads into a Redis where PyTorch and Triton look for them.

Nothing is ever overwritten: a key that is there with another payload is named, and left.
"""

from __future__ import annotations

import base64
import hashlib
from array import array
from dataclasses import dataclass
from typing import BinaryIO

from torchkeeper.artifacts import remote, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import Item, Left, Source, digest_of
from torchkeeper.stores.redis.connecting import Refusal, encoded, pack, problem_of
from torchkeeper.stores.redis.database import PIECE, Database

#: Bytes of values that wait to be sent at once, and how many.
BATCH_BYTES = 8 << 20
BATCH = 256
#: A payload larger than this is encoded while it is sent.
LARGE = 8 << 20
#: Bytes of a payload that are encoded at once; divisible by 3, so that base64 needs no padding.
_STEP = 3 << 20
#: Entries that are looked for at once.
_LOOK = 2000
_OURS = frozenset({
    "key-taken", "kind-not-in-redis", "value-too-large", "server-out-of-memory", "entry-changed",
    "server-forbids", "value-wrong-type",
})  # fmt: skip


@dataclass
class Published:
    """How many entries were put there, how many were there already, and the bytes put."""

    entries: int = 0
    existed: int = 0
    bytes: int = 0


@dataclass
class _Waiting:
    item: Item
    redis_key: str
    kind: str
    value: bytes
    size: int


class Publisher:
    """Puts items into a Redis, several at a time; ``flush`` sends what still waits.

    left: told of items that cannot go: "key-taken" (another payload is there),
    "kind-not-in-redis", "value-too-large", "server-out-of-memory", "file-unreadable".

    Raises Problem("server-read-only") when made. A connection that breaks is made anew, for some
    time; what had arrived is then known again. Raises stores.store.Lost where that is in vain.
    """

    def __init__(self, store: Database, report: Report, left: Left, dry: bool = False) -> None:
        """dry: only find out what would go, and write nothing."""
        store.check_writable()
        self.done = Published()
        self._store, self._report, self._left, self._dry = store, report, left, dry
        self._waiting: list[_Waiting] = []
        self._bytes = 0
        self._connections = store.reconnected
        self._limit = _longest(store)
        store.patient = True
        # What is there by now, and how many bytes of each we put there.
        self._there: list[Item] = []
        self._written = array("q")

    def put(self, item: Item, source: Source, compile_s: float | None) -> None:
        """An item of another place. compile_s: of its entry, in seconds, for the value."""
        try:
            if item.kind == "triton":
                self._put_kernel(item, source)
                return
            redis_key = remote.redis_key(item.kind, item.key)
            if redis_key is None or len(item.files) != 1:
                raise Problem("kind-not-in-redis", kind=item.kind)
            file = item.files[0]
            if item.kind == "autotune" and file.size > LARGE:
                raise Problem("value-too-large")  # it is some kilobytes, and goes as it is
            before, after = remote.envelope(item.kind, compile_s)
            if len(before) + (file.size + 2) // 3 * 4 + len(after) > self._limit:
                raise Problem("value-too-large")
            if file.size > LARGE:
                self.flush()  # what waits is earlier
                self._store.again(lambda: self._put_large(item, source, redis_key, before, after))
                return
            with source.open(file) as stream:
                payload = stream.read(LARGE + 1)
            if len(payload) != file.size:
                raise Problem("entry-changed")
            value = remote.encode(item.kind, payload, compile_s)
            self._add([_Waiting(item, redis_key, item.kind, value, len(payload))])
        except Problem as problem:
            if problem.code not in _OURS:
                raise
            self._left(item, problem)
        except OSError as e:
            self._left(item, Problem("file-unreadable", why=e.strerror or str(e)))

    def _put_kernel(self, item: Item, source: Source) -> None:
        parts = []
        for file in item.files:
            redis_key = self._store.triton.key(item.key, file.name)
            if redis_key is None or not self._store.triton.locate(redis_key):
                raise Problem("kind-not-in-redis", kind=item.kind)
            if file.size > self._limit:
                raise Problem("value-too-large")
            with source.open(file) as stream:
                data = stream.read(file.size + 1)
            if file.name.startswith(triton.GROUP_PREFIX):
                data = remote.group_for_redis(data)
            parts.append(_Waiting(item, redis_key, "triton", data, len(data)))
        # The group last: it says that the others are there.
        parts.sort(key=lambda part: triton.GROUP_PREFIX in part.redis_key)
        self._add(parts)

    def _add(self, parts: list[_Waiting]) -> None:
        self._waiting += parts
        self._bytes += sum(len(part.value) for part in parts)
        if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if waiting:
            sent: set[int] = set()
            self._store.again(lambda: self._send(waiting, sent))

    def gone(self) -> list[Item]:
        """What was there and is not any more, because the server was started anew and had not saved
        it: to be put once more, before ``flush``. It does not count as done until then.
        """
        if self._store.reconnected == self._connections:
            return []
        self._connections = self._store.reconnected
        there, written = self._there, self._written
        self._there, self._written = [], array("q")
        missing = []
        for start in range(0, len(there), _LOOK):
            self._report.check()
            some = there[start : start + _LOOK]
            keys = [(n, key) for n, item in enumerate(some, start) for key in self._keys(item)]
            lost = self._missing(keys)
            missing += [there[n] for n in lost]
            for n, item in enumerate(some, start):
                if n in lost:
                    self._count(written[n], -1)
                else:
                    self._there.append(item)
                    self._written.append(written[n])
        return missing

    def _missing(self, keys: list[tuple[int, str]]) -> dict[int, None]:
        """The numbers of those keys that are not there, each once, in order."""
        commands = [pack("STRLEN", encoded(key)) for _, key in keys]
        replies = self._store.again(lambda: self._store.connection.many(commands))
        return {n: None for (n, _), length in zip(keys, replies, strict=True) if length == 0}

    def _keys(self, item: Item) -> list[str]:
        if item.kind == "triton":
            keys = [self._store.triton.key(item.key, file.name) for file in item.files]
        else:
            keys = [remote.redis_key(item.kind, item.key)]
        return [key for key in keys if key]

    def _send(self, waiting: list[_Waiting], sent: set[int]) -> None:
        """sent: numbers of those that are sent, to be known where the connection breaks."""
        earlier = frozenset(sent)
        connection = self._store.connection
        keys = [encoded(part.redis_key) for part in waiting]
        # Asked first, so that what is there need not be sent; NX is for who comes between.
        lengths = connection.many([pack("STRLEN", key) for key in keys])
        new = [n for n, length in enumerate(lengths) if length == 0]
        replies: list[object] = [b"OK"] * len(new)
        if not self._dry:
            sent.update(new)
            replies = connection.many([pack("SET", keys[n], waiting[n].value, "NX") for n in new])
        answers = dict(zip(new, replies, strict=True))
        results: dict[tuple[str, str], tuple[Item, Problem | None, int]] = {}
        for number, part in enumerate(waiting):
            answer = answers.get(number, lengths[number])
            problem = None
            written = 0
            if isinstance(answer, Refusal) and not str(answer).startswith("WRONGTYPE"):
                problem = problem_of(str(answer), self._store.place)
            elif answer == b"OK":
                written = part.size
            elif not self._same(part):
                problem = Problem("key-taken", path=part.redis_key[:200])
            elif number in earlier:
                written = part.size  # it had arrived, and only the answer was lost
            item, before, bytes_ = results.get(part.item.identity, (part.item, None, 0))
            results[part.item.identity] = (item, before or problem, bytes_ + written)
        for item, problem, written in results.values():
            self._tell(item, problem, written)

    def _tell(self, item: Item, problem: Problem | None, written: int) -> None:
        if problem:
            if problem.code not in _OURS:
                raise problem
            self._left(item, problem)
            return
        self._there.append(item)
        self._written.append(written)
        self._count(written, 1)

    def _count(self, written: int, sign: int) -> None:
        self.done.bytes += sign * written
        if written:
            self.done.entries += sign
        else:
            self.done.existed += sign

    def _same(self, part: _Waiting) -> bool:
        """Whether what is there holds the payload that we have; the time may be another."""
        try:
            there = self._store.value(part.redis_key, len(part.value))
        except OSError:
            return False
        if there == part.value:
            return True
        if part.kind == "triton":
            return False
        ours = remote.decode(part.kind, part.value).payload
        return remote.decode(part.kind, there).payload == ours

    def _put_large(self, item: Item, source: Source, key: str, before: bytes, after: bytes) -> None:
        file, name = item.files[0], encoded(key)
        connection = self._store.connection
        taken = Problem("key-taken", path=key[:200])
        if connection.ask("STRLEN", name):
            self._tell(item, None if self._holds(name, source, item) else taken, 0)
            return
        if self._dry:
            self._tell(item, None, file.size)
            return
        total = len(before) + (file.size + 2) // 3 * 4 + len(after)
        head = b"*4\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b" % (len(name), name, total, before)
        try:
            with source.open(file) as stream:
                connection.send(head)
                sent = 0
                while sent < file.size:
                    self._report.check()
                    data = _exactly(stream, min(_STEP, file.size - sent))
                    if not data:
                        raise Problem("entry-changed")
                    sent += len(data)
                    connection.send(base64.b64encode(data))
            connection.send(after + b"\r\n$2\r\nNX\r\n")
        except BaseException:
            # Half of a command was sent; nothing but its end can end it.
            connection.close()
            raise
        answer = connection.read_many(1)[0]
        if isinstance(answer, Refusal):
            self._tell(item, problem_of(str(answer), self._store.place), 0)
        elif answer is None:
            self._tell(item, None if self._holds(name, source, item) else taken, 0)
        else:
            self._tell(item, None, file.size)

    def _holds(self, key: bytes, source: Source, item: Item) -> bool:
        """Whether the payload that is there is that of an item."""
        decoder, digest, done = remote.Decoder(), hashlib.sha256(), 0
        while True:
            self._report.check()
            reply = self._store.connection.ask("GETRANGE", key, done, done + PIECE - 1)
            if not isinstance(reply, bytes):
                return False
            digest.update(decoder.feed(reply))
            done += len(reply)
            if len(reply) < PIECE:
                break
        with source.open(item.files[0]) as stream:
            ours = digest_of(stream, self._report)
        return not decoder.end().problem and digest.hexdigest() == ours


def _longest(store: Database) -> int:
    """The most bytes a value may have there; a longer one would end the connection."""
    match store.connection.ask("CONFIG", "GET", "proto-max-bulk-len"):
        case [_, bytes(said)] if said.isdigit() and len(said) < 20:
            return min(int(said), remote.MAX_VALUE)
    return remote.MAX_VALUE


def _exactly(stream: BinaryIO, count: int) -> bytes:
    """So many bytes, or none where there are not so many."""
    parts = []
    while count and (data := stream.read(count)):
        parts.append(data)
        count -= len(data)
    return b"" if count else b"".join(parts)
