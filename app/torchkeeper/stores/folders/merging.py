"""Items of lists in a folder: what PyTorch would find there of one, putting one in, taking one out.

PyTorch writes a list while it holds ``lib/locks/<op>.lock`` beside it, whose folder is its cache
folder meanwhile (aoti_compile_with_persistent_cache in torch/_inductor/aoti_eager.py); so that lock
is held here, too. Whoever reads a list meanwhile finds the old or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from torchkeeper.artifacts import aoti_eager
from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.atomic import atomic_write

#: An item of a list, as PyTorch or somebody else has written it.
Listed = dict[str, object]
Exists = Callable[[str], bool]

#: Seconds to wait for PyTorch, which holds the lock while it writes some kilobytes.
PATIENCE = 10.0
_PAUSE = 0.02


def listed(path: str) -> list[Listed]:
    """The items of the list at a path; none where there is no list. Raises
    Problem("list-unreadable") for what is no list, OSError for what cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENXIO):
            raise Problem("list-unreadable", path=path, why="It is not a regular file") from e
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Problem("list-unreadable", path=path, why="It is not a regular file")
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(aoti_eager.MAX_LIST + 1)
    if len(data) > aoti_eager.MAX_LIST:
        raise Problem("list-unreadable", path=path, why="It is larger than any that PyTorch writes")
    try:
        return aoti_eager.items(data)
    except (ValueError, TypeError, RecursionError) as e:
        raise Problem("list-unreadable", path=path, why="It is not a list of kernels") from e


def lacks(path: str, there: Sequence[Listed], new: Listed, exists: Exists = os.path.exists) -> bool:
    """Whether an item is to be put into the list at a path, whose items are ``there``. Not where it
    is in it. One for the same inputs whose library is gone makes way. Raises Problem("key-taken")
    where that is another kernel, and ("list-spoilt") where the list names a library that is gone,
    of other inputs: PyTorch would then take none of it.
    """
    mine = aoti_eager.digest(new)
    lacking = True
    for other in there:
        named = other.get("kernel_path")
        # PyTorch joins the two in this way, too.
        found = isinstance(named, str) and exists(os.path.join(os.path.dirname(path), named))
        if aoti_eager.digest(other) == mine:
            if named == new["kernel_path"]:
                lacking = False
            elif found:
                raise Problem("key-taken", path=path)
        elif not found:
            raise Problem("list-spoilt", path=path, library=str(named)[:200])
    return lacking


def merged(there: Sequence[Listed], item: Listed) -> list[Listed]:
    """Items of a list, and behind them one that takes the place of any for the same inputs."""
    mine = aoti_eager.digest(item)
    return [*(one for one in there if aoti_eager.digest(one) != mine), item]


def put(path: str, item: Listed, note: Callable[[list[Listed]], object] | None = None) -> None:
    """Put an item into the list at a path, which is made if it is missing. ``note`` hears before of
    the items for the same inputs that it takes the place of, unless it is there. Raises Problem as
    ``listed``, ``lacks`` and ``_locked``, and OSError.
    """
    with _locked(path):
        there = listed(path)
        if lacks(path, there, item):
            whole = merged(there, item)
            if note:
                note([one for one in there if one not in whole])
            write(path, whole)


def take(path: str, items: Sequence[Listed], back: Sequence[Listed] = ()) -> list[Listed]:
    """Take items off the list at a path, which goes with the last, and put others ``back`` that are
    not on it; returns those that were. Raises OSError, and Problem as ``listed`` and ``_locked``.
    """
    with _locked(path):
        there = listed(path)
        gone = [one for one in there if one in items]
        back = [one for one in back if one not in there]
        left = [*(one for one in there if one not in items), *back]
        if left and (gone or back):
            write(path, left)
        elif gone:
            os.unlink(path)
        return gone


def write(path: str, items: Sequence[Listed]) -> None:
    """Write a list, as a whole, with the mode that it has, and have it on the disk. Raises OSError,
    and Problem("kernel-unloadable") for more than ``listed`` would read again.
    """
    text = json.dumps(items, indent=4)  # as PyTorch writes it
    if len(text) > aoti_eager.MAX_LIST:
        why = "the list of its operator becomes larger than any that PyTorch writes"
        raise Problem("kernel-unloadable", why=why)
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.lstat(path).st_mode)
    with atomic_write(path, mode) as out:
        out.write(text.encode("ascii"))


def lock_of(path: str) -> str:
    """The lock that PyTorch holds while it writes a list."""
    above, name = os.path.split(path)
    return os.path.join(above, "lib", "locks", name.removesuffix(".json") + ".lock")


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold the lock of a list. Raises Problem("in-use" | "link-in-place"), and OSError."""
    lock = lock_of(path)
    folder = os.path.dirname(lock)
    os.makedirs(folder, exist_ok=True)
    above = os.path.realpath(os.path.dirname(path))
    if os.path.realpath(folder) != os.path.join(above, "lib", "locks"):
        raise Problem("link-in-place", path=folder)
    deadline = time.monotonic() + PATIENCE
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(lock, flags, 0o644)
        try:
            if _is_ours(handle, lock):
                yield
                return
        finally:
            os.close(handle)
        if time.monotonic() > deadline:
            raise Problem("in-use")
        time.sleep(_PAUSE)


def _is_ours(handle: int, lock: str) -> bool:
    """Whether an open lock could be taken, and is still the one of that name."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.lstat(lock), os.fstat(handle))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as e:
        # A file system without locks, such as some NFS: go on unguarded, as PyTorch would.
        return e.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
