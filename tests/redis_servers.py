"""Real Redis servers for tests, each on a port of its own, that end with the test."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import DATA


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def command(*parts: str | bytes) -> bytes:
    """A command as it goes over the wire."""
    data = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%b\r\n" % (len(x), x) for x in data)


def ask(port: int, *parts: str | bytes, password: str = "") -> bytes:
    """What a server answers to one command, as it comes over the wire."""
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        answers = line.makefile("rb")
        if password:
            line.sendall(command("AUTH", password))
            assert answers.readline() == b"+OK\r\n"
        line.sendall(command(*parts))
        return answers.readline()


@contextlib.contextmanager
def redis_server(folder: Path, password: str = "") -> Iterator[int]:
    """A server without any keys; gives its port."""
    program = shutil.which("redis-server")
    assert program, "redis-server is needed: apt install redis-server"
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    options += ["--requirepass", password] if password else []
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while True:
            try:
                ask(port, "PING", password=password)
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def fill(port: int, password: str = "") -> list[str]:
    """Put in what torch 2.9.1 wrote into a Redis, and one key of somebody else's.

    Gives the keys of PyTorch.
    """
    keys = []
    with gzip.open(DATA / "torch-2.9.1" / "redis.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            value = base64.b64decode(row["value"])
            assert ask(port, "SET", row["key"], value, password=password) == b"+OK\r\n"
            keys.append(row["key"])
    ask(port, "SET", "session:42", "somebody else's", password=password)
    return keys
