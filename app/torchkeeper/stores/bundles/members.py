"""Members of a zip, stored and written once: the same bytes that zipfile writes.

zipfile itself cannot take a member back, and writes the header of each twice.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from io import BufferedRandom
from typing import TypeVar

from torchkeeper.stores.items import CHUNK
from torchkeeper.stores.pouring import Take

_EPOCH = (1980, 1, 1, 0, 0, 0)
#: A member that may come to more than zipfile's limit for small numbers has room for large ones.
MAY_BE_BIG = 1 << 30

Filled = TypeVar("Filled")


def info(name: str) -> zipfile.ZipInfo:
    """A member without anything of this machine or moment."""
    made = zipfile.ZipInfo(name, _EPOCH)
    made.external_attr = 0o644 << 16
    made.create_system = 3
    made.CRC = 0
    return made


class Members:
    """Adds members to a ZipFile that writes to an empty stream, and takes them back."""

    def __init__(self, archive: zipfile.ZipFile, stream: BufferedRandom) -> None:
        self._archive = archive
        self._stream = stream

    def add(self, name: str, size: int, fill: Callable[[Take], Filled]) -> tuple[Filled, int]:
        """A member that ``fill`` gives the bytes of, some ``size`` of them; returns what it does,
        and how many there were. Where it raises, ``take_back`` is to be called.
        """
        made, roomy = info(name), size > MAY_BE_BIG
        small: list[bytes] = []

        def take(data: bytes | memoryview) -> None:
            made.CRC = zlib.crc32(data, made.CRC)
            made.file_size += len(data)
            if size < CHUNK:
                small.append(bytes(data))
            else:
                self._stream.write(data)

        if size < CHUNK:
            filled = fill(take)
            self._stream.write(_header(made, roomy) + b"".join(small))
            self._end(made)
        else:
            self._stream.write(_header(made, roomy))
            filled = fill(take)
            self._complete(made, roomy)
        return filled, made.file_size

    def add_written(self, name: str, fill: Callable[[BufferedRandom], tuple[int, int]]) -> None:
        """A member that ``fill`` writes to the stream itself, however large; it returns the CRC
        and the size of what it has written. Where it raises, the zip is of no use.
        """
        made = info(name)
        self._stream.write(_header(made, True))
        made.CRC, made.file_size = fill(self._stream)
        self._complete(made, True)

    def mark(self) -> tuple[int, int]:
        """What ``take_back`` goes back to."""
        return len(self._archive.filelist), self._archive.start_dir

    def take_back(self, mark: tuple[int, int]) -> None:
        """Forget the members added since, a part of one included."""
        count, self._archive.start_dir = mark
        for made in self._archive.filelist[count:]:
            del self._archive.NameToInfo[made.filename]
        del self._archive.filelist[count:]
        self._stream.seek(self._archive.start_dir)
        self._stream.truncate()

    def _complete(self, made: zipfile.ZipInfo, roomy: bool) -> None:
        """Write a header once more, when what it says is known."""
        end = self._stream.tell()
        self._stream.seek(self._archive.start_dir)
        self._stream.write(_header(made, roomy))
        self._stream.seek(end)
        self._end(made)

    def _end(self, made: zipfile.ZipInfo) -> None:
        archive = self._archive
        made.header_offset, archive.start_dir = archive.start_dir, self._stream.tell()
        archive.filelist.append(made)
        archive.NameToInfo[made.filename] = made


def _header(made: zipfile.ZipInfo, roomy: bool) -> bytes:
    made.compress_size = made.file_size
    return made.FileHeader(roomy)
