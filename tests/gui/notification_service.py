"""A notification service on the session bus, as a desktop has one: ``python -m`` this.

It prints each notification as a line of JSON. A line on its standard input is a number and a token:
the user clicks that notification.
"""

from __future__ import annotations

import json
import select
import struct
import sys
from typing import Any

from torchkeeper.link.desktop import dbus
from torchkeeper.link.desktop.dbus import Bus, Message

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Service:
    """Answers calls, and sends signals."""

    def __init__(self) -> None:
        path = dbus.address()
        assert path is not None
        self.bus = Bus.reach(path)
        owned = self.bus.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
            "RequestName", "su", NAME, 4,
        )  # fmt: skip
        assert owned.body == [1]
        self.serial = 1000
        self.last = 0

    def send(self, kind: int, fields: dict[int, tuple[str, Any]], types: str, *values: Any) -> None:
        self.serial += 1
        body = bytearray()
        for one, value in zip(dbus._split(types), values, strict=True):
            dbus._put(body, one, value)
        head = bytearray(struct.pack("<cBBBII", b"l", kind, 1, 1, len(body), self.serial))
        dbus._put(head, "a(yv)", list({**fields, 8: ("g", types)}.items()))
        dbus._pad(head, 8)
        self.bus.line.sendall(head + body)

    def heard(self, call: Message, serial: int) -> None:
        to = {5: ("u", serial), 6: ("s", call.sender)}
        if call.member == "GetCapabilities":
            self.send(2, to, "as", ["actions", "body", "body-markup"])
        elif call.member == "Notify":
            self.last += 1
            print(json.dumps([self.last, *call.body]), flush=True)
            self.send(2, to, "u", self.last)

    def signal(self, member: str, types: str, *values: Any) -> None:
        fields = {1: ("o", PATH), 2: ("s", NAME), 3: ("s", member)}
        self.send(4, fields, types, *values)

    def run(self) -> None:
        data = b""
        self.bus.line.setblocking(False)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([self.bus.line, sys.stdin], [], [])
            if sys.stdin in ready:
                line = sys.stdin.readline()
                if not line:
                    return
                number, _, token = line.strip().partition(" ")
                self.signal("ActivationToken", "us", int(number), token)
                self.signal("ActionInvoked", "us", int(number), "default")
                self.signal("NotificationClosed", "uu", int(number), 2)
            if self.bus.line in ready:
                data += self.bus.line.recv(65536)
                while len(data) >= 16:
                    body, serial, fields = struct.unpack_from("<III", data, 4)
                    size = 16 + fields + -fields % 8 + body
                    if len(data) < size:
                        break
                    self.bus._data, data = data[:size], data[size:]
                    call = self.bus._whole()
                    if call is not None and call.kind == 1:
                        self.heard(call, serial)


if __name__ == "__main__":
    Service().run()
