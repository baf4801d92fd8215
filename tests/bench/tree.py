"""What a command and every process it starts take of the memory, for as long as they live."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

#: Seconds between two looks at the processes; what one takes after the last look is not seen.
_EVERY = 0.01


class Tree:
    """Watches a process and all that come from it. ``peaks``: MB at most, by pid.

    Their sum, ``memory``, is more than was ever taken at once: peaks need not coincide, and pages
    that two processes share are counted twice.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self.peaks: dict[int, float] = {}
        #: What each process is called, as far as it is ours to tell them apart.
        self.names: dict[int, str] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> Tree:
        """Look no more."""
        self._ended.set()
        self._thread.join()
        return self

    @property
    def memory(self) -> float:
        """MB of all of them together, at most."""
        return sum(self.peaks.values())

    @property
    def own(self) -> float:
        """MB of the process itself, without those it started."""
        return self.peaks.get(self._pid, 0.0)

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY):
            waiting = [self._pid]
            while waiting:
                pid = waiting.pop()
                with contextlib.suppress(OSError, ValueError):
                    self._look(pid)
                    for task in Path(f"/proc/{pid}/task").iterdir():
                        waiting += map(int, (task / "children").read_text().split())

    def _look(self, pid: int) -> None:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("Name:"):
                self.names[pid] = line.split()[1]
            elif line.startswith("VmHWM:"):
                self.peaks[pid] = max(self.peaks.get(pid, 0.0), int(line.split()[1]) / 1000)


def run(
    command: Sequence[str],
    env: dict[str, str] | None = None,
    during: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> tuple[float, Tree, int]:
    """Run a command to its end, what it prints passed over: (seconds, its tree, exit status)."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL
    )
    tree = Tree(process.pid)
    if during:
        during(process)
    status = process.wait()
    seconds = time.perf_counter() - started
    return seconds, tree.stop(), status
