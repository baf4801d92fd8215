"""What needs no engine but may wait for ever, on a dead mount or for a keyring's user: looked up in
threads of its own, for which nobody else waits.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.words.problems import UserError

#: What is to be done; it returns the result of the request, or raises UserError.
Work = Callable[[], object]


def aside(work: Callable[[], object], *, sure: bool = False) -> None:
    """Do what may wait for ever. sure: the program does not end before it is done."""
    threading.Thread(target=work, name="torchkeeper-look", daemon=not sure).start()


class Asides(QObject):
    """Requests that are answered so; one that is cancelled is over at once. Every method runs in
    the worker's thread.
    """

    result = Signal(int, object, object)
    failed = Signal(int, object, object)
    cancelled = Signal(int, object)
    #: A ticket, and the result, or the UserError in its stead.
    _over = Signal(int, object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._tickets: set[int] = set()
        self._over.connect(self._tell)

    def begin(self, ticket: int, work: Work) -> None:
        """Do it, and say what came of it."""
        self._tickets.add(ticket)

        def run() -> None:
            found: object = None
            error: UserError | None = None
            try:
                found = work()
            except UserError as e:
                error = e
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._over.emit(ticket, found, error)

        aside(run)

    def cancel(self, ticket: int) -> bool:
        """Hear no more of a request; whether it was one of these. Nothing stops who is at it, but
        what he says then is of no interest.
        """
        if ticket not in self._tickets:
            return False
        self._tickets.discard(ticket)
        self.cancelled.emit(ticket, [])
        return True

    def _tell(self, ticket: int, found: object, error: UserError | None) -> None:
        if ticket not in self._tickets:
            return
        self._tickets.discard(ticket)
        if error is not None:
            self.failed.emit(ticket, error, [])
        else:
            self.result.emit(ticket, found, [])
