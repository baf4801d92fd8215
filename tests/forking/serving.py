"""What forks engines: ``python -I -S serving.py FOLDER DESCRIPTOR``, as isolated as an engine is.

FOLDER is where torchkeeper is imported from. It hears of each engine on the descriptor: the length
of a JSON object, with which come three descriptors to be its standard input, output and error, and
``{"cwd", "env"}``. It answers with the process id. That process is a child of whoever asked.
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
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

LENGTH = struct.Struct("=I")
#: The number of clone(2), by machine.
CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT = 0x8000
#: Packages whose modules engines import.
OF_ENGINES = ("engine", "stores", "artifacts")


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
        _become(cwd, env, fds)
    os.close(leads)
    os.read(ready, 1)
    os.close(ready)
    return pid


def _become(cwd: str, env: Mapping[str, str], fds: Sequence[int]) -> NoReturn:
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
        from torchkeeper.engine.serve import main

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
        pid = forked(_sibling, about["cwd"], about["env"], fds)
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
