"""A script or any other command, run as the user runs it; what it compiles is heard from its trace.

It runs as a child of the job, in the same environment, so that what it compiles goes where all
else does. The job itself needs no torch for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm import processes
from torchkeeper.warm.child import home
from torchkeeper.warm.recipes.expanding import Cell
from torchkeeper.warm.recipes.foreseeing import problem_of
from torchkeeper.warm.recipes.items import name_of
from torchkeeper.warm.shapes import Counts
from torchkeeper.warm.sources import Counted, Step, Work
from torchkeeper.warm.traces import trace
from torchkeeper.warm.traces.graphs import Graph
from torchkeeper.warm.traces.tail import Tail

_TRACE = "TORCH_TRACE"
#: Seconds between two looks at the trace.
_TURN = 0.3
#: Seconds that the last of what a script said may take, whatever else still holds the pipe.
_LAST = 1.0
#: Characters of the line that says why a script failed.
_LINE = 500


def make(cell: Cell, _: str, tell: Callable[..., None]) -> Work:
    """The command in its folder, ready to be run. Raises Problem("script-folder" | "script-missing"
    | "command-missing"). The step raises Problem("script-failed", command=…, status=…, why=…), and
    Problem("script-nothing", command=…, compiles=…) where it ends well and no cache was asked for a
    graph.
    """
    if problem := problem_of(cell):
        raise problem
    command = [str(one) for one in cell.item["command"]]
    folder = os.path.join(cell.folder or os.getcwd(), cell.item.get("folder") or ".")
    program = os.path.join(folder, command[0]) if os.sep in command[0] else command[0]
    argv = processes.under(sys.executable, command) or [program, *command[1:]]
    name = name_of("script", {"command": command})
    counts: Counted = {}

    def one(graph: Graph) -> None:
        tell(graph={**graph.to_json(), "cell": cell.index})

    def run() -> None:
        with _traced() as (where, before):
            tail = Tail(where, one, cell.name, before)
            code, why = _run(argv, folder, where, tail)
            if code:
                status = f"exit code {code}" if code > 0 else processes.signal_name(-code)
                raise Problem("script-failed", command=name, status=status, why=why)
            counts.update(_counted(where, before, name))

    return Work([Step(cell.name, run)], counts=counts)


@contextlib.contextmanager
def _traced() -> Iterator[tuple[str, frozenset[str]]]:
    """A folder for the trace, or the user's own, and the files that are there already."""
    own = os.environ.get(_TRACE)
    if own:
        before = frozenset(trace.files_in(own)) if os.path.isdir(own) else frozenset[str]()
        yield own, before
        return
    # A script that is ended takes this process with it.
    folder = tempfile.mkdtemp(prefix="torchkeeper-trace-", dir=home())
    try:
        yield folder, frozenset()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(argv: list[str], folder: str, where: str, tail: Tail) -> tuple[int, str]:
    """Run it to its end; its exit code, below zero for a signal, and the last thing it said."""
    env = {**os.environ, _TRACE: where}
    try:
        process = subprocess.Popen(argv, cwd=folder, env=env, stderr=subprocess.PIPE)
    except OSError as e:
        why = e.strerror or str(e)
        raise Problem("command-unusable", command=argv[0], why=why) from e
    assert process.stderr
    said: deque[str] = deque(maxlen=1)
    # What it leaves behind may hold the pipe open; that ends when the job does.
    passing = threading.Thread(target=_pass_on, args=(process.stderr, said), daemon=True)
    passing.start()
    while process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TURN)
        tail.look()
    tail.end()
    passing.join(_LAST)
    return process.returncode, said[0] if said else ""


def _pass_on(pipe: IO[bytes], said: deque[str]) -> None:
    """What it says goes to the log, as it comes; the last line is kept."""
    with pipe, contextlib.suppress(OSError, ValueError):
        while line := pipe.readline(1 << 16):
            os.write(2, line)
            if text := line.decode("utf-8", "replace").strip():
                said.append(text[:_LINE])


def _counted(where: str, before: frozenset[str], name: str) -> Counts:
    """What the trace counts. Raises Problem("script-nothing")."""
    try:
        found = trace.read(where, Report(), before)
    except Problem:
        found = trace.Trace()  # there is none
    if not found.graphs:
        raise Problem("script-nothing", command=name, compiles=found.compiles)
    outcomes = [graph.outcome for graph in found.graphs]
    lookups = [aot.outcome for aot in found.aot]
    return {
        "graphs": len(outcomes),
        "hits": outcomes.count("hit"),
        "misses": outcomes.count("miss"),
        "bypasses": outcomes.count("bypass"),
        "autograd": {"hits": lookups.count("hit"), "misses": lookups.count("miss")},
    }
