"""The mega-cache format, read and written without torch.

CRC-32 of the rest (4 bytes, big endian), a uint64 encoding version, then sections to the end:
type name, uint64 count, and per artifact a key and a payload. Byte strings have a uint64 length
before them; text is base64 in one. Sources: torch/utils/_appending_byte_serializer.py,
torch/compiler/_cache.py.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.manifest import combined
from torchkeeper.artifacts.report import Report

ENCODING_VERSION = 1
KIND_OF_TYPE = {
    "inductor": "fxgraph",
    "aot_autograd": "aotautograd",
    "autotune": "autotune",
    "pgo": "pgo",
    "precompile": "precompile",
}
TYPE_OF_KIND = {kind: name for name, kind in KIND_OF_TYPE.items()}

#: A key is some 60 characters; a name of a type fewer.
_MAX_TEXT = 4096
_CHUNK = 1 << 20
#: That of a large model has some thousands; each takes a kilobyte of memory, and 16 bytes there.
_MAX_ARTIFACTS = 250_000


@dataclass(frozen=True, slots=True)
class Artifact:
    """One artifact: its type, key, and where in the file its payload lies."""

    type: str
    key: str
    offset: int
    size: int


def looks_like(head: bytes) -> bool:
    """Whether a file that starts with these 12 bytes may be a mega-cache."""
    return len(head) >= 12 and head[4:12] == struct.pack(">Q", ENCODING_VERSION)


def artifacts(stream: BinaryIO, report: Report | None = None) -> list[Artifact]:
    """The artifacts; payloads are only summed up. Raises Problem("mega-cache-damaged", why=…)."""
    report = report or Report()
    return list(walk(stream, _check_sum(stream, report), report))


def walk(stream: BinaryIO, size: int, report: Report) -> Iterator[Artifact]:
    """The artifacts of one of so many bytes, one by one, with no look at its checksum: of one that
    is damaged, those before the damage. Raises as ``artifacts``; the stream is left anywhere.
    """
    stream.seek(4)
    if _number(stream, size) != ENCODING_VERSION:
        raise Problem("mega-cache-damaged", why="its encoding is not known")
    found = 0
    at = stream.tell()
    while at < size:
        stream.seek(at)
        name = _text(stream, size)
        count = _number(stream, size)
        at = stream.tell()
        for _ in range(count):
            report.check()
            stream.seek(at)
            key = _text(stream, size)
            length = _number(stream, size)
            offset = stream.tell()
            if offset + length > size:
                raise Problem("mega-cache-damaged", why="it ends within a payload")
            if found >= _MAX_ARTIFACTS:
                why = f"it has more than {_MAX_ARTIFACTS:,} artifacts"
                raise Problem("mega-cache-damaged", why=why)
            found += 1
            at = offset + length
            yield Artifact(name, key, offset, length)


def _check_sum(stream: BinaryIO, report: Report) -> int:
    stream.seek(0)
    head = stream.read(4)
    if len(head) < 4:
        raise Problem("mega-cache-damaged", why="it is empty or cut off")
    crc = 0
    size = 4
    while data := stream.read(_CHUNK):
        report.check()
        crc = zlib.crc32(data, crc)
        size += len(data)
    if struct.pack(">I", crc) != head:
        raise Problem("mega-cache-damaged", why="its checksum does not match")
    return size


def _number(stream: BinaryIO, size: int) -> int:
    data = stream.read(8)
    if len(data) < 8:
        raise Problem("mega-cache-damaged", why="it ends within a number")
    (number,) = struct.unpack(">Q", data)
    if number > size:
        raise Problem("mega-cache-damaged", why="it announces more than it can hold")
    return int(number)


def _text(stream: BinaryIO, size: int) -> str:
    length = _number(stream, size)
    if length > _MAX_TEXT:
        raise Problem("mega-cache-damaged", why="a key is too long")
    data = stream.read(length)
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError) as e:
        raise Problem("mega-cache-damaged", why="a key is not text") from e


def size_of(sections: Iterable[tuple[str, Iterable[tuple[str, int]]]]) -> int:
    """How big a mega-cache is: of sections of (key, payload bytes), by the names of their types."""
    whole = 4 + 8
    for name, artifacts in sections:
        whole += 8 + _text_size(name) + 8
        whole += sum(8 + _text_size(key) + 8 + size for key, size in artifacts)
    return whole


def _text_size(text: str) -> int:
    return -(-len(text.encode()) // 3) * 4


class Writer:
    """Writes a mega-cache to the end of a stream that can be read, sought and truncated. Payloads
    are streamed; counts, sizes and the checksum, which stand before them, are filled in afterwards.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = stream.tell()
        self._section: tuple[int, int] | None = None
        self._count = 0
        stream.write(bytes(4) + struct.pack(">Q", ENCODING_VERSION))

    def section(self, name: str) -> None:
        """Start a section. One without artifacts leaves no trace."""
        self._end_section()
        start = self._stream.tell()
        self._write_text(name)
        self._section = (start, self._stream.tell())
        self._count = 0
        self._stream.write(bytes(8))

    def artifact(
        self, key: str, fill: Callable[[Callable[[bytes | memoryview], object]], object]
    ) -> None:
        """One artifact whose payload ``fill`` writes. Where it raises, that leaves no trace."""
        start = self._stream.tell()
        try:
            self._write_text(key)
            at = self._stream.tell()
            self._stream.write(bytes(8))
            fill(self._stream.write)
        except BaseException:
            self._stream.seek(start)
            self._stream.truncate()
            raise
        self._patch(at, self._stream.tell() - at - 8)
        self._count += 1

    def close(self, report: Report | None = None) -> tuple[int, int]:
        """Complete the file, which stays open, at its end; returns its CRC-32 and its bytes."""
        report = report or Report()
        self._end_section()
        self._stream.seek(self._start + 4)
        rest = 0
        while data := self._stream.read(_CHUNK):
            report.check()
            rest = zlib.crc32(data, rest)
        size = self._stream.tell() - self._start
        head = struct.pack(">I", rest)
        self._stream.seek(self._start)
        self._stream.write(head)
        self._stream.seek(self._start + size)
        return combined(zlib.crc32(head), rest, size - 4), size

    def _write_text(self, text: str) -> None:
        data = base64.b64encode(text.encode())
        self._stream.write(struct.pack(">Q", len(data)) + data)

    def _patch(self, at: int, number: int) -> None:
        end = self._stream.tell()
        self._stream.seek(at)
        self._stream.write(struct.pack(">Q", number))
        self._stream.seek(end)

    def _end_section(self) -> None:
        if self._section:
            start, at = self._section
            if self._count:
                self._patch(at, self._count)
            else:
                self._stream.seek(start)
                self._stream.truncate()
        self._section = None
