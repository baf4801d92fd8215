"""Where Python looks for garbage while there is a window: in the main thread and nowhere else.

By itself it looks wherever something is made just then, the worker's thread included, and lets go
there of what the main thread left: widgets, and receivers of signals. ``arrivals`` says what comes
of that.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimerEvent, Slot

#: Milliseconds between looks at how much was made.
EVERY = 200
#: How much more is made than freed before the youngest is looked through: a slice of 1 ms or two.
YOUNG = 4000
#: How often a generation is looked through before the next older one is, too. Python's own figure.
_OLDER = 10

#: Those that look.
_looking: set[Collector] = set()


class Collector(QObject):
    """Looks for garbage from ``begin`` to ``end``, in the thread that it belongs to, in which both
    are called.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = 0

    @property
    def looks(self) -> bool:
        """Whether it has begun and not ended."""
        return bool(self._timer)

    def begin(self) -> None:
        """From now on Python does not look by itself."""
        _looking.add(self)
        gc.disable()
        self._timer = self.startTimer(EVERY)

    @Slot()
    def end(self) -> None:
        """From now on it does, unless another one looks."""
        if self._timer:
            self.killTimer(self._timer)
            self._timer = 0
            _looking.discard(self)
            if not _looking:
                gc.enable()

    def timerEvent(self, _event: QTimerEvent) -> None:
        """Qt's."""
        young, middle, old = gc.get_count()
        if young > YOUNG:
            gc.collect(2 if old > _OLDER else 1 if middle > _OLDER else 0)
