"""A program that is run for the window: what it prints and what it looks up are told meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import running
from torchkeeper.engine.session import Session, path_of
from torchkeeper.settings.masks import applied
from torchkeeper.settings.servers import has_graphs
from torchkeeper.stores.places import used_by
from torchkeeper.warm import following, processes
from torchkeeper.warm.following import State
from torchkeeper.warm.supervise import filling

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.verdict.probed import GraphTold

#: Seconds between two looks at the trace, and how much longer it is left alone than a look takes:
#: the program has the processor.
_EVERY, _REST = 0.5, 10
#: Why a graph was compiled is not in the trace before it was.
_LATER = frozenset({"unrecorded", "cut"})
#: Pieces of output that are taken before anything else is looked at.
_PIECES = 100


class _Trace(Report):
    """Tells of the graphs of a trace, each time only what is another than before."""

    def __init__(self, session: Session, params: msg.RunParams, report: Report) -> None:
        self._session, self._report, self._folder = session, report, params["trace"]
        self._asked: msg.ExplainTraceParams = {
            "trace": self._folder, "known": True, "remote": params["remote"],
        }  # fmt: skip
        self._told: dict[object, GraphTold] = {}
        self._found: dict[object, GraphTold] = {}
        self._size, self._rested = 0, 0.0
        self._ended = False

    def finding(self, **what: Any) -> None:
        if graph := what.get("graph"):
            if not self._ended and (graph["cause"] or {}).get("code") in _LATER:
                graph["cause"] = {"code": "later"}
            self._found[graph["process"], graph["id"], graph["key"]] = graph

    def check(self) -> None:
        self._report.check()

    def look(self) -> None:
        """Tell what is new, if it is time, and there is more than before."""
        if (began := time.monotonic()) < self._rested or (size := self._bytes()) == self._size:
            return
        self._size = size
        with contextlib.suppress(Problem):  # at the end it is said what is wrong
            self._tell()
        now = time.monotonic()
        self._rested = now + max(_EVERY, _REST * (now - began))

    def end(self) -> msg.ExplainTraceResult:
        """Nothing more comes: what is not known now stays so."""
        self._ended = True
        return self._tell()

    def _tell(self) -> msg.ExplainTraceResult:
        self._found = {}
        result = running.explain_trace(self._session, self._asked, self)
        if self._told.keys() - self._found.keys():
            # A lookup of AOTAutograd's stands for graphs until those are there.
            self._report.finding(run={"name": "anew"})
            self._told = {}
        for which, graph in self._found.items():
            if self._told.get(which) != graph:
                running.tell(graph, self._report)
        self._told = self._found
        return result

    def _bytes(self) -> int:
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            return sum(entry.stat().st_size for entry in entries)
        return 0


def run(session: Session, params: msg.RunParams, report: Report) -> msg.RunResult:
    """Findings ``log`` are lines of its output, and ``graph`` as of ``explain_trace``; one of which
    more is known is told again, and after ``run`` each is. Cancelled, it ends the program with all
    that it started. Raises Problem("command-missing" | "command-unusable").
    """
    params = _of_account(params) if params["env"] is None else params
    running.held(session, {"place": params["place"], "trace": params["trace"]}, report)
    trace, state, printed = _Trace(session, params, report), State[None](), bytearray()

    def say(text: str) -> None:
        report.finding(log=text)

    def line(data: bytes) -> None:
        # What a progress bar has written over itself is gone.
        shown = data.rstrip(b"\r").rpartition(b"\r")[2]
        if params.get("whole"):
            say(shown.decode(errors="backslashreplace"))
        else:
            following.log(shown, state, say)

    began, clock = time.time(), time.monotonic()
    process = _started(params)
    assert process.stdout
    with process.stdout as pipe:
        try:
            lives = True
            while lives:
                lives = process.poll() is None
                report.check()
                for _ in range(_PIECES):
                    there = following.select_now(pipe.fileno())
                    if not (there and following.pump(pipe.fileno(), printed, line)):
                        break
                trace.look()
                time.sleep(following.TURN)
        except BaseException:
            processes.end(process)
            raise
    code, seconds = process.wait(), time.monotonic() - clock
    if printed:
        line(bytes(printed))
    for text in following.untold(state):
        say(text)
    result = trace.end()
    alive = processes.numbered(processes.family(process.pid, process.mark))
    code = 128 - code if code < 0 else code
    ended = {"code": code, "began": began, "seconds": seconds, "place": params["place"]}
    return cast("msg.RunResult", {**result, **ended, "alive": alive})


def _of_account(params: msg.RunParams) -> msg.RunParams:
    """What is asked from another machine, as the account of this engine has it."""
    env = {name: text for name, text in os.environ.items() if not name.startswith("TORCHKEEPER_")}
    if (settings := params.get("settings")) is not None:
        env = applied(settings, env)
    if params["place"]:
        env = filling(env, path_of(params["place"]))
    env.setdefault("PYTHONUNBUFFERED", "1")
    folder = params["folder"] or os.path.expanduser("~")
    # In the engine's own folder, which goes with it.
    named = env.setdefault("TORCH_TRACE", os.path.join(os.getcwd(), "trace"))
    trace, place = os.path.join(folder, named), used_by(env, folder)
    try:
        os.makedirs(trace, exist_ok=True)
    except OSError as e:
        raise Problem("command-unusable", command=trace, why=e.strerror or str(e)) from e
    about = {"env": env, "folder": folder, "trace": trace, "place": place}
    return cast("msg.RunParams", {**params, **about, "remote": has_graphs(env)})


def _started(params: msg.RunParams) -> processes.Job:
    command, folder = params["command"], params["folder"]
    try:
        return processes.Job(
            command, env=dict(params["env"] or {}), cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, bufsize=0,
        )  # fmt: skip
    except OSError as e:
        if isinstance(e, FileNotFoundError) and os.path.isdir(folder):
            raise Problem("command-missing", command=command[0]) from e
        # Of a folder that is not there, what is wrong is its own.
        what = command[0] if os.path.isdir(folder) else folder
        raise Problem("command-unusable", command=what, why=e.strerror or str(e)) from e
