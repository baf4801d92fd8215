"""A notification service on the session bus, as a desktop has one: ``python -m`` this.

It prints each notification as a line of JSON. A line on its standard input is a number and a token:
the user clicks that notification.
"""

from __future__ import annotations

import json
import select
import sys
from typing import Any

from jeepney import (
    DBusAddress,
    HeaderFields,
    MessageType,
    message_bus,
    new_method_return,
    new_signal,
)
from jeepney.io.blocking import open_dbus_connection

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Service:
    """Answers calls, and sends signals."""

    def __init__(self) -> None:
        self.bus = open_dbus_connection()
        owned = self.bus.send_and_get_reply(message_bus.RequestName(NAME, 4))
        assert owned.body == (1,)
        self.last = 0

    def heard(self, call: Any) -> None:
        member = call.header.fields[HeaderFields.member]
        if member == "GetCapabilities":
            able = ["actions", "body", "body-markup"]
            self.bus.send(new_method_return(call, "as", (able,)))
        elif member == "Notify":
            self.last += 1
            *about, hints, until = call.body
            said = {name: value for name, (_, value) in hints.items()}
            print(json.dumps([self.last, *about, said, until]), flush=True)
            self.bus.send(new_method_return(call, "u", (self.last,)))

    def signal(self, member: str, types: str, *values: Any) -> None:
        self.bus.send(new_signal(DBusAddress(PATH, NAME, NAME), member, types, values))

    def run(self) -> None:
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([self.bus.sock, sys.stdin], [], [])
            if sys.stdin in ready:
                line = sys.stdin.readline()
                if not line:
                    return
                number, _, token = line.strip().partition(" ")
                self.signal("ActivationToken", "us", int(number), token)
                self.signal("ActionInvoked", "us", int(number), "default")
                self.signal("NotificationClosed", "uu", int(number), 2)
            if self.bus.sock in ready:
                self.bus.parser.add_data(self.bus.sock.recv(65536))
                while (call := self.bus.parser.get_next_message()) is not None:
                    if call.header.message_type is MessageType.method_call:
                        self.heard(call)


if __name__ == "__main__":
    Service().run()
