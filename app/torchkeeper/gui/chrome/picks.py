"""A list of what can be meant by what somebody types: the keyboard stays in the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QIcon,
    QKeyEvent,
    QPainter,
)
from PySide6.QtWidgets import QLineEdit, QListView, QStyledItemDelegate, QStyleOptionViewItem

from torchkeeper.gui import theme
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.widgets.lists import Index
from torchkeeper.gui.widgets.plain import shown, tip

_PICK = Qt.ItemDataRole.UserRole + 1
#: Pixels beside what a line says, above and below it, and of its icon with the room after it.
_BESIDE, _ROOM, _ICON = 8, 5, 26
#: Who goes to another window, or into a menu, has not left the field.
_STAYS = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
_TAKES = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Pick(NamedTuple):
    """A line. about: what stands behind its name; right: at its end, as a key or a number, which a
    screen reader hears as ``said``. value: what it stands for. off: it cannot be taken now.
    """

    name: str
    value: object
    about: str = ""
    right: str = ""
    said: str = ""
    icon: QIcon | None = None
    off: bool = False

    @property
    def spoken(self) -> str:
        return ", ".join(filter(None, (self.name, self.about, self.said or self.right)))


class _Picks(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.picks: Sequence[Pick] = ()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.picks)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.picks):
            return None
        pick = self.picks[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return pick.name
        if role == _PICK:
            return pick
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip("\n".join(filter(None, (pick.name, pick.about))))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return shown(pick.spoken)
        return None


class _Drawn(QStyledItemDelegate):
    def __init__(self, view: QListView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, _: Index) -> QSize:
        return QSize(120, option.fontMetrics.height() + 2 * _ROOM)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        pick = index.data(_PICK)
        if not isinstance(pick, Pick):
            return
        painter.save()
        shades, cut = theme.shades(), Qt.TextElideMode.ElideRight
        current = index.row() == self._view.currentIndex().row()
        drawing.ground(painter, self._view, option, option.rect, current, 0)
        line = option.rect.adjusted(_BESIDE, 0, -_BESIDE, 0)
        if pick.icon is not None:
            at = QRect(line.left(), line.center().y() - 8, 16, 16)
            mode = QIcon.Mode.Disabled if pick.off else QIcon.Mode.Normal
            pick.icon.paint(painter, at, Qt.AlignmentFlag.AlignCenter, mode)
            line.setLeft(line.left() + _ICON)
        line = drawing.at_right(painter, line, pick.right, shades.muted)
        drawing.words(painter, line, pick.name, shades.muted if pick.off else shades.text, cut)
        wide = painter.fontMetrics().horizontalAdvance(pick.name) + 2 * _BESIDE
        if wide < line.width():
            line.setLeft(line.left() + wide)
            drawing.words(painter, line, pick.about, shades.muted, cut)
        painter.restore()


class PickList(QListView):
    """Takes from its field the keys that choose. first: whether one is chosen at once: else what
    does that is Down, and until then Enter and Tab are the field's.
    """

    picked = Signal(object)
    #: Escape was pressed in the field, or it lost the keyboard, for this Qt.FocusReason.
    left = Signal(object)

    def __init__(self, field: QLineEdit, name: str, *, first: bool) -> None:
        super().__init__()
        self._field, self._first = field, first
        self._items = _Picks(self)
        self.setModel(self._items)
        self.setItemDelegate(_Drawn(self))
        self.setObjectName("picks")
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(lambda index: self._take(index.row()))
        field.installEventFilter(self)

    @property
    def picks(self) -> Sequence[Pick]:
        """The lines."""
        return self._items.picks

    @property
    def current(self) -> Pick | None:
        """The one that is chosen."""
        row = self.currentIndex().row()
        return self.picks[row] if 0 <= row < len(self.picks) else None

    def offer(self, picks: Sequence[Pick], *, keep: bool = False) -> None:
        """Show these lines. keep: the one that was chosen stays so, where it is still there."""
        before = self.current if keep else None
        self._items.beginResetModel()
        self._items.picks = picks
        self._items.endResetModel()
        values = [pick.value for pick in picks]
        if before is not None and before.value in values:
            self._go(values.index(before.value), speak=False)
        elif self._first and picks:
            self._go(0)

    def height_of(self, rows: int) -> int:
        """Pixels that so many lines take."""
        return rows * (self.fontMetrics().height() + 2 * _ROOM) + 2 * self.frameWidth()

    def _go(self, row: int, *, speak: bool = True) -> None:
        self.setCurrentIndex(self._items.index(row) if row >= 0 else QModelIndex())
        # The keyboard is elsewhere: a screen reader would hear nothing of it.
        if speak and QAccessible.isActive() and (pick := self.current) is not None:
            said = QAccessibleAnnouncementEvent(self._field, shown(pick.spoken))
            QAccessible.updateAccessibility(said)

    def _take(self, row: int) -> None:
        if 0 <= row < len(self.picks) and not self.picks[row].off:
            self.picked.emit(self.picks[row])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and self.isVisible():
            if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
                return self._key(event)
            if (
                isinstance(event, QFocusEvent)
                and event.lostFocus()
                and event.reason() not in _STAYS
            ):
                self.left.emit(event.reason())
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        """What a key does to the list; False where it is the field's."""
        row, last, key = self.currentIndex().row(), len(self.picks) - 1, Qt.Key(event.key())
        page = max(1, self.viewport().height() // max(1, self.sizeHintForRow(0)) - 1)
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: page,
                 Qt.Key.Key_PageUp: -page}  # fmt: skip
        if self._first:
            steps |= {Qt.Key.Key_Tab: 1, Qt.Key.Key_Backtab: -1}
        if key == Qt.Key.Key_Escape:
            self.left.emit(None)
        elif key in steps:
            if not self._first and row == last and steps[key] > 0:
                return False
            self._go(max(0 if self._first else -1, min(last, row + steps[key])))
        elif key in _TAKES or key == Qt.Key.Key_Tab:
            if row < 0 and not self._first:
                return False
            self._take(row)
        else:
            return False
        return True
