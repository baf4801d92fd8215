"""Files that are written whole or not at all, and read whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable


def read(path: str, most: int) -> bytes:
    """What a file holds. Raises OSError, with a reason for people, also for what is no file, such
    as a pipe, which might never end, and for one of more than ``most`` bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "It is not a file", path)
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, "It is too large", path)
    return data


def write(path: str, value: object, indent: int | None = 1) -> None:
    """Put a value into a file as JSON, in place of what that held. Raises OSError; no part of it is
    left.

    Only its owner may read the file.
    """
    handle, partial = tempfile.mkstemp(prefix=".partial-", dir=os.path.dirname(path))
    _fill(handle, partial, path, json.JSONEncoder(indent=indent).iterencode(value))


def write_text(path: str, text: str, mode: int = 0o666) -> None:
    """As ``write``, for a text that is the user's: others may read it as any new file of his, or
    as far as ``mode`` goes.
    """
    partial = os.path.join(os.path.dirname(path), f".partial-{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    _fill(handle, partial, path, [text])


def _fill(handle: int, partial: str, path: str, pieces: Iterable[str]) -> None:
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            for piece in pieces:
                stream.write(piece)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
