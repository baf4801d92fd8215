"""Files that are written whole or not at all, and read whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable

from torchkeeper.stores.atomic import atomic_write


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
    """Put a value into a file as JSON, in place of what that held, and have it on the disk. Raises
    OSError; no part of it is left.

    Only its owner may read the file.
    """
    _write(path, json.JSONEncoder(indent=indent).iterencode(value), 0o600)


def write_text(path: str, text: str, mode: int | None = None, replace: bool = True) -> None:
    """As ``write``, for a text that is the user's: others may read it as any new file of his, or
    as far as ``mode`` goes. Raises FileExistsError for a file that is there without ``replace``.
    """
    _write(path, [text], mode, replace)


def _write(path: str, pieces: Iterable[str], mode: int | None, replace: bool = True) -> None:
    with atomic_write(path, mode, replace) as stream:
        for piece in pieces:
            stream.write(piece.encode())
