"""The wire between the app and an engine: one JSON object a line, UTF-8, at most 1 MiB.

The engine speaks first (``hello``). A request is ``{"id", "op", "params"}``; the answers carry
its id: any number of ``progress``, ``rows`` (at most 500) and ``finding``, then one ``result`` or
``error``. ``{"cancel": id}`` asks for an early end, which is an ``error`` with code ``cancelled``.
Fields that are not known are ignored. What arrives is checked as if an enemy had sent it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding

PROTOCOL = 1
MAX_LINE = 1 << 20
MAX_ROWS = 500
#: The environment variable by which the app tells its own engines where the index file is.
INDEX = "TORCHKEEPER_INDEX"

TYPES = ("hello", "progress", "rows", "finding", "result", "error")


class WireError(ValueError):
    """A line that does not follow the protocol."""


class Message(NamedTuple):
    """One line from an engine. ``id`` is None only in ``hello`` and in errors about no request.

    body: all of it; what is in a result or a finding is of the types of ``engine.messages``.
    """

    type: str
    id: int | None
    body: Mapping[str, Any]

    @property
    def rows(self) -> list[Any]:
        """The rows of a ``rows`` message; none in any other."""
        return list(self.body["rows"]) if self.type == "rows" else []

    @property
    def finding(self) -> Finding:
        """What a ``finding`` message says; it was checked when it came."""
        said = {name: one for name, one in self.body.items() if name not in ("type", "id")}
        return cast("Finding", said)


def encode(obj: Mapping[str, object]) -> bytes:
    """One line. Raises WireError if it would be longer than MAX_LINE."""
    line = json.dumps(obj, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise WireError(f"a line of {len(line)} bytes is over the limit of {MAX_LINE}")
    return line


def decode(line: bytes) -> dict[str, object]:
    """The object of one line. Raises WireError for anything else."""
    if len(line) > MAX_LINE:
        raise WireError("a line is too long")
    try:
        obj = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise WireError("a line is not JSON") from e
    if not isinstance(obj, dict):
        raise WireError("a line is not an object")
    return obj


def message_from(obj: Mapping[str, object]) -> Message:
    """The Message in one decoded line from an engine. Raises WireError."""
    kind = obj.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise WireError("a message of an unknown type")
    ident = obj.get("id")
    if ident is not None and (not isinstance(ident, int) or isinstance(ident, bool)):
        raise WireError("an id is not a number")
    if kind == "rows":
        rows = obj.get("rows")
        if not isinstance(rows, list) or len(rows) > MAX_ROWS:
            raise WireError("rows is not a list of at most 500")
    if kind == "error":
        error = obj.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("code"), str):
            raise WireError("an error without a code")
        if not isinstance(error.get("params", {}), dict):
            raise WireError("the params of an error are not an object")
    if kind == "result" and not isinstance(obj.get("result"), dict):
        raise WireError("a result is not an object")
    return Message(kind, ident, obj)


class Lines:
    """Cuts a byte stream into lines, bounded by MAX_LINE."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The complete lines, now that ``data`` has arrived. Raises WireError on an endless one."""
        self._rest += data
        if b"\n" not in data:
            if len(self._rest) > MAX_LINE:
                raise WireError("a line is too long")
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        return [bytes(line) for line in lines if line]
