"""Engines under our own interpreter, forked from one process that has imported what they need."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torchkeeper
from tests.forking import serving
from torchkeeper.client.engines import process

#: What the interpreter reads before it runs anything: with another of these a process starts anew.
_AT_ITS_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "ASAN_")
#: How engines start where no test has them forked.
STARTED = process.begin

Fork = Callable[[str, Mapping[str, str], Sequence[int]], int]


def at_start(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that a forked process cannot have of its own."""
    return {name: value for name, value in env.items() if name.startswith(_AT_ITS_START)}


class Forked(subprocess.Popen[bytes]):
    """A process with pipes that ``fork`` makes, told its folder, environment and descriptors."""

    def __init__(self, fork: Fork, argv: list[str], cwd: str, env: Mapping[str, str]) -> None:
        self._fork = fork
        pipe = subprocess.PIPE
        super().__init__(argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env)

    def _execute_child(self, *about: Any) -> None:
        # After subprocess.Popen of Python 3.11 to 3.14.
        cwd, env = about[5:7]
        pipes = about[10:16]
        theirs = (pipes[0], pipes[3], pipes[5])
        try:
            self.pid = self._fork(cwd, env, theirs)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


class Engines:
    """The process that forks engines, and its end of the line."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        self._lock = threading.Lock()
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
        return Forked(self._fork, argv, cwd, env)

    def _fork(self, cwd: str, env: Mapping[str, str], fds: Sequence[int]) -> int:
        with self._lock:
            serving.tell(self._line, {"cwd": cwd, "env": dict(env)}, fds)
            return int(serving.LENGTH.unpack(serving.read(self._line, serving.LENGTH.size))[0])

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.wait()


def isolated(argv: list[str]) -> bool:
    """Whether an engine is one of our own interpreter, which sees no packages."""
    return argv[1:3] == ["-I", "-S"] and platform.machine() in serving.CLONE
