"""A line that breaks, as ssh's ProxyCommand: ``breaking.py PORT ORDERS``. The file ORDERS says what
becomes of the next connection: ``drop`` or ``hush``, and after how many bytes from there; anything
else lets it be. One that is hushed stays open, and says nothing more. The file COUNTS, beside it,
has how many bytes have come and gone over the connections, one a line.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

#: Bytes a second.
_RATE = 4e6


def order(orders: Path, what: str = "", after: int = 0) -> None:
    """From now on this becomes of each connection that is made."""
    orders.write_text(f"{what} {after}")


def counts(orders: Path) -> list[tuple[int, int]]:
    """Bytes that went there and came back, of each connection that has ended."""
    file = orders.with_name("counts")
    lines = file.read_text().splitlines() if file.exists() else []
    return [(int(one.split()[0]), int(one.split()[1])) for one in lines]


def main() -> None:
    """Relay until one end has ended, or it is time to break."""
    orders = Path(sys.argv[2])
    what, after = orders.read_text().rsplit(" ", 1)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # ssh ends it before it has counted
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    moved, lock = [0, 0], threading.Lock()

    def end() -> None:
        with lock, orders.with_name("counts").open("a") as file:
            file.write(f"{moved[0]} {moved[1]}\n")
            file.flush()
            os._exit(0)

    def relay(source: int, target: int, back: int) -> None:
        while data := os.read(source, 1 << 14):
            if what and sum(moved) + len(data) > int(after):
                if what == "drop":
                    end()
                threading.Event().wait()
            moved[back] += len(data)
            # No faster than what is behind it: what lies in buffers is lost when it breaks.
            time.sleep(len(data) / _RATE)
            while data:
                data = data[os.write(target, data) :]
        end()

    threading.Thread(target=relay, args=(0, server.fileno(), 0), daemon=True).start()
    relay(server.fileno(), 1, 1)


if __name__ == "__main__":
    main()
