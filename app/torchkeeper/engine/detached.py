"""Operations that outlive who asked for them: each runs in a process of its own, which writes what
it tells into a file, line by line as it goes over the wire. Whoever connects next follows it from
the beginning, and may end it.

The files lie in the account's cache folder, in one that nobody else can open, a folder for each
job. They are read as if an enemy had written them, by what reads the wire.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import hidden
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.artifacts.version import SOURCE
from torchkeeper.engine import protocol, serve
from torchkeeper.engine.messages import compiling
from torchkeeper.engine.session import Session
from torchkeeper.stores import atomic, parts, processes
from torchkeeper.stores.folders import locks
from torchkeeper.warm.processes import calling

#: What a job is called: nobody guesses it.
_IDENT = re.compile(r"[0-9a-f]{16}")
#: Files of a job: what it has told, and the code and the recipes that it was begun with.
_TOLD, _SOURCE, _SENT = "told", "source.zip", "sent.zip"
#: The most jobs at a time, and the most bytes that one may tell besides its result.
_MOST, _BYTES = 32, 64 << 20
#: Seconds for which a job is kept once it has ended.
_LONG = 7 * 86400.0
#: Seconds between two looks at a job, between two reports of its progress, and for it to end.
_TURN, _TELLING, _PATIENCE = 0.1, 1.0, 15.0
#: The most characters that are said of what a job does.
_ABOUT = 200
#: The fields of a report of progress.
_FAR = ("type", "done", "total", "unit", "error")


def detach(
    session: Session, params: compiling.DetachParams, report: Report
) -> compiling.DetachResult:
    """Have an operation done by a process that outlives this one, and follow it."""
    root, ident = _root(), os.urandom(8).hex()
    try:
        os.makedirs(root, 0o700, exist_ok=True)
        if not _is_private(root):
            raise PermissionError(1, "Others can open it")
        _sweep(root)
        folder = os.path.join(root, ident)
        os.mkdir(folder, 0o700)
        _begin(folder, params["op"], params["params"])
    except OSError as e:
        raise Problem("place-unwritable", place=root, why=e.strerror or str(e)) from e
    return follow(session, {"job": ident}, report)


def follow(_: Session, params: compiling.FollowParams, report: Report) -> compiling.FollowResult:
    """Tell all that a job tells, to its end; its result, or its problem. To cancel this ends it,
    and so does ``end``; but not where nobody is left who would cancel.
    """
    with _opened(params["job"]) as job:
        report.finding(job=job.ident)
        asked, ends = 0.0, params.get("end", False)
        while True:
            lives = job.lives()
            try:
                for message in job.new():
                    if message.type == "result":
                        return cast("compiling.FollowResult", message.body["result"])
                    if message.type == "error":
                        error = message.body["error"]
                        raise Problem(error["code"], **error.get("params", {}))
                    report.relay(message.body)
            except protocol.WireError as e:
                raise Problem("job-unreadable", why=str(e)) from e
            if not lives:
                raise Problem("job-gone")
            try:
                report.check()
            except Cancelled:
                if report.alone:
                    raise
                ends = True
            if ends:
                asked = job.end(asked)
            time.sleep(_TURN)


def jobs(_: Session, _params: compiling.JobsParams, report: Report) -> compiling.JobsResult:
    """The jobs that run here, and those that have ended of which nobody has heard yet."""
    rows = []
    for ident in _names(_root())[:_MOST]:
        with contextlib.suppress(Problem), _opened(ident) as job:
            rows.append(job.row())
    report.rows(rows)
    return {}


def forget(ident: str) -> None:
    """Remove one of whose end somebody has heard."""
    with contextlib.suppress(Problem), _opened(ident) as job:
        if not job.row()["lives"]:
            atomic.remove(job.folder)


def _root() -> str:
    index = os.environ.get(protocol.INDEX) or os.path.expanduser("~/.cache/torchkeeper/index")
    return os.path.join(os.path.dirname(index), "jobs")


def _is_private(folder: str) -> bool:
    """Whether a folder is this user's, and nobody else can open it."""
    found = os.lstat(folder)
    mine = found.st_uid == os.geteuid() and not found.st_mode & 0o77
    return mine and stat.S_ISDIR(found.st_mode)


def _names(root: str) -> list[str]:
    with contextlib.suppress(OSError):
        if _is_private(root):
            return list(filter(_IDENT.fullmatch, os.listdir(root)))
    return []


def _sweep(root: str) -> None:
    """Remove what is old, and what is too much. Raises OSError and Problem("jobs-too-many")."""
    kept = list[tuple[float, str]]()
    for ident in _names(root):
        folder, longest = os.path.join(root, ident), _LONG
        with contextlib.suppress(Problem), _opened(ident) as job:
            longest = math.inf if job.lives() else _LONG
        kept.append((longest - time.time() + os.stat(folder).st_mtime, folder))
    for number, (left, folder) in enumerate(sorted(kept, reverse=True)):
        if left < 0 or number >= _MOST - 1:
            if left == math.inf:
                raise Problem("jobs-too-many", most=_MOST)
            atomic.remove(folder)


