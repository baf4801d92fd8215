"""What a Redis server holds, by its keys. Listing writes nothing into it and fetches no value.

Only PyTorch's and Triton's keys are items; all others are counted and never touched.
"""

from __future__ import annotations

import io
import itertools
import os
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, BinaryIO, TypeVar

from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import CHUNK, File, Item, Raw, in_order
from torchkeeper.stores.redis import address as addresses
from torchkeeper.stores.redis import connecting
from torchkeeper.stores.redis import kernels as kernels_
from torchkeeper.stores.redis.address import Address
from torchkeeper.stores.redis.connecting import Connection, Refusal, encoded, pack, problem_of

#: The fewest places of a table of keys seen; a power of two.
_LEAST = 1 << 12


class Seen:
    """Keys that a scan has given, by a 64-bit hash with a seed of this process's: 16 to 32 bytes,
    where a set takes 160. That two of a million have the same, so that one is passed over, happens
    once in some forty million scans.
    """

    def __init__(self) -> None:
        self._count = 0
        self._make(_LEAST)

    def __len__(self) -> int:
        return self._count

    def expect(self, count: int) -> None:
        """About so many keys will come, as the server says: it is given 16 MB for that."""
        places = 1 << (2 * min(count, 1 << 19)).bit_length()
        if not self._count and places > _LEAST:
            self._make(places)

    def _make(self, places: int) -> None:
        self._table = array("q", bytes(8 * places))
        self._mask = places - 1

    def new(self, keys: list[bytes]) -> list[bytes]:
        """Those of some keys that were not seen before, in their order."""
        if (self._count + len(keys)) * 2 > len(self._table):
            self._grow(len(keys))
        table, mask, found = self._table, self._mask, list[bytes]()
        for key in keys:
            value = hash(key) or 1  # 0 is an empty place
            at = value & mask
            while there := table[at]:
                if there == value:
                    break
                at = (at + 1) & mask
            else:
                table[at] = value
                found.append(key)
        self._count += len(found)
        return found

    def _grow(self, more: int) -> None:
        old = self._table
        self._make(1 << (4 * (self._count + more)).bit_length())
        table, mask = self._table, self._mask
        for value in old:
            if value:
                at = value & mask
                while table[at]:
                    at = (at + 1) & mask
                table[at] = value


T = TypeVar("T")

#: Keys that the server is asked for at once. It answers nobody else meanwhile, so not too many.
PAGE = 1000
#: Bytes of a section of INFO, and characters of what it says of one thing.
_INFO, _VALUE = 1 << 20, 200
#: Bytes of a value that are fetched at once.
PIECE = 8 << 20
#: When an item expires and was last used, as Entry has it.
Times = tuple[float | None, float | None]


#: The length of a value that is none, but a list or the like; of one that the user may not see.
WRONG_TYPE, FORBIDDEN = -1, -2


def _file(path: str, length: int) -> File:
    """What is known of a value. As of a folder's, the mode tells that it may not be read."""
    mode = 0 if length == FORBIDDEN else 0o644
    return File(path, max(length, 0), mode=mode, regular=length >= 0)


class RedisItem(Item):
    """A payload in a Redis, of which there may be a million: only its redis key and its length.
    ``key`` and ``files`` are made when somebody asks; they have no slot of their own that is set,
    so that asking ends in ``__getattr__``.
    """

    __slots__ = ("length",)

    def __init__(self, kind: str, path: str, length: int) -> None:
        # length: bytes of the value; WRONG_TYPE or FORBIDDEN where it cannot be known.
        self.kind, self.path, self.length = kind, path, length

    def __getattr__(self, name: str) -> object:
        if name == "files":
            return [_file(self.path, self.length)]
        if name == "key":
            found = remote.locate(self.path)
            return found.key if found else self.path
        if name in ("about", "sha256", "torch", "look"):
            return None
        raise AttributeError(name)

    #: It is one file.
    count = 1

    @property
    def size(self) -> int:
        """Bytes of the value, which holds the payload in base64."""
        return max(self.length, 0)


