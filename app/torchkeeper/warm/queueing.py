"""Which cell a process is given next, and how many processes are worth their start."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from torchkeeper.warm import processes
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.workers import Worker, accelerator, group_of

#: Seconds after which a cell is long enough for another process to be worth its start: longer than
#: a precompiled header takes, for which both would wait.
LONG = 30.0
#: How many times as long as a process takes to start what is left has to take, to be worth one.
WORTH = 4.0
#: Cells for each process, from which on as many as may be are sure to be at work.
_MANY = 8
#: A device that is none of those that have a name.
UNKNOWN = "?"


class Queue:
    """The cells that wait, in their order. default: the device that torch chooses where nobody
    names one. alone: the indexes of those that are only for a process which nothing else has used.
    """

    def __init__(self, cells: Sequence[Cell], most: int) -> None:
        self.cells = list(cells)
        self.default = UNKNOWN if accelerator() else "cpu"
        self.alone: set[int] = set()
        self._most = most
        # Seconds: of a start, and of a cell in a process that had compiled before.
        self._start: float | None = None
        self._cell: float | None = None

    def started(self, seconds: float) -> None:
        """A process took so long until it had begun."""
        self._start = seconds

    def ended(self, seconds: float, first: bool) -> None:
        """A cell took so long; first: of its process, which is slower."""
        if not first:
            self._cell = seconds

    def share(self, workers: Sequence[Worker]) -> int:
        """How many are at work soon, with one that is about to start."""
        at_work = sum(not worker.leaving for worker in workers)
        devices = {self.device(cell) for cell in self.cells}
        most = self._most if None in devices else min(self._most, len(devices))
        return max(min(most, len(self.cells) // _MANY), at_work + 1)

    def newcomer(self, workers: Sequence[Worker]) -> Cell | None:
        """What one more process is to be started for, if one is."""
        at_work = [worker for worker in workers if not worker.leaving]
        if not self.cells or len(at_work) >= self._most:
            return None
        groups = {worker.group for worker in at_work}
        # What no process that is there can take needs one in any case.
        other = next(
            (
                one
                for one in self._free(None, workers)
                if one.index in self.alone or group_of(one) not in groups
            ),
            None,
        )
        return self.next(None, workers) if other is None and self._worth(at_work) else other

    def _worth(self, at_work: Sequence[Worker]) -> bool:
        if processes.busy():
            return False
        now = time.monotonic()
        if any(worker.begun and now > worker.clock + LONG for worker in at_work):
            return True
        if self._start is None or self._cell is None:
            return False
        return len(self.cells) * self._cell / len(at_work) > WORTH * self._start

    def next(self, worker: Worker | None, workers: Sequence[Worker]) -> Cell | None:
        """The first cell that a process can take, or a new one: no two use a GPU at a time."""
        return next(self._free(worker, workers), None)

    def left_for(self, worker: Worker) -> bool:
        """Whether a process that has compiled before can still be of use."""
        return any(self._fits(worker, cell) for cell in self.cells)

    def _fits(self, worker: Worker, cell: Cell) -> bool:
        return group_of(cell) == worker.group and cell.index not in self.alone

    def _free(self, worker: Worker | None, workers: Sequence[Worker]) -> Iterator[Cell]:
        # One that waits has its hands off the device that it had.
        taken = {one.device for one in workers if one is not worker and one.cell and one.device}
        for cell in self.cells:
            if worker is not None and not self._fits(worker, cell):
                continue
            device = self.device(cell)
            if device is None or not taken & ({device, UNKNOWN} if device != UNKNOWN else taken):
                yield cell

    def device(self, cell: Cell) -> str | None:
        """The GPU of a cell by one name, None where it needs none; UNKNOWN while it may be any."""
        if cell.source == "triton":
            return None  # compiles for a GPU without one
        name = cell.device or self.default
        if name.startswith("cpu"):
            return None
        return name if ":" in name or name == UNKNOWN else f"{name}:0"
