"""What must hold before a place is changed: there is room, it may be written to, and it is a cache,
not a folder of somebody's files.

What is "unknown" is a user's own. It goes only when it was asked for by name, and nothing of a
folder goes of which it is the most: that is a folder of the user's, in which a cache lies.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.atomic import no_room
from torchkeeper.stores.items import Item, OnDisk

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Space


class Strange(NamedTuple):
    """Bytes on the disk that strangers' files take, and all; their number, and that of all."""

    size: int
    total: int
    files: int
    of: int

    @property
    def most(self) -> bool:
        """Whether that is more than half: of the bytes, or of the files where none takes any."""
        return 2 * self.size > self.total or (not self.total and 2 * self.files > self.of)


#: Items that are counted at a time.
_SOME = 1000


def strange_in(items: Iterable[Item]) -> Strange:
    """What is strange among all items of a folder. Others are counted until it is not the most."""
    every = list(items)
    unknown = OnDisk(item for item in every if item.kind == "unknown")
    total = OnDisk()
    for start in range(0, len(every) if unknown.files else 0, _SOME):
        total.count(every[start : start + _SOME])
        if total.bytes and total.bytes >= 2 * unknown.bytes:
            break
    return Strange(unknown.bytes, total.bytes, unknown.files, total.files)


#: What a file takes is a multiple of this nearly everywhere.
BLOCK = 4096


def space(folder: str) -> Space:
    """The Space of a folder, which need not exist yet. Nothing is written to find out."""
    here = os.path.realpath(folder)
    exists = os.path.isdir(here)
    try:
        while not os.path.lexists(here):
            here = os.path.dirname(here)
        if not os.path.isdir(here):
            return {"free": None, "why": os.strerror(errno.ENOTDIR), "exists": exists}
        said = os.statvfs(here)
    except OSError as e:
        return {"free": None, "why": e.strerror or str(e), "exists": exists}
    free = said.f_bavail * said.f_frsize if said.f_blocks else None
    why = None
    if not os.access(here, os.W_OK | os.X_OK):
        why = os.strerror(errno.EROFS if said.f_flag & os.ST_RDONLY else errno.EACCES)
    return {"free": free, "why": why, "exists": exists}


def needed(sizes: Iterable[int]) -> int:
    """Bytes that files of these sizes take on a disk, about."""
    return sum(-(-size // BLOCK) * BLOCK for size in sizes)


def unwritable(file: str, e: OSError, needed: int) -> Problem:
    """Why a file cannot be written: "output-full", needing so much, or "output-unwritable"."""
    if no_room(e):
        # What a quota leaves is not known; on a disk that others use, too, it may be more by now.
        folder = os.path.dirname(os.path.abspath(file))
        free = space(folder)["free"] if e.errno == errno.ENOSPC else None
        free = None if free is None or free >= needed else free
        return Problem("output-full", file=file, needed_bytes=needed, free_bytes=free)
    return Problem("output-unwritable", file=file, why=e.strerror or str(e))
