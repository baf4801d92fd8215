"""Real Redis servers for the tests: on a free port, a socket, with a password or with TLS."""

from __future__ import annotations

import base64
import contextlib
import gzip
import itertools
import json
import os
import shutil
import socket
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pace import LONG
from torchkeeper.stores.redis.connecting import pack

DUMP = Path(__file__).parent / "data" / "torch-2.9.1" / "redis.jsonl.gz"


def dump(path: Path = DUMP) -> dict[str, bytes]:
    """Every key and value that torch 2.9.1 left in a Redis, or those in another file."""
    with gzip.open(path, "rt", encoding="utf-8") if path == DUMP else path.open() as lines:
        rows = [json.loads(line) for line in lines]
    return {row["key"]: base64.b64decode(row["value"]) for row in rows}


def program() -> str:
    """The path of redis-server; without one, the test fails in CI and is skipped elsewhere."""
    found = shutil.which("redis-server")
    if not found:
        said = "NO REDIS-SERVER: nothing about Redis is tested (packaging/test installs one)"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)
    return found


def _ports() -> Iterator[int]:
    """Ports for this process alone, each once: below those that the system gives to whoever asks
    for any. A server that is down for a moment, or that was never there, stays what it is: with a
    port of those, PyTorch, told of a server that is not there, wrote into another test's.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    mine = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    # Somewhere else for every run, of which several may go on at once.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    first = 10_000 + zlib.crc32(run.encode()) % 10_000
    # A cluster's bus is 10,000 above.
    numbers = itertools.chain(range(first, 22_000), range(10_000, first))
    yield from itertools.islice(numbers, mine, None, workers)


_PORTS = _ports()


def free_port() -> int:
    """A port that nobody listens on, and that no other test of this run is given."""
    for port in _PORTS:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is left")


class Server:
    """A redis-server of our own, with its socket and port in ``folder``; nothing is saved."""

    def __init__(self, folder: Path, *options: str, tls: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.socket = folder / "redis.sock"
        ports = ["--port", str(self.port)]
        if tls:
            ports = ["--port", "0", "--tls-port", str(self.port)]
            ports += ["--tls-cert-file", str(tls / "server.crt")]
            ports += ["--tls-key-file", str(tls / "server.key")]
            ports += ["--tls-ca-cert-file", str(tls / "ca.crt")]
        basic = ["--bind", "127.0.0.1", "--unixsocket", str(self.socket), "--save", ""]
        more = ["--dir", str(folder), "--daemonize", "no"]
        self._command = [program(), *ports, *basic, *more, *options]
        self._log = folder / "log"
        self.start()

    def start(self) -> None:
        """Start it, again where it was before, and wait until it listens."""
        self.socket.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._listens():
            assert self.process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, "redis-server does not start"
            time.sleep(0.01)

    def _listens(self) -> bool:
        # The socket is a file before anybody listens to it.
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.connect(str(self.socket))
            except OSError:
                return False
        return True

    @property
    def url(self) -> str:
        """Its address on TCP, without a password."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix(self) -> str:
        """Its address on its socket."""
        return f"unix://{self.socket}"

    def commands(self, *commands: tuple[bytes | str | int, ...]) -> list[object]:
        """The answers to some commands, over a connection that the code under test has no part in
        but for the packing.
        """
        import hiredis

        reader, replies = hiredis.Reader(), list[object]()
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(self.socket))
            one.sendall(b"".join(pack(*command) for command in commands))
            while len(replies) < len(commands):
                if (reply := reader.gets()) is False:
                    reader.feed(one.recv(1 << 20))
                else:
                    replies.append(reply)
        return replies

    def __call__(self, *command: bytes | str | int) -> object:
        """The answer to one command."""
        return self.commands(command)[0]

    def load(self, values: dict[str, bytes]) -> None:
        """Put values under keys."""
        if values:
            replies = self.commands(*(("SET", key, value) for key, value in values.items()))
            assert {bytes(r) for r in replies if isinstance(r, bytes)} == {b"OK"}

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        self.process.wait(timeout=LONG)


@contextlib.contextmanager
def serving(folder: Path, *options: str, tls: Path | None = None) -> Iterator[Server]:
    """A server for the length of a block."""
    server = Server(folder, *options, tls=tls)
    try:
        yield server
    finally:
        server.close()


def certificates(folder: Path) -> Path:
    """A CA, certificates of a server and a client of it, one that has expired, and another CA."""
    folder.mkdir(parents=True, exist_ok=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    def authority(name: str) -> None:
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.crt",
                "-days", "30", "-subj", f"/CN=test {name}")  # fmt: skip

    def signed(name: str, *dates: str, host: str = "IP:127.0.0.1,DNS:localhost") -> None:
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                f"/CN={name}", "-addext", f"subjectAltName={host}")  # fmt: skip
        (folder / f"{name}.index").write_text("")
        (folder / f"{name}.config").write_text(
            f"[ca]\ndefault_ca=x\n[x]\ndatabase={name}.index\nnew_certs_dir=.\nserial=serial\n"
            "rand_serial=yes\ndefault_md=sha256\npolicy=p\ncopy_extensions=copy\n"
            "default_days=30\nunique_subject=no\n[p]\ncommonName=supplied\n"
        )
        files = ["-in", f"{name}.csr", "-out", f"{name}.crt", "-config", f"{name}.config"]
        openssl("ca", "-batch", "-notext", "-cert", "ca.crt", "-keyfile", "ca.key", *files, *dates)

    authority("ca")
    authority("other-ca")
    signed("server")
    signed("client")
    signed("expired", "-startdate", "20200101000000Z", "-enddate", "20210101000000Z")
    signed("elsewhere", host="DNS:elsewhere.example")
    return folder
