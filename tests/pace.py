"""How slow the machine is just now, so that a limit of time is about our own code."""

from __future__ import annotations

import time

#: Seconds after which what waits for another process or thread gives up: it hangs, however busy
#: the machine is.
LONG = 300.0
#: Seconds of the processor that ``_work`` takes where nothing else runs.
_QUIET = 0.0026


def _work() -> None:
    table = {}
    for number in range(6000):
        table[f"{number}"] = (number, number * 3 % 7)
    sorted(table.items(), key=lambda item: item[1])


def slower() -> float:
    """How many times as long the processor takes now as where nothing else runs; at least 1.

    Two programs on one core of a processor, or on one memory, slow each other down, and the
    system counts that as time of theirs.
    """
    takes = []
    for _ in range(9):
        begun = time.thread_time()
        _work()
        takes.append(time.thread_time() - begun)
    return max(1.0, sorted(takes)[4] / _QUIET)


def within(seconds: float) -> float:
    """So many seconds of the processor where nothing else runs, in seconds of now."""
    return seconds * slower()
