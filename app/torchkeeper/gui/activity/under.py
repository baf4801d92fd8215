"""What the drawer lies over: it has no letter that is the drawer's, and keeps no keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLabel, QTabBar, QWidget
from shiboken6 import isValid


def under(widget: QWidget, cover: QWidget) -> bool:
    """Whether something else hides a widget: of a list, the row that the keyboard is at."""
    if cover is widget or cover.isAncestorOf(widget):
        return False
    seen = widget.rect()
    if isinstance(widget, QAbstractItemView) and (at := widget.currentIndex()).isValid():
        seen = widget.visualRect(at).translated(widget.viewport().pos())
    return cover.rect().contains(cover.mapFromGlobal(widget.mapToGlobal(seen.center())))


#: Something that Alt goes to by a letter of its text, and what sets that.
_Lettered = tuple[QWidget, str, Callable[[str], object]]


def _lettered(window: QWidget) -> Iterator[_Lettered]:
    for one in window.findChildren(QAbstractButton):
        yield one, one.text(), one.setText
    for label in window.findChildren(QLabel):
        if label.buddy() is not None:
            yield label, label.text(), label.setText
    for bar in window.findChildren(QTabBar):
        for number in range(bar.count()):
            yield bar, bar.tabText(number), partial(bar.setTabText, number)


class Keys(QObject):
    """Of controls with one letter, that is meant which is seen and is where the keyboard is: Qt
    alone goes from one to the next, hidden or not. Who goes under the drawer closes it.
    """

    def __init__(self, window: QWidget, drawer: QWidget, leave: Callable[[], object]) -> None:
        """leave: closes the drawer."""
        super().__init__(drawer)
        self._window, self._drawer, self._leave = window, drawer, leave
        self._muted: list[_Lettered] = []
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride and self._drawer.isVisible()
        if override and isinstance(event, QKeyEvent):
            if event.modifiers() == Qt.KeyboardModifier.AltModifier:
                self._mute(QKeySequence(event.keyCombination()))
            # Once the key has done what it does.
            QTimer.singleShot(0, self, self._pressed)
        return super().eventFilter(watched, event)

    def _pressed(self) -> None:
        muted, self._muted = self._muted, []
        for one, text, tell in muted:
            if isValid(one):
                tell(text)
        at = self._window.focusWidget()
        if self._drawer.isVisible() and at is not None and under(at, self._drawer):
            self._leave()

    def _mute(self, keys: QKeySequence) -> None:
        at, drawer = self._window.focusWidget(), self._drawer
        within = at is not None and (at is drawer or drawer.isAncestorOf(at))
        same = [
            (under(one, drawer), drawer.isAncestorOf(one) != within, text, tell, one)
            for one, text, tell in _lettered(self._window)
            if QKeySequence.mnemonic(text) == keys and one.isVisible() and one.isEnabled()
        ]
        same.sort(key=lambda one: one[:2])
        for *_, text, tell, one in same[1:]:
            tell(text.replace("&", ""))
            self._muted.append((one, text, tell))
