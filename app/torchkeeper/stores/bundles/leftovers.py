"""What was left beside a bundle by an export or a signing that was ended by force, on a file system
where what is being written has a name (``stores.atomic``).
"""

from __future__ import annotations

import os
import re
import stat

from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import PREFIX, SUFFIX
from torchkeeper.stores.atrest import at_rest
from torchkeeper.stores.folders.locks import take

#: What is placed by an import is called otherwise, and is its own to remove.
_NAME = re.compile(re.escape(PREFIX) + "[0-9a-z_]{8}" + re.escape(SUFFIX))
#: How many are told by name.
_TOLD = 20


def remove_leftovers(folder: str, report: Report) -> int:
    """Remove what lies in a folder, is this user's, and is written by nobody any more; returns how
    many files that were.

    What was removed is told: a finding ``leftovers={count, bytes, paths}``. Raises nothing: it is
    no part of what is asked for.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))
    except OSError:
        return 0
    gone, size = [], 0
    for name in names:
        path = os.path.join(folder, name)
        freed = _removed(path)
        if freed is not None:
            gone.append(path)
            size += freed
    if gone:
        report.finding(leftovers={"count": len(gone), "bytes": size, "paths": gone[:_TOLD]})
    return len(gone)


def _removed(path: str) -> int | None:
    """Bytes that are free by removing it; None for what stays."""
    try:
        if not _ours(os.lstat(path)):
            return None
        handle, free = take(path)
        if handle is None:
            return None
        try:
            mine = os.fstat(handle)
            same = os.path.samestat(mine, os.lstat(path))
            if not free or not same or not _ours(mine) or not at_rest(mine):
                return None
            os.unlink(path)
        finally:
            os.close(handle)
    except OSError:
        return None
    return mine.st_size if mine.st_nlink == 1 else 0


def _ours(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
