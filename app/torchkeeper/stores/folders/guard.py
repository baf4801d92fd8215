"""One Torchkeeper at a time changes a place, and none what another has left half done."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import journal
from torchkeeper.stores.folders.locks import taken
from torchkeeper.stores.folders.recovering import Recovered, recover, seen

#: Seconds to wait for another one to finish.
PATIENCE = 10.0


@contextlib.contextmanager
def changing(
    place: str,
    report: Report | None = None,
    patience: float = PATIENCE,
    keep: bool = True,
    insisted: str = "",
) -> Iterator[list[Recovered]]:
    """Hold the place for changes, against other Torchkeepers; torch itself is not kept out. What
    was cut off there is brought to its end before, and given, and ``report`` hears of it; ``keep``
    and ``insisted`` as of ``recovering.recover``.

    The lock is on the folder itself, so that it leaves no file and ends with its process.
    Raises Problem("place-busy" | "place-missing" | "place-unreadable" | "place-unfinished").
    """
    with _held(place, patience) as root:
        yield recover(root, report or Report(), keep, insisted)


@contextlib.contextmanager
def _held(place: str, patience: float) -> Iterator[str]:
    """Hold the lock of a place, and give its path. Raises Problem as ``changing``."""
    deadline = time.monotonic() + patience
    root = os.path.realpath(place)
    while True:
        handle = _opened(root, place)
        try:
            # Where there are no locks, as on some NFS, it goes on unguarded.
            if not taken(handle) and _is_there(handle, root):
                yield root
                return
        finally:
            os.close(handle)
        if time.monotonic() > deadline:
            raise Problem("place-busy", place=place)
        time.sleep(0.05)


def _opened(root: str, place: str) -> int:
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise Problem("place-missing", place=place) from e
    except OSError as e:
        raise Problem("place-unreadable", place=place, why=e.strerror) from e


def _is_there(handle: int, root: str) -> bool:
    """Whether a folder is still the one of that name: who had the lock may have removed it, and
    another one may be at work in what has its name now.
    """
    try:
        return os.path.samestat(os.fstat(handle), os.stat(root))
    except OSError:
        return False


def cut_off(place: str) -> list[Recovered]:
    """What was cut off in a folder, unless somebody is at work there; nothing is changed. Raises
    nothing: whoever only wants to look can.
    """
    if journal.lies_in(os.path.realpath(place)):
        with contextlib.suppress(Problem), _held(place, 0) as root:
            return seen(root)
    return []


def brought_to_end(place: str, report: Report, insisted: str = "") -> list[Recovered]:
    """Bring what was cut off in a folder to its end, and say what was done. insisted: as of
    ``recovering.recover``. Raises Problem as ``changing``.
    """
    with changing(place, report, keep=False, insisted=insisted) as told:
        return told
