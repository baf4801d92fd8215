"""Servers that only another machine reaches: an engine here that wants one is joined to it over the
one connection to that machine (``stores.redis.way``). No port is opened for that.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading

from torchkeeper.client.engines import line
from torchkeeper.client.words.problems import UserError
from torchkeeper.stores.redis import WAY

#: Bytes of what an engine asks for.
_ASKED = 1 << 14


class Joining:
    """Joins an engine; folder: a handle of that in which it runs. Raises OSError."""

    def __init__(self, folder: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Its path may be longer than the name of a socket can be.
        self._socket.bind(f"/proc/self/fd/{folder}/{WAY}")
        self._socket.listen()
        threading.Thread(target=self._listen, name="joining", daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                made, _ = self._socket.accept()
                threading.Thread(target=_join, args=(made,), name="join", daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _join(made: socket.socket) -> None:
    """Join what an engine has asked with; waits for the machine."""
    with contextlib.suppress(OSError, ValueError), made:  # the engine is gone
        with made.makefile("rb", 0) as asked:  # it says no more before it has an answer
            about = json.loads(asked.readline(_ASKED))
        try:
            way = line.to(about["machine"])
            way.hello()
        except UserError as error:
            params = {**error.params, "why": " ".join(error.why.split())}
            made.sendall(json.dumps({"code": error.code, "params": params}).encode() + b"\n")
        else:
            way.join(about["server"], os.dup(made.fileno()))
