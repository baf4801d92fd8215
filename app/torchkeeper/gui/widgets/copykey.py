"""The key for Copy, in what copies something of its own."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget


class CopyKey(QObject):
    """While a widget has the keyboard, Copy is the widget's: the window's own, which copies keys of
    entries, does not come first there.
    """

    def __init__(self, widget: QWidget, copy: Callable[[], object]) -> None:
        super().__init__(widget)
        self._copy = copy
        widget.installEventFilter(self)

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        if not (isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)):
            return False
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() == QEvent.Type.KeyPress:
            self._copy()
            return True
        return False
