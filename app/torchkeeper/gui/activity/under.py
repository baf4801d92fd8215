"""What the drawer lies over: it has no letter that is the drawer's, and keeps no keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6 import QtWidgets
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QWidget


def under(widget: QWidget, cover: QWidget) -> bool:
    """Whether something else hides a widget: of a list, the row that the keyboard is at."""
    if cover is widget or cover.isAncestorOf(widget):
        return False
    seen = widget.rect()
    if isinstance(widget, QAbstractItemView) and (at := widget.currentIndex()).isValid():
        seen = widget.visualRect(at).translated(widget.viewport().pos())
    return cover.rect().contains(cover.mapFromGlobal(widget.mapToGlobal(seen.center())))


def _lettered(window: QWidget) -> Iterator[tuple[QWidget, str, Callable[[], object]]]:
    """Each control with a letter for Alt, its text, and what does as the letter does."""
    for one in window.findChildren(QtWidgets.QAbstractButton):
        yield one, one.text(), one.animateClick
    for label in window.findChildren(QtWidgets.QLabel):
        if (buddy := label.buddy()) is not None:
            yield label, label.text(), partial(buddy.setFocus, Qt.FocusReason.ShortcutFocusReason)
    for bar in window.findChildren(QtWidgets.QTabBar):
        for number in range(bar.count()):
            yield bar, bar.tabText(number), partial(bar.setCurrentIndex, number)


class Keys(QObject):
    """Of controls with one letter, that is meant which is seen and is where the keyboard is: Qt
    alone goes from one to the next, hidden or not. Who goes under the drawer closes it. The
    window gives it its keys before what has the keyboard has them.
    """

    def __init__(self, window: QWidget, drawer: QWidget, leave: Callable[[], object]) -> None:
        """leave: closes the drawer."""
        super().__init__(drawer)
        self._window, self._drawer, self._leave = window, drawer, leave

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and self._drawer.isVisible():
            asked = event.type() == QEvent.Type.ShortcutOverride
            if (asked or event.type() == QEvent.Type.KeyPress) and (go := self._meant(event)):
                # Qt asks first whether somebody wants the key; accepted, it comes again as a press.
                event.accept()
                if not asked:
                    go()
                return True
            if asked:
                # Once the key has done what it does.
                QTimer.singleShot(0, self, self._pressed)
        return super().eventFilter(watched, event)

    def _pressed(self) -> None:
        at = self._window.focusWidget()
        if self._drawer.isVisible() and at is not None and under(at, self._drawer):
            self._leave()

    def _meant(self, event: QKeyEvent) -> Callable[[], object] | None:
        """What does as the pressed letter does, where several controls have it."""
        alone = QtWidgets.QApplication.activePopupWidget() is None
        if event.modifiers() != Qt.KeyboardModifier.AltModifier or not alone:
            return None
        window, drawer, keys = self._window, self._drawer, QKeySequence(event.keyCombination())
        within = (at := window.focusWidget()) is not None and drawer.isAncestorOf(at)
        same = [
            (under(one, drawer), drawer.isAncestorOf(one) != within, go)
            for one, text, go in _lettered(window)
            if QKeySequence.mnemonic(text) == keys and one.window() is window
            if one.isVisible() and one.isEnabled()
        ]
        return min(same, key=lambda one: one[:2])[2] if len(same) > 1 else None
