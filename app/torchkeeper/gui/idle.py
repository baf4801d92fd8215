"""What can wait, or takes long: done piece by piece, between other events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QTimer


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


class IdleTasks(QObject):
    """Steps that are taken one in a turn of the event loop, from ``start`` on."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: deque[Callable[[], object]] = deque()
        self._timer = every(self, self._step)

    @property
    def over(self) -> bool:
        """Whether no step is left."""
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
        """Nobody wants what is left."""
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
