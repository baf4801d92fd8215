"""What the items of the sidebar are drawn with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from torchkeeper.gui import theme
from torchkeeper.gui.widgets.lists import Index

if TYPE_CHECKING:
    from PySide6.QtWidgets import QAbstractItemView, QWidget

#: Pixels beside an item, and those that its round corners have.
EDGE, _ROUND = 8, 6
#: Pixels of a mark, and from one thing in a line to the next.
MARK, GAP = 16, 6

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def ground(
    painter: QPainter, view: QWidget, item: QStyleOptionViewItem, box: QRect, on: bool, frame: int,
    quiet: bool = False,
) -> None:  # fmt: skip
    """What is behind an item. frame: pixels; two where a drop aims, one at the keyboard. quiet: the
    page that is shown has the highlight, and this is only chosen for it.
    """
    shades = theme.shades()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    if on or (view.underMouse() and hovered(item)):
        painter.setBrush(
            QColor(shades.hover if not on else shades.selected_quiet if quiet else shades.selected)
        )
        painter.drawRoundedRect(box, _ROUND, _ROUND)
    if frame:
        aimed = frame > 1
        painter.setBrush(QColor(shades.hover) if aimed else Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(shades.accent), frame))
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1) if aimed else box, _ROUND, _ROUND)


class TwoLines(QStyledItemDelegate):
    """Items with a mark and two lines."""

    def sizeHint(self, option: QStyleOptionViewItem, _: Index) -> QSize:
        return QSize(160, 2 * option.fontMetrics.height() + 16)

    @staticmethod
    def rooms(option: QStyleOptionViewItem) -> tuple[QRect, QRect, QRect, QRect]:
        """Where all of it is, its mark, and each line."""
        box: QRect = option.rect.adjusted(EDGE, 1, -EDGE, -1)
        inner, high = box.adjusted(38, 5, -8, -5), option.fontMetrics.height()
        first = QRect(inner.left(), inner.top(), inner.width(), high)
        mark_at = QRect(box.left() + 8, box.center().y() - 9, 20, 20)
        return box, mark_at, first, first.translated(0, high + 2)


def ring(view: QAbstractItemView) -> None:
    """A ring around a whole list, which is aimed at by a drop."""
    with QPainter(view.viewport()) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.shades().accent), 2))
        box = view.viewport().rect().adjusted(EDGE // 2, 1, -EDGE // 2, -1)
        painter.drawRoundedRect(box, _ROUND, _ROUND)


def hovered(option: QStyleOptionViewItem) -> bool:
    # Loaded here: to make all that QStyle names takes 4 ms, which the first picture needs not.
    from PySide6.QtWidgets import QStyle

    return bool(option.state & QStyle.StateFlag.State_MouseOver)


def mark(painter: QPainter, view: QWidget, at: QRect, name: str, role: str) -> None:
    """An icon in a colour of the theme, in the middle of a square."""
    colour, scale = getattr(theme.shades(), role), view.devicePixelRatioF()
    painter.drawPixmap(at.topLeft(), theme.pixmap(name, at.width(), colour, scale))


def mark_at_right(painter: QPainter, view: QWidget, line: QRect, name: str, role: str) -> QRect:
    """An icon at the right of a line; returns what is left of it."""
    at = QRect(line.right() - MARK + 1, line.top() + (line.height() - MARK) // 2, MARK, MARK)
    mark(painter, view, at, name, role)
    return line.adjusted(0, 0, -MARK - GAP, 0)


def words(painter: QPainter, line: QRect, text: str, colour: str, mode: Qt.TextElideMode) -> None:
    """A text that is cut where it has no room; what is cut is in the tooltip."""
    painter.setPen(QColor(colour))
    painter.drawText(line, LEFT, painter.fontMetrics().elidedText(text, mode, line.width()))


def at_right(painter: QPainter, line: QRect, text: str, colour: str) -> QRect:
    """A short text at the right; returns what is left of the line."""
    if not text:
        return line
    painter.setPen(QColor(colour))
    painter.drawText(line, RIGHT, text)
    return line.adjusted(0, 0, -painter.fontMetrics().horizontalAdvance(text) - GAP, 0)


def progress(painter: QPainter, at: QRect, fraction: float | None) -> None:
    """A thin bar that says how much is done; None: nobody knows."""
    shades = theme.shades()
    theme.rounded(painter, at, 1.5, shades.line)
    done, third = QRect(at), at.width() // 3
    if fraction is None:
        done.setLeft(at.left() + third)
    done.setWidth(third if fraction is None else max(2, round(at.width() * fraction)))
    theme.rounded(painter, done, 1.5, shades.accent)
