"""Whether somebody is at work on a file: PyTorch's own locks, who left temporary files, and what
tells where a lock alone does not; and removing what an export or a signing has left.

Where PyTorch 2.13.0 locks (torch/utils/_filelock.py: flock on a file that stays), and what we do
there. Where a process of PyTorch's has the lock, the entry is left as it is, "in use". A lock that
is not there is not made: whoever is at work has made it.

=================  =====================================  ==============  =====================
what               PyTorch holds, while it                purge, undo     import, copy
=================  =====================================  ==============  =====================
code (1)           ``locks/<stem>.lock``: builds what is  purge holds it  waits until it is
                   missing                                                built, or leaves it
eager list (2)     ``…/lib/locks/<op>.lock``: reads the   hold it         holds it
                   list, adds to it                       (merging.py)    (merging.py)
the same (3)       ``locks/<op>.lock``: reads it, looks   purge holds it  none: a list changes at
                   for its libraries                                      once, after its library
generic value (4)  ``locks/<4 hex>.lock`` beside it:      purge holds it  not carried
                   looks for it, reads, writes
the same (5)       ``dir.lock`` beside it: reads, writes  purge holds it  not carried
memoizer (6)       ``memoizer_cache.lock``: reads,        purge holds it  not carried
                   writes
PGO profile (7)    ``<file>.lock``: writes ``<file>.tmp`` purge holds it  none: it comes at once,
                   and renames it                                         where there is none
FX graph and       none: writes files of its own and      none            none: the same
others (8)         renames them
Triton (9)         none, but on Windows: the same, or a   none: group     none: the same
                   folder                                 files go first
                                                          and come last
=================  =====================================  ==============  =====================

(1) _worker_compile_cpp, AotCodeCompiler in codecache.py, check_build in cpu_vec_isa.py; (2)
aoti_compile_with_persistent_cache and (3) load_aoti_eager_cache in aoti_eager.py; (4) OnDiskCache
in cache.py; (5) _OnDiskCacheImpl in runtime/caching/implementations.py; (6) Memoizer in
runtime/caching/interfaces.py; (7) write_local_impl in torch/_dynamo/pgo.py; (8) write_atomic; (9)
triton/runtime/cache.py and triton_bundler.py. All others in torch/_inductor.

An undo takes no lock but (2): it puts a file or a folder where there is none, at once, by a link or
a rename.

``halide-runtime-*/lock``, ``<stem>.halide/lock`` and ``locks/g++.lock`` are about what nobody but
PyTorch itself places or names. Two moments no lock covers. Between an object being found and being
loaded: whoever purges code that a process may need (``--in-use``) can make it fail. And (2) looks
before it takes its lock whether there is a list: what makes the first one of an operator meanwhile
is written over, and its library stays without an item, as after two of PyTorch's own.

What an eager list names was built under (1), with ``lib`` as the folder.
PyTorch's temporary files carry their writer's process id.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping

from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.layout import MEMOIZED, inner_cache
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import PREFIX, SUFFIX

#: Seconds to wait for PyTorch, which takes a lock for a moment to look, for longer to build.
PATIENCE = 10.0
_PAUSE = 0.02

_TEMPORARY = re.compile(
    r"\.(\d+)\.\d+\.tmp|tmp\.pid_(\d+)_[0-9a-f-]+|(\d+)-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}|"
    r"[0-9a-f]{64}[._](\d+)[._](?:[0-9a-f]{8}|[0-9a-f]{32})|model\.(\d+)\.tmp",
    re.ASCII,
)


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
    """Hold a lock meanwhile; whether nobody else does. So that nobody gets it between a look at it
    and its removal.
    """
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        yield not taken(handle)
    finally:
        os.close(handle)


def held(lock: str) -> bool:
    """Whether another process holds a lock; False where there is none or it cannot be asked."""
    with ours(lock) as free:
        return not free


def taken(handle: int) -> bool:
    """Whether somebody else holds a lock; ours it is otherwise, where there is such a thing."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        return isinstance(e, BlockingIOError)
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


def locks_of(root: str, kind: str, key: str, path: str) -> list[str]:
    """The locks that PyTorch takes for an entry of a folder, in full; most kinds have none."""
    here = os.path.join(root, path)
    folder, name = os.path.split(here)
    if kind == "code":
        return [os.path.join(root, inner_cache(path), "locks", f"{key}.lock")]
    if kind == "aoti_eager":
        # While a kernel is added, its libraries' folder is the cache folder.
        lock = f"{key.partition('#')[0]}.lock"
        return [os.path.join(above, "locks", lock) for above in (root, os.path.join(folder, "lib"))]
    if kind == "ondisk" and name == MEMOIZED:
        return [os.path.join(folder, MEMOIZED.replace(".json", ".lock"))]
    if kind == "ondisk":
        # There are two generic caches, with files of the same names.
        return [os.path.join(folder, "locks", f"{name[:4]}.lock"), os.path.join(folder, "dir.lock")]
    if kind == "pgo":
        return [here + ".lock"]
    if kind == "jit":
        return [os.path.join(root, lock) for lock in jits.locks(path)]
    return [here] if kind == "lock" and path.endswith(".lock") else []


