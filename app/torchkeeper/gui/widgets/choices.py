"""Choices and numbers that the wheel passes over: it is for what is scrolled.

Qt's own take each turn of the wheel as a choice. Whoever scrolls a form with the pointer on one
would choose another interpreter or folder without noticing.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QSpinBox,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from torchkeeper.gui import theme

#: Pixels of the line between two parts of a list, with what is free around it.
_LINE = 9


class Choice(QComboBox):
    """One of a list, chosen by a click or a key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def showPopup(self) -> None:
        # The delegate of combo boxes knows no style sheet: its rows are as low as their text.
        if not isinstance(self.itemDelegate(), QStyledItemDelegate):
            self.setItemDelegate(_Rows(self))
        super().showPopup()


class _Rows(QStyledItemDelegate):
    """The rows of a list, as a style sheet wants them, and the lines between its parts."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        wanted = super().sizeHint(option, index)
        return QSize(wanted.width(), _LINE) if _is_line(index) else wanted

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        if not _is_line(index):
            super().paint(painter, option, index)
            return
        box: QRect = option.rect
        painter.fillRect(box.left(), box.center().y(), box.width(), 1, QColor(theme.shades().line))


def _is_line(index: QModelIndex | QPersistentModelIndex) -> bool:
    """Whether Qt has a separator there."""
    return bool(index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "separator")


class Number(QSpinBox):
    """A number, changed by its arrows, a key or typing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
