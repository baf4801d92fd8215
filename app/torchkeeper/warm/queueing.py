"""Which cell a process is given next, and how many processes are worth their start."""

from __future__ import annotations

import time
from collections.abc import Sequence

from torchkeeper.warm.cells import Cell
from torchkeeper.warm.workers import Worker, accelerator, group_of

#: Seconds after which a cell is long enough for another process to be worth its start, and cells
#: that are worth it if they are short.
LONG, MANY = 10.0, 4
#: A device that is none of those that have a name.
UNKNOWN = "?"


class Queue:
    """The cells that wait, in their order. default: the device that torch chooses where nobody
    names one.
    """

    def __init__(self, cells: Sequence[Cell], most: int) -> None:
        self.cells = list(cells)
        self.default = UNKNOWN if accelerator() else "cpu"
        self._most = most

    def share(self, workers: Sequence[Worker]) -> int:
        """How many are at work soon, with one that is about to start."""
        at_work = sum(not worker.leaving for worker in workers)
        devices = {self.device(cell) for cell in self.cells}
        most = self._most if None in devices else min(self._most, len(devices))
        planned, left = 1, len(self.cells)
        while planned < most and left - planned >= MANY * planned:
            planned += 1
        return max(planned, at_work + 1)

    def another(self, workers: Sequence[Worker]) -> bool:
        """Whether one more process is to be started."""
        at_work = [worker for worker in workers if not worker.leaving]
        if len(at_work) >= self._most:
            return False
        now = time.monotonic()
        long = any(worker.begun and now > worker.clock + LONG for worker in at_work)
        return not at_work or long or len(self.cells) >= MANY * len(at_work)

    def next(self, worker: Worker | None, workers: Sequence[Worker]) -> Cell | None:
        """The first cell that a process can take, or a new one: no two use a GPU at a time."""
        # One that waits has its hands off the device that it had.
        taken = {one.device for one in workers if one is not worker and one.cell and one.device}
        for cell in self.cells:
            if worker is not None and group_of(cell) != worker.group:
                continue
            device = self.device(cell)
            if device is None or not taken & ({device, UNKNOWN} if device != UNKNOWN else taken):
                return cell
        return None

    def device(self, cell: Cell) -> str | None:
        """The GPU of a cell by one name, None where it needs none; UNKNOWN while it may be any."""
        if cell.source == "triton":
            return None  # compiles for a GPU without one
        name = cell.device or self.default
        if name.startswith("cpu"):
            return None
        return name if ":" in name or name == UNKNOWN else f"{name}:0"
