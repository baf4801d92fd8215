"""What a map says of its tiles: where the pointer rests, and to a screen reader.

For a screen reader it is one control with a current tile.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleEvent,
    QAccessibleInterface,
)
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from torchkeeper.client.words import say
from torchkeeper.gui.treemap.tiles import Tile


def _tr(text: str) -> str:
    return QCoreApplication.translate("Treemap", text)


def share(tile: Tile, total: int) -> str:
    """How much of all that is shown a tile is."""
    part = tile.bytes / total if total else 0.0
    return _tr("under 0.1%") if 0 < part < 0.001 else f"{part:.1%}"


def told(tile: Tile, total: int, *, shrunk: bool = False) -> str:
    """All there is to say of a tile, in lines. shrunk: it is drawn smaller than it is."""
    size = _tr("{} ({} bytes)").format(say.size(tile.bytes), f"{tile.bytes:,}")
    part = _tr("{} of what is shown").format(share(tile, total))
    numbers = f"{part} · {say.count(tile.entries, 'entry', 'entries')}"
    small = _tr("Drawn smaller than it is, so that the others can be seen") if shrunk else ""
    return "\n".join(filter(None, (tile.name, size, numbers, tile.detail, small)))


def counted(count: int) -> str:
    """How many tiles there are."""
    return say.count(count, "tile", "tiles")


def aloud(tile: Tile, total: int, at: int, count: int, *, chosen: bool, partly: bool) -> str:
    """One tile for whoever listens: what it is, whether it is selected, and which of how many."""
    said = (
        tile.name,
        say.size(tile.bytes),
        tile.counted,
        share(tile, total),
        tile.detail.replace("\n", ", "),
        _tr("selected") if chosen else _tr("partly selected") if partly else "",
        _tr("{} of {}").format(f"{at + 1:,}", f"{count:,}"),
    )
    return ", ".join(filter(None, said))


class Heard(QWidget):
    """A widget that a screen reader knows for a chart, whose value is what is current in it."""

    #: Qt deletes it with the widget, and Python must not before.
    heard: QAccessibleInterface | None = None
    _known = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        if not Heard._known:
            Heard._known = True
            QAccessible.installFactory(_make)


class _Chart(QAccessibleWidget):
    def __init__(self, view: Heard) -> None:
        super().__init__(view, QAccessible.Role.Chart)
        self._view = view

    def text(self, which: QAccessible.Text) -> str:
        if which == QAccessible.Text.Value:
            return self._view.accessibleDescription()
        return super().text(which)


def _make(_: str, of: QObject) -> QAccessibleInterface | None:
    """Asked by Qt what some object is to a screen reader, once there is one."""
    if not isinstance(of, Heard):
        return None
    of.heard = _Chart(of)
    return of.heard


def say_current(view: QWidget, said: str) -> None:
    """The current tile is another, or is selected now."""
    if not QAccessible.isActive():
        return
    told_anew = QAccessible.Event.DescriptionChanged
    QAccessible.updateAccessibility(QAccessibleEvent(view, told_anew))
    if view.hasFocus():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(view, said))
