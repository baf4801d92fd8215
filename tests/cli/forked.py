"""Commands that begin with the program already imported, which is half of what each takes.

A process that has imported the command line forks for each command. The command has a process,
arguments, an environment and a folder of its own, and ends as Python ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any

#: What the interpreter reads before it runs anything: with another of these a command starts anew.
_AT_ITS_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "ASAN_")
_LENGTH = struct.Struct("=I")


def at_start(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that a forked command cannot have of its own."""
    return {name: value for name, value in env.items() if name.startswith(_AT_ITS_START)}


class Forks:
    """The process that forks, and its end of the line."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        self.env = at_start(os.environ)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.cli.forked", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def begin(self, argv: list[str], env: Mapping[str, str], cwd: str, out: int, err: int) -> int:
        """Begin a command that writes to two descriptors; returns its process id."""
        umask = os.umask(0)
        os.umask(umask)
        told = {"argv": argv, "env": dict(env), "cwd": cwd, "umask": umask}
        asked = json.dumps(told).encode()
        socket.send_fds(self._line, [_LENGTH.pack(len(asked))], [out, err])
        self._line.sendall(asked)
        return int(_LENGTH.unpack(_read(self._line, _LENGTH.size))[0])

    def code(self) -> int:
        """Wait for the end of the command; returns its exit status as subprocess has it."""
        return int.from_bytes(_read(self._line, 4), "little", signed=True)

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.wait()


def _read(line: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = line.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _serve(line: socket.socket) -> None:
    while True:
        head, fds, _, _ = socket.recv_fds(line, _LENGTH.size, 2)
        if not head:
            return
        asked = json.loads(_read(line, _LENGTH.unpack(head)[0]))
        pid = os.fork()
        if not pid:
            line.close()
            _run(asked, *fds)
        for fd in fds:
            os.close(fd)
        line.sendall(_LENGTH.pack(pid))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        line.sendall(status.to_bytes(4, "little", signed=True))


def _run(asked: dict[str, Any], out: int, err: int) -> None:
    """Be the command, to its end."""
    from torchkeeper.__main__ import main

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


if __name__ == "__main__":
    import pkgutil

    import torchkeeper.cli
    import torchkeeper.cli.main

    for module in pkgutil.iter_modules(torchkeeper.cli.__path__, "torchkeeper.cli."):
        __import__(module.name)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        _serve(ours)
