"""Processes that tests look at: of what they use, and where their settings come from."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

#: Starts a process in a folder, with more variables; its id.
Start = Callable[..., int]
_WAIT = "import sys; f = [open(p) for p in sys.argv[1:]]; print('ready', flush=True); input()"


def process(*files: Path, **env: str) -> subprocess.Popen[str]:
    """A process with files open, once it has them, and nothing but ``env`` in its environment."""
    made = subprocess.Popen(
        [sys.executable, "-c", _WAIT, *map(str, files)],
        env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert made.stdout
    assert made.stdout.readline() == "ready\n"
    return made


def end(one: subprocess.Popen[str]) -> None:
    """End it; twice does no harm."""
    one.kill()
    one.communicate()


@contextlib.contextmanager
def starting(without: tuple[str, ...] = ()) -> Iterator[Start]:
    """Starts processes that say a line once they are ready, and ends them. without: how variables
    of ours begin that they do not have.
    """
    made: list[subprocess.Popen[str]] = []

    def run(*argv: object, cwd: Path | None = None, **env: str) -> int:
        ours = {name: x for name, x in os.environ.items() if not name.startswith(without)}
        one = subprocess.Popen(
            [*map(str, argv)], env={**ours, **env}, cwd=cwd, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        made.append(one)
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
        return one.pid

    yield run
    for one in made:
        os.killpg(one.pid, signal.SIGKILL)
        one.communicate()
