"""Jobs of the window, kept: those that have ended, each a line of JSON in one file, and those that
run, for others to see and to know what was cut off. Several windows may add to it at once: whoever
writes holds a lock beside it. A line that cannot be understood is passed over and counted. Texts
are bounded, and kept without what looks like a secret.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from torchkeeper.artifacts.masking import brief
from torchkeeper.client.kept import runs, whole
from torchkeeper.client.words.problems import failing_as, user_error
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
#: What is a text of every job.
_STRINGS = ("id", "kind", "title", "place", "state", "words")


@dataclass(frozen=True)
class Past:
    """A job that has ended. kind: the operation. place: what it changed, or "". state: done, failed
    or cancelled; good: it has done all that it was asked for. began, ended: seconds since the
    epoch. words: how it ended; told: what came of it. fruit: the path that came of it, or "";
    bundle: that is a bundle. error: what happened, why, and what can be done. there: what it is
    called on its machine, where it went on without the connection.
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
    there: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether nobody here has heard that it has ended on its machine."""
        return bool(self.there)

    @property
    def seconds(self) -> float | None:
        """How long it ran; None for one that never came to run."""
        return None if self.began is None else max(0.0, self.ended - self.began)

    def to_json(self) -> dict[str, object]:
        error = self.error and dict(zip(("what", "why", "remedy"), self.error, strict=True))
        return {**asdict(self), "error": error}


class Kept(NamedTuple):
    """The jobs that are kept, the latest first, and how many lines could not be understood."""

    jobs: list[Past]
    damaged: int


def new_id(ended: float) -> str:
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(ended)) + secrets.token_hex(4)


def path() -> str:
    return os.path.join(os.path.dirname(runs.folder()), "jobs.jsonl")


def keep(some: Sequence[Past]) -> None:
    """Keep jobs; the oldest go where there are too many. Raises UserError("jobs-unwritable")."""
    if not (data := b"".join(_line(one) for one in some)):
        return
    with _locked() as file:
        handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if (size := os.fstat(handle).st_size) and os.pread(handle, 1, size - 1) != b"\n":
                data = b"\n" + data  # somebody was cut off
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)
        _shorten(file)


def kept() -> Kept:
    """The jobs that are kept, none without a file. Raises UserError("jobs-unreadable")."""
    with failing_as("jobs-unreadable", file=path()), contextlib.suppress(FileNotFoundError):
        found, damaged = _understood(_read(path()))
        # One that was heard of again has ended twice.
        last = {one.id: one for one, _ in found}
        jobs = sorted(last.values(), key=lambda one: -one.ended)
        return Kept(jobs[:MAX_JOBS], damaged)
    return Kept([], 0)


def forget(idents: Sequence[str] | None) -> int:
    """Remove jobs by their ids, None: all; how many. Raises UserError("jobs-unwritable")."""
    with _locked() as file:
        try:
            found, _ = _understood(_read(file))
        except FileNotFoundError:
            return 0
        left = [line for one, line in found if idents is not None and one.id not in idents]
        _rewrite(file, left)
        return len(found) - len(left)


def one(ident: str) -> Past:
    """The job whose id begins so, or "last". Raises UserError("job-unknown" | "job-ambiguous")."""
    return chosen(kept().jobs, ident)


def chosen(jobs: Sequence[Past], ident: str) -> Past:
    """As ``one``, among these jobs; the first of them is the last that ran."""
    found = [*jobs[:1]] if ident == "last" else [job for job in jobs if job.id.startswith(ident)]
    if not found:
        raise user_error("job-unknown", {"job": ident})
    if len(found) > 1:
        raise user_error("job-ambiguous", {"job": ident, "count": len(found)})
    return found[0]


@contextlib.contextmanager
def _locked() -> Iterator[str]:
    """Hold the lock; the file. What goes wrong is said in words."""
    file = path()
    with failing_as("jobs-unwritable", file=file):
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        handle = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(handle)
            yield file
        finally:
            os.close(handle)


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
    texts: Any = {n: _discreet(getattr(job, n)) for n in ("title", "place", "words", "fruit")}
    texts["told"] = tuple(map(_discreet, job.told))
    texts["asked"] = tuple((name, _discreet(text)) for name, text in job.asked)
    texts["error"] = job.error and tuple(map(_discreet, job.error))
    texts["log"] = tuple(_discreet(text, _MAX_LINE) for text in job.log[-MAX_LINES:])
    job = replace(job, **texts)
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
    found, damaged = [], 0
    for line in lines:
        try:
            found.append((_past(json.loads(line)), line))
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            damaged += 1
    return found, damaged


def _past(said: Mapping[str, Any]) -> Past:
    error = said["error"]
    told = None if error is None else (str(error["what"]), str(error["why"]), str(error["remedy"]))
    if said["state"] not in _STATES:
        raise ValueError(said["state"])
    return Past(
        good=bool(said["good"]),
        began=None if said["began"] is None else float(said["began"]),
        ended=float(said["ended"]),
        told=_texts(said["told"]),
        asked=tuple((str(name), str(text)) for name, text in said["asked"]),
        bundle=bool(said["bundle"]),
        error=told,
        log=_texts(said["log"][-MAX_LINES:]),
        there=str(said.get("there", "")),
        **{name: str(said[name]) for name in (*_STRINGS, "fruit")},
    )


def _texts(said: list[Any]) -> tuple[str, ...]:
    if not isinstance(said, list):
        raise TypeError(said)
    return tuple(str(text) for text in said)


def _shorten(file: str) -> None:
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


# Each process with jobs that have not ended keeps a file of one line, on which it holds a lock as
# long as it lives: a file that nobody holds is left of a process that did not end by itself. Who
# reads one in the middle of a change reads it again.

#: Jobs of a process that are told, bytes of its file, and of a text in it.
_MOST, _MAX_BYTES, _RUNNING_MAX_TEXT = 200, 1 << 20, 1000
#: How often a line is read that is being changed, and seconds between.
_TRIES, _PAUSE = 5, 0.01

_RUNNING_STATES = frozenset({"queued", "running", "cancelling"})


@dataclass(frozen=True)
class Running:
    """A job that has not ended. id: its own in the history later. place: what it changes, or "".
    state: queued, running or cancelling. began: seconds since the epoch, None for one that waits.
    fraction: how much is done, 0 to 1, or None. process: who runs it; window: whether that has one.
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
        return asdict(self)


