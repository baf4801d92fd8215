"""A program that is run for the window: what it prints and what it looks up are told meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import running
from torchkeeper.engine.session import Session
from torchkeeper.warm import following, processes
from torchkeeper.warm.following import State

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.verdict.probed import GraphTold

#: Seconds between two looks at the trace, and how much longer it is left alone than a look takes:
#: the program has the processor.
_EVERY, _REST = 0.5, 10
#: Seconds that what a program has started may hold its output after its end.
_LINGER = 1.0


class _Pass(Report):
    """Collects the graphs of one look at the trace."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.graphs: dict[object, GraphTold] = {}

    def finding(self, **what: Any) -> None:
        if graph := what.get("graph"):
            self.graphs[graph["process"], graph["id"], graph["key"]] = graph

    def check(self) -> None:
        self._report.check()


class _Told:
    """Tells what a trace tells, and each time only what is another than before."""

    def __init__(self, session: Session, params: msg.RunParams, report: Report) -> None:
        self._session, self._report = session, report
        self._asked: msg.ExplainTraceParams = {
            "trace": params["trace"], "known": True, "remote": params["remote"],
        }  # fmt: skip
        self._before: dict[object, GraphTold] = {}

    def tell(self) -> msg.ExplainTraceResult:
        now = _Pass(self._report)
        result = running.explain_trace(self._session, self._asked, now)
        if self._before.keys() - now.graphs.keys():
            # A lookup of AOTAutograd's stands for graphs until those are there.
            self._report.finding(run={"name": "anew"})
            self._before = {}
        for which, graph in now.graphs.items():
            if self._before.get(which) != graph:
                running.tell(graph, self._report)
        self._before = now.graphs
        return result


def run(session: Session, params: msg.RunParams, report: Report) -> msg.RunResult:
    """Findings ``log`` are lines of its output, and ``graph`` as of ``explain_trace``; one of which
    more is known is told again, and after ``run`` each is. Cancelled, it ends the program with all
    that it started. Raises Problem("command-missing" | "command-unusable").
    """
    running.held(session, {"place": params["place"], "trace": params["trace"]}, report)
    told, size, rested = _Told(session, params, report), 0, 0.0
    began, clock = time.time(), time.monotonic()
    process = _started(params)
    output = _Output(process, report)
    try:
        while process.poll() is None:
            report.check()
            output.tell()
            if time.monotonic() > rested and (now := _size(params["trace"])) != size:
                size, looked = now, time.monotonic()
                with contextlib.suppress(Problem):  # at its end it is said what is wrong
                    told.tell()
                rested = time.monotonic() + max(_EVERY, _REST * (time.monotonic() - looked))
            time.sleep(following.TURN)
    except BaseException:
        processes.end(process)
        raise
    code, seconds = process.wait(), time.monotonic() - clock
    output.end()
    result = told.tell()
    return {**result, "code": 128 - code if code < 0 else code, "began": began, "seconds": seconds}


def _started(params: msg.RunParams) -> processes.Job:
    command = params["command"]
    if not os.path.isdir(params["folder"]):
        raise Problem("command-unusable", command=params["folder"], why="There is no such folder")
    try:
        return processes.Job(
            command,
            env=dict(params["env"]),
            cwd=params["folder"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            bufsize=0,
        )
    except FileNotFoundError as e:
        raise Problem("command-missing", command=command[0]) from e
    except OSError as e:
        why = e.strerror or str(e)
        raise Problem("command-unusable", command=command[0], why=why) from e


class _Output:
    """Takes what a program prints, so that it never waits for us, in a thread."""

    def __init__(self, process: processes.Job, report: Report) -> None:
        self._report, self._pipe = report, process.stdout
        self._state, self._lines = State[None](), deque[str]()
        self._thread = threading.Thread(target=self._take, name="output", daemon=True)
        self._thread.start()

    def _take(self) -> None:
        printed = bytearray()
        assert self._pipe
        with contextlib.suppress(OSError), self._pipe:
            while following.pump(self._pipe.fileno(), printed, self._line):
                pass

    def _line(self, line: bytes) -> None:
        # What a progress bar has written over itself is gone.
        following.log(line.rstrip(b"\r").rpartition(b"\r")[2], self._state, self._lines.append)

    def tell(self) -> None:
        while self._lines:
            self._report.finding(log=self._lines.popleft())

    def end(self) -> None:
        """Tell the rest, and of very much the last lines."""
        self._thread.join(_LINGER)
        self.tell()
        for text in following.untold(self._state):
            self._report.finding(log=text)


def _size(folder: str) -> int:
    """Bytes in the files of a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries)
    return 0