def in_use(root: str, kind: str, key: str, path: str) -> bool:
    """Whether PyTorch or Triton is at work on an entry of a folder."""
    return _written(kind, path) or any(map(held, locks_of(root, kind, key, path)))


def _written(kind: str, path: str) -> bool:
    """Whether it is a temporary file of a process that is there."""
    return kind == "lock" and any(map(alive, writers(path)))


def writers(path: str) -> list[int]:
    """The processes that the names of a temporary file and its folders carry, if any."""
    found = (_TEMPORARY.fullmatch(part) for part in path.split("/"))
    return [int(next(filter(None, match.groups()))) for match in found if match]


@contextlib.contextmanager
def holding(root: str, kind: str, key: str, path: str, but: str | None = None) -> Iterator[bool]:
    """Hold PyTorch's locks of an entry meanwhile; False where PyTorch is at work on it. A lock that
    is not there is not made: nobody is at work then. ``but``: one that the caller takes when the
    time comes, and that is only asked for.
    """
    with contextlib.ExitStack() as stack:
        free = not _written(kind, path)
        for lock in locks_of(root, kind, key, path):
            if free:
                free = not held(lock) if lock == but else stack.enter_context(ours(lock))
        yield free


def waited_for(root: str, kind: str, key: str, path: str, report: Report) -> bool:
    """Whether PyTorch is not at work on an entry, or soon is no more. Raises Cancelled."""
    until = time.monotonic() + PATIENCE
    while in_use(root, kind, key, path):
        report.check()
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


# Whether somebody is still at work on a file, where a lock alone does not tell.

#: Seconds after which nobody is at work any more who may be on another machine.
_LONG = 3600.0
#: File systems without a device that no other machine sees.
_LOCAL = {"tmpfs", "ramfs", "overlay"}


def here() -> dict[str, object]:
    """What tells this process from all others: the machine since it was started, the processes it
    sees (pid_namespaces(7)), its number there, and when it began, in ticks.
    """
    pid = os.getpid()
    return {"boot": boot(), "space": _space(), "pid": pid, "since": _since(pid)}


def may_work(who: Mapping[str, object], status: os.stat_result) -> bool:
    """Whether a process that ``here`` once told may still be there. status: of a file that it
    writes to all the time, on a file system whose lock is not its own.
    """
    gone = is_gone(who)
    return not at_rest(status) if gone is None else not gone


def is_gone(who: Mapping[str, object]) -> bool | None:
    """Whether a process that ``here`` once told is there no more; None where this machine, since
    it was started, has not had it.
    """
    began, pid = who.get("boot"), who.get("pid")
    if began != boot() or not began or who.get("space") != _space() or not isinstance(pid, int):
        return None
    return not _since(pid) == who.get("since") is not None


def at_rest(status: os.stat_result) -> bool:
    """Whether a lock would have told who writes to a file, or nobody has for long. What may be
    shared with other machines, as NFS, does not always show their locks.
    """
    # A time that is yet to come is no sign of work: an archive may bring any.
    return is_local(status.st_dev) or abs(time.time() - status.st_mtime) > _LONG


def is_local(device: int) -> bool:
    """Whether a file system is surely of this machine only: a device of its own, which has a number
    other than 0, or memory (proc_pid_mountinfo(5)).
    """
    if os.major(device) != 0:
        return True
    named, lines = f"0:{os.minor(device)}", _text("/proc/self/mountinfo").splitlines()
    try:
        kinds = {line.partition(" - ")[2].split()[0] for line in lines if named in line.split()}
    except IndexError:
        return False
    return bool(kinds) and kinds <= _LOCAL


def boot() -> str:
    """What tells this start of the machine from all others; "" where nobody can tell."""
    return _text("/proc/sys/kernel/random/boot_id").strip()


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _since(pid: int) -> str | None:
    """When a process began; None where there is none, or nobody can tell."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    # A zombie does nothing any more.
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


# What was left beside a bundle by an export or a signing that was ended by force, on a file system
# where what is being written has a name (``stores.atomic``).

#: What is placed by an import is called otherwise, and is its own to remove.
_NAME = re.compile(re.escape(PREFIX) + "[0-9a-z_]{8}" + re.escape(SUFFIX))
#: How many are told by name.
_TOLD = 20


def remove_leftovers(folder: str, report: Report) -> int:
    """Remove what lies in a folder, is this user's, and is written by nobody any more; returns how
    many files that were. What was removed is told: a finding ``leftovers={count, bytes, paths}``.
    Raises nothing: it is no part of what is asked for.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))
    except OSError:
        return 0
    paths = [os.path.join(folder, name) for name in names]
    gone = {path: freed for path in paths if (freed := _removed(path)) is not None}
    if gone:
        size, told = sum(gone.values()), list(gone)[:_TOLD]
        report.finding(leftovers={"count": len(gone), "bytes": size, "paths": told})
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
