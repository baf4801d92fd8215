"""The session bus, spoken to with jeepney by whoever may wait for it. QtDBus is not used: its calls
keep Python's lock while they wait, so that a bus which does not answer stops the window, whichever
thread asks. Nor are jeepney's connections: they wait without end for the answer to their first
call, and read messages of any length.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import Any, NamedTuple
from urllib.parse import unquote

from jeepney import DBusAddress, HeaderFields, MessageType, Parser, new_method_call
from jeepney.io.blocking import prep_socket

#: Seconds the bus, or a service on it, may take to answer.
PATIENCE = 5.0
#: Bytes of a message that is read; the services that are spoken to send a few hundred.
_MOST = 1 << 20
#: Signals that are kept until somebody looks.
_MOST_EARLY = 100
_ANSWERS = MessageType.method_return, MessageType.error
_BUS = "org.freedesktop.DBus"


class Message(NamedTuple):
    """What comes from the bus. member: the name of a signal; sender: his name on the bus."""

    member: str
    sender: str
    body: tuple[Any, ...]


def address() -> str:
    """The path of the session bus's socket, a zero before an abstract one. Raises OSError."""
    for one in os.environ.get("DBUS_SESSION_BUS_ADDRESS", "").split(";"):
        kind, _, rest = one.partition(":")
        pairs = dict(part.partition("=")[::2] for part in rest.split(","))
        if kind == "unix" and "path" in pairs:
            return unquote(pairs["path"])
        if kind == "unix" and "abstract" in pairs:
            return "\0" + unquote(pairs["abstract"])
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "bus")
    if not os.path.isabs(path) or not os.path.exists(path):
        raise OSError("no session")
    return path


class Bus:
    """A line to the bus. Raises OSError and ValueError, of which no line survives one."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self._serial = 0
        self._parser = Parser()
        #: Signals that came while an answer was waited for.
        self._early: list[Message] = []

    @classmethod
    def reach(cls, path: str) -> Bus:
        bus = cls(prep_socket(path, timeout=PATIENCE))
        try:
            bus.call(_BUS, "/org/freedesktop/DBus", _BUS, "Hello")
        except BaseException:
            bus.line.close()
            raise
        return bus

    def listen(self, rule: str) -> None:
        self.call(_BUS, "/org/freedesktop/DBus", _BUS, "AddMatch", "s", rule)

    def call(
        self, name: str, path: str, interface: str, member: str, types: str = "", *values: Any
    ) -> Message:
        """Ask a service, and wait for its answer."""
        self._serial += 1
        asked = new_method_call(DBusAddress(path, name, interface), member, types or None, values)
        self.line.settimeout(PATIENCE)
        self.line.sendall(asked.serialise(self._serial))
        until = time.monotonic() + PATIENCE
        while True:
            got = self._next(until)
            kind, fields = got.header.message_type, got.header.fields
            if kind in _ANSWERS and fields.get(HeaderFields.reply_serial) == self._serial:
                if kind is MessageType.error:
                    raise ValueError(f"the service refuses: {fields.get(HeaderFields.error_name)}")
                return _told(got)
            self._keep(got)

    def signals(self) -> list[Message]:
        early, self._early = self._early, []
        return early

    def take(self) -> None:
        """Read a message that has come, for ``signals``."""
        self._keep(self._next(time.monotonic() + PATIENCE))

    def _keep(self, got: Any) -> None:
        if got.header.message_type is MessageType.signal and len(self._early) < _MOST_EARLY:
            self._early.append(_told(got))

    def _next(self, until: float) -> Any:
        while (message := self._parsed()) is None:
            if time.monotonic() > until:  # whoever sends on and on does not answer either
                raise TimeoutError("the bus does not answer")
            # To the end of a message at most, so that what is left is seen by ``select``.
            if (wanted := self._parser.bytes_desired()) > _MOST:
                raise ValueError("too long")
            self.line.settimeout(max(0.001, until - time.monotonic()))
            if not (piece := self.line.recv(min(wanted, 64 << 10))):
                raise ConnectionResetError("the bus has gone")
            self._parser.add_data(piece)
        return message

    def _parsed(self) -> Any:
        """The next message, if it is there to its end."""
        try:
            return self._parser.get_next_message()
        except (LookupError, TypeError, AssertionError, RecursionError, struct.error) as e:
            raise ValueError("no message") from e


def _told(got: Any) -> Message:
    head = got.header.fields
    return Message(head.get(HeaderFields.member, ""), head.get(HeaderFields.sender, ""), got.body)
