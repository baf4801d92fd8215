"""What writers left behind that are dead: temporary files, and locks of what is gone.

A lock of PyTorch's is a file that stays (stores/folders/locks.py): one whose entry is there is no
leftover. A temporary file may carry its writer's process; of others, and on a file system of
several machines, only its age tells.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from torchkeeper.doctor.check import FolderLook
from torchkeeper.settings.finding import Finding
from torchkeeper.stores import atrest
from torchkeeper.stores.folders import journal
from torchkeeper.stores.folders.locks import in_use, writers
from torchkeeper.stores.items import Item, allocated
from torchkeeper.stores.needs import OLD
from torchkeeper.stores.preconditions import strange_in

#: Locks that guard a folder, or a tool, and no entry.
_OF_NOBODY = frozenset({"g++", "dir", "memoizer_cache"})
#: Seconds for which what a process wrote that is gone stays.
_SOON = 60.0


def dead(look: FolderLook) -> tuple[list[Item], list[Item]]:
    """Locks and temporary files that nobody needs or writes any more."""
    scratch = [item for item in look.items if item.kind == "lock"]
    others = [item for item in look.items if item.kind != "lock"]
    keys = {item.key for item in others} | {file.name for item in others for file in item.files}
    locks: list[Item] = []
    temporary: list[Item] = []
    if strange_in(look.items).most:
        return locks, temporary  # nothing goes from a folder that is no cache
    now, local = time.time(), False
    with contextlib.suppress(OSError):
        local = atrest.is_local(os.stat(look.root).st_dev)
    for item in scratch:
        look.report.check()
        newest = max((file.mtime_ns or 0 for file in item.files), default=0) / 1e9
        is_lock = all(file.name.endswith(".lock") for file in item.files)
        if is_lock and (item.key in _OF_NOBODY or _guards(item.key, keys)):
            continue
        # Of what names no writer, as a program's own temporary folder, nobody knows whose it is.
        known = not is_lock and writers(item.path) and local
        if now - newest < (_SOON if known else OLD):
            continue
        if not in_use(look.root, item.kind, item.key, item.path):
            (locks if is_lock else temporary).append(item)
    return locks, temporary


def _guards(key: str, keys: set[str]) -> bool:
    """Whether an entry is there that a lock is named after; of four characters, after its first."""
    return key in keys or (len(key) == 4 and any(name.startswith(key) for name in keys))


def leftovers(look: FolderLook) -> Iterator[Finding]:
    """Locks and temporary files of the dead, and journals of another user's Torchkeeper."""
    locks, temporary = dead(look)
    items = [*locks, *temporary]
    if items:
        about = {
            "locks": len(locks), "files": sum(len(item.files) for item in temporary),
            "size_bytes": allocated(file for item in items for file in item.files),
            "path": items[0].path,
        }  # fmt: skip
        severity = "warning" if temporary else "advice"
        yield Finding("left-over", severity, (), look.place, about, fix="trash-leftovers")
    if look.exists and (found := journal.in_folder(look.root, mine=False)):
        about = {"count": len(found), "path": found[0]}
        yield Finding("journal-of-others", "warning", (), look.place, about)
