"""Brings the window in front of others, as far as the desktop lets it."""

from __future__ import annotations

import os

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget

#: Qt's Wayland plugin takes it from here, and from nowhere else.
_TOKEN = "XDG_ACTIVATION_TOKEN"  # noqa: S105
#: Milliseconds until a token that nobody took is of no use any more.
_STALE_MS = 2000


def in_front() -> bool:
    """Whether the user is at one of our windows."""
    return QApplication.activeWindow() is not None


def bring(window: QWidget, token: str = "") -> None:
    """Show a window, and have it before the others; ``token``: who asked for it lets it."""
    if token:
        os.environ[_TOKEN] = token
        QTimer.singleShot(_STALE_MS, window, lambda: os.environ.pop(_TOKEN, None))
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
