"""The private folder that an engine is started in: among the temporary files, empty but for what a
program leaves where it runs, and gone with the engine. The app and the engine hold a lock on it
(flock, shared); where both were ended by force, the next engine beside it removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
import time

from torchkeeper.stores.folders import locks
from torchkeeper.stores.redis import WAY

#: Runs an engine, from the folder or zip that is its argument. What is imported is no garbage.
BOOT = (
    "import gc, sys; gc.set_threshold(2_000_000, 10, 10); sys.path.insert(0, sys.argv.pop(1)); "
    "from torchkeeper.engine.serve import main; main(*sys.argv[1:])"
)
_PREFIX = "torchkeeper-engine-"
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: How often a new one is made because another engine swept it away before it was locked.
_TRIES = 10
#: Seconds for which one is left alone that may be of a machine or version which locks otherwise.
_LONG = 3600.0


def make() -> tuple[str, int]:
    """The path of a new one, and the handle that keeps it until it is closed. Raises OSError."""
    for _ in range(_TRIES):
        path = tempfile.mkdtemp(prefix=_named())
        try:
            handle = os.open(path, _OPEN)
        except FileNotFoundError:
            continue
        except OSError:
            os.rmdir(path)
            raise
        if _locked(handle, fcntl.LOCK_SH) is not False and os.fstat(handle).st_nlink:
            return path, handle
        os.close(handle)  # another engine is removing it
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def keep() -> str:
    """Hold the folder that this engine runs in until its end; its path, "" where it is none."""
    try:
        path = os.getcwd()
        if os.path.basename(path).startswith(_PREFIX):
            _locked(os.open(path, _OPEN), fcntl.LOCK_SH)
            return path
    except OSError:
        pass  # it is gone, and so is the app
    return ""


def leave(path: str) -> None:
    """Remove this engine's folder, should nobody else be left to do so."""
    if path:
        with contextlib.suppress(OSError):
            _gone(path)


def _gone(path: str) -> None:
    """Remove one that holds nothing but the socket of its app. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(path, WAY))
    os.rmdir(path)


def sweep(path: str) -> None:
    """Remove the empty folders beside this engine's whose app and engine were ended by force. Only
    this user's are, and no link is followed. Raises nothing.
    """
    if not path:
        return
    above, mine = os.path.split(path)
    named = _named()
    with contextlib.suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name != mine:
                with contextlib.suppress(OSError):
                    _remove(entry.path, told=entry.name.startswith(named))


def _remove(path: str, told: bool) -> None:
    """Remove one that nobody keeps. told: whether a lock tells that."""
    handle = os.open(path, _OPEN)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
            return
        # What this machine's locks do not tell: another machine's, or an older version's.
        young = time.time() - status.st_mtime < _LONG
        if not told and (young or not locks.is_local(status.st_dev)):
            return
        if _locked(handle, fcntl.LOCK_EX):
            _gone(path)
    finally:
        os.close(handle)


def _locked(handle: int, how: int) -> bool | None:
    """Whether a lock is ours now; None where there is no such thing."""
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _named() -> str:
    """How the names begin of those whose locks this machine knows, since it was started."""
    boot = str(locks.here()["boot"]).replace("-", "")[:12]
    return f"{_PREFIX}{boot or 'unknown'}-"
