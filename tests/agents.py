"""A real ssh-agent, for as long as a test needs one."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def agent() -> Iterator[str]:
    """Gives the path of its socket, which is short: a socket's has room for 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="agent-", dir="/tmp") as folder:
        socket = Path(folder, "s")
        command = ["ssh-agent", "-D", "-a", str(socket)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                while not socket.exists():
                    assert process.poll() is None
                    time.sleep(0.002)
                yield str(socket)
            finally:
                process.terminate()
