"""A slow line to a server on this machine, as ssh's ProxyCommand: ``slowline.py PORT COUNTS``. What
goes in either direction is there half a round trip later, and no faster than RATE; the file COUNTS
has how many bytes went each way, and how often something went there in answer to what had come.
"""

from __future__ import annotations

import mmap
import os
import queue
import socket
import struct
import sys
import threading
import time
from pathlib import Path

#: Seconds of a round trip, and bytes a second.
TRIP, RATE = 0.050, 20e6 / 8
#: Seconds of what a router keeps for a line that is busy; and bytes at once.
_QUEUE, _PIECE = 0.2, 1 << 14
_COUNTS = struct.Struct("3Q")


def counts(file: Path) -> tuple[int, int, int]:
    """Bytes that went there and back, and the turns."""
    there, back, turns = _COUNTS.unpack(file.read_bytes())
    return there, back, turns


def reset(file: Path) -> None:
    """Begin to count anew; no line may be in use."""
    file.write_bytes(bytes(_COUNTS.size))


class _Slow:
    def __init__(self, file: str) -> None:
        with open(file, "r+b") as opened:
            self._shared = mmap.mmap(opened.fileno(), _COUNTS.size)
        self._counts, self._answers = list(_COUNTS.unpack(self._shared[:])), False

    def note(self, back: bool, size: int) -> None:
        self._counts[back] += size
        self._counts[2] += self._answers and not back
        self._answers = back
        self._shared[:] = _COUNTS.pack(*self._counts)

    def relay(self, source: int, target: int, back: bool) -> None:
        waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._deliver, args=(waiting, target, back), daemon=True).start()
        free = 0.0
        while True:
            data = os.read(source, _PIECE)
            free = max(free, time.monotonic()) + len(data) / RATE
            waiting.put((free + TRIP / 2, data))
            if not data:
                return
            if not back:
                self.note(back, len(data))
            time.sleep(max(free - time.monotonic() - _QUEUE, 0))

    def _deliver(
        self, waiting: queue.SimpleQueue[tuple[float, bytes]], target: int, back: bool
    ) -> None:
        while True:
            due, data = waiting.get()
            time.sleep(max(due - time.monotonic(), 0))
            if not data:
                os._exit(0)
            if back:
                self.note(back, len(data))
            while data:
                data = data[os.write(target, data) :]


def main() -> None:
    """Relay until one end has ended."""
    slow = _Slow(sys.argv[2])
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=slow.relay, args=(0, server.fileno(), False), daemon=True).start()
    slow.relay(server.fileno(), 1, back=True)
    time.sleep(1)


if __name__ == "__main__":
    main()
