"""Where another start of the app hands over what it was to open. Nothing here waits."""

from __future__ import annotations

import contextlib
import os
import socket
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSocketNotifier

from torchkeeper.client import handover
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.desktop import front
from torchkeeper.gui.idle import once

if TYPE_CHECKING:
    from torchkeeper.gui.window import Window

#: Callers at the same time, and milliseconds that one may take.
_MOST = 8
_PATIENCE_MS = 3000
#: Bytes taken in one turn of the event loop.
_PIECE = 64 << 10


class Door(QObject):
    """Listens as long as the window is there."""

    def __init__(self, window: Window, seat: handover.Seat) -> None:
        super().__init__(window)
        self._window, self._seat = window, seat
        self.callers: set[_Caller] = set()
        #: Of callers; with the one that listens, what is left where the window goes at once.
        self.lines: set[socket.socket] = set()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(seat.socket)  # a dead one's: we have the lock
            self._listening.bind(seat.socket)
            os.chmod(seat.socket, 0o600)
            self._listening.listen(_MOST)
        except OSError:  # another start opens a window of its own then
            self._listening.close()
            seat.leave()
            return
        self._listening.setblocking(False)
        self._notifier = QSocketNotifier(self._listening.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._called)
        window.engines.stopped.connect(self.shut)
        self.destroyed.connect(partial(_hang_up, self._listening, self.lines))

    def shut(self) -> None:
        """Listen no longer. Safe to call again."""
        if self._listening.fileno() >= 0:
            self._notifier.setEnabled(False)
            self._listening.close()
            for caller in list(self.callers):
                caller.end()
        self._seat.leave()

    def _called(self) -> None:
        try:
            line, _ = self._listening.accept()
        except OSError:
            return  # it has gone again
        if not self.serving:
            # The window only waits for its engines to end.
            self.shut()
            line.close()
        elif len(self.callers) >= _MOST or not handover.same_user(line):
            line.close()
        else:
            caller = _Caller(line, self)
            self.callers.add(caller)
            caller.say(handover.GREETING)

    @property
    def serving(self) -> bool:
        """Whether the window is there, or can be had back."""
        return self._window.isVisible() or self._window.closing.in_background

    def take(self, handed: handover.Handed) -> None:
        """Open what was handed over, in front; with the jobs that have gone on without it."""
        window = self._window
        front.bring(window, handed.token)
        for place, password in handed.passwords.items():
            window.engines.give(place, password, Listener())
        if handed.paths:
            window.open_paths(handed.paths)


def _hang_up(listening: socket.socket, lines: set[socket.socket], *_: object) -> None:
    for line in (listening, *lines):
        line.close()


class _Caller(QObject):
    """Another start of the app, for as long as it is on the line."""

    def __init__(self, line: socket.socket, door: Door) -> None:
        super().__init__(door)
        self._line, self._door = line, door
        self._data = b""
        door.lines.add(line)
        line.setblocking(False)
        self._notifier = QSocketNotifier(line.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._said)
        self._timer = once(self, self.end)
        self._timer.start(_PATIENCE_MS)

    def end(self) -> None:
        """Let it go. Safe to call again."""
        if self._line.fileno() >= 0:
            self._notifier.setEnabled(False)
            self._timer.stop()
            self._door.lines.discard(self._line)
            self._line.close()
            self._door.callers.discard(self)
            self.deleteLater()

    def say(self, words: bytes) -> bool:
        """Send it; whether all of it was taken at once."""
        try:
            return self._line.send(words) == len(words)
        except OSError:
            self.end()
            return False

    def _said(self) -> None:
        try:
            piece = self._line.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._data += piece
        line, ended, more = self._data.partition(b"\n")
        if not piece or len(self._data) > handover.MOST or more:
            self.end()
        elif ended:
            handed = handover.parse(line)
            # Who gave up waiting has opened a window of its own by now.
            wanted = handed is not None and self._door.serving and not self._gone()
            if handed is not None and wanted and self.say(handover.TAKEN):
                self._door.take(handed)
            self.end()

    def _gone(self) -> bool:
        try:
            return not self._line.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
