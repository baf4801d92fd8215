"""A line that breaks, as ssh's ProxyCommand: ``breaking.py PORT ORDERS``. The file ORDERS says what
becomes of each connection after so many bytes from when that was written, or from its beginning:
``drop`` ends it, ``kill`` ends ssh, and with ``hush`` nothing more passes, and the server hears of
no end, not even ssh's, until the file says ``end``; with ``deaf`` it hears nothing, and is heard.
These two are of the first connection that comes so far: the file has no order any more then.
Anything else lets it be. The file COUNTS, beside it, has how many bytes have come and gone over the
connections, one a line.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

#: Bytes a second, and seconds for which nothing passes at most.
_RATE, _LONGEST = 4e6, 900.0


def order(orders: Path, what: str = "", after: int = 0) -> None:
    """From now on this becomes of each connection."""
    told = orders.with_name("told")
    told.write_text(f"{what} {after}")
    told.replace(orders)


def counts(orders: Path) -> list[tuple[int, int]]:
    """Bytes that went there and came back, of each connection that has ended."""
    file = orders.with_name("counts")
    lines = file.read_text().splitlines() if file.exists() else []
    return [(int(one.split()[0]), int(one.split()[1])) for one in lines]


class _Line:
    def __init__(self, orders: Path) -> None:
        self._orders, self._told, self._what, self._after = orders, (0, 0), "", 0
        self._of, self._silent = os.getppid(), False
        self.moved, self._lock = [0, 0], threading.Lock()

    def end(self) -> None:
        """Say what it has moved, and end."""
        with self._lock, self._orders.with_name("counts").open("a") as file:
            file.write(f"{self.moved[0]} {self.moved[1]}\n")
            file.flush()
            os._exit(0)

    def _look(self, more: int, back: int) -> None:
        if self._silent:
            return self._hush(back)
        status = self._orders.stat()
        if (told := (status.st_ino, status.st_mtime_ns)) != self._told:
            self._told = told
            self._what, after = self._orders.read_text().rsplit(" ", 1)
            self._after = sum(self.moved) + int(after)
        if self._what and sum(self.moved) + more > self._after:
            if self._what in ("hush", "deaf"):
                self._silent = True
                order(self._orders)
                return self._hush(back)
            if self._what == "kill":
                os.kill(os.getppid(), signal.SIGKILL)
            self.end()
        return None

    def _hush(self, back: int) -> None:
        if back and self._what == "deaf":
            return
        until = time.monotonic() + _LONGEST
        while time.monotonic() < until:
            time.sleep(0.1)
            ended = not self._orders.exists() or self._orders.read_text().startswith("end ")
            if ended and os.getppid() != self._of:
                break
        self.end()

    def relay(self, source: int, target: int, back: int) -> None:
        """Pass on what comes."""
        while data := os.read(source, 1 << 14):
            self._look(len(data), back)
            self.moved[back] += len(data)
            # No faster than what is behind it: what lies in buffers is lost when it breaks.
            time.sleep(len(data) / _RATE)
            while data:
                data = data[os.write(target, data) :]
        self.end()


def main() -> None:
    """Relay until one end has ended, or it is time to break."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # ssh ends it before it has counted
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    one = _Line(Path(sys.argv[2]))
    threading.Thread(target=one.relay, args=(0, server.fileno(), 0), daemon=True).start()
    one.relay(server.fileno(), 1, 1)


if __name__ == "__main__":
    main()
