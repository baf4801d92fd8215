"""Jobs of the window, kept: those that have ended, a line of JSON for each in one file, and those
that run, for others to see and to know what was cut off.

Several windows may add to it at once: whoever writes holds a lock beside it. A line that cannot be
understood is passed over and counted. Texts are kept without what looks like a secret, and bounded.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from torchkeeper.artifacts.masking import brief
from torchkeeper.client.kept import runs, whole
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import tr

#: How many jobs are kept, the latest; so many more are there before the oldest go.
MAX_JOBS = 500
_SLACK = 50
#: Bytes of the file, and what is left of it where it becomes too large.
MAX_BYTES = 20 << 20
_LEFT = MAX_BYTES * 3 // 4
#: Lines of a log that are kept, the last; characters of one, for to look for passwords takes time
#: that grows with their square; of a text; bytes of a job.
MAX_LINES = 500
_MAX_LINE = 400
_MAX_TEXT = 2000
_MAX_JOB = 256 << 10
#: Seconds that another window may take to write.
_PATIENCE = 5.0

_STATES = frozenset({"done", "failed", "cancelled"})


@dataclass(frozen=True)
class Past:
    """A job that has ended.

    kind: the operation. place: what it changed; empty for nothing. state: done, failed or
    cancelled; good: whether it has done all that it was asked for. began, ended: seconds since the
    epoch. words: how it ended, in a few words; told: what came of it, in sentences. asked: what it
    was to do, each a name and a value. fruit: the path that came of it; bundle: whether that is
    one. error: what happened, why, and what can be done, where it failed. log: its last lines.
    """

    id: str
    kind: str
    title: str
    place: str
    state: str
    good: bool
    began: float | None
    ended: float
    words: str
    told: tuple[str, ...] = ()
    asked: tuple[tuple[str, str], ...] = ()
    fruit: str = ""
    bundle: bool = False
    error: tuple[str, str, str] | None = None
    log: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """How long it ran; None for one that never came to run."""
        return None if self.began is None else max(0.0, self.ended - self.began)

    def to_json(self) -> dict[str, object]:
        """The job as one JSON object."""
        error = (
            dict(zip(("what", "why", "remedy"), self.error, strict=True)) if self.error else None
        )
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "place": self.place,
            "state": self.state,
            "good": self.good,
            "began": self.began,
            "ended": self.ended,
            "words": self.words,
            "told": list(self.told),
            "asked": [list(pair) for pair in self.asked],
            "fruit": self.fruit,
            "bundle": self.bundle,
            "error": error,
            "log": list(self.log),
        }


@dataclass(frozen=True)
class Kept:
    """The jobs that are kept, the latest first, and how many lines could not be understood."""

    jobs: list[Past]
    damaged: int


def new_id(ended: float) -> str:
    """An id that nothing else has."""
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(ended)) + secrets.token_hex(4)


def path() -> str:
    """The file they are kept in."""
    return os.path.join(os.path.dirname(runs.folder()), "jobs.jsonl")


def keep(some: Sequence[Past]) -> None:
    """Keep jobs; the oldest go where there are too many. Raises UserError("jobs-unwritable")."""
    data = b"".join(_line(one) for one in some)
    if not data:
        return
    with _locked() as file:
        handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                data = b"\n" + data  # somebody was cut off
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)
        _shorten(file)


def kept() -> Kept:
    """The jobs that are kept. Reads the file; one that is not there holds none.

    Raises UserError("jobs-unreadable").
    """
    try:
        found, damaged = _understood(_read(path()))
    except FileNotFoundError:
        return Kept([], 0)
    except OSError as e:
        raise user_error("jobs-unreadable", {"file": path(), "why": e.strerror}) from e
    jobs = [one for one, _ in found]
    return Kept(sorted(jobs, key=lambda one: -one.ended)[:MAX_JOBS], damaged)


def forget(idents: Sequence[str] | None) -> int:
    """Remove jobs by their whole ids, or with None all, and what is damaged with them; how many
    were there. Raises UserError("jobs-unwritable").
    """
    with _locked() as file:
        try:
            found, _ = _understood(_read(file))
        except FileNotFoundError:
            return 0
        gone = set(idents) if idents is not None else {one.id for one, _ in found}
        left = [line for one, line in found if one.id not in gone]
        _rewrite(file, left)
        return len(found) - len(left)


def one(ident: str) -> Past:
    """The job whose id begins so, or "last". Raises UserError("job-unknown" | "job-ambiguous")."""
    jobs = kept().jobs
    found = jobs[:1] if ident == "last" else [job for job in jobs if job.id.startswith(ident)]
    if not found:
        raise user_error("job-unknown", {"job": ident})
    if len(found) > 1:
        raise user_error("job-ambiguous", {"job": ident, "count": len(found)})
    return found[0]


@contextlib.contextmanager
def _locked() -> Iterator[str]:
    """Hold the lock; the file. What goes wrong is said in words."""
    file = path()
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        handle = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(handle)
            yield file
        finally:
            os.close(handle)
    except OSError as e:
        raise user_error("jobs-unwritable", {"file": file, "why": e.strerror or str(e)}) from e


def _lock(handle: int) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.005)


def _line(job: Past) -> bytes:
    """A job as a line that is not too long, without what looks like a secret."""
    error = job.error
    job = replace(
        job,
        title=_discreet(job.title),
        place=_discreet(job.place),
        words=_discreet(job.words),
        told=tuple(_discreet(text) for text in job.told),
        asked=tuple((name, _discreet(text)) for name, text in job.asked),
        fruit=_discreet(job.fruit),
        error=(_discreet(error[0]), _discreet(error[1]), _discreet(error[2])) if error else None,
        log=tuple(_discreet(text, _MAX_LINE) for text in job.log[-MAX_LINES:]),
    )
    while len(data := json.dumps(job.to_json()).encode()) > _MAX_JOB and (job.log or job.told):
        more = len(job.log) // 2
        job = replace(job, log=job.log[-more:] if more else (), told=job.told if more else ())
    return data + b"\n"


def _discreet(text: str, most: int = _MAX_TEXT) -> str:
    if len(text) > most:
        # Not within a word: of half a password nobody can tell that it is one.
        text = text[:most].rpartition(" ")[0] + " …"
    return brief(text, most + 2)


def _read(file: str) -> list[bytes]:
    """The last lines of the file, as far as it may be large. Raises OSError."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as stream:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(22, "It is not a file", file)
        if about.st_size > MAX_BYTES:
            stream.seek(about.st_size - MAX_BYTES)
            stream.readline()
        return [line for line in stream.read(MAX_BYTES + _MAX_JOB).split(b"\n") if line.strip()]