class Database:
    """A database of a Redis server, connected to. place: a URL, or an Address. password: where the
    URL has none; without one, that which the environment gives for this very server. Raises when
    made: Problem "address-wrong", "server-cluster", and those of Connection.
    """

    def __init__(self, place: str | Address, report: Report, password: str | None = None) -> None:
        if isinstance(place, str):
            self.address, said = addresses.parse(place)
            password = password if said is None else said
        else:
            self.address = place
        if password is None:
            named = addresses.from_environment(os.environ)
            password = next((one.password for one in named if one.address == self.address), None)
        #: The place's name; never has a password in it.
        self.place = str(self.address)
        self._password = password
        #: Whether the server has let us in without a password.
        self.anonymous = not password
        self._report = report
        #: How Triton's keys look in this environment.
        form = os.environ.get("TRITON_REDIS_KEY_FORMAT")
        self.triton = remote.TritonKeys(form or remote.TRITON_FORMAT)
        #: Keys of others in the same database, as the last survey counted them.
        self.others = 0
        #: How many of those may be of Triton, in another format.
        self.kernels_maybe = 0
        #: How many items the last survey found, once that is known.
        self.total: int | None = None
        #: Whether to bear it when the connection breaks: a copy does, who looks is told at once.
        #: What cannot be borne is then a stores.store.Lost.
        self.patient = False
        #: How many times the connection was made anew.
        self.reconnected = 0
        self.connection = Connection(self.address, password, report.check)
        #: What INFO says about the server's role: "master", "slave", or "" where it is forbidden.
        self.role = ""
        #: What tells it from every other server, and from itself before it was started anew.
        self.run = ""
        try:
            self._look()
        except BaseException:
            self.close()
            raise

    def _look(self) -> None:
        about = info(self.connection, "server", "replication", "cluster")
        self.role, self.run = about.get("role", ""), about.get("run_id", "")
        if about.get("cluster_enabled") == "1" or about.get("redis_mode") == "cluster":
            # Each of its servers has a part of the keys.
            raise Problem("server-cluster", server=self.place, why="")

    @property
    def read_only(self) -> bool:
        """Whether the server takes no writes because it repeats another."""
        return self.role in ("slave", "replica")

    def check_writable(self) -> None:
        """Raises Problem("server-read-only") before a write is tried."""
        if self.read_only:
            raise Problem("server-read-only", server=self.place, why="")

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    def reconnect(self) -> None:
        """A new connection to the same server, after the old one broke. Raises as Connection."""
        self.connection.close()
        self.connection = Connection(self.address, self._password, self._report.check)
        self._look()
        self.reconnected += 1

    def again(self, work: Callable[[], T]) -> T:
        """Do something that may be done twice: on a new connection where the old one breaks, if
        ``patient``. Raises as Connection and ``connecting.patiently``.
        """
        return connecting.patiently(self._report, work, self.reconnect) if self.patient else work()

    def items(self, report: Report) -> list[Item]:
        return in_order(self.stream(report))

    def stream(self, report: Report, _index: object = None) -> Iterator[Item]:
        """Everything in it, unread: payloads while the server is scanned, then Triton's kernels.
        Says ``progress`` in keys, of about as many as the server has. ``total`` and ``others`` are
        known at the end. Raises Problem where the scan cannot go on.
        """
        self.total, self.others, self.kernels_maybe = None, 0, 0
        kernels: dict[str, list[File]] = {}
        count = 0
        for items, files in self._pages(report):
            count += len(items)
            yield from items
            for key, file in files:
                kernels.setdefault(key, []).append(file)
        self.total = count + len(kernels)
        for key, some in kernels.items():
            yield kernels_.made(self.triton, key, some)

    def _pages(self, report: Report) -> Iterator[tuple[list[Item], list[tuple[str, File]]]]:
        """As ``_scan``, from its beginning where the connection breaks and the store is patient."""
        # A scan gives some keys twice while the server makes its table smaller, and one that is
        # begun anew gives them all in another order.
        seen = Seen()
        untold: list[tuple[str, str]] = []
        patience: connecting.Patience | None = None
        while True:
            try:
                # One of its own, because values are fetched while answers are still to come.
                with closing(Connection(self.address, self._password, report.check)) as connection:
                    yield from self._scan(connection, report, seen, untold)
                return
            except Problem as problem:
                if not self.patient or problem.code not in connecting.PASSING:
                    raise
                patience = patience or connecting.Patience(report)
                patience.spend(problem)

    #: A scan that cannot go on raises.
    whole = True

    def items_beside(self, path: str, report: Report) -> list[Item]:
        return self.items_at([path], report)

    def items_at(self, paths: Sequence[str], report: Report) -> list[Item]:
        """Those of the items at some paths that are there. Raises as ``stream``."""
        paths = [path for path in paths if connecting.can_be_key(path)]
        mine = [(path, found) for path in paths if (found := remote.locate(path))]
        commands = [pack("STRLEN", encoded(path)) for path, _ in mine]
        lengths = self.again(lambda: self.connection.many(commands))
        items: list[Item] = [
            RedisItem(found.kind, path, length if isinstance(length, int) else self._odd(length))
            for (path, found), length in zip(mine, lengths, strict=True)
            if length != 0
        ]
        known = {path for path, _ in mine}
        return items + kernels_.items_at(self, [p for p in paths if p not in known], report)

    def _scan(
        self, connection: Connection, report: Report, seen: Seen, untold: list[tuple[str, str]]
    ) -> Iterator[tuple[list[Item], list[tuple[str, File]]]]:
        """Every key of ours once that is not ``seen``, some at a time: payloads, and files with
        their kernel's key. untold: keys with their kinds that an earlier scan has seen and had not
        told of when its connection broke; what this one has not told of then is put there.
        """
        about = connection.ask("DBSIZE")
        total = about if isinstance(about, int) else None
        endless = connecting.Endless(self.place, len(seen))
        seen.expect(total or 0)
        looked = 0
        cursor, waiting, known = b"", untold.copy(), list[tuple[str, str]]()
        try:
            lengths_of = [pack("STRLEN", encoded(path)) for path, _ in waiting]
            connection.send(b"".join([pack("SCAN", 0, "COUNT", PAGE), *lengths_of]))
            while cursor != b"0":
                report.check()
                cursor, keys = self.page_of(connection.read_many(1)[0])
                looked += len(keys)
                new = seen.new(keys)
                endless.page(cursor, len(new), looked, total, connection.waited)
                known, asked = self._ours(new)
                if cursor != b"0":
                    # Ahead of the lengths, so that we look at the next page while they are got.
                    asked.insert(0, pack("SCAN", cursor, "COUNT", PAGE))
                lengths = connection.read_many(len(waiting))
                if asked:
                    connection.send(b"".join(asked))
                yield self._made(waiting, lengths)
                waiting, known = known, []
                report.progress(looked, None if total is None else max(looked, total), "keys")
            yield self._made(waiting, connection.read_many(len(waiting)))
        except Problem:
            untold[:] = waiting + known
            raise

    def _made(
        self, known: list[tuple[str, str]], lengths: list[object]
    ) -> tuple[list[Item], list[tuple[str, File]]]:
        items: list[Item] = []
        files: list[tuple[str, File]] = []
        for (path, kind), length in zip(known, lengths, strict=True):
            if not isinstance(length, int):
                length = self._odd(length)
            if kind != "triton":
                items.append(RedisItem(kind, path, length))
            elif found := self.triton.locate(path):
                files.append((found.key, _file(path, length)))
        return items, files

    def _ours(self, keys: list[bytes]) -> tuple[list[tuple[str, str]], list[bytes]]:
        """Of a page's keys those of ours with their kinds, and the commands for their lengths."""
        known: list[tuple[str, str]] = []
        asked: list[bytes] = []
        for key in keys:
            path = key.decode("utf-8", "surrogateescape")
            found = remote.locate(path)
            kind = found.kind if found else None
            if kind is None or len(key) > remote.MAX_KEY:
                if len(key) > remote.MAX_KEY or not self.triton.locate(path):
                    self.others += 1
                    self.kernels_maybe += remote.may_be_kernels(path[: remote.MAX_KEY])
                    continue
                kind = "triton"
            known.append((path, kind))
            asked.append(b"*2\r\n$6\r\nSTRLEN\r\n$%d\r\n%b\r\n" % (len(key), key))
        return known, asked

    def page_of(self, reply: object) -> tuple[bytes, list[bytes]]:
        """The next cursor and the keys in an answer to SCAN. Raises Problem."""
        if isinstance(reply, Refusal):
            raise problem_of(str(reply), self.place)
        match reply:
            case [bytes(cursor), list(keys)] if all(isinstance(key, bytes) for key in keys):
                return cursor, keys
        raise Problem("server-not-redis", server=self.place)

    def _odd(self, reply: object) -> int:
        """The length of a value that has none. Raises where that is not for its own sake."""
        if isinstance(reply, Refusal) and str(reply).startswith("WRONGTYPE"):
            return WRONG_TYPE
        if isinstance(reply, Refusal) and connecting.forbids_key(str(reply)):
            return FORBIDDEN
        raise problem_of(str(reply), self.place)

    def open(self, file: File) -> BinaryIO:
        """The payload of a key of PyTorch's, or the content of a file of Triton's. Raises OSError
        where the value is not what its key promises, FileNotFoundError where the key is gone.
        """
        found = remote.locate(file.path)
        wrapped = found is not None and found.kind not in ("unknown", "autotune")
        if file.size > PIECE:
            return io.BufferedReader(_Pieces(self, file, wrapped), CHUNK)
        value = self.value(file.path, file.size)
        if found is None or not wrapped:
            return io.BytesIO(value)
        payload, _, problem = remote.decode(found.kind, value)
        if payload is None:
            raise OSError(problem)
        return io.BytesIO(payload)

    def piece(self, path: str, start: int) -> bytes:
        """The next PIECE bytes of a value, fewer at its end. Raises OSError where it is no text."""
        return self._bytes(self.reply_of(path, start))

    def reply_of(self, path: str, start: int) -> object:
        """The answer to asking for that piece, which may be a Refusal."""
        command = "GETRANGE", encoded(path), start, start + PIECE - 1
        return self.again(lambda: self.connection.ask(*command))

    def value(self, path: str, expected: int) -> bytes:
        """A value, in pieces where ``expected``, its length, is large. Raises FileNotFoundError
        where the key is gone, OSError where it is not a string.
        """
        key = encoded(path)
        if expected <= PIECE:
            reply = self.again(lambda: self.connection.ask("GET", key))
            if reply is None:
                raise FileNotFoundError(path)
            return self._bytes(reply)
        value = bytearray()
        while len(piece := self.piece(path, len(value))) == PIECE:
            value += piece
            if len(value) > remote.MAX_VALUE:
                raise OSError("value-too-large")
        value += piece
        if not value:
            raise FileNotFoundError(path)
        return bytes(value)

    def _bytes(self, reply: object) -> bytes:
        if isinstance(reply, Refusal):
            if str(reply).startswith("WRONGTYPE"):
                raise OSError("value-wrong-type")
            raise problem_of(str(reply), self.place)
        if not isinstance(reply, bytes):
            raise Problem("server-not-redis", server=self.place)
        return reply


