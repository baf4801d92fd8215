"""A terminal that a command runs on, as a person has one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence

#: The line that is rewritten to tell how far something is.
_REWRITTEN = re.compile(r"\r[^\r\n]+(?=\r)")


class Terminal:
    """A command on a terminal so wide. A variable that is empty is none."""

    def __init__(
        self, words: Sequence[object], columns: int = 80, program: Sequence[str] = (), **env: str
    ) -> None:
        """program: what is run with these words, if not Torchkeeper."""
        given = {**os.environ, "TERM": "xterm", **env}
        for name in ("COLUMNS", "LINES", *(name for name, value in env.items() if not value)):
            given.pop(name, None)
        argv = [*(program or (sys.executable, "-m", "torchkeeper")), *map(str, words)]
        self._pid, self._ours = pty.fork()
        if not self._pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(argv[0], argv, given)
        self.said = ""

    def until(self, text: str) -> None:
        """Read until it has said this."""
        while text not in self.said and self._read():
            pass
        assert text in self.said, self.said

    def hear(self, seconds: float) -> None:
        """Read what it says within so many seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self._ours], [], [], left)[0] and not self._read():
                return

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        os.close(self._ours)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        some = b""
        with contextlib.suppress(OSError):  # the other end is closed
            some = os.read(self._ours, 65536)
        self.said += some.decode(errors="replace")
        return bool(some)


def on_terminal(
    *words: object, columns: int = 80, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """The exit code of a command, and what it left on the terminal."""
    terminal = Terminal(words, columns, **(env or {}))
    code = terminal.end()
    return code, _REWRITTEN.sub("", terminal.said.replace("\r\n", "\n")).replace("\r", "")
