"""Brings the window in front of others; and its icon in sizes, for desktops that draw no SVG."""

from __future__ import annotations

import os

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt, QTimer
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgRenderer
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


# Pictures of an SVG in sizes, for desktops that draw no SVG. Needs no display.


def draw(svg: bytes, side: int) -> bytes:
    """A square PNG with sides of so many pixels."""
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        QSvgRenderer(QByteArray(svg)).render(painter, QRectF(0, 0, side, side))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"PNG")).write(image)
    return bytes(buffer.data().data())
