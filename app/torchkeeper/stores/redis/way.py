"""The way to a server: from here, or over the app's one connection to the machine that reaches it.
The app listens in the private folder that the engine runs in, which nobody else can open. What it
hears is the machine and the server; it answers with a line, and after that the server does.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
from collections.abc import Callable, Sequence

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.redis import WAY
from torchkeeper.stores.redis.address import Address, parse

#: Seconds in which a server takes a connection; after which somebody who waits is asked whether to
#: go on; and bytes of the answer.
_SECONDS, _TICK, _LONGEST = 5.0, 0.1, 1 << 14
#: What an answer may tell of a problem.
_PARAMS = ("machine", "command", "why", "version", "what")


def bare(address: Address) -> str:
    """A server by what it takes to connect to it."""
    scheme = "unix" if address.scheme == "unix" else "redis"
    return str(Address(scheme, address.host, address.port, address.path))


def reached(address: Address, seconds: float, check: Callable[[], None]) -> socket.socket:
    """A socket at whose other end the server is, without TLS; check: as of Connection. Raises
    OSError, and Problem where there is no way to its machine.
    """
    if address.way:
        made = _joined(address, check)
        made.settimeout(seconds)
    elif address.scheme == "unix":
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(seconds)
            made.connect(address.path)
        except BaseException:
            made.close()
            raise
    else:
        made = socket.create_connection((address.host, address.port), seconds)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _joined(address: Address, check: Callable[[], None]) -> socket.socket:
    """ssh may have to ask its user first, however long that takes. Raises as ``reached``."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            made.connect(WAY)
        except OSError:  # an engine of another machine, or of another interpreter
            raise Problem("place-elsewhere", place=str(address)) from None
        asked = {"machine": address.way, "server": bare(address)}
        made.sendall(json.dumps(asked).encode() + b"\n")
        match _answer(made, check):
            case {"number": 0}:
                return made
            case {"number": int(number)} if number < 0:
                raise socket.gaierror(number)
            case {"number": int(number)}:
                raise OSError(number, os.strerror(min(number, 1 << 16)))
            case {"code": str(code), "params": dict(params)}:
                raise Problem(code, **{name: str(params.get(name, "")) for name in _PARAMS})
        raise OSError(errno.EPROTO, os.strerror(errno.EPROTO))
    except BaseException:
        made.close()
        raise


def _answer(made: socket.socket, check: Callable[[], None]) -> object:
    """What is said before the server says anything. Raises OSError."""
    made.settimeout(_TICK)
    said = b""
    while not said.endswith(b"\n"):
        check()
        with contextlib.suppress(TimeoutError):
            if not (more := made.recv(1)) or len(said) > _LONGEST:
                raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            said += more
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(said)
    return None


def found(server: str, served: Sequence[str] | None) -> tuple[socket.socket | None, bytes]:
    """A connection to a server that this machine reaches, and the line that says what came of it.
    served: those that may be reached, None where all may.
    """
    made, told = None, dict[str, object]()
    try:
        address = parse(server).address
        if address.way or (served is not None and server not in served):
            raise Problem("not-served", what=server)
        made, told = reached(address, _SECONDS, lambda: None), {"number": 0}
    except Problem as problem:
        told = {"code": problem.code, "params": problem.params}
    except (OSError, UnicodeError) as e:  # a host may have a name that none can have
        number = e.errno or errno.ETIMEDOUT if isinstance(e, OSError) else socket.EAI_NONAME
        told = {"number": number}
    return made, json.dumps(told).encode() + b"\n"
