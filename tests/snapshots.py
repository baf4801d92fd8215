"""What a folder looks like, to be compared before and after."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Container
from pathlib import Path


def snapshot(
    root: Path, times: bool = True, only: Container[str] | None = None
) -> dict[str, tuple[object, ...]]:
    """Every path below a folder, or ``only`` some, with its type, mode, content, and with ``times``
    its mtime.
    """
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files, "."]:
            path = Path(folder) / name
            called = os.path.normpath(path.relative_to(root))
            if only is not None and called not in only:
                continue
            status = path.lstat()
            content = ""
            if stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            about: tuple[object, ...] = (status.st_mode, content)
            if times:
                about = (*about, status.st_mtime_ns)
            found[called] = about
    return found
