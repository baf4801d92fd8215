"""What can wait until the window is up: done piece by piece, between other events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Later(QObject):
    """Steps that are taken one in a turn of the event loop, from ``start`` on."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: deque[Callable[[], object]] = deque()
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._step)

    @property
    def over(self) -> bool:
        """Whether no step is left."""
        return not self._steps

    def add(self, *steps: Callable[[], object]) -> None:
        """Steps that follow the others."""
        self._steps.extend(steps)

    def start(self) -> None:
        """Nobody waits for anything else now. Safe to call again."""
        if self._steps:
            self._timer.start()

    def _step(self) -> None:
        if self._steps:
            self._steps.popleft()()
        if not self._steps:
            self._timer.stop()
