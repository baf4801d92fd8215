"""Operations that outlive who asked for them: each runs in a process of its own, which writes what
it tells into a file, line by line as it would go over the wire. Whoever connects next follows it
from the beginning, or ends it.

The files lie in the account's cache folder, in one that nobody else can open, a folder for each
job. They are read as if an enemy had written them, by what reads the wire.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, BinaryIO, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.artifacts.version import SOURCE
from torchkeeper.engine import protocol, serve
from torchkeeper.engine.messages import compiling
from torchkeeper.engine.session import Session
from torchkeeper.stores import atomic, processes
from torchkeeper.stores.folders import locks
from torchkeeper.warm.processes import calling

#: What a job is called: nobody guesses it.
_IDENT = re.compile(r"[0-9a-f]{16}")
#: What it has told; the code and the recipes that it was begun with; whether that was read to its
#: end.
_TOLD, _SOURCE, _SENT, _READ = "told", "source.zip", "sent.zip", "read"
#: Jobs that run at a time, and those that are kept.
_RUNNING, _MOST = 16, 32
#: Bytes of one, besides its result.
_BYTES = 32 << 20
#: Seconds for which one is kept that was read to its end, that was not, and that never began.
_SHORT, _LONG, _STILLBORN = 3600.0, 7 * 86400.0, 60.0
#: Seconds between two looks at one, between two words of how far it is, and that it has to end.
_TURN, _TELLING, _PATIENCE = 0.1, 1.0, 15.0
#: Lines at the end in which it is looked for how far one is.
_LAST = 200


def detach(_: Session, params: compiling.DetachParams, report: Report) -> compiling.DetachResult:
    """Have an operation done by a process that outlives this one, and follow it."""
    root = _root()
    try:
        os.makedirs(root, 0o700, exist_ok=True)
        if not _is_private(root):
            raise PermissionError(1, "Others can open it")
        _sweep(root)
        ident = os.urandom(8).hex()
        folder = os.path.join(root, ident)
        os.mkdir(folder, 0o700)
        process = _begin(folder, params["op"], dict(params["params"]))
    except OSError as e:
        raise Problem("place-unwritable", place=root, why=e.strerror or str(e)) from e
    while True:
        ended = process.poll() is not None
        try:
            job = _Job(ident)
        except Problem:
            if ended:
                raise Problem("job-gone") from None
            time.sleep(_TURN / 10)
        else:
            with job:
                return cast("compiling.DetachResult", job.follow(report))


def follow(_: Session, params: compiling.FollowParams, report: Report) -> compiling.FollowResult:
    """All that a job has told and tells; its own result. To cancel this ends the job."""
    with _Job(params["job"]) as job:
        return cast("compiling.FollowResult", job.follow(report))


def jobs(_: Session, _params: compiling.JobsParams, report: Report) -> compiling.JobsResult:
    """The jobs that run here, and those that have ended and were not read to their end."""
    rows = [row for job in _every() if (row := job.row())["state"] == "running" or not job.read]
    report.rows(rows)
    return {"jobs": len(rows)}


def end_job(_: Session, params: compiling.EndJobParams, report: Report) -> compiling.EndJobResult:
    with _Job(params["job"]) as job:
        asked = 0.0
        while job.lives():
            asked = job.end(asked)
            report.check()
            time.sleep(_TURN)
        return {"state": job.row()["state"]}


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
            return sorted(filter(_IDENT.fullmatch, os.listdir(root)))
    return []


def _every() -> Iterator[_Job]:
    """The jobs that there are; each is closed when the next one is asked for."""
    for ident in _names(_root())[: _MOST + _RUNNING]:
        with contextlib.suppress(Problem), _Job(ident) as job:
            yield job


def _sweep(root: str) -> None:
    """Remove what is old, and what is too much. Raises Problem("jobs-too-many")."""
    now, kept, running = time.time(), list[tuple[float, str]](), 0
    for ident in _names(root):
        folder = os.path.join(root, ident)
        since = _STILLBORN
        try:
            with _Job(ident) as job:
                if job.lives():
                    running += 1
                    continue
                since = _SHORT if job.read else _LONG
        except Problem:
            pass
        with contextlib.suppress(OSError):
            kept.append((now - os.stat(folder).st_mtime - since, folder))
    kept.sort()
    for number, (late, folder) in enumerate(kept):
        if late > 0 or number >= _MOST:
            atomic.remove(folder)
    if running >= _RUNNING:
        raise Problem("jobs-too-many", most=_RUNNING)


def _begin(folder: str, op: str, params: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start a process that leads a session of its own, in its folder. Raises OSError."""
    source = SOURCE
    # What this runs from, and what was sent for it, may go with the connection.
    if os.path.isfile(SOURCE):
        source = shutil.copyfile(SOURCE, os.path.join(folder, _SOURCE))
    if sent := params.get("sent"):
        params["sent"] = shutil.move(sent, os.path.join(folder, _SENT))
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        [*calling("engine.detached")[:-1], source], stdin=subprocess.PIPE, stdout=nowhere,
        stderr=nowhere, cwd=folder, start_new_session=True,
    )  # fmt: skip
    assert process.stdin
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(protocol.encode({"op": op, "params": params}))
    return process


