"""Looks again at the place that is shown, so that what is compiled meanwhile appears."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.later import once
from torchkeeper.gui.places.listing import Listing

#: Seconds between two looks, while the place fills and otherwise.
FAST, SLOW = 2.0, 10.0
#: For this many seconds after a change the place counts as filling.
_FILLING = 30.0
#: Looking may take this part of the time at most.
_SHARE = 0.1
#: After failures the time between looks doubles, this often at most.
_DOUBLINGS = 5


class Watch(QObject):
    """Polls the listing while its window can be seen; a look is taken by the engine.

    A place that takes long to list is looked at less often.
    """

    def __init__(self, window: QWidget, listing: Listing, filling: Callable[[], bool]) -> None:
        """filling: whether a job of ours writes into the place."""
        super().__init__(window)
        self._window = window
        self._listing = listing
        self._filling = filling
        self._ended = time.monotonic()
        self._news = float("-inf")
        self._timer = once(self, self.look)
        listing.over.connect(self._over)
        window.installEventFilter(self)

    def _seen(self) -> bool:
        return self._window.isVisible() and not self._window.isMinimized()

    def _pause(self) -> float:
        """Seconds between two looks."""
        fast = self._filling() or time.monotonic() - self._news < _FILLING
        pause = max(FAST if fast else SLOW, self._listing.took / _SHARE)
        return float(pause * 2 ** min(self._listing.failures, _DOUBLINGS))

    def update(self) -> None:
        """A job has begun or ended, or another place is shown: the time to look may be another."""
        left = self._ended + self._pause() - time.monotonic()
        if not self._seen() or not self._listing.can_poll:
            self._timer.stop()  # what ends this calls again
        elif not self._timer.isActive() or self._timer.remainingTime() > left * 1000:
            self._timer.start(max(0, int(left * 1000)))

    def look(self) -> None:
        """See whether the place has changed."""
        if self._seen():
            self._listing.poll()

    def _over(self, news: bool) -> None:
        self._ended = time.monotonic()
        if news:
            self._news = self._ended
        self._timer.stop()
        self.update()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.WindowActivate:
            rested = time.monotonic() - self._ended
            if rested > max(min(FAST, 1.0), self._listing.took / _SHARE):
                self.look()
        if kind in (QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange):
            self.update()
        return False
