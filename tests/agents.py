"""A real ssh-agent, for as long as a test needs one."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def agent() -> Iterator[str]:
    """Gives the path of its socket, which is short: a socket's has room for 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="agent-", dir="/tmp") as folder:
        path = str(Path(folder, "s"))
        command = ["ssh-agent", "-D", "-a", path]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                while not _answers(path):
                    assert process.poll() is None
                    time.sleep(0.002)
                yield path
            finally:
                process.terminate()


def _answers(path: str) -> bool:
    """Whether somebody listens there: the socket is a file a moment before."""
    with socket.socket(socket.AF_UNIX) as tried, contextlib.suppress(OSError):
        tried.connect(path)
        return True
    return False
