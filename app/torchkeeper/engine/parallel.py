"""Looking at several places, one lane beside the other, where one that hangs holds up no other."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report

T = TypeVar("T")

#: Seconds without any sign of life after which a place counts as stuck: it says nothing, and takes
#: no time of a processor to speak of.
STALL = 10.0
_SIGN = 0.2
#: How often that is looked at, and whether to go on.
_TICK = 0.1
#: Where no system tells what time a thread takes, only what it says is a sign, and it has longer.
_TELLS = hasattr(time, "pthread_getcpuclockid")
_LONGER = 6.0


class Heard(Report):
    """The Report of one piece of work: passes on what it is told until it is put aside."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._aside = False
        #: When it was last told anything, by time.monotonic.
        self.last = time.monotonic()
        #: The clock of the time that its thread has taken of a processor.
        self.clock: int | None = None

    def put_aside(self) -> None:
        """From now on nothing of it is passed on, and it ends at its next word."""
        with self._lock:
            self._aside = True

    def _hear(self) -> None:
        self.last = time.monotonic()
        if self._aside:
            raise Cancelled

    def progress(self, done: int, total: int | None, unit: str) -> None:
        with self._lock:
            self._hear()
            self._report.progress(done, total, unit)

    def finding(self, **what: Any) -> None:
        with self._lock:
            self._hear()
            self._report.finding(**what)

    def check(self) -> None:
        self._hear()
        self._report.check()


#: A piece of work: the place it is about, and what is to be done.
Work = tuple[str, Callable[[Report], T]]


class _Lane(Generic[T]):
    """Works off pieces of work one after the other, in a thread of its own."""

    def __init__(self, works: Iterable[Work[T]], report: Report) -> None:
        self.works = deque(works)
        self._report = report
        self.done: queue.SimpleQueue[tuple[str, T | BaseException]] = queue.SimpleQueue()
        self.place = ""
        self._heard = Heard(report)
        self._spent = 0.0
        self._since = time.monotonic()

    def next(self) -> bool:
        """Begin with the next piece; whether there is one."""
        if not self.works:
            return False
        self.place, work = self.works.popleft()
        self._heard, self._spent, self._since = Heard(self._report), 0.0, time.monotonic()
        given = (self.place, work, self._heard, self.done)
        threading.Thread(target=_run, args=given, name="place", daemon=True).start()
        return True

    def silent(self) -> float:
        """Seconds since the last sign of life."""
        if (clock := self._heard.clock) is not None:
            try:
                spent = time.clock_gettime(clock)
            except OSError:
                spent = self._spent  # it has ended
            if spent - self._spent > _SIGN:
                self._spent, self._since = spent, time.monotonic()
        silent = time.monotonic() - max(self._since, self._heard.last)
        return silent if clock is not None else silent / _LONGER

    def leave(self) -> None:
        """Wait no more for what it is at."""
        self._heard.put_aside()
        self.done = queue.SimpleQueue()


def _run(
    place: str,
    work: Callable[[Report], T],
    heard: Heard,
    done: queue.SimpleQueue[tuple[str, T | BaseException]],
) -> None:
    if _TELLS:
        heard.clock = time.pthread_getcpuclockid(threading.get_ident())
    outcome: T | BaseException
    try:
        outcome = work(heard)
    except BaseException as e:  # noqa: BLE001 - raised by whoever waits for it
        outcome = e
    done.put((place, outcome))


def in_parallel(
    lanes: Iterable[Iterable[Work[T]]], report: Report, stall: float = STALL
) -> Iterator[tuple[str, T | Problem]]:
    """What came of each piece of work, as it is done. Those of one lane are done one after the
    other, and the lanes at once.

    A Problem is an outcome like any other; so is "place-stuck", of work that gave no sign of life
    for ``stall`` seconds. That is left to itself then, and its lane goes on. What else is raised
    is raised here. Raises Cancelled.
    """
    running = [lane for lane in (_Lane(works, report) for works in lanes) if lane.next()]
    try:
        while running:
            report.check()
            for lane in list(running):
                try:
                    place, outcome = lane.done.get(timeout=_TICK / len(running))
                except queue.Empty:
                    # What has just ended gives no sign of life any more, but its outcome.
                    if lane.silent() < stall or not lane.done.empty():
                        continue
                    lane.leave()
                    place = lane.place
                    outcome = Problem("place-stuck", place=place, seconds=round(stall))
                if isinstance(outcome, BaseException) and not isinstance(outcome, Problem):
                    raise outcome
                if not lane.next():
                    running.remove(lane)
                yield place, outcome
    finally:
        for lane in running:
            lane.leave()
