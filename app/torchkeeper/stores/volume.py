"""A file system that is synced as a whole (syncfs(2)), which for ten thousand files takes hardly
longer than for one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

#: Those of which it writes all that fsync of each file would, also into the disk's own cache, which
#: the fsync of a journal then empties, as the kernel has them mounted: what statfs tells of a share
#: of another machine is that machine's. In FUSE nobody hears of it who has the files, and in an
#: overlay it tells of no error; before Linux 5.17 not of all.
_WHOLE, _SINCE = frozenset({"ext4", "xfs", "btrfs", "tmpfs"}), [5, 17]


class Volume:
    """The file system of a folder. To be made before the files are written: it hears of errors from
    then on. Raises OSError.
    """

    def __init__(self, folder: str) -> None:
        self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._device = os.fstat(self._handle).st_dev
        self._pool = ThreadPoolExecutor(1)
        self._syncs: list[Future[bool]] = []

    def begin(self) -> None:
        """Begin to write what is there, so that less is left for ``sync``; nobody waits for it."""
        if all(sync.done() for sync in self._syncs):
            self._syncs.append(self._pool.submit(_synced, self._handle))

    def sync(self, meanwhile: Callable[[], object]) -> bool:
        """Have all that was written there on the disk; False where that is not certain: each file
        is to be synced then. ``meanwhile`` is called all the time; what it raises is passed on.
        Raises OSError where something could not be written.
        """
        # An error is told to one of them only.
        syncs, self._syncs = [*self._syncs, self._pool.submit(_synced, self._handle)], []
        while wait(syncs, 0.05).not_done:
            meanwhile()
        return all(sync.result() for sync in syncs)

    def has(self, folder: str) -> bool:
        """Whether files in a folder below are on it: another one may be mounted there."""
        with contextlib.suppress(OSError):
            return os.lstat(folder).st_dev == self._device
        return False

    def close(self) -> None:
        # Who cancels does not wait for a slow disk; what is under way has the folder open.
        self._pool.submit(os.close, self._handle)
        self._pool.shutdown(wait=False)


def _synced(handle: int) -> bool:
    """Sync it; False where that says nothing. Raises OSError where something was not written."""
    try:
        import ctypes

        sync = ctypes.CDLL(None, use_errno=True).syncfs
        new = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]] >= _SINCE
        if not new or _mounted(handle) not in _WHOLE:
            return False
    except (ImportError, AttributeError, OSError, ValueError, LookupError, StopIteration):
        return False
    if sync(handle) == 0:
        return True
    why = ctypes.get_errno()
    if why in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
        return False
    # Who asked for each file now need not hear of it again.
    raise OSError(why, os.strerror(why))


def _mounted(handle: int) -> str:
    """What kind of file system an open folder is on. Raises OSError, LookupError, StopIteration."""
    with open(f"/proc/self/fdinfo/{handle}", encoding="ascii") as file:
        number = next(line.split()[1] for line in file if line.startswith("mnt_id:"))
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        mount = next(line for line in file if line.startswith(f"{number} "))
    return mount.partition(" - ")[2].split()[0]
