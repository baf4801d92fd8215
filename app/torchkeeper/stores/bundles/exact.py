"""Whether a bundle is, but for its files, byte by byte what an export would have written.

A manifest has the sha256 of every file, and of the mega-cache; this is about that one, which stock
PyTorch may be given as it is, and about all that is around the files, so that of a bundle that is
signed no byte can be another.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import BinaryIO

from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.members import info
from torchkeeper.stores.bundles.parts import Slice
from torchkeeper.stores.items import digest_of

#: Bytes of a line of the directory before its name, and of what a large member adds.
_LINE, _LARGE = 46, 20


def check(
    path: str,
    stream: BinaryIO,
    members: Mapping[str, zipfile.ZipInfo],
    listed: bytes,
    report: Report,
) -> tuple[list[zipfile.ZipInfo], int]:
    """The members as they would be written, in their order, and where the last one ends.

    listed: the manifest. Raises Problem("bundle-altered", file=…, part=…), and as
    ``manifest.begin``.
    """
    promised, mega_cache = _promised(path, listed, report)
    known = promised | {manifest.NAME, manifest.SIGNATURE}
    found: list[zipfile.ZipInfo] = []
    end = 0
    for one in sorted(members.values(), key=lambda one: one.header_offset):
        report.check()
        header = _header(stream, one) if one.header_offset == end else None
        if header is None or one.filename not in known:
            raise Problem("bundle-altered", file=path, part=one.filename[:200])
        written, size = header
        if one.filename == manifest.MEGA_CACHE and mega_cache != digest_of(
            Slice(stream, end + size, one.file_size), report
        ):
            raise Problem("bundle-altered", file=path, part=one.filename)
        found.append(written)
        end += size + one.file_size
    expected = directory(found, end)
    there = os.pread(stream.fileno(), len(expected) + 1, end)
    if there != expected:
        raise Problem("bundle-altered", file=path, part=_differing(there, expected, found))
    return found, end


def directory(members: Sequence[zipfile.ZipInfo], start: int) -> bytes:
    """The directory of a zip, with all that follows, for members that end at ``start``."""
    tail = _Tail(start)
    with zipfile.ZipFile(tail, "w") as archive:
        archive.filelist.extend(members)
    return tail.getvalue()


class _Tail(BytesIO):
    """What is written from a position on."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self._start = start

    def tell(self) -> int:
        return self._start + super().tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return super().seek(offset - self._start if whence == os.SEEK_SET else offset, whence)


def _header(stream: BinaryIO, one: zipfile.ZipInfo) -> tuple[zipfile.ZipInfo, int] | None:
    """A member as ``bundles.members`` writes it, and how long its header is; None where the header
    that is there is another. Small members and large ones have different ones.
    """
    for roomy in (False, True):
        made = info(one.filename)
        made.CRC, made.file_size, made.compress_size = one.CRC, one.file_size, one.file_size
        made.header_offset = one.header_offset
        try:
            expected = made.FileHeader(roomy)
        except zipfile.LargeZipFile:
            continue
        if os.pread(stream.fileno(), len(expected), one.header_offset) == expected:
            return made, len(expected)
    return None


def _promised(path: str, listed: bytes, report: Report) -> tuple[set[str], str | None]:
    """The members that a manifest names, and the sha256 of the mega-cache."""
    try:
        names = set()
        said = manifest.begin(listed)
        for entry in said.entries:
            report.check()
            names |= {file.path for file in entry.files}
            if entry.kind in megacache.TYPE_OF_KIND:
                names.add(manifest.MEGA_CACHE)
    except Problem as problem:
        problem.params.setdefault("file", path)
        raise
    return names, said.mega_cache


def _differing(there: bytes, expected: bytes, members: Sequence[zipfile.ZipInfo]) -> str:
    """The member whose line in the directory is another, if it is one's."""
    pairs = enumerate(zip(there, expected, strict=False))
    at = next((number for number, (a, b) in pairs if a != b), len(expected))
    end = 0
    for one in members:
        end += _LINE + len(one.filename.encode())
        if one.header_offset > zipfile.ZIP64_LIMIT or one.file_size > zipfile.ZIP64_LIMIT:
            end += _LARGE
        if at < end:
            return one.filename[:200]
    return "the directory at its end"
