"""Parts of a file as streams of their own: of a bundle, what it holds."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from typing import IO, Any, BinaryIO

#: What zipfile raises for a damaged or unsupported member.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
    UnicodeDecodeError,
)


class Slice(io.RawIOBase):
    """A part of a file, as a stream of its own."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        self._file = file
        self._offset = offset
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any stream."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the part."""
        # The file is shared with other parts and the zip, so its position is never used.
        some = memoryview(buffer)[: max(0, self._size - self._at)]
        got = os.preadv(self._file.fileno(), [some], self._offset + self._at) if some else 0
        self._at += got
        return got


class Member(io.RawIOBase):
    """A member of a zip whose damage is an OSError, as that of a file is."""

    def __init__(self, member: IO[bytes]) -> None:
        self._member = member

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._member.read(len(buffer))
        except ZIP_ERRORS as e:
            raise OSError(f"the bundle is damaged: {e}") from e
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._member.close()
        super().close()
