"""A list of what can be meant by what somebody types: the keyboard stays in the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QFocusEvent, QIcon, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from torchkeeper.gui import theme
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.widgets import lists
from torchkeeper.gui.widgets.plain import shown, tip

_PICK = Qt.ItemDataRole.UserRole
#: Pixels beside the parts of a line, and above and below it.
_BESIDE, _ROOM = 8, 5
#: Who goes to another window, or into a menu, has not left the field.
_STAYS = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
_TABS = {Qt.Key.Key_Tab: 1, Qt.Key.Key_Backtab: -1}


class Pick(NamedTuple):
    """A line: a name, what it stands for, what stands beside it and, as a key or a number, at its
    end. off: it cannot be taken now. told: what is said of it elsewhere, in which it is found, too.
    """

    name: str
    value: object
    about: str = ""
    right: str = ""
    icon: QIcon | None = None
    off: bool = False
    told: str = ""

    @property
    def spoken(self) -> str:
        return shown(", ".join(filter(None, (self.name, self.about, self.right))))


class _Drawn(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, _: lists.Index) -> QSize:
        return QSize(120, option.fontMetrics.height() + 2 * _ROOM)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: lists.Index) -> None:
        view, pick, shades = self.parent(), index.data(_PICK), theme.shades()
        assert isinstance(view, QListWidget) and isinstance(pick, Pick)
        painter.save()
        drawing.ground(painter, view, option, option.rect, index == view.currentIndex(), 0)
        line, cut = option.rect.adjusted(_BESIDE, 0, -_BESIDE, 0), Qt.TextElideMode.ElideRight
        if pick.icon is not None:
            at = QRect(line.left(), line.center().y() - 8, drawing.MARK, drawing.MARK)
            mode = QIcon.Mode.Disabled if pick.off else QIcon.Mode.Normal
            pick.icon.paint(painter, at, Qt.AlignmentFlag.AlignCenter, mode)
            line.setLeft(at.right() + _BESIDE)
        line = drawing.at_right(painter, line, pick.right, shades.muted)
        drawing.words(painter, line, pick.name, shades.muted if pick.off else shades.text, cut)
        line.adjust(painter.fontMetrics().horizontalAdvance(pick.name) + 2 * _BESIDE, 0, 0, 0)
        if line.width() > 0:
            drawing.words(painter, line, pick.about, shades.muted, cut)
        painter.restore()


class PickList(QListWidget):
    """Takes from its field the keys that choose. first: whether one is chosen at once, and Tab goes
    to the next; else Down chooses, and until then Enter is the field's, and Tab where it could mean
    one of several.
    """

    picked = Signal(object)
    #: Escape was pressed in the field, or it lost the keyboard, for this Qt.FocusReason.
    left = Signal(object)

    def __init__(self, field: QLineEdit, name: str, *, first: bool) -> None:
        super().__init__()
        self._field, self._first = field, first
        self.picks: Sequence[Pick] = ()
        self.setObjectName("picks")
        self.setAccessibleName(name)
        self.setItemDelegate(_Drawn(self))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(lambda index: self._take(index.row()))
        field.installEventFilter(self)

    @property
    def current(self) -> Pick | None:
        """The one that is chosen."""
        row = self.currentRow()
        return self.picks[row] if row >= 0 else None

    def offer(self, picks: Sequence[Pick], *, keep: bool = False) -> None:
        """Show these lines. keep: the one that was chosen stays so, where it is still there."""
        before = self.current if keep else None
        self.clear()
        self.picks = picks
        for pick in picks:
            item = QListWidgetItem(pick.name, self)
            item.setData(_PICK, pick)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, pick.spoken)
            item.setToolTip(tip("\n".join(filter(None, (pick.name, pick.about)))))
        values = [pick.value for pick in picks]
        if before is not None and before.value in values:
            self.setCurrentRow(values.index(before.value))
        elif self._first and picks:
            self._go(0)

    def _go(self, row: int) -> None:
        self.setCurrentRow(row)
        # The keyboard is elsewhere: a screen reader would hear nothing of it.
        if QAccessible.isActive() and (pick := self.current) is not None:
            said = QtGui.QAccessibleAnnouncementEvent(self._field, pick.spoken)
            QAccessible.updateAccessibility(said)

    def _take(self, row: int) -> None:
        if 0 <= row < len(self.picks) and not self.picks[row].off:
            self.picked.emit(self.picks[row])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # The list that has a first line takes the keys also while it is empty, and hidden for that.
        if watched is self._field and (self._field if self._first else self).isVisible():
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
        row, last = self.currentRow(), len(self.picks) - 1
        step = (_STEPS | _TABS if self._first else _STEPS).get(key)
        if key == Qt.Key.Key_Escape:
            self.left.emit(None)
        elif step is not None and (self._first or step < 0 or row < last):
            self._go(max(0 if self._first else -1, min(last, row + step)))
        elif row >= 0 and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            self._take(row)
        elif last == 0 and key == Qt.Key.Key_Tab:
            self._take(0)  # there is nothing to choose
        else:
            return False
        return True