class _Pieces(Raw):
    """A large value as a stream, fetched as it is read; the payload in it where it is ``wrapped``.
    Whatever is wrong with the value is an OSError, at its end at the latest.
    """

    def __init__(self, store: Database, file: File, wrapped: bool) -> None:
        self._store, self._file = store, file
        self._decoder = remote.Decoder() if wrapped else None
        self._fetched = 0
        self._ready = memoryview(b"")
        self._fetch()

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._fetched < self._file.size:
            self._fetch()
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _fetch(self) -> None:
        piece = self._store.piece(self._file.path, self._fetched)
        if not piece and not self._fetched:
            raise FileNotFoundError(self._file.path)
        if len(piece) != min(PIECE, self._file.size - self._fetched):
            raise OSError("it has changed meanwhile")
        self._fetched += len(piece)
        if self._decoder:
            piece = self._decoder.feed(piece)
            if self._fetched == self._file.size and (problem := self._decoder.end().problem):
                raise OSError(problem)
        self._ready = memoryview(piece)


def info(connection: Connection, *sections: str) -> dict[str, str]:
    """The fields of some sections of INFO; none where the server forbids to look."""
    fields: dict[str, str] = {}
    for reply in connection.many([pack("INFO", section) for section in sections], _INFO):
        if isinstance(reply, Refusal) and not str(reply).startswith("NOPERM"):
            raise problem_of(str(reply), str(connection.address))
        if isinstance(reply, bytes):
            for line in reply.decode("utf-8", "replace").splitlines():
                name, colon, value = line.partition(":")
                if colon and not name.startswith("#"):
                    fields[name] = value[:_VALUE]
    return fields


