"""Taking from others the right to write to a cache folder: what “chmod -R go-w” does, on what is
this user's, and on no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from torchkeeper.artifacts.report import Report

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def writable(path: str, deep: bool, report: Report) -> Iterator[str]:
    """The paths to which others may write, and whose modes this user may change; ``deep``: of
    what is in a folder, too. Lists of access (ACL) are left alone.
    """
    if _open_to_others(path):
        yield path
    if not deep:
        return
    for above, folders, files in os.walk(path):
        report.check()
        for name in (*folders, *files):
            if _open_to_others(whole := os.path.join(above, name)):
                yield whole


def _open_to_others(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    mine = os.geteuid() in (0, status.st_uid)
    return mine and not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & _OTHERS)


def close(paths: list[str], report: Report) -> list[tuple[str, str]]:
    """Take it away; what could not be changed, and why."""
    left = []
    for path in paths:
        report.check()
        try:
            handle = os.open(path, _OPEN)
            try:
                mode = stat.S_IMODE(os.fstat(handle).st_mode)
                os.fchmod(handle, mode & ~_OTHERS)
            finally:
                os.close(handle)
        except OSError as e:
            left.append((path, e.strerror or str(e)))
    return left
