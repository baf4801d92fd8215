"""The terminal, on which ssh asks by itself: one machine at a time, and what else is written there
waits meanwhile. Two that ask at once would mix their questions, and show what is typed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import ClassVar

_turn = threading.Lock()


class Terminal:
    """The turn of one ssh, until ``end``; who makes another one waits for that."""

    #: Whether it is somebody's.
    taken: ClassVar[bool] = False
    #: Takes a line that is rewritten off the screen.
    wipe: ClassVar[Callable[[], None] | None] = None
    #: What is added to the environment of ssh.
    variables: Mapping[str, str] = {}

    @staticmethod
    def free() -> None:
        """Wait until it is nobody's, and have it clean."""
        with _turn if Terminal.taken else nullcontext():
            if Terminal.wipe:
                Terminal.wipe()

    def __init__(self) -> None:
        _turn.acquire()
        self._lock, self._open = threading.Lock(), True
        Terminal.taken = True
        if Terminal.wipe:
            Terminal.wipe()

    def end(self) -> None:
        """Nothing more is asked."""
        with self._lock:
            if self._open:
                self._open = Terminal.taken = False
                _turn.release()


def is_there() -> bool:
    """Whether there is one, whatever our own input is."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
