"""The terminal, on which ssh asks by itself: one machine at a time, and what else is written there
waits meanwhile. Two that ask at once would mix their questions, and show what is typed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import ClassVar

from torchkeeper.client.words.tongue import tr

#: Seconds after which it is said what is waited for.
SLOW = 20.0
#: How the paths of terminals begin.
_TERMINALS = ("/dev/tty", "/dev/pts/")


class Terminal:
    """The turn of one ssh, until ``end``; who makes another one waits for that. about: the machine
    to which it is on its way.
    """

    #: Whose it is.
    taken: ClassVar[Terminal | None] = None
    _turn: ClassVar[threading.Lock] = threading.Lock()
    #: Whether it is said what is waited for.
    tells: ClassVar[bool] = False
    #: Takes a line that is rewritten off the screen.
    wipe: ClassVar[Callable[[], None] | None] = None
    #: What is added to the environment of ssh.
    variables: Mapping[str, str] = {}
    #: The ssh, once it runs.
    pid = 0

    @staticmethod
    def free() -> None:
        """Wait until it is nobody's, and have it clean."""
        with Terminal._turn if Terminal.taken else nullcontext():
            if Terminal.wipe:
                Terminal.wipe()

    def __init__(self, about: str) -> None:
        self._about, said = about, False
        while not Terminal._turn.acquire(timeout=SLOW):
            first = Terminal.taken
            if first and not said and not first.asks():
                first.say(tr("{machine} waits: ssh may ask for one machine at a time, and is not "
                             "done with {first}.", machine=about, first=first._about))  # fmt: skip
                said = True
        self._lock, self._open = threading.Lock(), True
        Terminal.taken = self
        if Terminal.wipe:
            Terminal.wipe()

    @staticmethod
    def forget() -> None:
        """Have it be nobody's, in a process that was forked: whose it is ends in the other."""
        Terminal.taken, Terminal._turn = None, threading.Lock()

    def asks(self) -> bool:
        """Whether ssh, or what it has started, asks: only then it has the terminal open."""
        return self.pid > 0 and any(map(_has_terminal, _below(self.pid)))

    def say(self, text: str) -> None:
        """Say this, if anything is said, while ssh asks nothing."""
        if Terminal.tells:
            with suppress(OSError), open("/dev/tty", "wb", buffering=0) as tty:
                tty.write(f"{text}\n".encode())

    def end(self) -> None:
        """Nothing more is asked."""
        with self._lock:
            if self._open:
                self._open, Terminal.taken = False, None
                Terminal._turn.release()


os.register_at_fork(after_in_child=Terminal.forget)


def _below(pid: int) -> list[int]:
    """A process, and those that it has started, and these, and so on."""
    from torchkeeper.stores import processes  # only here: a command is to start at once

    above = dict[int, int]()
    for one in processes.listed():
        with suppress(OSError):
            above[one] = int(processes.read(one, "stat").rpartition(b")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [x for x, of in above.items() if of == one]
    return found


def _has_terminal(pid: int) -> bool:
    files = f"/proc/{pid}/fd"
    with suppress(OSError):
        for name in os.listdir(files):
            with suppress(OSError):
                if os.readlink(f"{files}/{name}").startswith(_TERMINALS):
                    return True
    return False


def is_there() -> bool:
    """Whether there is one, whatever our own input is."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
