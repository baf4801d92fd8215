"""One Torchkeeper at a time changes a place, and none what another has left half done."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import journal
from torchkeeper.stores.folders.recovering import Recovered, recover, unfinished

#: Seconds to wait for another one to finish.
PATIENCE = 10.0


@contextlib.contextmanager
def changing(
    place: str, report: Report | None = None, patience: float = PATIENCE, keep: bool = True
) -> Iterator[list[Recovered]]:
    """Hold the place for changes, against other Torchkeepers; torch itself is not kept out. What
    was cut off there is brought to its end before, and given, and ``report`` hears of it; ``keep``
    as of ``recovering.recover``.

    The lock is on the folder itself, so that it leaves no file and ends with its process.
    Raises Problem("place-busy" | "place-missing" | "place-unreadable" | "place-unfinished").
    """
    try:
        handle = os.open(os.path.realpath(place), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise Problem("place-missing", place=place) from e
    except OSError as e:
        raise Problem("place-unreadable", place=place, why=e.strerror) from e
    try:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Problem("place-busy", place=place) from None
                time.sleep(0.05)
            except OSError:
                break  # a file system without locks, such as some NFS: go on unguarded
        yield recover(os.path.realpath(place), report or Report(), keep)
    finally:
        os.close(handle)


def mended(place: str, report: Report) -> None:
    """Bring what was cut off in a folder to its end, unless somebody is at work there. Raises
    nothing: whoever only wants to look can; that it cannot be done ``report`` hears.
    """
    root = os.path.realpath(place)
    if journal.lies_in(root):
        try:
            with changing(place, report, patience=0, keep=False):
                pass
        except Problem as problem:
            unfinished(root, problem, report)