class _Job:
    """What a job has told. Raises Problem("job-unknown")."""

    def __init__(self, ident: str) -> None:
        unknown = Problem("job-unknown", job=ident[:80])
        self.ident, self._folder = ident, os.path.join(_root(), ident)
        if ident not in _names(_root()):
            raise unknown
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self._file = os.fdopen(os.open(os.path.join(self._folder, _TOLD), flags), "rb")
        except OSError:
            raise unknown from None
        try:
            head = protocol.decode(self._file.readline(protocol.MAX_LINE))
            if protocol.misfit(compiling.Began, head, "job") or not self._is_file():
                raise unknown
        except (OSError, protocol.WireError):
            self._file.close()
            raise unknown from None
        self.began = cast("compiling.Began", head)
        self._lines = protocol.Lines()

    def __enter__(self) -> _Job:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._file.close()

    def _is_file(self) -> bool:
        return stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    @property
    def read(self) -> bool:
        """Whether somebody has read it to its end."""
        return os.path.lexists(os.path.join(self._folder, _READ))

    @property
    def _pid(self) -> int:
        """Its process, where that is seen from here; else 0."""
        here, began = locks.here(), self.began
        same = began["boot"] == here["boot"] and began["space"] == here["space"]
        return began["pid"] if same and began["boot"] else 0

    def lives(self) -> bool:
        """Whether its process is there, or may be on another machine with the same home."""
        if not locks.may_work({**self.began}, os.fstat(self._file.fileno())):
            return False
        try:
            return not self._pid or processes.is_ours(processes.arguments(self._pid))
        except OSError:
            return False

    def end(self, asked: float) -> float:
        """Ask it to end, and end it by force where that has not helped; when it was asked. asked:
        that of before, at first 0. Raises Problem("job-elsewhere").
        """
        if not (pid := self._pid):
            raise Problem("job-elsewhere")
        now = time.monotonic()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not asked:
                os.kill(pid, signal.SIGINT)
            elif now > asked + _PATIENCE:
                os.killpg(pid, signal.SIGKILL)
        return asked or now

    def _new(self) -> Iterator[protocol.Message]:
        while data := self._file.read1(1 << 16):
            for line in self._lines.feed(data):
                yield protocol.message_from(protocol.decode(line))

    def follow(self, report: Report) -> Mapping[str, object]:
        """Tell all that it tells, to its end; returns its result, and raises its problem. To cancel
        this ends it, but not where nobody is left who would cancel.
        """
        report.finding(job=self.ident)
        asked = 0.0
        while True:
            lives = self.lives()
            try:
                for message in self._new():
                    if (result := self._tell(message, report)) is not None:
                        return result
            except protocol.WireError as e:
                raise Problem("job-unreadable", why=str(e)) from e
            if not lives:
                raise Problem("job-gone")
            try:
                report.check()
            except Cancelled:
                if report.alone:
                    raise
                asked = self.end(asked)
            time.sleep(_TURN)

    def _tell(self, message: protocol.Message, report: Report) -> Mapping[str, object] | None:
        body = {name: one for name, one in message.body.items() if name not in ("type", "id")}
        if message.type in ("result", "error"):
            with contextlib.suppress(OSError):
                path, flags = os.path.join(self._folder, _READ), os.O_WRONLY | os.O_CREAT
                os.close(os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        if message.type == "error":
            error = body["error"]
            if error["code"] == "cancelled":
                raise Cancelled
            raise Problem(error["code"], **error.get("params", {}))
        if message.type == "progress":
            report.progress(body["done"], body["total"], body["unit"])
        elif message.type == "rows":
            report.rows(message.rows)
        elif message.type == "finding":
            report.finding(**body)
        return body["result"] if message.type == "result" else None

    def row(self) -> compiling.JobsRow:
        """What it is, and how far."""
        about = os.fstat(self._file.fileno())
        row: compiling.JobsRow = {
            "job": self.ident,
            "op": self.began["op"],
            "place": self.began["place"],
            "state": "running",
            "seconds": 0.0,
            "ago": 0.0,
            "done": 0,
            "total": None,
            "unit": "",
            "problem": None,
        }
        start = max(0, about.st_size - protocol.MAX_LINE)
        tail = os.pread(self._file.fileno(), protocol.MAX_LINE, start).split(b"\n")[:-1]
        for line in tail[: -_LAST - 1 : -1]:
            with contextlib.suppress(protocol.WireError):
                said = protocol.message_from(protocol.decode(line))
                if said.type == "result":
                    row["state"] = "done"
                elif said.type == "error":
                    fault = said.body["error"]
                    row["state"] = "cancelled" if fault["code"] == "cancelled" else "failed"
                    row["problem"] = {"code": fault["code"], "params": fault.get("params", {})}
                elif said.type == "progress":
                    row["done"], row["total"] = said.body.get("done", 0), said.body.get("total")
                    row["unit"] = said.body.get("unit", "")
                else:
                    continue
                break
        if row["state"] == "running" and not self.lives():
            row["state"], row["problem"] = "failed", {"code": "job-gone", "params": {}}
        now = time.time()
        until = now if row["state"] == "running" else about.st_mtime
        row["seconds"], row["ago"] = max(0.0, until - self.began["at"]), max(0.0, now - until)
        return row


class _Out(serve.Out):
    """Into the file, as far as there is room."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._file = stream

    def send(self, obj: Mapping[str, object]) -> None:
        if self._file.tell() < _BYTES or obj["type"] in ("result", "error"):
            # A disk that is full may have room again: what was not written waits.
            with contextlib.suppress(OSError):
                super().send(obj)


class _Request(serve.Request):
    telling = _TELLING


def main() -> None:
    """Do what the line on standard input asks for, in the folder of the job."""
    request = protocol.decode(sys.stdin.buffer.readline())
    op, params = str(request["op"]), cast("Mapping[str, Any]", request["params"])
    sys.setrecursionlimit(5000)
    handle = os.open(_TOLD, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    place = params.get("into") or params.get("place")
    began = {"op": op, "place": place if isinstance(place, str) else None, "at": time.time()}
    with open(handle, "wb") as stream:
        out = _Out(stream)
        out.send({"type": "began", **began, **locks.here()})
        asked = _Request(out, 1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: asked.cancelled.set())
        session = Session()
        serve.answer(session, asked, op, params)
        session.close()
    for name in (_SOURCE, _SENT):
        with contextlib.suppress(OSError):
            os.unlink(name)
    os.utime(os.curdir)  # it is kept from now on
