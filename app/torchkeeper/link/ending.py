"""A command that a signal ends cleans up first: in temporary folders it may have gigabytes."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

#: What a batch system, a container's end or a closed terminal sends.
_NAMES = ("SIGTERM", "SIGHUP")


class Ended(KeyboardInterrupt):
    """A signal has come that ends the program, and perhaps nobody is left to send another.

    number: which.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """While it lasts, such a signal raises Ended in the main thread, as Ctrl-C does.

    What is ignored, as SIGHUP after nohup, stays so. After the first signal SIGHUP is ignored: a
    closed terminal sends several, which must not end the cleaning up.
    """
    before: dict[int, Any] = {}
    hangup = getattr(signal, "SIGHUP", None)

    def end(number: int, _frame: FrameType | None) -> None:
        if hangup is not None:
            signal.signal(hangup, signal.SIG_IGN)
        raise Ended(number)

    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
