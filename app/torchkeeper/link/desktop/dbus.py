"""The session bus, spoken to over its socket by whoever may wait for it.

Not with QtDBus: its calls keep Python's lock while they wait, so that a bus which does not answer
stops the window, whichever thread asks. Only what a client of one service needs is here.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

#: Seconds the bus, or a service on it, may take to answer.
PATIENCE = 5.0
#: Bytes of a message that is read; the services that are spoken to send a few hundred.
_MOST = 1 << 20
#: Signals that are kept until somebody looks.
_MOST_EARLY = 100
_ALIGN = dict(zip("ybnqiuxtdsogav({h", (1, 4, 2, 2, 4, 4, 8, 8, 8, 4, 4, 1, 4, 1, 8, 8, 4)))  # noqa: B905
_FIXED = dict(zip("ybnqiuxtdh", "BIhHiIqQdI"))  # noqa: B905
_CALL, _RETURN, _ERROR, SIGNAL = 1, 2, 3, 4
#: Fields of a header, and the types of those that are written.
_PATH, _INTERFACE, _MEMBER, _REPLY, _DESTINATION, _SENDER, _SIGNATURE = 1, 2, 3, 5, 6, 7, 8
_TYPES = {_PATH: "o", _INTERFACE: "s", _MEMBER: "s", _DESTINATION: "s", _SIGNATURE: "g"}
_BUS = "org.freedesktop.DBus"
#: Arrays and variants in each other.
_DEEPEST = 16


@dataclass(frozen=True)
class Message:
    """What comes from the bus."""

    kind: int
    fields: dict[int, Any]
    body: list[Any]

    @property
    def member(self) -> str:
        """The name of a signal."""
        return str(self.fields.get(_MEMBER, ""))

    @property
    def sender(self) -> str:
        """Who has sent it, by the name that the bus gave him."""
        return str(self.fields.get(_SENDER, ""))


def address() -> str | None:
    """The path of the session bus's socket, with a zero in front for one without a file; None
    where there is no session.
    """
    for one in os.environ.get("DBUS_SESSION_BUS_ADDRESS", "").split(";"):
        kind, _, rest = one.partition(":")
        pairs = dict(part.partition("=")[::2] for part in rest.split(","))
        if kind == "unix" and "path" in pairs:
            return unquote(pairs["path"])
        if kind == "unix" and "abstract" in pairs:
            return "\0" + unquote(pairs["abstract"])
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "bus")
    return path if os.path.isabs(path) and os.path.exists(path) else None


@dataclass
class Bus:
    """A line to the bus. Raises OSError and ValueError, of which no line survives one."""

    line: socket.socket
    _serial: int = 0
    _data: bytes = b""
    #: Signals that came while an answer was waited for.
    _early: list[Message] = field(default_factory=list)

    @classmethod
    def reach(cls, path: str) -> Bus:
        """Connect, and say who we are."""
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.settimeout(PATIENCE)
            line.connect(path)
            line.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
            said = b""
            while not said.endswith(b"\r\n"):
                # Byte by byte: what follows is in another language.
                piece = line.recv(1)
                said += piece
                if not piece or len(said) > 1000:
                    raise ValueError("the bus says nothing")
            if not said.startswith(b"OK "):
                raise ValueError("the bus does not know us")
            line.sendall(b"BEGIN\r\n")
            bus = cls(line)
            bus.call(_BUS, "/org/freedesktop/DBus", _BUS, "Hello")
        except BaseException:
            line.close()
            raise
        return bus

    def close(self) -> None:
        """Hang up."""
        self.line.close()

    def listen(self, rule: str) -> None:
        """Have signals sent here, too."""
        self.call(_BUS, "/org/freedesktop/DBus", _BUS, "AddMatch", "s", rule)

    def call(
        self, name: str, path: str, interface: str, member: str, types: str = "", *values: Any
    ) -> Message:
        """Ask a service, and wait for its answer."""
        self._serial += 1
        body = bytearray()
        for kind, value in zip(_split(types), values, strict=True):
            _put(body, kind, value)
        fields = {_PATH: path, _INTERFACE: interface, _MEMBER: member, _DESTINATION: name}
        if types:
            fields[_SIGNATURE] = types
        head = bytearray(struct.pack("<cBBBII", b"l", _CALL, 0, 1, len(body), self._serial))
        _put(head, "a(yv)", [(key, (_TYPES[key], value)) for key, value in fields.items()])
        _pad(head, 8)
        self.line.settimeout(PATIENCE)
        self.line.sendall(head + body)
        until = time.monotonic() + PATIENCE
        while True:
            got = self._next(until)
            if got.kind in (_RETURN, _ERROR) and got.fields.get(_REPLY) == self._serial:
                if got.kind == _ERROR:
                    raise ValueError(f"the service refuses: {got.fields.get(4)}")
                return got
            self._keep(got)

    def signals(self) -> Iterator[Message]:
        """The signals that have come."""
        while (got := self._whole()) is not None:
            self._keep(got)
        early, self._early = self._early, []
        yield from early

    def take(self) -> None:
        """Read what has come, for ``signals``."""
        self._keep(self._next(time.monotonic() + PATIENCE))

    def _keep(self, got: Message) -> None:
        if got.kind == SIGNAL and len(self._early) < _MOST_EARLY:
            self._early.append(got)

    def _next(self, until: float) -> Message:
        while (message := self._whole()) is None:
            self.line.settimeout(max(0.001, until - time.monotonic()))
            piece = self.line.recv(64 << 10)
            if not piece:
                raise ConnectionResetError("the bus has gone")
            self._data += piece
        return message

    def _whole(self) -> Message | None:
        """The next message, if it is there to its end."""
        if len(self._data) < 16:
            return None
        order = {b"l": "<", b"B": ">"}.get(self._data[:1])
        if order is None:
            raise ValueError("no message")
        body, _, fields = struct.unpack_from(f"{order}III", self._data, 4)
        start = 16 + fields + -fields % 8
        if start + body > _MOST:
            raise ValueError("too long")
        if len(self._data) < start + body:
            return None
        whole, self._data = self._data[: start + body], self._data[start + body :]
        reader = _Reader(whole, order, 12)
        known = {int(key): value for key, value in reader.read("a(yv)")}
        reader.at = start
        types = str(known.get(_SIGNATURE, ""))
        return Message(whole[1], known, [reader.read(kind) for kind in _split(types)])


def _split(types: str) -> list[str]:
    """The complete types of which a signature is made. Raises ValueError."""
    found, at = [], 0
    while at < len(types):
        end = _end(types, at)
        found.append(types[at:end])
        at = end
    return found


def _end(types: str, at: int, depth: int = 0) -> int:
    if at >= len(types) or depth > _DEEPEST:
        raise ValueError("no type")
    if types[at] == "a":
        return _end(types, at + 1, depth + 1)
    closing = {"(": ")", "{": "}"}.get(types[at])
    if closing is None:
        if types[at] not in _ALIGN:
            raise ValueError("no type")
        return at + 1
    at = _end(types, at + 1, depth + 1)  # none is empty: many of them would be nothing to read
    while types[at : at + 1] != closing:
        at = _end(types, at, depth + 1)
    return at + 1


def _pad(out: bytearray, to: int) -> None:
    out.extend(bytes(-len(out) % to))


def _put(out: bytearray, kind: str, value: Any) -> None:
    """Write a value; of a variant, its type and value."""
    _pad(out, _ALIGN[kind[0]])
    if kind in _FIXED:
        out.extend(struct.pack(f"<{_FIXED[kind]}", value))
    elif kind in ("s", "o", "g"):
        data = value.encode(errors="replace").replace(b"\0", b"?")
        out.extend(struct.pack("<B" if kind == "g" else "<I", len(data)) + data + b"\0")
    elif kind == "v":
        _put(out, "g", value[0])
        _put(out, value[0], value[1])
    elif kind[0] == "a":
        at = len(out)
        out.extend(bytes(4))
        _pad(out, _ALIGN[kind[1]])
        start = len(out)
        for one in value.items() if isinstance(value, dict) else value:
            _put(out, kind[1:], one)
        struct.pack_into("<I", out, at, len(out) - start)
    else:
        for inner, one in zip(_split(kind[1:-1]), value, strict=True):
            _put(out, inner, one)


class _Reader:
    """Reads values of a message. Raises ValueError for what is none."""

    def __init__(self, data: bytes, order: str, at: int) -> None:
        self._data, self._order, self.at = data, order, at

    def read(self, kind: str, depth: int = 0) -> Any:
        """The next value, which is of this type."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        self.at += -self.at % _ALIGN[kind[0]]
        if kind in _FIXED:
            return self._number(_FIXED[kind])
        if kind in ("s", "o", "g"):
            size = self._number("B" if kind == "g" else "I")
            text = self._data[self.at : self.at + size]
            self.at += size + 1
            if self.at > len(self._data):
                raise ValueError("cut short")
            return text.decode()
        if kind == "v":
            [inner] = _split(self.read("g"))
            return self.read(inner, depth + 1)
        if kind[0] == "a":
            return self._array(kind[1:], depth)
        return [self.read(inner, depth + 1) for inner in _split(kind[1:-1])]

    def _number(self, code: str) -> Any:
        try:
            [number] = struct.unpack_from(self._order + code, self._data, self.at)
        except struct.error as e:
            raise ValueError("cut short") from e
        self.at += struct.calcsize(self._order + code)
        return number

    def _array(self, kind: str, depth: int) -> list[Any]:
        size = self._number("I")
        self.at += -self.at % _ALIGN[kind[0]]
        end = self.at + size
        if end > len(self._data):
            raise ValueError("cut short")
        found = []
        while self.at < end:
            found.append(self.read(kind, depth + 1))
        return found
