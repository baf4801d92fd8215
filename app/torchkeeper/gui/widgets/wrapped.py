"""Plain text in as many lines as it takes."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import (
    QClipboard,
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
)
from PySide6.QtWidgets import QApplication, QMenu

from torchkeeper.gui.widgets.plain import Label

#: What holds two characters in one line; nobody sees it.
_JOINER = "\u2060"
#: Between what an address begins with and its host Qt would break it.
_BEGINS, _JOINED = "://", f"://{_JOINER}"
_COPIED, _SELECTED = QClipboard.Mode.Clipboard, QClipboard.Mode.Selection


class Wrapped(Label):
    """No address is broken behind its slashes; what holds it is neither told nor copied."""

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__(text, role)
        self.setWordWrap(True)

    def text(self) -> str:
        return super().text().replace(_JOINED, _BEGINS)

    def setText(self, text: str, /) -> None:
        super().setText(text.replace(_BEGINS, _JOINED))

    def selectedText(self) -> str:
        return super().selectedText().replace(_JOINER, "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.matches(QKeySequence.StandardKey.Copy):
            _clean(_COPIED)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        super().contextMenuEvent(event)
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            # Its own items copy only after it has told of them.
            menu.triggered.connect(lambda *_: QTimer.singleShot(0, lambda: _clean(_COPIED)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if plain and _JOINER in super().selectedText():
            self.setSelection(0, 0)  # or Qt would have it dragged away as it is
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if _JOINER in super().selectedText():
            _clean(_SELECTED)


def _clean(which: QClipboard.Mode) -> None:
    """Take the joiners out of what was just copied from here."""
    clipboard = QGuiApplication.clipboard()
    copied = clipboard.text(which)
    if _JOINER in copied:
        clipboard.setText(copied.replace(_JOINER, ""), which)
