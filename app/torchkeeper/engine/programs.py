"""A program that is run: what it prints and what it looks up are told meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import hidden
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import running
from torchkeeper.engine.session import Session, path_of
from torchkeeper.settings.masks import applied, has_password
from torchkeeper.settings.servers import has_graphs
from torchkeeper.stores.folders import owners
from torchkeeper.stores.places import used_by
from torchkeeper.warm import following, processes
from torchkeeper.warm.following import State
from torchkeeper.warm.supervise import filling
from torchkeeper.warm.traces import notes, recorder

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
#: Characters of a piece of what it noted, and of a variable.
_PIECE, _TEXT = 100_000, 1000


class _Ready(NamedTuple):
    """A program that is about to start, and its whole environment. trace: the folder of the trace.
    notes: that of what it notes; "" where it is not to.
    """

    command: list[str]
    folder: str
    env: dict[str, str]
    place: str
    trace: str
    notes: str


class _Trace(Report):
    """Tells of the graphs of a trace, each time only what is another than before."""

    def __init__(self, session: Session, ready: _Ready, report: Report) -> None:
        self._session, self._report, self._folder = session, report, ready.trace
        self._asked: msg.ExplainTraceParams = {
            "trace": self._folder, "known": True, "remote": has_graphs(ready.env),
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
    """Findings are ``started``, then lines of its output as ``log``, and ``graph`` as of
    ``explain_trace``; one of which more is known is told again, and after ``run`` each is; last
    ``noted``. Cancelled, it ends the program with all that it started. Raises
    Problem("command-missing" | "command-unusable").
    """
    # In the engine's own folder, which goes with it, or in one that outlives it.
    above = path_of(params.get("scratch") or os.getcwd())
    with tempfile.TemporaryDirectory("", "run-", above, ignore_cleanup_errors=True) as folder:
        return _run(session, _ready(params, folder), params, report)


def _ready(params: msg.RunParams, scratch: str) -> _Ready:
    own = {name: text for name, text in os.environ.items() if not name.startswith("TORCHKEEPER_")}
    env = dict(own if params["env"] is None else params["env"])
    if (settings := params.get("settings")) is not None:
        env = applied(settings, env)
    env |= params.get("given", {})
    if params["place"]:
        env = filling(env, path_of(params["place"]))
    # What it prints is told at once.
    env.setdefault("PYTHONUNBUFFERED", "1")
    folder = params["folder"] or os.path.expanduser("~")
    place = used_by(env, folder)
    if not env.get("TORCH_TRACE"):
        env["TORCH_TRACE"] = os.path.join(scratch, "trace")
    trace, noted = os.path.join(folder, env["TORCH_TRACE"]), ""
    try:
        os.makedirs(trace, exist_ok=True)
        if params.get("notes"):
            noted = notes.hear(env, scratch)
    except OSError as e:
        raise Problem("command-unusable", command=trace, why=e.strerror or str(e)) from e
    return _Ready(params["command"], folder, env, place, trace, noted)


def _run(session: Session, ready: _Ready, params: msg.RunParams, report: Report) -> msg.RunResult:
    if found := owners.of_program(ready.place):
        report.finding(owners=found)
    running.held(session, {"place": ready.place, "trace": ready.trace}, report)
    trace, state, printed = _Trace(session, ready, report), State[None](), bytearray()
    program: msg.Program = {
        "command": hidden(ready.command), "folder": ready.folder, "place": ready.place,
        "env": {
            name: text[:_TEXT] for name, text in ready.env.items()
            if name.startswith(recorder.NOTED) and not has_password(name, text)
        },
    }  # fmt: skip

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
    process = _started(ready)
    assert process.stdout
    with process.stdout as pipe:
        try:
            report.finding(started=program)
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
    noted = json.dumps(notes.notes_in(ready.notes)) if ready.notes else ""
    for begin in range(0, len(noted), _PIECE):
        report.finding(noted=noted[begin : begin + _PIECE])
    alive = processes.numbered(processes.family(process.pid, process.mark))
    code = 128 - code if code < 0 else code
    ended = {"code": code, "began": began, "seconds": seconds, "alive": alive}
    return cast("msg.RunResult", {**result, **program, **ended})


def _started(ready: _Ready) -> processes.Job:
    command, folder = ready.command, ready.folder
    try:
        return processes.Job(
            command, env=ready.env, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, bufsize=0,
        )  # fmt: skip
    except OSError as e:
        if isinstance(e, FileNotFoundError) and os.path.isdir(folder):
            raise Problem("command-missing", command=command[0]) from e
        # Of a folder that is not there, what is wrong is its own.
        what = command[0] if os.path.isdir(folder) else folder
        raise Problem("command-unusable", command=what, why=e.strerror or str(e)) from e
