"""Temporary folders, which even a command that a signal ends removes: they may hold gigabytes."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from torchkeeper.client.words.problems import failing_as
from torchkeeper.stores.atomic import remove


def make(use: str) -> str:
    """The path of a new one, named by its use. Raises UserError("place-unwritable")."""
    with failing_as("place-unwritable", place=tempfile.gettempdir()):
        return tempfile.mkdtemp(prefix=f"torchkeeper-{use}-")


@contextlib.contextmanager
def folder(use: str) -> Iterator[str]:
    """One of which nothing is left afterwards. Raises UserError("place-unwritable")."""
    made = make(use)
    try:
        yield made
    finally:
        remove(made)


#: What a batch system, a container's end or a closed terminal sends.
_NAMES = ("SIGTERM", "SIGHUP")


class Ended(KeyboardInterrupt):
    """A signal, ``number``, that ends the program; perhaps nobody is left to send another."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Interrupts:
    """While it lasts, signals that raise in the main thread do so only where they are let in, and
    wait elsewhere: none is lost between two steps that belong together, none tears an answer apart.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._late: list[tuple[int, FrameType | None]] = []
        self._let_in = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", *_NAMES):
                number = getattr(signal, name, None)
                if number is not None and callable(before := signal.getsignal(number)):
                    self._before[number] = before
                    signal.signal(number, self._came)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, before in self._before.items():
            if signal.getsignal(number) == self._came:  # else it is ignored meanwhile
                signal.signal(number, before)
        if exc == (None, None, None):
            self._raise()

    @contextlib.contextmanager
    def let_in(self) -> Iterator[None]:
        """Where one that comes, or has come, raises its exception."""
        self._let_in = True
        try:
            self._raise()
            yield
        finally:
            self._let_in = False

    def _came(self, number: int, frame: FrameType | None) -> None:
        self._late.append((number, frame))
        if self._let_in:
            self._raise()

    def _raise(self) -> None:
        if self._late:
            number, frame = self._late.pop(0)
            self._before[number](number, frame)


@contextlib.contextmanager
def handling(
    names: Iterable[str], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """While it lasts, a handler gets these signals; what is ignored, as after nohup, stays so."""
    before: dict[int, Any] = {}
    try:
        for name in names:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """While it lasts, such a signal raises Ended in the main thread, as Ctrl-C does; after the
    first SIGHUP is ignored: a closed terminal sends several, which must not end the cleaning up.
    """
    hangup = getattr(signal, "SIGHUP", None)

    def end(number: int, _frame: FrameType | None) -> None:
        if hangup is not None:
            signal.signal(hangup, signal.SIG_IGN)
        raise Ended(number)

    main = threading.current_thread() is threading.main_thread()
    with handling(_NAMES if main else (), end):
        yield
