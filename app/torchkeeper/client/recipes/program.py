"""Starts a program of the user's as the shell would, and waits for it.

It has our standard streams, our terminal and our process group, so that it behaves as without us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

from torchkeeper.client.words.problems import user_error
from torchkeeper.warm import commands

#: What shells and programs that start others return where there is nothing to start.
CANNOT_RUN, NOT_FOUND = 126, 127

#: What is passed on when only we are told. A terminal tells all of its foreground group.
_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")


def under(python: str, command: Sequence[str]) -> list[str]:
    """A command as it is run by a certain interpreter.

    It begins with ``python``, ``-m``, or the name of a Python file. Raises
    UserError("command-not-python") for any other.
    """
    argv = commands.under(python, command)
    if argv is not None:
        return argv
    folder = os.path.dirname(python)
    raise user_error(
        "command-not-python", {"command": command[0], "python": python, "folder": folder}
    )


def run(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program to its end; its exit code, or 128 and the number of the signal that ended it.

    Signals that we get are passed on. Raises UserError("command-missing" | "command-unusable").
    """
    with _passing_on() as (process, early):
        try:
            started = subprocess.Popen(argv, env=dict(env))
        except FileNotFoundError as e:
            # An interpreter in a script's first line may be what is missing.
            raise user_error("command-missing", {"command": argv[0]}) from e
        except OSError as e:
            why = e.strerror or str(e)
            raise user_error("command-unusable", {"command": argv[0], "why": why}) from e
        process.append(started)
        for number in early:
            started.send_signal(number)
        code = started.wait()
    return 128 - code if code < 0 else code


@contextlib.contextmanager
def _passing_on() -> Iterator[tuple[list[subprocess.Popen[bytes]], list[int]]]:
    """While it lasts, signals go to the process in the first list, and end nothing here; those
    that come before there is one are in the second.
    """
    process: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    terminal = _in_foreground()

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not process:
            early.append(number)
        # What the terminal sends, the program has got itself; twice, it would take it for haste.
        elif not (terminal and signal.Signals(number).name in _FROM_TERMINAL):
            with contextlib.suppress(ProcessLookupError):
                process[0].send_signal(number)

    before = {}
    for name in _PASSED_ON:
        number = getattr(signal, name, None)
        # What is ignored, after nohup for example, the program ignores, too.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, pass_on)
    try:
        yield process, early
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether a terminal sends us what is typed to interrupt."""
    try:
        handle = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(handle) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(handle)
