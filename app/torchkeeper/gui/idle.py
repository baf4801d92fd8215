"""What can wait, or takes long: done piece by piece, between other events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from PySide6.QtCore import QObject, QTimer

T = TypeVar("T")

#: Seconds of work in one turn of the event loop; most of what a frame may take is left to Qt.
SLICE = 0.001
#: Rows that one step of such work looks at, so that a step takes a fraction of a millisecond.
STEP = 500

Work = Generator[None, None, T]


def every(parent: QObject, then: Callable[[], object], ms: int = 0) -> QTimer:
    """A timer that calls ``then`` again and again, once it is started."""
    timer = QTimer(parent)
    timer.setInterval(ms)
    timer.timeout.connect(then)
    return timer


def once(parent: QObject, then: Callable[[], object], after_ms: int = 0) -> QTimer:
    """A timer that calls ``then`` once, so long after it was last started."""
    timer = every(parent, then, after_ms)
    timer.setSingleShot(True)
    return timer


def soon(parent: QObject, then: Callable[[], object], after_ms: int = 0) -> Callable[..., None]:
    """A function that has ``then`` called so much later; calls until then add nothing."""
    timer = once(parent, then, after_ms)

    def start(*_: object) -> None:
        if not timer.isActive():
            timer.start()

    return start


class IdleTasks(QObject):
    """Steps that are taken one in a turn of the event loop, from ``start`` on."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: deque[Callable[[], object]] = deque()
        self._timer = every(self, self._step)

    @property
    def over(self) -> bool:
        return not self._steps

    def add(self, *steps: Callable[[], object]) -> None:
        """Steps that follow the others."""
        self._steps.extend(steps)

    def add_slices(self, slices: Iterator[object]) -> None:
        """What is made slice by slice follows the others: one slice in a turn."""

        def step() -> None:
            try:
                next(slices)
            except StopIteration:
                return
            self._steps.appendleft(step)

        self._steps.append(step)

    def finish(self) -> None:
        """Somebody needs it now: take all steps at once."""
        while self._steps:
            self._step()

    def stop(self) -> None:
        self._steps.clear()
        self._timer.stop()

    def start(self) -> None:
        """Nobody waits for anything else now. Safe to call again."""
        if self._steps:
            self._timer.start()

    def _step(self) -> None:
        if self._steps:
            self._steps.popleft()()
        if not self._steps:
            self._timer.stop()


class Slices(QObject):
    """Does one piece of work, an iterator of short steps; the first slice at once."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work: Iterator[None] | None = None
        self._then: Callable[[], None] | None = None
        self._left = SLICE
        self._timer = every(self, self._turn)

    @property
    def busy(self) -> bool:
        return self._work is not None

    def start(self, work: Iterator[None], then: Callable[[], None] | None = None) -> None:
        """Do this work instead of any other, and call ``then`` when it is done."""
        self._work, self._then = work, then
        if self._left > 0:
            self._go_on()
        # A turn of the event loop may start work often: all of it shares one slice.
        self._timer.start()

    def stop(self) -> None:
        self._work = self._then = None

    def finish(self) -> None:
        """Do the rest now, however long it takes."""
        if self._work is not None:
            self._left = float("inf")
            self._go_on()
            self._left = 0.0

    def _turn(self) -> None:
        self._left = SLICE
        if self._work is None:
            self._timer.stop()
        else:
            self._go_on()

    def _go_on(self) -> None:
        if (work := self._work) is None:
            return
        begun = time.perf_counter()
        for _ in work:
            if self._work is not work:
                return  # a step has led to other work
            if time.perf_counter() - begun > self._left:
                self._left = 0.0
                return
        self._left -= time.perf_counter() - begun
        if self._work is work:
            then = self._then
            self.stop()
            if then is not None:
                then()


def finished(work: Work[T]) -> T:
    """The outcome of work that is done at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            outcome: T = end.value
            return outcome


def pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """A list cut so that each part is the work of one step."""
    for first in range(0, len(rows), STEP):
        yield rows[first : first + STEP]


def let_go(rows: list[Any]) -> Iterator[None]:
    """Free what a list holds: 200,000 rows at once would take 60 ms."""
    while rows:
        del rows[-STEP:]
        yield
