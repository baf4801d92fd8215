"""Where output goes, and how: on a terminal in colour and through a pager, elsewhere plain.
And what was asked of it: how much is said, and which part of a table.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess


class Screen:
    """What was asked of the output of this command. quiet: nothing but errors and the answer.
    verbose: all of what is otherwise an example, or the beginning. columns: of tables, by their
    names; those that they have, where empty. header: whether a table has headings, and what sums it
    up. limit: the most rows.
    """

    def __init__(
        self,
        quiet: bool = False,
        verbose: bool = False,
        columns: Sequence[str] = (),
        header: bool = True,
        limit: int | None = None,
        pages: bool = False,
    ) -> None:
        self.quiet, self.verbose = quiet, verbose
        self.columns, self.header, self.limit = columns, header, limit
        #: Whether a pager may be started, and one that was.
        self.pages = pages
        self.pager: subprocess.Popen[str] | None = None


#: Of the command that is running.
now = Screen()


def settle(args: argparse.Namespace) -> None:
    """Take what the arguments of a command ask for."""
    global now  # noqa: PLW0603 - there is one standard output
    asked = vars(args)
    now = Screen(
        quiet=asked.get("quiet", False),
        verbose=asked.get("verbose", False),
        columns=asked.get("columns") or (),
        header=not asked.get("no_header", False),
        limit=asked.get("rows"),
        pages=asked.get("pager", False) and not asked.get("json"),
    )


def terminal(stream: IO[str]) -> bool:
    """Whether a stream is a terminal's; one that was closed is not."""
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False


def shown() -> bool:
    """Whether a person reads standard output on a terminal, through a pager or not."""
    return now.pager is not None or terminal(sys.stdout)


def out() -> IO[str]:
    """Where a line of the answer goes; starts the pager for the first one."""
    if now.pages and now.pager is None and terminal(sys.stdout):
        now.pager = _started()
    now.pages = False
    return sys.stdout if now.pager is None or now.pager.stdin is None else now.pager.stdin


def err() -> IO[str]:
    """Where a line about the answer goes: beside it, where a pager has the screen."""
    if now.pager and now.pager.stdin and terminal(sys.stderr):
        return now.pager.stdin
    return sys.stderr


def rewrites() -> bool:
    """Whether a line of standard error can be rewritten to tell how far something is."""
    return not now.quiet and now.pager is None and terminal(sys.stderr)


def _dumb() -> bool:
    return os.environ.get("TERM", "") in ("", "dumb")


def _started() -> subprocess.Popen[str] | None:
    """The pager: PAGER, else less, which stays only for more than a screen, as git starts it; None
    where there is none.
    """
    import shlex  # only here, as the next: “--version” takes less than they take to load
    import shutil
    import subprocess

    with contextlib.suppress(ValueError, OSError):  # it is no command, or no program
        command = shlex.split(os.environ.get("PAGER", "less"))
        if _dumb() or not command or command == ["cat"] or not shutil.which(command[0]):
            return None
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, text=True, encoding=sys.stdout.encoding,
            errors="backslashreplace", env={"LESS": "FRX", "LV": "-c", **os.environ},
        )  # fmt: skip
    return None


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """Have a pager, where one was started, show what it got until its reader has seen enough."""
    try:
        yield
    finally:
        pager, now.pager = now.pager, None
        if pager and pager.stdin:
            with contextlib.suppress(BrokenPipeError):
                pager.stdin.close()
            while pager.poll() is None:
                try:
                    pager.wait()
                except KeyboardInterrupt as interrupt:
                    if type(interrupt) is not KeyboardInterrupt:  # a signal that ends us
                        pager.terminate()
                        raise
                    # Ctrl-C is for the pager.


_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1;31"}
#: What has a colour: verdicts, and how grave a finding is.
COLOURS = {
    "usable": "green", "conditional": "yellow", "unsafe": "bold", "stale": "red", "broken": "red",
    "error": "bold", "warning": "yellow",
}  # fmt: skip


def coloured(stream: IO[str]) -> bool:
    """Whether what is written there may be coloured."""
    there = now.pager is not None or terminal(stream)
    return there and not os.environ.get("NO_COLOR") and not _dumb()


def paint(text: str, colour: str) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"
