"""The HTTP server of a Ray cluster, which its dashboard is, too. What it answers is a stranger's:
bounded, and plain text where it is shown.
"""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPS_PORT, HTTPConnection, HTTPException, HTTPSConnection
from typing import TypedDict, cast
from urllib.parse import quote, urlencode, urlsplit

from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine.protocol import WireError, decode, misfit

#: The port of the dashboard, if an address has none.
PORT = 8265
#: Seconds that a connection may be silent, and that an answer may take.
SILENCE, LONGEST = 30.0, 300.0
#: Bytes of an answer.
_ANSWER = 1 << 20


class Away(Exception):
    """Nobody answers, or not to the end; perhaps somebody does later."""


class Refused(Exception):
    """It answers that it does not do that."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"HTTP {status}: {why}" if why else f"HTTP {status}")
        self.status = status


class Server:
    """Where requests go to. Any number of threads may ask; each has a connection of its own.
    address: an ``http://`` or ``https://`` one; ``ray://head:10001``, which is that of Ray's own
    clients, is taken as the usual port of that host. Raises UserError.
    """

    def __init__(self, address: str) -> None:
        wrong = user_error("ray-address-wrong", {"target": printable(address, 200)})
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise wrong from None
        plain = address.isprintable() and not set(" @?#") & set(address)
        if not plain or not host or parts.scheme not in ("ray", "http", "https"):
            raise wrong
        self._safe, self._before = parts.scheme == "https", parts.path.rstrip("/")
        usual = HTTPS_PORT if self._safe else PORT
        self._host, self._port = host, usual if parts.scheme == "ray" else port or usual

    def ask(self, method: str, path: str, body: bytes = b"", most: int = _ANSWER) -> bytes:
        """The answer. Raises Away and Refused."""
        headers = {"Content-Type": "application/json"} if body[:1] == b"{" else {}
        # As Ray's own tools say who asks, to a cluster that wants it.
        if token := os.environ.get("RAY_AUTH_TOKEN"):
            headers["Authorization"] = f"Bearer {token.strip()}"
        kind = HTTPSConnection if self._safe else HTTPConnection
        connection = kind(self._host, self._port, timeout=SILENCE)
        data, late = bytearray(), time.monotonic() + LONGEST
        try:
            connection.request(method, self._before + path, body or None, headers)
            with connection.getresponse() as answer:
                while len(data) <= most and (more := answer.read1(1 << 18)):
                    data += more
                    if time.monotonic() > late:
                        raise Away(tr("Its answer takes too long."))
                cut = bool(answer.length) and len(data) <= most
        except ssl.SSLCertVerificationError as e:
            raise Refused(0, printable(str(e), 500)) from e
        except (OSError, HTTPException, ValueError) as e:
            why = getattr(e, "strerror", "") or str(e) or type(e).__name__
            raise Away(printable(why, 500)) from e
        finally:
            connection.close()
        if answer.status != HTTPStatus.OK:
            why = data[:2000].decode(errors="replace").strip().rpartition("\n")[2]
            raise Refused(answer.status, printable(why, 500))
        if cut:
            raise Away(tr("Its answer broke off."))
        if len(data) > most:
            raise Refused(answer.status, tr("It sends more than expected."))
        return bytes(data)

    def json(self, path: str) -> Mapping[str, object]:
        """The object that is the answer. Raises Away and Refused."""
        try:
            found = json.loads(self.ask("GET", path))
        except (ValueError, RecursionError):
            raise Refused(200, tr("Its answer is not JSON.")) from None
        if not isinstance(found, dict):
            raise Refused(200, tr("Its answer is not an object."))
        return found


def log(node: str, name: str, lines: int = -1) -> str:
    """The path of a file among a node's logs, or of so many lines at its end."""
    asked = {"node_id": node, "filename": name, "lines": lines, "timeout": 600}
    return f"/api/v0/logs/file?{urlencode(asked)}"


def package(name: str) -> str:
    """The path of a value in Ray's key-value store."""
    return f"/api/packages/gcs/_ray_pkg_{quote(name)}.zip"


class Word(TypedDict, total=False):
    """What a job's driver says (``placing.ray_driver``), and of which unit."""

    of: int
    ready: bool
    taken: int
    node: str
    name: str
    cpus: float
    gpus: float
    labels: Mapping[str, str]
    said: str
    end: bool
    parts: int
    status: int
    log: str
    cancelled: bool
    failed: str
    lost: str


class Line(TypedDict):
    line: int
    words: list[Word]


def lines(data: bytes) -> list[Line]:
    """The driver's lines in a part of its log, which may have others, and begin and end within one.
    Raises WireError.
    """
    found = list[Line]()
    for line in data.split(b"\n")[:-1]:
        if line.startswith(b'{"line":'):
            said = decode(line)
            if why := misfit(Line, said, "line"):
                raise WireError(why)
            found.append(cast("Line", said))
    return found
