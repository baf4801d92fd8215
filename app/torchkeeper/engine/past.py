"""What has gone over a connection, so that it need not go again: both ends remember the same.

What an engine says is cut where rows begin and messages end, by what stands there alone, so that
the same rows are the same chunks whatever comes before them.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

#: Bytes that are remembered, of a chunk at most, and what is counted for one besides: what it takes
#: to remember it.
ROOM, _LONGEST, _EACH = 16 << 20, 1 << 14, 256
#: Where a chunk may end: where a line does, before the first row, and after one of so many others.
_ENDS = re.compile(rb'\n|"rows":\[|\},\{')
_ROWS = 8
#: What is said over and over, for the first of it to be short.
_WORDS = (
    b'{"type":"finding","id":1,"result":{"kind":"fxgraph","aotautograd","mtime":null,"sha256":"'
    b'torch":"2.,"device":"cuda:90","compile_s":null,"problem":null,"orphan":null,"owner":null,'
    b'"path":"key":"name":"size":"files":{"type":"rows","id":1,"rows":[{"kind":"triton","key":"'
    b'{"type":"progress","id":1,"done":100,"total":null,"unit":"entries"}\n'
)
#: A run of chunks: the number of the first, and how many.
RUN = struct.Struct(">II")


def cut(data: bytes) -> Iterator[bytes]:
    """The chunks of what begins with one; what is left at the end may be the beginning of one."""
    start = 0
    while start < len(data):
        before, end = start, start + _LONGEST
        for found in _ENDS.finditer(data, start, end):
            piece, before = data[before : found.end()], found.end()
            if found[0] != b"},{" or zlib.crc32(piece) % _ROWS == 0:
                end = before
                break
        if end > len(data):
            return
        yield data[start:end]
        start = end


def packed(data: bytes, level: int) -> bytes:
    made = zlib.compressobj(level, zlib.DEFLATED, -15, zdict=_WORDS)
    return made.compress(data) + made.flush()


def unpacked(data: bytes, most: int) -> bytes:
    """What was ``packed``. Raises ValueError, also where that is more than so many bytes."""
    made = zlib.decompressobj(-15, _WORDS)
    try:
        found = made.decompress(data, most)
    except zlib.error as e:
        raise ValueError("it is damaged") from e
    if not (found and made.eof) or made.unused_data:
        raise ValueError("it is too long, or cut off")
    return found


class Packer:
    """Packs what goes on where the last piece ended: what that had in common is not said again."""

    def __init__(self, level: int) -> None:
        self._made = zlib.compressobj(level, zlib.DEFLATED, -15, 9, zdict=_WORDS)

    def packed(self, data: bytes) -> bytes:
        return self._made.compress(data) + self._made.flush(zlib.Z_SYNC_FLUSH)


class Unpacker:
    """The other end of a ``Packer``."""

    def __init__(self) -> None:
        self._made = zlib.decompressobj(-15, _WORDS)

    def unpacked(self, data: bytes, most: int) -> bytes:
        """A piece. Raises ValueError, also where it is more than so many bytes."""
        try:
            found = self._made.decompress(data, most)
        except zlib.error as e:
            raise ValueError("it is damaged") from e
        if not found or self._made.unconsumed_tail or self._made.eof:
            raise ValueError("it is too long, or cut off")
        return found


class Past:
    """The chunks, in the order in which they went last."""

    def __init__(self) -> None:
        self._chunks: dict[int, bytes] = {}
        self._numbers: dict[bytes, int] = {}
        self._next = self._size = 0

    def add(self, chunk: bytes) -> None:
        """It has gone, for the first time or again."""
        if (before := self._numbers.get(chunk)) is not None:
            del self._chunks[before]
        else:
            self._size += len(chunk) + _EACH
        self._chunks[self._next] = chunk
        self._numbers[chunk] = self._next
        self._next += 1
        while self._size > ROOM:
            gone = self._chunks.pop(next(iter(self._chunks)))
            del self._numbers[gone]
            self._size -= len(gone) + _EACH

    def number(self, chunk: bytes) -> int | None:
        return self._numbers.get(chunk)

    def again(self, runs: bytes, most: int) -> bytes:
        """What some runs stand for. Raises ValueError for what has not gone, or is too much."""
        if not runs or len(runs) % RUN.size:
            raise ValueError("it is cut off")
        found = bytearray()
        for first, count in RUN.iter_unpack(runs):
            if not count:
                raise ValueError("it is nothing")
            for number in range(first, first + count):
                if (chunk := self._chunks.get(number)) is None or len(found) > most:
                    raise ValueError("it has not come before")
                found += chunk
                self.add(chunk)
        return bytes(found)
