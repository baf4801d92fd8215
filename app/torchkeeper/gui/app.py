"""Starts the window."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys

from PySide6.QtCore import QSettings, QSocketNotifier
from PySide6.QtWidgets import QApplication

import torchkeeper
from torchkeeper.gui import icons
from torchkeeper.gui.bugs import Bugs
from torchkeeper.gui.theme import Look, Theme
from torchkeeper.gui.window import Window

#: Seconds the process waits for its worker after the window is gone; engines take six at most.
_LAST_WAIT = 10.0


def application() -> QApplication:
    """The QApplication, with its names and its look; made on first use."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication(sys.argv[:1])
    app.setApplicationName("torchkeeper")
    app.setApplicationDisplayName("Torchkeeper")
    app.setOrganizationName("torchkeeper")
    app.setApplicationVersion(torchkeeper.__version__)
    app.setDesktopFileName("torchkeeper")
    app.setWindowIcon(icons.app_icon())
    if app.findChild(Look) is None:
        Look(app, _kept_theme())
    return app


def _kept_theme() -> Theme:
    try:
        return Theme(str(QSettings().value("look/theme") or Theme.SYSTEM.value))
    except ValueError:
        return Theme.SYSTEM


def run(files: list[str]) -> int:
    """Open the window on these files and folders; returns when it is closed."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    app = application()
    # The window's engines end before the process does.
    app.setQuitOnLastWindowClosed(False)
    window = Window()
    window.stopped.connect(app.quit)
    bugs = Bugs(app)
    bugs.install(window)
    wakeup = _close_on_signals(window)
    window.show()
    if files:
        window.open_paths([os.path.abspath(path) for path in files])
    status = app.exec()
    window.engines.stop()
    window.engines.join(_LAST_WAIT)
    for end in wakeup:
        end.close()
    return status


def _close_on_signals(window: Window) -> tuple[socket.socket, socket.socket]:
    """SIGINT and SIGTERM close the window as its button does; a second one ends the process."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: signal.signal(number, signal.SIG_DFL))
    notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read, window)

    def woken() -> None:
        reading.recv(16)
        window.close_surely()

    notifier.activated.connect(woken)
    return reading, writing
