"""A list of what can be meant by what somebody types: the keyboard stays in the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFocusEvent,
    QIcon,
    QKeyEvent,
)
from PySide6.QtWidgets import QHeaderView, QLineEdit

from torchkeeper.gui import theme
from torchkeeper.gui.widgets import lists
from torchkeeper.gui.widgets.plain import shown

#: Who goes to another window, or into a menu, has not left the field.
_STAYS = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
_TABS = {Qt.Key.Key_Tab: 1, Qt.Key.Key_Backtab: -1}


class Pick(NamedTuple):
    """A line: a name, what it stands for, what stands beside it and, as a key or a number, at its
    end. off: it cannot be taken now.
    """

    name: str
    value: object
    about: str = ""
    right: str = ""
    icon: QIcon | None = None
    off: bool = False

    @property
    def spoken(self) -> str:
        return shown(", ".join(filter(None, (self.name, self.about, self.right))))


class PickList(lists.Table):
    """Takes from its field the keys that choose. first: whether one is chosen at once, and Tab goes
    to the next; else Down chooses, and until then Enter and Tab are the field's.
    """

    picked = Signal(object)
    #: Escape was pressed in the field, or it lost the keyboard, for this Qt.FocusReason.
    left = Signal(object)

    def __init__(self, field: QLineEdit, name: str, *, first: bool) -> None:
        super().__init__(name, ("", "", ""))
        self._field, self._first = field, first
        self.picks: Sequence[Pick] = ()
        self.setObjectName("picks")
        self.setHeaderHidden(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        lists.columns(self, (0, 0, 0), 1)
        for column in (0, 2):
            mode = QHeaderView.ResizeMode.ResizeToContents
            self.header().setSectionResizeMode(column, mode)
        self.clicked.connect(lambda index: self._take(index.row()))
        field.installEventFilter(self)

    @property
    def current(self) -> Pick | None:
        """The one that is chosen."""
        row = self.currentIndex().row()
        return self.picks[row] if row >= 0 else None

    def offer(self, picks: Sequence[Pick], *, keep: bool = False) -> None:
        """Show these lines. keep: the one that was chosen stays so, where it is still there."""
        before = self.current if keep else None
        self.clear()
        self.picks, muted = picks, QColor(theme.shades().muted)
        for pick in picks:
            item = lists.line([pick.name, pick.about, pick.right], numbers=(2,), tips=(0, 1))
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, pick.spoken)
            for column in range(0 if pick.off else 1, 3):
                item.setForeground(column, muted)
            if pick.icon is not None:
                item.setIcon(0, pick.icon)
            self.addTopLevelItem(item)
        values = [pick.value for pick in picks]
        if before is not None and before.value in values:
            self.setCurrentIndex(self.model().index(values.index(before.value), 0))
        elif self._first and picks:
            self._go(0)

    def _go(self, row: int) -> None:
        self.setCurrentIndex(self.model().index(row, 0))
        # The keyboard is elsewhere: a screen reader would hear nothing of it.
        if QAccessible.isActive() and (pick := self.current) is not None:
            said = QAccessibleAnnouncementEvent(self._field, pick.spoken)
            QAccessible.updateAccessibility(said)

    def _take(self, row: int) -> None:
        if 0 <= row < len(self.picks) and not self.picks[row].off:
            self.picked.emit(self.picks[row])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and self.isVisible():
            if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
                return self._key(Qt.Key(event.key()))
            if (
                isinstance(event, QFocusEvent)
                and event.lostFocus()
                and event.reason() not in _STAYS
            ):
                self.left.emit(event.reason())
        return super().eventFilter(watched, event)

    def _key(self, key: Qt.Key) -> bool:
        """What a key does to the list; False where it is the field's."""
        row, last = self.currentIndex().row(), len(self.picks) - 1
        step = (_STEPS | _TABS if self._first else _STEPS).get(key)
        if key == Qt.Key.Key_Escape:
            self.left.emit(None)
        elif step is not None and (self._first or step < 0 or row < last):
            self._go(max(0 if self._first else -1, min(last, row + step)))
        elif row >= 0 and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            self._take(row)
        else:
            return False
        return True
