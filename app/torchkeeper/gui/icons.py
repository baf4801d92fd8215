"""Icons: strokes drawn in ``resources/icons`` that take the colour of the theme."""

from __future__ import annotations

import functools
import importlib
import os.path

from PySide6.QtCore import QByteArray, QDir, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_colours = {"normal": "#1a1d23", "disabled": "#59616d", "on_accent": "#ffffff"}


def use_colours(*, normal: str, disabled: str, on_accent: str) -> None:
    """Draw icons in these colours from now on."""
    _colours.update(normal=normal, disabled=disabled, on_accent=on_accent)


#: A plain folder, as style sheets need it anyhow; importlib.resources takes long to load.
_FOLDER = os.path.join(importlib.import_module("torchkeeper.resources").__path__[0], "icons")
_SCHEME = "torchkeeper-icons"
QDir.addSearchPath(_SCHEME, _FOLDER)


def address(name: str) -> str:
    """Where a style sheet finds an icon. A path could have blanks or brackets in it."""
    return f"{_SCHEME}:{name}.svg"


@functools.cache
def _source(name: str) -> str:
    with open(os.path.join(_FOLDER, f"{name}.svg"), encoding="utf-8") as file:
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


#: Engines that Qt has copied: PySide does not give them to it, and they must outlive the call.
_copies: list[QIconEngine] = []


class _Drawn(QIconEngine):
    """Draws an icon when somebody shows it, in the size and for the screen where it is shown.

    colour: empty for that of the theme, as it is then: a menu may be open while it changes.
    """

    def __init__(self, name: str, colour: str) -> None:
        super().__init__()
        self._name, self._colour = name, colour

    def clone(self) -> QIconEngine:
        # Asked for only where a shared icon is changed, which is next to never.
        made = _Drawn(self._name, self._colour)
        _copies.append(made)
        return made

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _state: QIcon.State) -> None:
        picture = self._picture(rect.size(), mode, painter.device().devicePixelRatioF())
        box = QRect(QPoint(), picture.deviceIndependentSize().toSize())
        box.moveCenter(rect.center())
        painter.drawPixmap(box, picture)

    def pixmap(self, size: QSize, mode: QIcon.Mode, _state: QIcon.State) -> QPixmap:
        return self._picture(size, mode, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, _state: QIcon.State, scale: float
    ) -> QPixmap:
        return self._picture(size, mode, scale)

    def _picture(self, size: QSize, mode: QIcon.Mode, scale: float) -> QPixmap:
        side = min(size.width(), size.height())
        if side <= 0:
            return QPixmap()
        if mode == QIcon.Mode.Disabled:
            return _pixmap(self._name, _colours["disabled"], side, 0.5, scale)
        return _pixmap(self._name, self._colour or _colours["normal"], side, 1.0, scale)


def icon(name: str, colour: str | None = None) -> QIcon:
    """An icon in the theme's colours, or in ``colour``, which is made anew after the theme
    changed.
    """
    return QIcon(_Drawn(name, colour or ""))


@functools.cache
def app_icon() -> QIcon:
    """The application's own icon; Qt draws it in the sizes that are asked for."""
    return QIcon(address("torchkeeper"))