def folder() -> str:
    return os.path.join(os.path.dirname(runs.folder()), "running")


class Board:
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
            if not (jobs := self._jobs):
                if self._handle is not None:
                    with contextlib.suppress(OSError):
                        os.unlink(self._path)
                    os.close(self._handle)
                    self._handle = None
                return
            said = {"jobs": [{**asdict(job), **_brief(job)} for job in jobs[:_MOST]]}
            line = json.dumps(said).encode() + b"\n"
            if self._handle is None:
                os.makedirs(folder(), mode=0o700, exist_ok=True)
                self._path = os.path.join(folder(), f"{new_id(time.time())}.json")
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                self._handle = os.open(self._path, flags, 0o600)
                # One who looks into it now holds it for no longer than that takes.
                fcntl.flock(self._handle, fcntl.LOCK_EX)
            os.pwrite(self._handle, line, 0)
            os.ftruncate(self._handle, len(line))


def found() -> list[Running]:
    """What runs now in any process, the oldest first; what was cut off goes into the history."""
    jobs: list[Running] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder()), "*.json"))):
        with contextlib.suppress(OSError), _opened(path) as handle:
            if _held(handle):
                jobs += _running_read(handle)
            else:
                _mourn(path, _running_read(handle))
    return sorted(jobs, key=lambda job: (job.began is None, job.began or 0.0))


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
        line, ended, _ = os.pread(handle, _MAX_BYTES, 0).partition(b"\n")
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
        began=None if began is None else float(began),
        fraction=None if fraction is None else min(1.0, max(0.0, float(fraction))),
        process=int(said["process"]),
        window=bool(said["window"]),
        **{name: str(said[name]) for name in _STRINGS},
    )


def _mourn(path: str, jobs: Sequence[Running]) -> None:
    """A process was cut off: its jobs are in the history from now on, as cancelled."""
    # Whoever kills the machine's processes lets none of them say when that was.
    words = tr("Cut off: the process that ran it was ended from outside")
    with contextlib.suppress(OSError):
        ended = os.stat(path).st_mtime
        os.unlink(path)
        known = {one.id for one in kept().jobs}
        cut_off = [
            Past(x.id, x.kind, x.title, x.place, "cancelled", False, x.began, ended, words)
            for x in jobs
            if x.id not in known
        ]
        keep(cut_off)


def _brief(job: Running) -> dict[str, str]:
    names = ("title", "place", "words")
    return {name: brief(str(getattr(job, name)), _RUNNING_MAX_TEXT) for name in names}
