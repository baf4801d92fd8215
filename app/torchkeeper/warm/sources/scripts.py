"""A script or another command, run as the user runs it; its trace tells live what it compiles.

It runs as a child of the job, in the same environment, so that what it compiles goes where all
else does. The job itself needs no torch for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import IO

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm import processes
from torchkeeper.warm.child import home
from torchkeeper.warm.recipes.foreseeing import problem_of
from torchkeeper.warm.recipes.items import name_of
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import Counted, Counts
from torchkeeper.warm.sources import Step, Work, autograd
from torchkeeper.warm.traces import trace
from torchkeeper.warm.traces.graphs import Graph, Graphs

_TRACE = "TORCH_TRACE"
#: Seconds between two looks at the trace.
_TURN = 0.3
#: Seconds that the last of what a script said may take, whatever else still holds the pipe.
_LAST = 1.0
#: Characters of the line that says why a script failed.
_LINE = 500
#: Bytes of a file that are read at a time, and of all files until nobody follows any more.
_PIECE, _MOST = 8 << 20, 1 << 30


def make(variant: Variant, _: str, tell: Callable[..., None]) -> Work:
    """The command in its folder, ready to be run. Raises Problem("script-folder" | "script-missing"
    | "command-missing"). The step raises Problem("script-failed", command=…, status=…, why=…), and
    Problem("script-nothing", command=…, compiles=…) where it ends well and no cache was asked for a
    graph.
    """
    if problem := problem_of(variant):
        raise problem
    command = [str(one) for one in variant.item["command"]]
    folder = os.path.join(variant.folder or os.getcwd(), variant.item.get("folder") or ".")
    program = os.path.join(folder, command[0]) if os.sep in command[0] else command[0]
    argv = processes.under(sys.executable, command) or [program, *command[1:]]
    name = name_of("script", {"command": command})
    counts: Counted = {}
    made: list[tuple[str, str]] = []

    def one(graph: Graph) -> None:
        tell(graph={**asdict(graph), "variant": variant.index})

    def run() -> None:
        with _traced() as (where, before):
            code, why = _run(argv, folder, where, Tail(where, one, variant.name, before))
            if code:
                status = f"exit code {code}" if code > 0 else processes.signal_name(-code)
                raise Problem("script-failed", command=name, status=status, why=why)
            found = _found(where, before, name)
            counts.update(_counted(found))
            made[:] = autograd(dict.fromkeys(aot.key for aot in found.aot if aot.key))

    return Work([Step(variant.name, run)], counts=counts, made=made)


@contextlib.contextmanager
def _traced() -> Iterator[tuple[str, frozenset[str]]]:
    """A folder for the trace, or the user's own, and the files that are there already."""
    if own := os.environ.get(_TRACE):
        yield own, frozenset(trace.files_in(own)) if os.path.isdir(own) else frozenset[str]()
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
        raise Problem("command-unusable", command=argv[0], why=e.strerror or str(e)) from e
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


def _found(where: str, before: frozenset[str], name: str) -> trace.Trace:
    """What the trace tells. Raises Problem("script-nothing")."""
    try:
        found = trace.read(where, Report(), before)
    except Problem:
        found = trace.Trace()  # there is none
    if not found.graphs:
        raise Problem("script-nothing", command=name, compiles=found.compiles)
    return found


def _counted(found: trace.Trace) -> Counts:
    outcomes = [graph.outcome for graph in found.graphs]
    lookups = [aot.outcome for aot in found.aot]
    return {
        "graphs": len(outcomes),
        "hits": outcomes.count("hit"),
        "misses": outcomes.count("miss"),
        "bypasses": outcomes.count("bypass"),
        "autograd": {"hits": lookups.count("hit"), "misses": lookups.count("miss")},
    }


@dataclass
class _File:
    """A file that is being written. rest: the record that may not be whole yet."""

    at: int = 0
    rest: bytearray = field(default_factory=bytearray)
    of_process: dict[str, Graphs] = field(default_factory=dict)


class Tail:
    """Tells of the graphs in a folder of traces. Whatever the files hold, it raises nothing.
    Several processes have the same ids; those of the second one say so, and of each after it.
    """

    def __init__(
        self, folder: str, tell: Callable[[Graph], None], step: str, without: Collection[str] = ()
    ) -> None:
        """step: what a graph is called whose function has no name. without: files of others."""
        self._folder, self._tell, self._step = folder, tell, step
        self._without = frozenset(without)
        self._files: dict[str, _File] = {}
        self._processes = 0
        self._read = 0

    def look(self) -> None:
        """Tell what is new since the last time."""
        try:
            paths = [path for path in trace.files_in(self._folder) if path not in self._without]
        except Problem:
            return  # PyTorch makes the folder, and a file in it, when it first writes there
        for path in paths[: trace.MAX_FILES]:
            with contextlib.suppress(OSError):
                self._follow(path, self._files.setdefault(path, _File()))

    def end(self) -> None:
        """Nobody writes any more: what came last is whole."""
        for file in self._files.values():
            self._hear(file, len(file.rest))

    def _follow(self, path: str, file: _File) -> None:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return
            while self._read < _MOST and (data := os.pread(handle, _PIECE, file.at)):
                file.at += len(data)
                self._read += len(data)
                file.rest += data
                self._take(file)
        finally:
            os.close(handle)

    def _take(self, file: _File) -> None:
        """Hear the records that are whole: a line without a tab begins the next one."""
        end = len(file.rest)
        while (end := file.rest.rfind(b"\n", 0, end)) >= 0:
            after = file.rest[end + 1 : end + 2]
            if after and after != b"\t":
                break
        if end >= 0:
            self._hear(file, end + 1)
        elif len(file.rest) > trace.MAX_LINE:
            file.rest.clear()

    def _hear(self, file: _File, end: int) -> None:
        lines = io.BytesIO(bytes(file.rest[:end]))
        del file.rest[:end]
        for one in trace.of(lines):
            if one is not None and _tells(one):
                if one.pid not in file.of_process:
                    self._processes += 1
                    graphs = file.of_process[one.pid] = Graphs(self._telling(self._processes))
                    graphs.step = self._step
                file.of_process[one.pid].hear(one.metadata, one.payload()[0])

    def _telling(self, number: int) -> Callable[[Graph], None]:
        if number == 1:
            return self._tell
        return lambda graph: self._tell(replace(graph, id=f"{graph.id}, process {number}"))


def _tells(record: trace.Record) -> bool:
    artifact = record.metadata.get("artifact")
    if isinstance(artifact, dict):
        return str(artifact.get("name")).startswith("fx_graph_cache_")
    return "chromium_event" in record.metadata or "dynamo_start" in record.metadata
