"""Jobs of the window that have not ended, for others to see, and those that were cut off.

Each process that has some keeps a file of one line, which it holds a lock on as long as it lives:
a file that nobody holds is what is left of a process that did not end by itself. Who reads one in
the middle of a change reads it again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchkeeper.artifacts.masking import brief
from torchkeeper.client.kept import history, runs
from torchkeeper.client.kept.history import Past
from torchkeeper.client.words.tongue import tr

#: Jobs of a process that are told, bytes of its file, and of a text in it.
_MOST, _MAX_BYTES, _MAX_TEXT = 200, 1 << 20, 1000
#: How often a line is read that is being changed, and seconds between.
_TRIES, _PAUSE = 5, 0.01

_STATES = frozenset({"queued", "running", "cancelling"})


@dataclass(frozen=True)
class Running:
    """A job that has not ended.

    id: what it is called in the history once it has ended. kind: the operation. place: what it
    changes; empty for nothing. state: queued, running or cancelling. began: seconds since the
    epoch; None for one that waits. fraction: how much is done, from 0 to 1; None where nobody
    knows. words: how far it is. process: who runs it. window: whether that has a window; without
    one it only waits for its jobs to end.
    """

    id: str
    kind: str
    title: str
    place: str
    state: str
    began: float | None
    fraction: float | None
    words: str
    process: int
    window: bool

    def to_json(self) -> dict[str, object]:
        """The job as one JSON object."""
        return asdict(self)


def folder() -> str:
    """Where the files are."""
    return os.path.join(os.path.dirname(runs.folder()), "running")


class Board:
    """What a window runs, for others to see."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: Sequence[Running] = ()
        self._handle: int | None = None
        self._path = ""

    def tell(self, jobs: Sequence[Running]) -> None:
        """These run now. Waits for nothing: ``write`` is to be called next, in any thread."""
        self._jobs = tuple(jobs)

    def write(self) -> None:
        """Have it on the disk, whoever comes last. Raises OSError."""
        with self._lock:
            jobs = self._jobs
            if not jobs:
                self._take_down()
                return
            said = {"jobs": [_discreet(job).to_json() for job in jobs[:_MOST]]}
            line = json.dumps(said).encode() + b"\n"
            handle = self._put_up()
            os.pwrite(handle, line, 0)
            os.ftruncate(handle, len(line))

    def _put_up(self) -> int:
        if self._handle is None:
            os.makedirs(folder(), mode=0o700, exist_ok=True)
            self._path = os.path.join(folder(), f"{history.new_id(time.time())}.json")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._handle = os.open(self._path, flags, 0o600)
            # One who looks into it now holds it for no longer than that takes.
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        return self._handle

    def _take_down(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(self._handle)
            self._handle = None


def found() -> list[Running]:
    """What runs now in any process, the oldest first. What was cut off is put into the history.

    A file that cannot be read or understood is passed over.
    """
    jobs: list[Running] = []
    for path in _files():
        with contextlib.suppress(OSError), _opened(path) as handle:
            if _held(handle):
                jobs += _read(handle)
            else:
                _mourn(path, _read(handle))
    return sorted(jobs, key=lambda job: (job.began is None, job.began or 0.0))


def _files() -> list[str]:
    try:
        names = sorted(os.listdir(folder()))
    except OSError:
        return []
    return [os.path.join(folder(), name) for name in names if name.endswith(".json")]


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("no file")
        yield handle
    finally:
        os.close(handle)


def _held(handle: int) -> bool:
    """Whether its process lives; if not, the lock is ours from now on."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    # One that has been made just now, and is not held yet, is empty.
    return not os.fstat(handle).st_size and time.time() - os.fstat(handle).st_mtime < 1.0


def _read(handle: int) -> list[Running]:
    for again in range(_TRIES):
        data = os.pread(handle, _MAX_BYTES, 0)
        line, ended, _ = data.partition(b"\n")
        if ended:
            with contextlib.suppress(ValueError, TypeError, LookupError, RecursionError):
                return [_running(one) for one in json.loads(line)["jobs"][:_MOST]]
        if again < _TRIES - 1:
            time.sleep(_PAUSE)
    return []


def _running(said: Mapping[str, Any]) -> Running:
    began, fraction = said["began"], said["fraction"]
    if said["state"] not in _STATES:
        raise ValueError(said["state"])
    return Running(
        str(said["id"]),
        str(said["kind"]),
        str(said["title"]),
        str(said["place"]),
        str(said["state"]),
        None if began is None else float(began),
        None if fraction is None else min(1.0, max(0.0, float(fraction))),
        str(said["words"]),
        int(said["process"]),
        bool(said["window"]),
    )


def _discreet(job: Running) -> Running:
    texts = {
        name: brief(str(getattr(job, name)), _MAX_TEXT) for name in ("title", "place", "words")
    }
    return Running(**{**asdict(job), **texts})


def _mourn(path: str, jobs: Sequence[Running]) -> None:
    """A process was cut off: its jobs are in the history from now on, as cancelled."""
    # Whoever kills the machine's processes lets none of them say when that was.
    with contextlib.suppress(OSError):
        ended = os.stat(path).st_mtime
        os.unlink(path)
        known = {one.id for one in history.kept().jobs}
        history.keep([_past(job, ended) for job in jobs if job.id not in known])


def _past(job: Running, ended: float) -> Past:
    return Past(
        id=job.id,
        kind=job.kind,
        title=job.title,
        place=job.place,
        state="cancelled",
        good=False,
        began=job.began,
        ended=ended,
        words=tr("Cut off: the process that ran it was ended from outside"),
    )
