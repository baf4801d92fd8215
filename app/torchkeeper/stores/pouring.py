"""Bytes from one place to another, read once: what is read is hashed and written at once, and how
far that is.

A second thread hashes what is large, while this one reads and writes: sha256 is the slowest of
the three, and lets go of Python's lock meanwhile.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import time
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import CHUNK, File, Item, Source, stamp

#: Seconds between two messages: what comes sooner nobody can read.
_EVERY = 0.05
#: Pieces of CHUNK bytes that are read before the first of them is hashed.
_AHEAD = 4

#: Writes a piece, which is only valid until it returns.
Take = Callable[["bytes | memoryview"], object]


class Progress:
    """Tells a Report of bytes towards a total (``progress``), and of what is copied (``now``)."""

    def __init__(self, report: Report, total: int) -> None:
        self._report, self._total, self._done = report, total, 0
        self._told = self._named = 0.0

    def check(self) -> None:
        """Raises Cancelled if the user asked for an early end."""
        self._report.check()

    def begin(self, item: Item) -> None:
        self._report.check()
        now = time.monotonic()
        if now - self._named > 2 * _EVERY:
            self._named = now
            self._report.finding(now={"kind": item.kind, "key": item.key})
        self._tell(now)

    def add(self, count: int) -> None:
        self._report.check()
        self._done += count
        self._tell(time.monotonic())

    def reach(self, done: int) -> None:
        """So many bytes in all, however they were counted before."""
        self._done = done

    def end(self) -> None:
        self._report.progress(self._total, self._total, "bytes")

    def _tell(self, now: float) -> None:
        if now - self._told > _EVERY:
            self._told = now
            self._report.progress(min(self._done, self._total), self._total, "bytes")


class Pouring:
    """Pours one stream after the other, with buffers of its own. Counts what it has read."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._buffers: list[memoryview] = []

    def pour(
        self,
        source: BinaryIO,
        size: int,
        take: Take,
        counted: bool = True,
        beside: Take | None = None,
    ) -> tuple[str, int]:
        """Give all of a stream to ``take``; returns the sha256 of its bytes, and their count. size:
        what is expected; a stream that has more is left as soon as that shows. counted: whether it
        is progress. beside: is given all, too, in the thread that hashes, where there are several
        pieces. Raises Problem as ``unreadable``, Cancelled, and whatever both do.
        """
        if size < CHUNK:
            sha256, data = self.read(source, size, counted)
            take(data)
            if beside:
                beside(data)
            return sha256, len(data)
        count = self._count(counted)
        from concurrent.futures import Future, ThreadPoolExecutor

        self._buffers = self._buffers or [memoryview(bytearray(CHUNK)) for _ in range(_AHEAD)]
        digest, done = hashlib.sha256(), 0
        hashed: deque[Future[None]] = deque()

        def read(piece: memoryview) -> None:
            digest.update(piece)
            if beside:
                beside(piece)

        with ThreadPoolExecutor(1, "hashing") as pool:
            for buffer in itertools.cycle(self._buffers):
                self._progress.check()
                if len(hashed) == _AHEAD:
                    hashed.popleft().result()  # of what was in this buffer
                try:
                    got = cast(io.RawIOBase, source).readinto(buffer) or 0
                except OSError as e:
                    raise unreadable(e) from e
                if not got:
                    break
                done += got
                piece = buffer[:got]
                hashed.append(pool.submit(read, piece))
                take(piece)
                count(got)
                if done > size:
                    break
            for one in hashed:
                one.result()
        return digest.hexdigest(), done

    def read(self, source: BinaryIO, size: int, counted: bool = True) -> tuple[str, bytes]:
        """The sha256 of a small stream, and all of its bytes, or one more than are expected. Raises
        as ``pour``.
        """
        data, count = b"", self._count(counted)
        while True:
            asked = size + 1 - len(data)
            try:
                piece = source.read(asked)
            except OSError as e:
                raise unreadable(e) from e
            data = data + piece if data else piece
            count(len(piece))
            # A piece that is too short is the last one, or a reason to ask whether it is.
            if not piece or len(piece) == asked or len(data) == size:
                return hashlib.sha256(data).hexdigest(), data

    def _count(self, counted: bool) -> Callable[[int], None]:
        return self._progress.add if counted else lambda _: self._progress.check()


def drop(_: bytes | memoryview) -> None:
    """Take a piece and do nothing: what is poured is only hashed."""


def whole(handle: int) -> Take:
    """Writes all of a piece: a disk that is nearly full may take a part of it."""

    def take(data: bytes | memoryview) -> None:
        while data:
            data = data[os.write(handle, data) :]

    return take


def unreadable(e: OSError) -> Problem:
    """Why an entry's bytes are not to be had: "entry-broken" or "entry-vanished"."""
    if isinstance(e, PermissionError):
        return Problem("entry-broken", problem="file-unreadable")
    return Problem("entry-vanished", why=e.strerror or str(e))


def opened(source: Source, file: File) -> BinaryIO:
    """A file of a source. Raises Problem as ``unreadable``."""
    try:
        return source.open(file)
    except OSError as e:
        raise unreadable(e) from e


def unchanged(file: File, stream: BinaryIO) -> bool:
    """Whether an open file is the one that was listed, and nobody has written to it since."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, io.UnsupportedOperation):
        return True  # of no folder
    return (file.size, file.mtime_ns, file.inode) == stamp(status)
