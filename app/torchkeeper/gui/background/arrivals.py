"""What arrives at a pipe, heard in the worker's thread without a signal being connected there.

PySide (6.11) keeps all connections that Python made in one table, without a lock, and gives up the
interpreter while it takes one out. A thread that connects something just then breaks the table, or
waits for ever: one holds the interpreter and wants a mutex of Qt's, the other the reverse. The main
thread connects and lets go all the time; so everything that lives in another thread is connected
before it is moved there, and what is made there later overrides the handler of its events.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSocketNotifier


class Arrivals(QSocketNotifier):
    """Calls back while there is something to read, or the other end is closed."""

    def __init__(self, file: int, heard: Callable[[], None], parent: QObject) -> None:
        """file: its descriptor."""
        super().__init__(file, QSocketNotifier.Type.Read, parent)
        self._heard = heard

    def event(self, event: QEvent) -> bool:
        """Qt's."""
        if event.type() == QEvent.Type.SockAct:
            self._heard()
            return True
        return super().event(event)

    def end(self) -> None:
        """Call back no more, and go."""
        self.setEnabled(False)
        self._heard = _nothing
        self.deleteLater()


def _nothing() -> None:
    pass
