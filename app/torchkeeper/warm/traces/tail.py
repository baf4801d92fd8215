"""Follows the traces that programs are writing, and hears of their graphs while they compile."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.traces import trace
from torchkeeper.warm.traces.graphs import Graph, Graphs
from torchkeeper.warm.traces.trace import MAX_FILES, files_in

#: Bytes of a file that are read at a time, and of all files until nobody follows any more.
_PIECE = 8 << 20
_MOST = 1 << 30


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
            paths = [path for path in files_in(self._folder) if path not in self._without]
        except Problem:
            return  # PyTorch makes the folder, and a file in it, when it first writes there
        for path in paths[:MAX_FILES]:
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
        if end < 0:
            if len(file.rest) > trace.MAX_LINE:
                file.rest.clear()
            return
        self._hear(file, end + 1)

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
