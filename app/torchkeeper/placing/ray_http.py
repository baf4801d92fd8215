"""The HTTP server of a Ray cluster, which its dashboard is, too. What it answers is a stranger's:
bounded, and plain text where it is shown.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import quote, urlencode, urlsplit

from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import tr

#: The port of the dashboard, if an address has none.
PORT = 8265
#: Seconds that a connection may be silent, and that a Ray of here has to find a cluster.
SILENCE, FINDING = 30.0, 60.0
#: Bytes of an answer.
_ANSWER = 1 << 20
#: Says where the dashboard of a cluster is, in a process that has Ray.
_FIND = (
    "import sys, ray; found = ray.init(sys.argv[1], logging_level='ERROR', log_to_driver=False); "
    "print(found.dashboard_url)"
)


class Away(Exception):
    """Nobody answers, or not to the end; perhaps somebody does later."""


class Refused(Exception):
    """It answers that it does not do that."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"HTTP {status}: {why}" if why else f"HTTP {status}")
        self.status = status


class Server:
    """Where requests go to. Any number of threads may ask; each has a connection of its own.
    address: an ``http://`` or ``https://`` one, or one that Ray knows: ``ray://head:10001``, or
    ``ray:auto``. Raises UserError.
    """

    def __init__(self, address: str) -> None:
        try:
            parts = urlsplit(address)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise _wrong(address) from None
        plain = address.isprintable() and " " not in address
        if not plain or "@" in address or parts.query or parts.fragment:
            raise _wrong(address)
        if parts.scheme == "ray":
            self._address, self._found = address, False
        elif parts.scheme in ("http", "https") and self._host:
            self._address, self._found = address, True
            self._port = self._port or (PORT if parts.scheme == "http" else 443)
        else:
            raise _wrong(address)
        self._safe, self._before = parts.scheme == "https", parts.path.rstrip("/")

    def find(self) -> None:
        """Ask Ray where the server is, if only Ray knows; waits. Raises UserError."""
        if not self._found:
            found = _found(self._address, self._host)
            self._host, self._port, self._before, self._found = found._host, found._port, "", True

    def ask(self, method: str, path: str, body: bytes = b"", most: int = _ANSWER) -> bytes:
        """The answer. Raises Away and Refused."""
        with self._answer(method, path, body) as answer, _away():
            data = answer.read(most + 1)
        if len(data) > most:
            raise Refused(answer.status, tr("It sends more than expected."))
        return data

    def json(self, method: str, path: str, value: object = None) -> Mapping[str, object]:
        """The object that is the answer. Raises Away and Refused."""
        body = b"" if value is None else json.dumps(value).encode()
        try:
            found = json.loads(self.ask(method, path, body))
        except (ValueError, RecursionError):
            raise Refused(200, tr("Its answer is not JSON.")) from None
        if not isinstance(found, dict):
            raise Refused(200, tr("Its answer is not an object."))
        return found

    @contextlib.contextmanager
    def _answer(self, method: str, path: str, body: bytes = b"") -> Iterator[HTTPResponse]:
        headers = {"Content-Type": "application/json"} if body[:1] == b"{" else {}
        # As Ray's own tools say who asks, to a cluster that wants it.
        if token := os.environ.get("RAY_AUTH_TOKEN"):
            headers["Authorization"] = f"Bearer {token.strip()}"
        kind = http.client.HTTPSConnection if self._safe else HTTPConnection
        connection = kind(self._host, self._port, timeout=SILENCE)
        try:
            with _away():
                connection.request(method, self._before + path, body or None, headers)
                answer = connection.getresponse()
            with answer:
                if answer.status != http.HTTPStatus.OK:
                    with _away():
                        why = answer.read(2000).decode(errors="replace").strip()
                    raise Refused(answer.status, printable(why.rpartition("\n")[2], 500))
                yield answer
        finally:
            connection.close()


@contextlib.contextmanager
def _away() -> Iterator[None]:
    try:
        yield
    except ssl.SSLCertVerificationError as e:
        raise Refused(0, printable(str(e), 500)) from e
    except OSError as e:
        raise Away(printable(e.strerror or str(e), 500)) from e
    except (HTTPException, ValueError) as e:
        raise Away(printable(str(e) or type(e).__name__, 500)) from e


def log(node: str, name: str) -> str:
    """The path of a file among a node's logs."""
    asked = {"node_id": node, "filename": name, "lines": "-1", "timeout": "600"}
    return f"/api/v0/logs/file?{urlencode(asked)}"


def package(name: str) -> str:
    """The path of a value in Ray's key-value store."""
    return f"/api/packages/gcs/_ray_pkg_{quote(name)}.zip"


def _found(address: str, host: str) -> Server:
    """The server that a Ray of here finds by an address of its own."""
    name = address if host else address.partition(":")[2]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _FIND, name], capture_output=True, text=True, timeout=FINDING,
            check=False, stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as e:
        raise user_error("ray-away", {"target": address, "why": printable(str(e), 500)}) from e
    if done.returncode:
        why = printable(done.stderr.strip().rpartition("\n")[2], 500)
        code = "ray-missing" if "No module named 'ray'" in done.stderr else "ray-away"
        raise user_error(code, {"target": address, "why": why})
    there = done.stdout.strip().rpartition("\n")[2]
    if there in ("", "None"):
        raise user_error("ray-away", {"target": address, "why": tr("It has no dashboard.")})
    server = Server(there if "://" in there else f"http://{there}")
    if host and server._host in ("127.0.0.1", "localhost", "0.0.0.0", "::1"):  # noqa: S104
        server._host = host  # as it is called there
    return server


def _wrong(address: str) -> UserError:
    return user_error("ray-address-wrong", {"target": printable(address, 200)})
