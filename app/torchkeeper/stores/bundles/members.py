"""The members of a zip, read from its directory one at a time, as zipfile's objects of a million of
them take 600 MB; and one that is looked for by its name.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.items import CHUNK, Raw

#: Refused as a bomb: more bytes than this, in one member or all, packed more than so many times.
BOMB_SIZE = 8 << 20
BOMB_RATIO = 100

#: What stands before the name of a member in the directory, and at the end of it; the same of a zip
#: that is too large or has too many members for small numbers, and where that is.
ENTRY, END = struct.Struct("<4s4B4H3L5H2L"), struct.Struct("<4s4H2LH")
WIDE = struct.Struct("<4sQ2H2L4Q4sLQL")
_LARGE, _FULL = struct.Struct("<2H"), 0xFFFFFFFF
#: Bytes of a name, and of what may follow it in the directory, at most.
_MOST = ENTRY.size + 3 * 0xFFFF
#: Flags of members that are encrypted or patched, and of names in UTF-8.
_UNREADABLE, _UTF8 = 0x61, 0x800
#: Bits for each member by which names that stand there twice are looked for, at least.
_BITS = 32
#: Bytes of a directory whose names are held while they are looked at, which saves a second look.
_HELD = 16 << 20

Found = TypeVar("Found")


class Member(NamedTuple):
    """A member: where its header is, how long it is and how many bytes it takes, and what more the
    directory says.
    """

    name: str
    offset: int
    size: int
    packed: int
    crc: int
    method: int
    flags: int

    @property
    def as_it_is(self) -> bool:
        """Whether its bytes lie in the file as they are."""
        return self.method == zipfile.ZIP_STORED and not self.flags & _UNREADABLE


_new = tuple.__new__


class Directory:
    """The directory of a zip. Raises zipfile.BadZipFile when made, and where it is read, OSError,
    and UnicodeDecodeError.

    start, end: where it is in the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._handle = file.fileno()
        size = os.fstat(self._handle).st_size
        begin = max(0, size - END.size - WIDE.size - 0xFFFF)
        tail = os.pread(self._handle, size - begin, begin)
        at = tail.rfind(b"PK\5\6")
        if not 0 <= at <= len(tail) - END.size:
            raise zipfile.BadZipFile("no end")
        *_, self.count, length, start, _ = END.unpack_from(tail, at)
        self.end = begin + at
        if tail[max(0, at - 20) : at].startswith(b"PK\6\7"):
            self.end -= WIDE.size
            at -= WIDE.size
            if at < 0 or not tail.startswith(b"PK\6\6", at):
                raise zipfile.BadZipFile("no end")
            *_, self.count, length, start, _, _, _, _ = WIDE.unpack_from(tail, at)
        self.start = self.end - length
        # What stands before the zip moves all that is in it.
        self._moved = self.start - start
        if self.start < 0:
            raise zipfile.BadZipFile("no start")
        self._seen = bytearray((1 << 10) + length // ENTRY.size * _BITS // 8)

    def __iter__(self) -> Iterator[Member]:
        data, at, here, moved = b"", 0, self.start, self._moved
        while here < self.end or at < len(data):
            if len(data) - at < _MOST and here < self.end:
                more = os.pread(self._handle, min(CHUNK, self.end - here), here)
                if not more:
                    raise zipfile.BadZipFile("cut off")
                data, at, here = data[at:] + more, 0, here + len(more)
                continue
            try:
                one = ENTRY.unpack_from(data, at)
            except struct.error as e:
                raise zipfile.BadZipFile("cut off") from e
            behind = at + ENTRY.size + one[12]
            at_, at = at + ENTRY.size, behind + one[13] + one[14]
            if one[0] != b"PK\1\2" or at > len(data):
                raise zipfile.BadZipFile("no member")
            named = data[at_:behind]
            # Nearly all are ASCII, in which any code is alike, and which takes a tenth of the time.
            code = "ascii" if named.isascii() else "utf-8" if one[5] & _UTF8 else "cp437"
            packed, size, offset = one[10], one[11], one[18]
            if one[13] and _FULL in (size, packed, offset):
                size, packed, offset = _large(data[behind : behind + one[13]], size, packed, offset)
            name = named.decode(code)
            yield _new(Member, (name, offset + moved, size, packed, one[9], one[6], one[5]))

    def checked(self) -> Iterator[Member]:
        """All members. Raises Problem("bundle-damaged") for what no bundle has, and if something is
        wrong with the zip.
        """
        seen, bits = self._seen, len(self._seen) * 8
        twice: set[str] = set()
        names: set[str] | None = set() if self.end - self.start <= _HELD else None
        sizes = packed = end = 0
        ordered = True
        for one in self:
            name = one.name
            at = hash(name) % bits
            if seen[at >> 3] >> (at & 7) & 1 and (names is None or name in names):
                twice.add(name)  # perhaps
            if names is not None:
                names.add(name)
            seen[at >> 3] |= 1 << (at & 7)
            up = ".." in name and ".." in name.split("/")
            if up or name.startswith("/") or "\\" in name or "\0" in name:
                raise Problem("bundle-damaged", why=f"It holds the path {name[:200]}")
            if one.size != one.packed and _is_bomb(one.size, one.packed):
                why = f"{name[:200]} unpacks to far too much data"
                raise Problem("bundle-damaged", why=why)
            if one.method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                why = f"{name[:200]} is compressed in an unusual way"
                raise Problem("bundle-damaged", why=why)
            sizes, packed = sizes + one.size, packed + one.packed
            ordered = ordered and one.offset >= end
            end = one.offset + one.packed
            if one.offset < 0 or end > self.start:
                raise Problem("bundle-damaged", why=f"{name[:200]} lies outside of the zip file")
            yield one
        if _is_bomb(sizes, packed):
            raise Problem("bundle-damaged", why="It unpacks to far too much data")
        if twice:
            found = set[str]()
            for one in self:
                if one.name in found:
                    raise Problem("bundle-damaged", why=f"It holds {one.name[:200]} twice")
                if one.name in twice:
                    found.add(one.name)
        if not ordered:
            end = 0
            for start, behind in sorted((one.offset, one.offset + one.packed) for one in self):
                if start < end:
                    why = "Parts of it overlap, as in a zip bomb"
                    raise Problem("bundle-damaged", why=why)
                end = behind

    def may_hold(self, name: str) -> bool:
        """Whether there may be a member of this name, once they were ``checked``."""
        at = hash(name) % (len(self._seen) * 8)
        return bool(self._seen[at >> 3] >> (at & 7) & 1)


def _large(extra: bytes, *numbers: int) -> list[int]:
    """Numbers that stand after a name where they are too large to stand before it."""
    found, at = list(numbers), 0
    while at + _LARGE.size <= len(extra):
        of, length = _LARGE.unpack_from(extra, at)
        at += _LARGE.size
        if of == 1:
            for number, value in enumerate(found):
                if value == _FULL:
                    if at + 8 > len(extra):
                        raise zipfile.BadZipFile("no size")
                    found[number] = int.from_bytes(extra[at : at + 8], "little")
                    at += 8
            return found
        at += length
    return found


def _is_bomb(size: int, packed: int) -> bool:
    return size > BOMB_SIZE and size > BOMB_RATIO * packed


class Finder(Generic[Found]):
    """Things by their names, each once; what comes in the order in which it is asked for takes no
    memory. spare: what was taken and may be again.
    """

    def __init__(self, coming: Iterable[tuple[str, Found]]) -> None:
        self.spare: dict[str, Found] = {}
        self._coming, self._waiting = iter(coming), dict[str, Found]()

    def take(self, name: str) -> Found | None:
        """What has a name, if there is something that was not taken."""
        if name in self.spare:
            return self.spare[name]
        if name not in self._waiting:
            for other, one in self._coming:
                if other == name:
                    return one
                self._waiting[other] = one
        return self._waiting.pop(name, None)

    def rest(self) -> Iterator[tuple[str, Found]]:
        """What was not taken."""
        yield from self._waiting.items()
        yield from self._coming


class Inflated(Raw):
    """A packed member; its damage is an OSError, as that of a file is."""

    def __init__(self, stream: Raw) -> None:
        self._stream, self._packed = stream, zlib.decompressobj(-zlib.MAX_WBITS)

    def readinto(self, buffer: Any) -> int:
        data = b""
        try:
            while not (data or self._packed.eof):
                packed = self._packed.unconsumed_tail or self._stream.read(1 << 16)
                if not packed:
                    raise OSError("the bundle is damaged: it is cut off")
                data = self._packed.decompress(packed, len(buffer))
        except zlib.error as e:
            raise OSError(f"the bundle is damaged: {e}") from e
        buffer[: len(data)] = data
        return len(data)
