"""Commands of the command line, forked from one process that has imported it.

A command has a process, arguments, an environment and a folder of its own, and ends as Python ends.
So has the engine that it starts first, which is forked from it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from tests.forking import serving
from tests.forking.engines import STARTED, at_start, isolated
from torchkeeper.client.engines import process


class Commands:
    """The process that forks commands, and its end of the line."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        self.env = at_start(os.environ)
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-W",
                    "error",
                    "-m",
                    "tests.forking.commands",
                    str(theirs.fileno()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def begin(self, argv: list[str], env: Mapping[str, str], cwd: str, out: int, err: int) -> int:
        """Begin a command that writes to two descriptors; returns its process id."""
        umask = os.umask(0)
        os.umask(umask)
        told = {"argv": argv, "env": dict(env), "cwd": cwd, "umask": umask}
        serving.tell(self._line, told, [out, err])
        return int(serving.LENGTH.unpack(serving.read(self._line, serving.LENGTH.size))[0])

    def code(self) -> int:
        """Wait for the end of the command; returns its exit status as subprocess has it."""
        return int.from_bytes(serving.read(self._line, 4), "little", signed=True)

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.wait()


def _serve(line: socket.socket) -> None:
    while request := serving.told(line):
        asked, fds = request
        pid = os.fork()
        if not pid:
            line.close()
            _run(asked, *fds)
        for fd in fds:
            os.close(fd)
        line.sendall(serving.LENGTH.pack(pid))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        line.sendall(status.to_bytes(4, "little", signed=True))


def _run(asked: dict[str, Any], out: int, err: int) -> None:
    """Be the command, to its end."""
    from torchkeeper.__main__ import main

    process.begin = _begin
    code = 1
    try:
        for given, number in ((out, 1), (err, 2)):
            os.dup2(given, number)
            os.close(given)
        os.chdir(asked["cwd"])
        os.umask(asked["umask"])
        os.environ.clear()
        os.environ.update(asked["env"])
        sys.argv = ["torchkeeper", *asked["argv"]]
        try:
            code = main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                sys.stderr.write(f"{end.code}\n")
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - as the interpreter, whatever it is
        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _begin(argv: list[str], cwd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """As ``client.engines.process.begin``, in a command."""
    alone = threading.active_count() == 1
    if alone and isolated(argv) and at_start(env) == at_start(os.environ):
        return serving.Forked(_fork, argv, cwd, env)
    return STARTED(argv, cwd, env)


def _fork(cwd: str, env: Mapping[str, str], fds: Sequence[int]) -> int:
    return serving.forked(os.fork, cwd, env, fds)


if __name__ == "__main__":
    serving.load(*serving.OF_ENGINES, "cli")
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        _serve(ours)
