"""Taking from others the right to write to a cache folder: what “chmod go-w” does, on what is known
in it and belongs to whom it belongs, and on no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import Item

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def writable(root: str, paths: Iterable[str], report: Report) -> Iterator[tuple[str, int]]:
    """Those of some paths to which others may write, and that belong to this user; for root, to
    whom the folder ``root`` belongs. Each with its mode. Lists of access (ACL) are left alone.
    """
    try:
        owner = os.lstat(root).st_uid if os.geteuid() == 0 else os.geteuid()
    except OSError:
        return
    for number, path in enumerate(paths):
        if number % 256 == 0:
            report.check()
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISLNK(status.st_mode) or status.st_uid != owner:
            continue
        if status.st_mode & _OTHERS:
            yield path, stat.S_IMODE(status.st_mode)


def of_cache(root: str, items: Iterable[Item]) -> Iterator[str]:
    """A cache folder, what is recognised in it, and the folders that lead there; each once."""
    told = {root}
    yield root
    for item in items:
        if item.kind == "unknown":
            continue
        for file in item.files:
            path = os.path.join(root, file.path)
            yield path
            above = os.path.dirname(path)
            while above not in told and len(above) > len(root):
                told.add(above)
                yield above
                above = os.path.dirname(above)


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
