"""What forks engines: ``python -I -S serving.py FOLDER DESCRIPTOR``, as isolated as an engine is.

FOLDER is where torchkeeper is imported from. It hears of each engine on the descriptor: the length
of a JSON object, with which come three descriptors to be its standard input, output and error, and
``{"cwd", "env"}``. It answers with the process id. That process is a child of whoever asked.

Readers (``stores.reader``) are forked likewise, by their request ``{}``: those of this process by
it, those of an engine by a process that the engine forks before it has threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import platform
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

LENGTH = struct.Struct("=I")
#: The number of clone(2), by machine.
CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT = 0x8000
#: Packages whose modules engines import.
OF_ENGINES = ("engine", "stores", "artifacts")


Fork = Callable[[str, Mapping[str, str], Sequence[int]], int]


class Forked(subprocess.Popen[bytes]):
    """A process with pipes that ``fork`` makes, told its folder, environment and descriptors."""

    def __init__(
        self,
        fork: Fork,
        argv: list[str],
        cwd: str,
        env: Mapping[str, str],
        stderr: int = subprocess.PIPE,
    ) -> None:
        self._fork = fork
        pipe = subprocess.PIPE
        super().__init__(argv, stdin=pipe, stdout=pipe, stderr=stderr, cwd=cwd, env=env)

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


class Line:
    """The line to a process that forks, and who waits for its answers: one at a time."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = threading.Lock()

    def fork(self, about: Mapping[str, Any], fds: Sequence[int]) -> int:
        """The id of the process that it forks with these descriptors."""
        with self._lock:
            tell(self._line, about, fds)
            return int(LENGTH.unpack(read(self._line, LENGTH.size))[0])

    def reader(self) -> subprocess.Popen[bytes]:
        """As ``stores.reader.begin``."""
        return Forked(lambda _cwd, _env, fds: self.fork({}, fds), ["reader"], "/", {},
                      subprocess.DEVNULL)  # fmt: skip

    def close(self) -> None:
        """Let the process end."""
        self._line.close()


def read(line: socket.socket, length: int) -> bytes:
    """So many bytes. Raises EOFError."""
    data = b""
    while len(data) < length:
        more = line.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def tell(line: socket.socket, told: Mapping[str, Any], fds: Sequence[int]) -> None:
    """Send a request with its descriptors."""
    data = json.dumps(told).encode()
    socket.send_fds(line, [LENGTH.pack(len(data))], fds)
    line.sendall(data)


def told(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request with its descriptors, None where there is no more."""
    head, fds, _, _ = socket.recv_fds(line, LENGTH.size, 3)
    if not head:
        return None
    found: dict[str, Any] = json.loads(read(line, LENGTH.unpack(head)[0]))
    return found, fds


def forked(fork: Callable[[], int], cwd: str, env: Mapping[str, str], fds: Sequence[int]) -> int:
    """An engine with these descriptors; its process id, once it leads a session of its own."""
    ready, leads = os.pipe()
    pid = fork()
    if not pid:
        os.setsid()
        os.close(leads)
        _become(_engine, cwd, env, fds)
    os.close(leads)
    os.read(ready, 1)
    os.close(ready)
    return pid


def _reader(fds: Sequence[int]) -> int:
    pid = _sibling()
    if not pid:
        from torchkeeper.stores.reader_process import main

        _become(main, "/", {}, fds)
    return pid


def _engine() -> None:
    """Be an engine, whose readers are forked from another process that is as it is now."""
    from torchkeeper.engine.serve import main
    from torchkeeper.stores import reader

    ours, theirs = socket.socketpair()
    if not os.fork():
        ours.close()
        _fork_readers(theirs)
    theirs.close()
    reader.begin = Line(ours).reader
    main()


def _fork_readers(line: socket.socket) -> NoReturn:
    """Until the engine ends, of which this keeps nothing open."""
    with contextlib.suppress(BaseException):
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        for fd in map(int, os.listdir("/proc/self/fd")):
            if fd > 2 and fd != line.fileno():
                with contextlib.suppress(OSError):  # that of the list itself
                    os.close(fd)
        os.chdir("/")
        _serve(line)
    os._exit(0)


def _become(
    main: Callable[[], None], cwd: str, env: Mapping[str, str], fds: Sequence[int]
) -> NoReturn:
    code = 1
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.closerange(len(fds), 1 << 16)
        _signals_as_at_a_start()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["-c"]
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:  # noqa: BLE001 - as the interpreter, whatever it is
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _signals_as_at_a_start() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _sibling() -> int:
    """Fork a process that is a child of our parent; its id, 0 in itself."""
    ours = ctypes.PyDLL(None)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid: int = ours.syscall(CLONE[platform.machine()], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return pid


def _serve(line: socket.socket) -> None:
    while request := told(line):
        about, fds = request
        pid = forked(_sibling, about["cwd"], about["env"], fds) if about else _reader(fds)
        for fd in fds:
            os.close(fd)
        line.sendall(LENGTH.pack(pid))


def load(*packages: str) -> None:
    """Import all modules of packages of ours."""
    for package in packages:
        name = f"torchkeeper.{package}"
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(module.name)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    load(*OF_ENGINES)
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[2])) as asking:
        _serve(asking)
