"""What a power cut takes: whatever was written to a file and not synced since.

Names are kept in the order in which they were made, as file systems with a journal do it (ext4 with
``data=ordered``, XFS, btrfs): a cut at one change leaves those before it, and of a file that was
written since its last ``fsync``, or the last ``syncfs``, as much as that found in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from tests.crash.faulty import Call

_NAMED = {"rename", "renameat", "renameat2"}
_LINKED = {"link", "linkat"}
_GONE = {"unlink", "unlinkat", "rmdir"}
_SYNCED = {"fsync", "fdatasync"}
WRITTEN = {
    "write", "pwrite", "pwrite64", "writev", "copy_file_range", "sendfile", "sendfile64",
    "ftruncate", "ftruncate64",
}  # fmt: skip
_MADE = {"mkdir", "mkdirat", "open", "open64", "openat", "openat64", "symlink", "symlinkat"}


@dataclass
class _File:
    """synced: bytes that are on the disk for sure, where it is ``dirty``; else all are."""

    synced: int = 0
    dirty: bool = False


class Disk:
    """Follows the changes that an operation makes."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._files: dict[str, _File] = {}
        #: Names that were given to what was not synced, and folders whose names were not.
        self.early: list[Call] = []
        self.unsynced: set[str] = set()
        for call in calls:
            self._follow(call)

    def _follow(self, call: Call) -> None:
        if not call.well:
            return
        if call.name in WRITTEN:
            file = self._files.setdefault(call.path, _File())
            if not file.dirty:
                file.synced, file.dirty = call.size, True
        elif call.name == "syncfs":
            for file in self._files.values():
                file.dirty = False
            self.unsynced.clear()
        elif call.name in _SYNCED:
            if call.path in self._files:
                self._files[call.path] = _File()
            self.unsynced.discard(call.path)
        elif call.name in _NAMED:
            self._rename(call)
        elif call.name in _LINKED:
            if call.path in self._files:
                self._files[call.other] = self._files[call.path]
                if self._files[call.path].dirty:
                    self.early.append(call)
            self.unsynced.add(os.path.dirname(call.other))
        elif call.name in _GONE:
            self._files.pop(call.path, None)
            self.unsynced.discard(call.path)
        elif call.name in _MADE:
            if not call.name.startswith("mkdir"):
                self._files[call.path] = _File()
            self.unsynced.add(os.path.dirname(call.path))

    def _rename(self, call: Call) -> None:
        inside = call.path + "/"
        moved = [path for path in self._files if path == call.path or path.startswith(inside)]
        if any(self._files[path].dirty for path in moved):
            self.early.append(call)
        self._files.pop(call.other, None)
        for path in moved:
            self._files[call.other + path[len(call.path) :]] = self._files.pop(path)
        for folder in [path for path in self.unsynced if (path + "/").startswith(inside)]:
            # A folder whose names are not on the disk: it may be empty under its new name.
            self.unsynced.remove(folder)
            self.unsynced.add(call.other + folder[len(call.path) :])
        self.unsynced.add(os.path.dirname(call.other))

    def cut(self) -> list[str]:
        """Take from the files what would not be there after a cut; returns which."""
        lost = []
        for path, file in self._files.items():
            if file.dirty and os.path.isfile(path) and os.path.getsize(path) > file.synced:
                os.truncate(path, file.synced)
                lost.append(path)
        return lost
