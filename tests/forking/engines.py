"""Engines under our own interpreter, forked from one process that has imported what they need."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torchkeeper
from tests.forking import serving
from torchkeeper.client.engines import process
from torchkeeper.stores import reader

#: What the interpreter reads before it runs anything: with another of these a process starts anew.
_AT_ITS_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "ASAN_")
#: How engines start where no test has them forked.
STARTED = process.begin
#: How readers start there.
STARTED_READER = reader.begin


def at_start(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that a forked process cannot have of its own."""
    return {name: value for name, value in env.items() if name.startswith(_AT_ITS_START)}


class Engines:
    """The process that forks engines, and its end of the line."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._line = serving.Line(ours)
        self._env = at_start(os.environ)
        source = str(Path(torchkeeper.__file__).parent.parent)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", serving.__file__, source, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def begin(self, argv: list[str], cwd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """As ``client.engines.process.begin``."""
        if not isolated(argv) or at_start(env) != self._env:
            return STARTED(argv, cwd, env)
        return serving.Forked(self._fork, argv, cwd, env)

    def _fork(self, cwd: str, env: Mapping[str, str], fds: Sequence[int]) -> int:
        return self._line.fork({"cwd": cwd, "env": dict(env)}, fds)

    def reader(self) -> subprocess.Popen[bytes]:
        """As ``stores.reader.begin``."""
        return self._line.reader()

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.wait()


def isolated(argv: list[str]) -> bool:
    """Whether an engine is one of our own interpreter, which sees no packages."""
    return argv[1:3] == ["-I", "-S"] and platform.machine() in serving.CLONE
