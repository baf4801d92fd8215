"""Files with some of their bytes replaced while they are read, by as many others."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple, cast

from torchkeeper.stores.items import CHUNK, File, Source


class Patch(NamedTuple):
    """Bytes to stand at an offset."""

    start: int
    bytes: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.bytes)


def joined(patches: Sequence[Patch]) -> list[Patch]:
    """Patches in order, none on another: of two that meet, what is later stands on the earlier."""
    found: list[Patch] = []
    for patch in sorted(patches):
        if found and patch.start < found[-1].end:
            last = found.pop()
            behind = last.bytes[patch.end - last.start :]
            patch = Patch(last.start, last.bytes[: patch.start - last.start] + patch.bytes + behind)
        found.append(patch)
    return found


class Patched:
    """A source with files that are those of another, patched.

    files: by path and sha256 of what is asked for, the file of the other source and its patches,
    in order and apart. Other files are that source's own.
    """

    def __init__(
        self, source: Source, files: Mapping[tuple[str, str | None], tuple[File, Sequence[Patch]]]
    ) -> None:
        self._source = source
        self._files = files

    def open(self, file: File) -> BinaryIO:
        if (found := self._files.get((file.path, file.sha256))) is None:
            return self._source.open(file)
        original, patches = found
        return patched(self._source.open(original), patches)


def patched(stream: BinaryIO, patches: Sequence[Patch]) -> BinaryIO:
    """A stream that is read from its beginning, patched; closing it closes that."""
    return cast(BinaryIO, io.BufferedReader(_Raw(stream, patches), CHUNK))


class _Raw(io.RawIOBase):
    def __init__(self, stream: BinaryIO, patches: Sequence[Patch]) -> None:
        super().__init__()
        self._stream = stream
        self._patches = patches
        self._ends = [patch.end for patch in patches]
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._stream.read(len(view))
        start, end = self._at, self._at + len(data)
        view[: len(data)] = data
        for number in range(bisect_right(self._ends, start), len(self._patches)):
            patch = self._patches[number]
            if patch.start >= end:
                break
            first, last = max(patch.start, start), min(patch.end, end)
            view[first - start : last - start] = patch.bytes[
                first - patch.start : last - patch.start
            ]
        self._at = end
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
