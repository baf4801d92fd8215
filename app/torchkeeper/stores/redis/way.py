"""The way to a server that another machine reaches: over the app's one connection to that machine.
The app listens in the private folder that the engine runs in, which nobody else can open. What it
hears is the machine and the server; it answers with a line, and after that the server does.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.redis import WAY
from torchkeeper.stores.redis.address import Address

#: Seconds between two checks whether to wait on, and the most bytes of the answer.
_TICK, _LONGEST = 0.1, 1 << 14
#: What an answer may tell of a problem.
_PARAMS = ("machine", "command", "why", "version", "what", "host", "path")


def bare(address: Address) -> str:
    """The address of a server without what is not needed to connect: TLS, user, database."""
    scheme = "unix" if address.scheme == "unix" else "redis"
    return str(Address(scheme, address.host, address.port, address.path))


def joined(address: Address, server: str, check: Callable[[], None]) -> socket.socket:
    """A socket to the server. It may take long, as ssh may ask its user something first. Raises
    Problem, OSError.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            made.connect(WAY)
        except OSError:  # an engine of another machine, or of another interpreter
            raise Problem("place-elsewhere", place=server) from None
        asked = {"machine": address.way, "server": bare(address)}
        made.sendall(json.dumps(asked).encode() + b"\n")
        match _answer(made, check):
            case {"code": ""}:
                return made
            case {"code": str(code), "params": dict(params)}:
                about = {name: str(params.get(name, "")) for name in _PARAMS}
                raise Problem(code, server=server, **about)
        raise Problem("server-lost", server=server)
    except BaseException:
        made.close()
        raise


def _answer(made: socket.socket, check: Callable[[], None]) -> object:
    """The app's answer, which comes before the first byte of the server; None for no answer."""
    made.settimeout(_TICK)
    said = b""
    while not said.endswith(b"\n"):
        check()
        with contextlib.suppress(TimeoutError):
            if not (more := made.recv(1)) or len(said) > _LONGEST:
                return None
            said += more
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(said)
    return None
