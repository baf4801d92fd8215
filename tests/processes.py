"""Processes that use a folder, for the tests of what that does to a purge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
