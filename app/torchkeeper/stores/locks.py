"""Whether somebody is at work on a file: PyTorch's own locks, and who left temporary files.

PyTorch holds ``locks/<stem>.lock`` while it builds an object, and ``<file>.lock`` beside a PGO
profile (torch/utils/_filelock.py: flock), ``locks/<op>.lock`` while it changes the list of an
eager operator, and ``locks/<4 hex>.lock`` beside a value of a generic cache; its temporary files
carry their writer's process id.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator

from torchkeeper.artifacts.layout import inner_cache

_TEMPORARY = re.compile(r"\.(\d+)\.\d+\.tmp|tmp\.pid_(\d+)_[0-9a-f-]+")


def take(lock: str) -> tuple[int | None, bool]:
    """An open handle, to be closed, and whether the lock is now ours or there is none."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, True
    except OSError:
        return None, False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return handle, False
    return handle, True


@contextlib.contextmanager
def ours(lock: str) -> Iterator[bool]:
    """Hold a lock meanwhile; whether nobody else does.

    So that nobody gets it between a look at it and its removal.
    """
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        yield not _locked(handle)
    finally:
        os.close(handle)


def held(lock: str) -> bool:
    """Whether another process holds a lock; False where there is none or it cannot be asked."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _locked(handle)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Whether somebody else holds a lock; ours it is otherwise, where there is such a thing."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def alive(pid: int) -> bool:
    """Whether there is a process of this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def in_use(root: str, kind: str, key: str, path: str) -> bool:
    """Whether PyTorch or Triton is at work on an entry of a folder."""
    here = os.path.join(root, path)
    inner = os.path.join(root, inner_cache(path))
    if kind == "code":
        return held(os.path.join(inner, "locks", f"{key}.lock"))
    if kind == "aoti_eager":
        # While a kernel is added, its libraries' folder is the cache folder.
        lock = f"{key.partition('#')[0]}.lock"
        folders = (root, os.path.join(root, os.path.dirname(path), "lib"))
        return any(held(os.path.join(folder, "locks", lock)) for folder in folders)
    if kind == "ondisk":
        folder, name = os.path.split(here)
        return held(os.path.join(folder, "locks", f"{name[:4]}.lock"))
    if kind == "pgo":
        return held(here + ".lock")
    if kind == "lock":
        writers = (_TEMPORARY.fullmatch(part) for part in path.split("/"))
        pids = (int(match[1] or match[2]) for match in writers if match)
        return (path.endswith(".lock") and held(here)) or any(map(alive, pids))
    return False
