"""What's This without a mouse: it is said of the control that has the keyboard."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QWhatsThis, QWidget

from torchkeeper.gui.widgets.plain import explained


def explain_focused(window: QWidget) -> bool:
    """Show what the control means that has the keyboard; False where nothing is known of it."""
    at = window.focusWidget()
    if known := bool(said_of(at)):
        QWhatsThis.showText(at.mapToGlobal(_under(at)), said_of(at), at)
    return known


def said_of(at: QWidget | None) -> str:
    """What is said of a control: what it does, and the ideas that it is about; empty for none."""
    if at is None:
        return ""
    own, ideas = _own(at), ""
    part: QWidget | None = at
    while part is not None and not ideas:
        ideas = _of_item(part) or part.whatsThis()
        part = None if part.isWindow() else part.parentWidget()
    return own + ideas


def nothing() -> str:
    """What is said where nothing is known."""
    said = QCoreApplication.translate(
        "Ideas", "Nothing more is known of this. Ctrl+F1 in the window lists what its words mean."
    )
    return explained("", said)


def _own(at: QWidget) -> str:
    """Its name and what it does, as a screen reader would say it."""
    name = at.accessibleName()
    if not name and isinstance(at, QAbstractButton):
        name = at.text().replace("&", "").rstrip("…")
    does = at.accessibleDescription() or at.toolTip()
    return explained(name, does) if does and does != name else ""


def _of_item(part: QWidget) -> str:
    if not isinstance(part, QAbstractItemView):
        return ""
    index = part.currentIndex()
    return str(index.data(Qt.ItemDataRole.WhatsThisRole) or "") if index.isValid() else ""


def _under(at: QWidget) -> QPoint:
    """Where it is said: below the control, or what is current in it."""
    if isinstance(at, QAbstractItemView) and at.currentIndex().isValid():
        box = at.visualRect(at.currentIndex())
        return at.viewport().mapTo(at, box.bottomLeft() + QPoint(24, 4))
    return QPoint(0, min(at.height(), 40) + 4)
