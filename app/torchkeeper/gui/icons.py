"""Icons: strokes drawn in ``resources/icons`` that take the colour of the theme."""

from __future__ import annotations

import functools
import importlib
import os.path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

#: What menus, toolbars and buttons ask for; larger pictures are drawn by ``pixmap``.
_SIZES = (16, 20)
_colours = {"normal": "#1a1d23", "disabled": "#59616d", "on_accent": "#ffffff"}


def use_colours(*, normal: str, disabled: str, on_accent: str) -> None:
    """Draw icons in these colours from now on."""
    _colours.update(normal=normal, disabled=disabled, on_accent=on_accent)


#: A plain folder, as style sheets need it anyhow; importlib.resources takes long to load.
_FOLDER = os.path.join(importlib.import_module("torchkeeper.resources").__path__[0], "icons")


def path(name: str) -> str:
    """Where an icon lies on the disk, with ``/`` on every system, for style sheets."""
    return os.path.join(_FOLDER, f"{name}.svg").replace("\\", "/")


@functools.cache
def _source(name: str) -> str:
    with open(path(name), encoding="utf-8") as file:
        return file.read()


@functools.cache
def _pixmap(name: str, colour: str, size: int, opacity: float, scale: float) -> QPixmap:
    svg = _source(name).replace("currentColor", colour)
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    made = QPixmap(round(size * scale), round(size * scale))
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setOpacity(opacity)
    renderer.render(painter, QRectF(0, 0, made.width(), made.height()))
    painter.end()
    made.setDevicePixelRatio(scale)
    return made


def pixmap(name: str, size: int, colour: str | None = None, scale: float = 1.0) -> QPixmap:
    """One icon in one size (device-independent) and colour."""
    return _pixmap(name, colour or _colours["normal"], size, 1.0, scale)


def icon(name: str, colour: str | None = None) -> QIcon:
    """An icon in the theme's colours, or in ``colour``. Made anew after the theme changed."""
    made = QIcon()
    # Drawing is what takes the time at the start, so only for the screens that are there.
    ratios = {1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}
    for size in _SIZES:
        for scale in ratios:
            normal = _pixmap(name, colour or _colours["normal"], size, 1.0, scale)
            made.addPixmap(normal, QIcon.Mode.Normal)
            made.addPixmap(normal, QIcon.Mode.Selected)
            made.addPixmap(
                _pixmap(name, _colours["disabled"], size, 0.5, scale), QIcon.Mode.Disabled
            )
    return made


@functools.cache
def app_icon() -> QIcon:
    """The application's own icon; Qt draws it in the sizes that are asked for."""
    return QIcon(path("torchkeeper"))
