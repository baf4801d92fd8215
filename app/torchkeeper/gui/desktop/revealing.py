"""Showing a file in the file manager of the desktop."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimerEvent, QUrl
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCall

_NAME = "org.freedesktop.FileManager1"
_PATH = "/org/freedesktop/FileManager1"
#: Milliseconds a file manager may take to start.
_PATIENCE_MS = 5000
#: Milliseconds between looks at whether it has answered.
_TICK_MS = 20
_NUMBERS = itertools.count(1)


class FileManager(QObject):
    """Asks the desktop's file manager over D-Bus. Belongs to the worker's thread, where nothing is
    connected (``gui.background.arrivals`` says why): it looks for answers now and then.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bus: QDBusConnection | None = None
        self._asked: list[tuple[QDBusPendingCall, Callable[[bool], None]]] = []
        self._ticking = 0
        # Qt keeps connections by name, and would give one that another had.
        self._connection = f"torchkeeper-{next(_NUMBERS)}"

    def show(self, path: str, folder: bool, then: Callable[[bool], None]) -> None:
        """Show a file in its folder, or what is in a folder; ``then`` hears whether it did."""
        bus = self._connected()
        if bus is None:
            then(False)
            return
        method = "ShowFolders" if folder else "ShowItems"
        message = QDBusMessage.createMethodCall(_NAME, _PATH, _NAME, method)
        uri = QUrl.fromLocalFile(path).toEncoded().toStdString()
        message.setArguments([[uri], ""])
        self._asked.append((bus.asyncCall(message, _PATIENCE_MS), then))
        if not self._ticking:
            self._ticking = self.startTimer(_TICK_MS)

    def timerEvent(self, _event: QTimerEvent) -> None:
        """Qt's."""
        over = [one for one in self._asked if one[0].isFinished()]
        self._asked = [one for one in self._asked if one not in over]
        if not self._asked:
            self.killTimer(self._ticking)
            self._ticking = 0
        for call, then in over:
            then(not call.isError())

    def _connected(self) -> QDBusConnection | None:
        if self._bus is None:
            # Without an address, the library might start a bus of its own for us.
            runtime = os.environ.get("XDG_RUNTIME_DIR", "")
            if not os.environ.get("DBUS_SESSION_BUS_ADDRESS") and not os.path.exists(
                os.path.join(runtime or "/nowhere", "bus")
            ):
                return None
            self._bus = QDBusConnection.connectToBus(
                QDBusConnection.BusType.SessionBus, self._connection
            )
        if not self._bus.isConnected():
            self.close()
            return None
        return self._bus

    def close(self) -> None:
        """Let go of the bus."""
        if self._bus is not None:
            self._bus = None
            QDBusConnection.disconnectFromBus(self._connection)
