"""Showing a file in the file manager of the desktop."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

from PySide6.QtCore import QObject, QUrl
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCallWatcher

_NAME = "org.freedesktop.FileManager1"
_PATH = "/org/freedesktop/FileManager1"
#: Milliseconds a file manager may take to start.
_PATIENCE_MS = 5000
_NUMBERS = itertools.count(1)


class FileManager(QObject):
    """Asks the desktop's file manager over D-Bus. Belongs to the worker's thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bus: QDBusConnection | None = None
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
        watcher = QDBusPendingCallWatcher(bus.asyncCall(message, _PATIENCE_MS), self)

        def over() -> None:
            then(not watcher.isError())
            watcher.deleteLater()

        watcher.finished.connect(lambda *_: over())

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
