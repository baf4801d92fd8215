"""A TCP proxy that breaks connections, for tests of what goes on after that."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Iterator

from tests.redis_server import free_port

#: Bytes that are passed on at once, so that a connection breaks close to where it should.
_STEP = 4096


class Proxy:
    """Listens on a port of its own and passes everything on to another.

    cut_down, cut_up: after so many bytes from the server, or to it, a connection breaks, in the
    middle of whatever was said; None for never. cuts: how many more may break so; broken: how many
    have. away_s: seconds after such a break in which new ones are closed at once, as they are while
    ``refusing``.
    """

    def __init__(self, port: int) -> None:
        self.cut_down: int | None = None
        self.cut_up: int | None = None
        self.cuts = 0
        self.broken = 0
        self.away_s = 0.0
        self.refusing = False
        self._back = 0.0
        self._open: list[socket.socket] = []
        self.target = port
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    @property
    def url(self) -> str:
        """The address of the server by way of this."""
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing or time.monotonic() < self._back:
                client.close()
                continue
            thread = threading.Thread(target=self._carry, args=(client,))
            self._threads.append(thread)
            thread.start()

    def drop(self) -> None:
        """Break every connection now, and take no more."""
        self.refusing = True
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _carry(self, client: socket.socket) -> None:
        there = ("127.0.0.1", self.target)
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection(there) as server,
        ):
            self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        self._open += [client, server]
        carried = {client: 0, server: 0}
        with selectors.DefaultSelector() as waiting:
            for one in carried:
                waiting.register(one, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select():
                    one = client if key.fileobj is client else server
                    data = one.recv(_STEP)
                    if not data:
                        return
                    limit = self.cut_up if one is client else self.cut_down
                    room = None if limit is None or not self.cuts else max(0, limit - carried[one])
                    (server if one is client else client).sendall(data[:room])
                    carried[one] += len(data)
                    if room is not None and room <= len(data):
                        self.cuts -= 1
                        self.broken += 1
                        self._back = time.monotonic() + self.away_s
                        return

    def close(self) -> None:
        """End it; connections end when their clients do."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        for thread in self._threads:
            thread.join(10)


@contextlib.contextmanager
def between(port: int) -> Iterator[Proxy]:
    """A proxy to a port for the length of a block."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
