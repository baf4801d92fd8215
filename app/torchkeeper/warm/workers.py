"""One process that compiles cells, as those see it who give it something to do."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from torchkeeper.artifacts.report import Report
from torchkeeper.warm.following import State
from torchkeeper.warm.recipes.cells import REFERENCES, Cell

#: Where a GPU shows that torch may prefer to the CPU, without torch being asked.
_ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")


@dataclass
class Worker:
    """One process. cell: what it is at, since ``clock``; begun: it has told that it is."""

    process: subprocess.Popen[bytes]
    group: tuple[object, ...]
    #: Its result is the version of torch, "" without one.
    state: State[str] = field(default_factory=State)
    answers: bytearray = field(default_factory=bytearray)
    log: bytearray = field(default_factory=bytearray)
    cell: Cell | None = None
    device: str | None = None
    clock: float = 0.0
    looked: float = 0.0
    begun: bool = False
    fresh: bool = True
    leaving: bool = False


class Sent(TypedDict, total=False):
    """A line for a process: the next ``cell``, as of ``Cell.to_json``, or that there is none."""

    cell: Mapping[str, object]
    end: bool


class Tagged(Report):
    """Says of a line of a log which cell it belongs to."""

    def __init__(self, report: Report, worker: Worker) -> None:
        self._report, self._worker = report, worker

    def finding(self, **what: Any) -> None:
        if self._worker.cell is not None:
            what["cell"] = self._worker.cell.index
        self._report.finding(**what)


def send(worker: Worker, what: Sent) -> None:
    """Give a process a line; one that is gone has no use for it."""
    assert worker.process.stdin
    with contextlib.suppress(BrokenPipeError):
        worker.process.stdin.write(json.dumps(what).encode() + b"\n")


def group_of(cell: Cell) -> tuple[object, ...]:
    """What cells have to have in common to share a process.

    The folder of a file that a cell names is part of it: what the file imports from beside it, may
    have the name of another file's module, and Python has one module of a name.
    """
    environment = tuple(sorted(cell.environment.items()))
    return environment, cell.threads, cell.portable, cell.folder, _beside(cell)


def _beside(cell: Cell) -> str | None:
    """The folder of the Python file that a cell names; None where that is the recipe's."""
    named = (cell.item.get(key) for key in REFERENCES)
    files = [name.rpartition(":")[0] for name in named if isinstance(name, str)]
    if not files or not files[0].endswith(".py"):
        return None
    above = cell.folder or os.getcwd()
    home = os.path.dirname(os.path.realpath(os.path.join(above, files[0])))
    return None if home == os.path.realpath(above) else home


def accelerator() -> bool:
    """Whether torch may prefer something to the CPU."""
    return sys.platform == "darwin" or any(os.path.exists(path) for path in _ACCELERATORS)