def _understood(lines: Sequence[bytes]) -> tuple[list[tuple[Past, bytes]], int]:
    """The jobs of lines, each with its line, and how many lines are none."""
    found, damaged = [], 0
    for line in lines:
        try:
            found.append((_past(json.loads(line)), line))
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            damaged += 1
    return found, damaged


def _past(said: Mapping[str, Any]) -> Past:
    error = said["error"]
    if said["state"] not in _STATES:
        raise ValueError(said["state"])
    return Past(
        str(said["id"]),
        str(said["kind"]),
        str(said["title"]),
        str(said["place"]),
        str(said["state"]),
        bool(said["good"]),
        None if said["began"] is None else float(said["began"]),
        float(said["ended"]),
        str(said["words"]),
        _texts(said["told"]),
        tuple((str(name), str(text)) for name, text in said["asked"]),
        str(said["fruit"]),
        bool(said["bundle"]),
        None if error is None else (str(error["what"]), str(error["why"]), str(error["remedy"])),
        _texts(said["log"][-MAX_LINES:]),
    )


def _texts(said: list[Any]) -> tuple[str, ...]:
    if not isinstance(said, list):
        raise TypeError(said)
    return tuple(str(text) for text in said)


def _shorten(file: str) -> None:
    """Let the oldest go, where there are too many, or they are too large."""
    if os.stat(file).st_size <= MAX_BYTES:
        with open(file, "rb") as stream:
            if stream.read().count(b"\n") <= MAX_JOBS + _SLACK:
                return
    found, _ = _understood(_read(file))
    lines = [line for _, line in found[-MAX_JOBS:]]
    size = sum(len(line) + 1 for line in lines)
    while lines and size > _LEFT:
        size -= len(lines.pop(0)) + 1
    _rewrite(file, lines)


def _rewrite(file: str, lines: Sequence[bytes]) -> None:
    whole.write_text(file, "".join(f"{line.decode()}\n" for line in lines), 0o600)


# Jobs of the window that have not ended, for others to see, and those that were cut off.
#
# Each process that has some keeps a file of one line, which it holds a lock on as long as it lives:
# a file that nobody holds is what is left of a process that did not end by itself. Who reads one in
# the middle of a change reads it again.

#: Jobs of a process that are told, bytes of its file, and of a text in it.
_MOST, _MAX_BYTES, _RUNNING_MAX_TEXT = 200, 1 << 20, 1000
#: How often a line is read that is being changed, and seconds between.
_TRIES, _PAUSE = 5, 0.01

_RUNNING_STATES = frozenset({"queued", "running", "cancelling"})


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
            said = {"jobs": [_running_discreet(job).to_json() for job in jobs[:_MOST]]}
            line = json.dumps(said).encode() + b"\n"
            handle = self._put_up()
            os.pwrite(handle, line, 0)
            os.ftruncate(handle, len(line))

    def _put_up(self) -> int:
        if self._handle is None:
            os.makedirs(folder(), mode=0o700, exist_ok=True)
            self._path = os.path.join(folder(), f"{new_id(time.time())}.json")
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
                jobs += _running_read(handle)
            else:
                _mourn(path, _running_read(handle))
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


def _running_read(handle: int) -> list[Running]:
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
    if said["state"] not in _RUNNING_STATES:
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


def _running_discreet(job: Running) -> Running:
    texts = {
        name: brief(str(getattr(job, name)), _RUNNING_MAX_TEXT)
        for name in ("title", "place", "words")
    }
    return Running(**{**asdict(job), **texts})


def _mourn(path: str, jobs: Sequence[Running]) -> None:
    """A process was cut off: its jobs are in the history from now on, as cancelled."""
    # Whoever kills the machine's processes lets none of them say when that was.
    with contextlib.suppress(OSError):
        ended = os.stat(path).st_mtime
        os.unlink(path)
        known = {one.id for one in kept().jobs}
        keep([_running_past(job, ended) for job in jobs if job.id not in known])


def _running_past(job: Running, ended: float) -> Past:
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
