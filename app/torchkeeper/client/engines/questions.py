"""What ssh and ssh-keygen ask for, and who is asked where there is no terminal."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from torchkeeper.client import temporary
from torchkeeper.client.words.problems import failing_as, printable
from torchkeeper.stores.atomic import remove

#: What is wrong where ssh has no answer that helps.
WANTS = frozenset({"ssh-denied", "ssh-key-unknown"})


class Question(NamedTuple):
    """What ssh asks on its way to a machine, or ssh-keygen as it signs. about: the machine, or a
    name of the key. kind: what SSH_ASKPASS_PROMPT says; "none" is a note, which wants no answer,
    and an empty text says that all is answered. A stranger's server may have written a part of the
    text. answer: takes one, or None where there is none; never waits. again: whether the same was
    asked before. by: whose it is; each takes the place of the one before.
    """

    about: str
    kind: str
    text: str
    answer: Callable[[str | None], None]
    again: bool = False
    by: object = None


#: Characters of a question, its lines and the characters of each; and the program that brings one.
_ASKED, _LINES, _LINE = 2000, 14, 300
_ASKPASS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "askpass")


class Asking:
    """What an ssh asks for comes by a named pipe of a private folder, and answers go by another
    (``askpass``): its standard input and output belong to the machine, and its standard error may
    have what the machine says. No answer is kept, or written elsewhere.
    """

    #: Who is asked on the way to a machine; None where there is nobody but a terminal.
    by: ClassVar[Callable[[Question], None] | None] = None
    #: Whether nobody is asked, also where there is a terminal: it is of several at once.
    silent: ClassVar[bool] = False

    def __init__(self, about: str, asker: Callable[[Question], None]) -> None:
        """about: as of a ``Question``. asker: is called in a thread of its own."""
        self._about, self._asker = about, asker
        #: Whether something was; and whether something is asked that has no answer yet.
        self.answered = self._asks = False
        self._folder = temporary.make("ask")
        # Each is open at both ends, so that neither is ever waited for.
        self._asked, self._answers = map(self._pipe, ("asked", "answers"))
        self._open, self._lock = True, threading.Lock()
        threading.Thread(target=self._listen, name="line-asked", daemon=True).start()

    def _pipe(self, name: str) -> int:
        path = os.path.join(self._folder, name)
        with failing_as("place-unwritable", place=self._folder):
            os.mkfifo(path, 0o600)
            return os.open(path, os.O_RDWR)

    @property
    def variables(self) -> dict[str, str]:
        """What it finds in its environment."""
        asks = {"SSH_ASKPASS": _ASKPASS, "SSH_ASKPASS_REQUIRE": "force"}
        return {**asks, "TORCHKEEPER_ASK": self._folder}

    def asks(self) -> bool:
        """Whether somebody is asked just now."""
        return self._asks

    def _listen(self) -> None:
        said, shown, last = b"", False, ("", "")
        while self._open and (data := os.read(self._asked, 1 << 12)):
            said = said[: 4 * _ASKED] + data  # whose end comes last
            while self._open and said.count(b"\0") > 1:
                kind, text, said = said.split(b"\0", 2)
                lines = text.decode(errors="replace").strip().split("\n")[:_LINES]
                asked = "\n".join(printable(line, _LINE) for line in lines)[:_ASKED] or "?"
                told = kind.decode(errors="replace")
                self._ask(told, asked, again=(told, asked) == last)
                shown, last = True, last if told == "none" else (told, asked)
        if shown:
            self._ask("none", "")
        with self._lock:  # whoever ends it has written by then
            os.close(self._asked)
        remove(self._folder)

    def _ask(self, kind: str, text: str, again: bool = False) -> None:
        self._asks = bool(text)
        self._asker(Question(self._about, kind, text, self._answer, again, self))

    def _answer(self, text: str | None) -> None:
        with self._lock:
            self.answered, self._asks = text is not None, False
            if self._open and text is not None:
                os.write(
                    self._answers, text.partition("\n")[0].encode(errors="replace")[:1023] + b"\n"
                )
        if text is None:
            self.end()

    def end(self) -> None:
        """Ask for nothing more; what is being asked for has no answer."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._answers)
                os.write(self._asked, b"\0\0")
