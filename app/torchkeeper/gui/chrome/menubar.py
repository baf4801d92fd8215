"""The menu bar, which gives the keyboard back to what had it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication, QMenuBar, QWidget
from shiboken6 import isValid

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent


class MenuBar(QMenuBar):
    """Qt's own gives the focus back too, but takes itself for what had it where a second menu is
    opened with its letter while the first is still marked: nothing would have it then.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._before: QWidget | None = None
        # One is told of each change, also while there are several windows.
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._focus_changed)

    def _focus_changed(self) -> None:
        # Not what the signal hands over: that may be a widget of Qt's own that is being destroyed,
        # and PySide would keep a wrapper of it.
        now = QApplication.focusWidget()
        if now is not None and now is not self and now.window() is self.window():
            self._before = now

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        self._give_back()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        super().keyReleaseEvent(event)
        self._give_back()

    def _give_back(self) -> None:
        """It was left: who was there before goes on."""
        left = self.activeAction() is None and QApplication.activePopupWidget() is None
        if left and self.hasFocus() and self._before is not None and isValid(self._before):
            self._before.setFocus()