def _begin(folder: str, op: str, params: Mapping[str, Any]) -> None:
    """Start a process that leads a session of its own, in its folder. Raises OSError."""
    source, nowhere = SOURCE, subprocess.DEVNULL
    # What this runs from, and what was sent for it, may go with the connection.
    if os.path.isfile(SOURCE):
        source = shutil.copyfile(SOURCE, os.path.join(folder, _SOURCE))
    if sent := params.get("sent"):
        params = {**params, "sent": shutil.copyfile(sent, os.path.join(folder, _SENT))}
        parts.forget(sent)
    process = subprocess.Popen(
        [*calling("engine.detached")[:-1], source], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=nowhere, cwd=folder, start_new_session=True,
    )  # fmt: skip
    assert process.stdin and process.stdout
    with process.stdout, contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(protocol.encode({"op": op, "params": params}))
        stdin.flush()
        process.stdout.read(1)  # its first line is there


@contextlib.contextmanager
def _opened(ident: str) -> Iterator[_Job]:
    """A job. Raises Problem("job-unknown")."""
    folder = os.path.join(_root(), ident)
    with contextlib.ExitStack() as stack:
        try:
            if ident not in _names(_root()) or not _is_private(folder):
                raise protocol.WireError
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            handle = os.open(os.path.join(folder, _TOLD), flags)
            file = stack.enter_context(os.fdopen(handle, "rb"))
            began = protocol.decode(file.readline(protocol.MAX_LINE))
            if protocol.misfit(compiling.Began, began, "job"):
                raise protocol.WireError
        except (OSError, protocol.WireError) as e:
            raise Problem("job-unknown", job=ident[:80]) from e
        yield _Job(ident, folder, file, cast("compiling.Began", began), protocol.Lines())


class _Job(NamedTuple):
    """What a job has told, after its first line."""

    ident: str
    folder: str
    file: BinaryIO
    began: compiling.Began
    lines: protocol.Lines

    @property
    def _pid(self) -> int | None:
        """Its process, where that is seen from here."""
        here = locks.here()
        seen = here["boot"] and all(self.began.get(x) == here[x] for x in ("boot", "space"))
        return self.began["pid"] if seen else None

    def lives(self) -> bool:
        """Whether its process is there, or may be on another machine with the same home."""
        pid = self._pid
        with contextlib.suppress(OSError):
            if locks.may_work({**self.began}, os.fstat(self.file.fileno())):
                return pid is None or processes.is_ours(processes.arguments(pid))
        return False

    def end(self, asked: float) -> float:
        """Ask it to end, or kill it where it was ``asked`` long ago, which is 0 for never. Returns
        when it was first asked. Raises Problem("job-elsewhere").
        """
        if (pid := self._pid) is None:
            raise Problem("job-elsewhere")
        now = time.monotonic()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not asked:
                os.kill(pid, signal.SIGINT)
            elif now > asked + _PATIENCE:
                os.killpg(pid, signal.SIGKILL)
        return asked or now

    def new(self) -> Iterator[protocol.Message]:
        while data := self.file.read(1 << 16):
            for line in self.lines.feed(data):
                yield protocol.message_from(protocol.decode(line))

    def row(self) -> compiling.JobsRow:
        """What it is, and how far."""
        about = os.fstat(self.file.fileno())
        start, far = max(0, about.st_size - protocol.MAX_LINE), compiling.Far()
        tail = os.pread(self.file.fileno(), protocol.MAX_LINE, start).split(b"\n")[:-1]
        for line in reversed(tail):
            with contextlib.suppress(protocol.WireError):
                said = protocol.message_from(protocol.decode(line))
                if said.type in ("result", "error", "progress"):
                    some = {name: said.body[name] for name in _FAR if name in said.body}
                    far = cast("compiling.Far", some)
                    break
        now, lives = time.time(), far.get("type", "progress") == "progress" and self.lives()
        until = now if lives else about.st_mtime
        return {
            "about": self.began.get("about", ""),
            "job": self.ident,
            "op": self.began["op"],
            "place": self.began["place"],
            "lives": lives,
            "seconds": max(0.0, until - self.began["at"]),
            "ago": max(0.0, now - until),
            "far": far,
        }


class _Out(serve.Out):
    """Writes into the file of the job, up to its most bytes, of which the lines that a program
    prints have half.
    """

    def send(self, obj: Mapping[str, object]) -> None:
        room = _BYTES // 2 if "log" in obj else _BYTES
        if self.stream.tell() < room or obj["type"] in ("result", "error"):
            # A disk that is full may have room again: what was not written waits.
            with contextlib.suppress(OSError):
                super().send(obj)


def main() -> None:
    """Do what the line on standard input asks for, in the folder of the job."""
    request = protocol.decode(sys.stdin.buffer.readline())
    op, params = str(request["op"]), cast("Mapping[str, Any]", request["params"])
    sys.setrecursionlimit(5000)
    place = params.get("into") or params.get("place")
    words = [str(one) for one in params.get("command") or ()]
    began = {
        "op": op, "place": place if isinstance(place, str) else None, "at": time.time(),
        "about": " ".join(hidden(words))[:_ABOUT],
    }  # fmt: skip
    with open(os.open(_TOLD, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        out = _Out(stream)
        asked = serve.Request(out, 1)
        asked.telling = _TELLING
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: asked.cancelled.set())
        out.send({"type": "began", **began, **locks.here()})
        with contextlib.suppress(OSError):  # whoever began it is gone
            os.write(1, b"\n")
        os.dup2(2, 1)
        session = Session()
        serve.answer(session, asked, op, params)
        session.close()
    for name in (_SOURCE, _SENT):
        with contextlib.suppress(OSError):
            os.unlink(name)
    with contextlib.suppress(OSError):
        os.utime(os.curdir)  # it is kept from now on
