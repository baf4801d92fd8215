"""What a process with mounts of its own uses of a folder, which it may know by another path.

Files and folders are told apart by device and inode, looked at through ``/proc/<pid>/root``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from torchkeeper.stores.items import Item
from torchkeeper.stores.processes import PROC, mounts

#: A file or folder whatever its path: device and inode.
_Identity = tuple[int, int]


class OtherMounts:
    """Looks into processes that have other mounts than this one, for one folder."""

    def __init__(self, root: str, items: Sequence[Item]) -> None:
        self._root = root
        self._items = items
        self._mine = mounts("self")
        self._foreign: dict[int, bool] = {}
        self._files: dict[_Identity, str] = {}
        self._names: set[bytes] = set()
        self._above: set[_Identity] = set()

    def has(self, pid: int) -> bool:
        """Whether a process has other mounts. Raises OSError where that is not told."""
        if pid not in self._foreign:
            self._foreign[pid] = self._mine is not None and mounts(pid) != self._mine
            if self._foreign[pid] and not self._above:
                self._learn()
        return self._foreign[pid]

    def _learn(self) -> None:
        self._files = {
            file.inode: file.path for item in self._items for file in item.files if file.inode
        }
        self._names = {os.fsencode(os.path.basename(path)) for path in self._files.values()}
        self._above = set(_line(self._root))

    def opened(self, pid: int) -> set[str]:
        """The files of the items that it has open."""
        folder = f"{PROC}/{pid}/fd"
        found = set()
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed meanwhile, or something without a file
                found.add(self._files.get(_identity(f"{folder}/{name}")))
        return {path for path in found if path}

    def mapped(self, pid: int, paths: set[bytes]) -> set[str]:
        """The files of the items among those that it has mapped, by the paths it knows."""
        found = set()
        for path in paths:
            if path.rpartition(b"/")[2] in self._names:
                with contextlib.suppress(OSError):  # removed
                    seen = f"{PROC}/{pid}/root{os.fsdecode(path)}"
                    found.add(self._files.get(_identity(seen)))
        return {path for path in found if path}

    def overlaps(self, pid: int, path: str) -> bool:
        """Whether a folder that it knows by a path is this one, in it, or above it."""
        if not os.path.isabs(path):
            path = os.path.join(os.readlink(f"{PROC}/{pid}/cwd"), path)
        root = f"{PROC}/{pid}/root"
        seen = root + os.path.normpath(path)
        with contextlib.suppress(OSError):
            if _identity(seen) in self._above:
                return True
        with contextlib.suppress(OSError):
            return _identity(self._root) in _line(seen, stop=root)
        return False


def _identity(path: str) -> _Identity:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _line(path: str, stop: str = "/") -> Iterator[_Identity]:
    """A folder and all that is above it below ``stop``, those that are not there left out."""
    while len(path) > len(stop):
        with contextlib.suppress(OSError):
            yield _identity(path)
        path = os.path.dirname(path.rstrip("/"))
