"""When entries of a folder were last used, as far as its file system tells."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import Item

#: What a last use rests on. "read": files say when they were read last; "day": the same, to the
#: day (relatime); "written": only when they were written (noatime, a disk that is read-only);
#: "server": a server says when it was last asked for them.
RESTS = ("read", "day", "written", "server")

#: Items between two looks at whether to go on.
_OFTEN = 256


def rests_on(root: str) -> str:
    """Which of RESTS holds for a folder."""
    try:
        flags = os.statvfs(root).f_flag
    except (OSError, AttributeError):
        return "written"
    # Not every system says; where it does not, most are as Linux is by itself.
    if flags & (getattr(os, "ST_NOATIME", 1024) | os.ST_RDONLY):
        return "written"
    return "day" if flags & getattr(os, "ST_RELATIME", 4096) else "read"


def uses(folder: Root, items: Sequence[Item], report: Report) -> tuple[list[float | None], str]:
    """When each item was last used, seconds since the epoch, and which of RESTS that rests on.

    That is when the last of its files was read or written, by whomever: a backup reads them as
    well. Torchkeeper's own reading leaves no trace in files of one's own. None for what is gone.
    """
    rests = rests_on(folder.root)
    if rests == "written":
        return [_written(item) for item in items], rests
    found: list[float | None] = []
    for number, item in enumerate(items):
        if number % _OFTEN == 0:
            report.check()
        times = [x for file in item.files if (x := _used(f"{folder.root}/{file.path}")) is not None]
        found.append(max(times) if times else _written(item))
    return found, rests


def _used(path: str) -> float | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return max(status.st_atime, status.st_mtime)


def _written(item: Item) -> float | None:
    times = [file.mtime_ns for file in item.files if file.mtime_ns is not None]
    return max(times) / 1e9 if times else None
