"""What is asked of the desktop over the session bus: to show a file (org.freedesktop.FileManager1,
freedesktop.org, “File manager D-Bus interface”), and notifications, from a thread of their own
(Desktop Notifications Specification, org.freedesktop.Notifications).
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torchkeeper.client.desktop.dbus import Bus

_MANAGER, _MANAGER_PATH = "org.freedesktop.FileManager1", "/org/freedesktop/FileManager1"


def shows(path: str, *, folder: bool) -> bool:
    """Whether a file manager shows a file, or what is in a ``folder``. Waits up to PATIENCE."""
    try:
        from torchkeeper.client.desktop.dbus import Bus, address

        bus = Bus.reach(address())
        with contextlib.closing(bus.line):
            uri, what = Path(path).absolute().as_uri(), "ShowFolders" if folder else "ShowItems"
            bus.call(_MANAGER, _MANAGER_PATH, _MANAGER, what, "ass", [uri], "")
    except (ImportError, OSError, ValueError):  # jeepney is there on Linux alone
        return False
    return True


_SERVICE, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
#: What a click on one that has no buttons is called.
_CLICK = "default"
#: Clicks on so many are waited for.
_MOST = 50


class Note(NamedTuple):
    """A notification. key: who wants to know of a click, or None. click: what that does."""

    summary: str
    body: str
    key: int | None = None
    click: str = ""


class Notifications:
    """Shows notes one by one; what it calls, it calls in its thread. clicked: a note's key, and
    what lets a window come to the front. failed: the key, where no desktop shows it.
    """

    def __init__(
        self, clicked: Callable[[int, str], object], failed: Callable[[int | None], object]
    ) -> None:
        self._clicked, self._failed = clicked, failed
        self._lock = threading.Lock()
        self._waiting: deque[Note] = deque()
        self._thread: threading.Thread | None = None
        self._ending = False
        #: Written to when there is something to do.
        self._wake: int | None = None

    def show(self, note: Note) -> None:
        """Show a note, as soon as the desktop takes it; waits for nothing."""
        with self._lock:
            self._waiting.append(note)
            if self._thread is None and not self._ending:
                reading, self._wake = os.pipe()
                self._thread = threading.Thread(
                    target=self._run, args=(reading,), name="torchkeeper-note", daemon=True
                )
                self._thread.start()
            elif self._wake is not None:
                os.write(self._wake, b"x")

    def stop(self) -> None:
        """Show what there is to show, and hear of no click any more. Waits for nothing."""
        with self._lock:
            self._ending = True
            if self._wake is not None:
                os.write(self._wake, b"x")

    def join(self, seconds: float) -> None:
        """Wait until the desktop has taken what there is, so long at most."""
        if (thread := self._thread) is not None:
            thread.join(seconds)

    def _run(self, reading: int) -> None:
        try:
            # Loaded here, where nobody waits for it; jeepney is there on Linux only.
            from torchkeeper.client.desktop import dbus

            bus = dbus.Bus.reach(dbus.address())
            with contextlib.closing(bus.line):
                _Line(bus, self._clicked).serve(reading, self._next, lambda: self._ending)
        except (ImportError, OSError, ValueError):
            pass  # the next one is tried anew
        with self._lock:
            left, self._waiting = list(self._waiting), deque()
            self._thread = None
            if self._wake is not None:
                os.close(self._wake)
                self._wake = None
        os.close(reading)
        for note in left:
            self._failed(note.key)

    def _next(self, shown: bool) -> Note | None:
        """The note to be shown; ``shown``: the one before it was."""
        with self._lock:
            if shown:
                self._waiting.popleft()
            return self._waiting[0] if self._waiting else None


class _Line:
    def __init__(self, bus: Bus, clicked: Callable[[int, str], object]) -> None:
        self._bus, self._clicked = bus, clicked
        self._able: list[str] = []
        self._service = ""
        #: The keys of those that are shown, by the service's numbers; what lets a window come up.
        self._shown: dict[int, int] = {}
        self._tokens: dict[int, str] = {}

    def serve(
        self, reading: int, following: Callable[[bool], Note | None], ending: Callable[[], bool]
    ) -> None:
        bus = self._bus
        bus.listen(f"type='signal',sender='{_SERVICE}',interface='{_SERVICE}',path='{_PATH}'")
        able = bus.call(_SERVICE, _PATH, _SERVICE, "GetCapabilities")
        self._service = able.sender
        if not able.body or not isinstance(able.body[0], list):
            raise ValueError("the service makes no sense")
        self._able = [str(one) for one in able.body[0]]
        while True:
            note = following(False)
            while note is not None:
                self._show(note)
                note = following(True)
            self._hear()
            if ending():
                return
            ready, _, _ = select.select([bus.line.fileno(), reading], [], [])
            if reading in ready:
                os.read(reading, 4096)
            if bus.line.fileno() in ready:
                bus.take()

    def _show(self, note: Note) -> None:
        import html

        body = note.body if "body-markup" not in self._able else html.escape(note.body, quote=False)
        actions = [_CLICK, note.click] if note.key is not None and "actions" in self._able else []
        said = self._bus.call(
            _SERVICE, _PATH, _SERVICE, "Notify", "susssasa{sv}i",
            "Torchkeeper", 0, "torchkeeper", _sendable(note.summary), _sendable(body),
            actions, {"desktop-entry": ("s", "torchkeeper"), "urgency": ("y", 1)}, -1,
        )  # fmt: skip
        self._service = said.sender
        if note.key is not None and said.body and isinstance(said.body[0], int):
            self._shown[said.body[0]] = note.key
            while len(self._shown) > _MOST:
                self._shown.pop(next(iter(self._shown)))

    def _hear(self) -> None:
        for signal in self._bus.signals():
            # Anybody may send us a signal.
            if signal.sender != self._service or not signal.body:
                continue
            number, *rest = signal.body
            if not isinstance(number, int) or number not in self._shown:
                continue
            if signal.member == "ActivationToken" and rest:
                self._tokens[number] = str(rest[0])[:512]
            elif signal.member == "ActionInvoked":
                self._clicked(self._shown[number], self._tokens.pop(number, ""))
            elif signal.member == "NotificationClosed":
                self._shown.pop(number)
                self._tokens.pop(number, None)


def _sendable(text: str) -> str:
    """A text without what a bus hangs up on: a file's name may be no UTF-8, a title hold a NUL."""
    return text.encode(errors="replace").decode().replace("\0", "?")