def times(store: Database, items: Sequence[Item]) -> list[Times]:
    """When each item expires, 0 for never, and was last used: seconds since the epoch. None for
    what the server does not say. Of several keys the first that goes counts, and the last that was
    used. Raises Problem as Connection does.
    """
    keys = [encoded(file.path) for item in items for file in item.files]
    commands = [pack(*c) for key in keys for c in (("PTTL", key), ("OBJECT", "IDLETIME", key))]
    replies = iter(store.again(lambda: store.connection.many(commands)))
    # Where looking counts as use, the last who used it was our own listing.
    now, found, quiet = time.time(), list[Times](), store.connection.quiet
    for item in items:
        said = list(itertools.islice(replies, 2 * len(item.files)))
        left = [ttl for ttl in said[::2] if isinstance(ttl, int) and ttl >= -1]
        idle = [since for since in said[1::2] if isinstance(since, int) and quiet]
        ending = [ttl for ttl in left if ttl >= 0]
        expires = now + min(ending) / 1000 if ending else 0.0 if left else None
        found.append((expires, now - min(idle) if idle else None))
    return found


def knows_use(store: Database) -> bool:
    """Whether the server can say when anything was last used. Raises Problem as Connection does.
    Before 7.2 it takes a look for a use, and where it throws out what is used least often, it
    counts uses instead.
    """
    policy = info(store.connection, "memory").get("maxmemory_policy", "")
    return store.connection.quiet and not policy.endswith("-lfu")


def timed(store: Database, batch: Sequence[Described]) -> list[Described]:
    """A batch whose entries have their times."""
    found = times(store, [one.origin or one.item for one in batch])
    return [
        replace(one, entry=one.entry._replace(expires=expires, used=used))
        for one, (expires, used) in zip(batch, found, strict=True)
    ]
