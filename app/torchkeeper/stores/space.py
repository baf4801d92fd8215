"""Whether there is room where something is to be written, and whether it may be."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

from torchkeeper.artifacts.entry import Problem

#: What a file takes is a multiple of this nearly everywhere.
BLOCK = 4096


@dataclass(frozen=True)
class Space:
    """What a file system says of a folder, or of the nearest one above that is there.

    free: bytes this user may still write, or None where it does not tell. why: why the folder
    cannot be written, or None where it can. exists: whether the folder itself is there.
    """

    free: int | None
    why: str | None
    exists: bool


def space(folder: str) -> Space:
    """The Space of a folder, which need not exist yet. Nothing is written to find out."""
    here = os.path.realpath(folder)
    exists = os.path.isdir(here)
    try:
        while not os.path.lexists(here):
            here = os.path.dirname(here)
        if not os.path.isdir(here):
            return Space(None, os.strerror(errno.ENOTDIR), exists)
        said = os.statvfs(here)
    except OSError as e:
        return Space(None, e.strerror or str(e), exists)
    free = said.f_bavail * said.f_frsize if said.f_blocks else None
    why = None
    if not os.access(here, os.W_OK | os.X_OK):
        read_only = said.f_flag & os.ST_RDONLY
        why = os.strerror(errno.EROFS if read_only else errno.EACCES)
    return Space(free, why, exists)


def needed(sizes: Iterable[int]) -> int:
    """Bytes that files of these sizes take on a disk, about."""
    return sum(-(-size // BLOCK) * BLOCK for size in sizes)


def unwritable(file: str, e: OSError, needed: int) -> Problem:
    """Why a file could not be written: "output-full" where there is no room for about so many
    bytes, else "output-unwritable".
    """
    if e.errno in (errno.ENOSPC, errno.EDQUOT):
        # What a quota leaves is not known; on a disk that others use, too, it may be more by now.
        folder = os.path.dirname(os.path.abspath(file))
        free = space(folder).free if e.errno == errno.ENOSPC else None
        free = None if free is None or free >= needed else free
        return Problem("output-full", file=file, needed_bytes=needed, free_bytes=free)
    return Problem("output-unwritable", file=file, why=e.strerror or str(e))
