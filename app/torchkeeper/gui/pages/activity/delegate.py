"""How the list of jobs draws one: its state, its title and when, how it ended or how far it is."""

from __future__ import annotations

import time

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from torchkeeper.gui import icons, theme
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.pages.activity.rows import JobRows

#: Pixels between the edge of the list, the icon and the words.
_LEFT, _ICON, _WORDS = 12, 20, 42


class JobDelegate(QStyledItemDelegate):
    """A job in two lines: title and time, state and progress; or the heading of a day."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        height = option.fontMetrics.height()
        if index.data(JobRows.ItemRole) is None:
            return QSize(200, height + 16)
        return QSize(200, 2 * height + 26)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        one = index.data(JobRows.ItemRole)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if one is None:
            self._heading(painter, option, str(index.data()))
        else:
            self._job(painter, option, one)
        painter.restore()

    def _heading(self, painter: QPainter, option: QStyleOptionViewItem, text: str) -> None:
        shades = theme.shades()
        font = QFont(option.font)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(shades.muted))
        box = option.rect.adjusted(_LEFT, 6, -_LEFT, 0)
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _job(self, painter: QPainter, option: QStyleOptionViewItem, one: shown.Shown) -> None:
        shades = theme.shades()
        box: QRect = option.rect
        if chosen := bool(option.state & QStyle.StateFlag.State_Selected):
            painter.fillRect(box, QColor(shades.selected))
        name, colour = shown.mark(one)
        scale = option.widget.devicePixelRatioF()
        painter.drawPixmap(
            box.left() + _LEFT, box.top() + 9,
            icons.pixmap(name, _ICON, getattr(shades, colour), scale),
        )  # fmt: skip
        metrics = option.fontMetrics
        line = metrics.height()
        inner = box.adjusted(_WORDS, 7, -_LEFT, -8)
        clock = shown.clock(one)
        clock_width = metrics.horizontalAdvance(clock) + (12 if clock else 0)
        top = QRect(inner.left(), inner.top(), inner.width() - clock_width, line)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        elide = Qt.TextElideMode.ElideRight
        painter.setPen(QColor(shades.text))
        painter.drawText(top, left, metrics.elidedText(one.title, elide, top.width()))
        quiet = QColor(shades.text if chosen else shades.muted)
        painter.setPen(quiet)
        painter.drawText(QRect(inner.left(), inner.top(), inner.width(), line), right, clock)
        took = shown.took(one)
        took_width = metrics.horizontalAdvance(took) + (12 if took else 0)
        below = QRect(inner.left(), inner.top() + line + 2, inner.width(), line)
        painter.drawText(below, right, took)
        words = below.adjusted(0, 0, -took_width, 0)
        painter.setPen(QColor(shades.error) if shown.state(one) is State.FAILED else quiet)
        painter.drawText(words, left, metrics.elidedText(shown.words(one), elide, words.width()))
        if shown.active(one):
            draw_bar(painter, QRect(inner.left(), words.bottom() + 4, inner.width(), 4), one)
        painter.setPen(QColor(shades.line))
        painter.drawLine(box.bottomLeft(), box.bottomRight())


def draw_bar(painter: QPainter, box: QRect, one: shown.Shown) -> None:
    """A thin bar that says how far a job is."""
    shades = theme.shades()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(shades.line))
    painter.drawRoundedRect(box, 2, 2)
    fraction = shown.fraction(one)
    done = QRect(box)
    if fraction is not None:
        done.setWidth(round(box.width() * fraction))
    elif shown.state(one) is State.QUEUED:
        done.setWidth(0)
    else:
        # Nobody knows how much is left: a piece that wanders, once in two seconds.
        piece = box.width() // 4
        at = (time.time() % 2.0) / 2.0
        done.setLeft(box.left() + round((box.width() - piece) * at))
        done.setWidth(piece)
    if done.width() > 0:
        painter.setBrush(QColor(shades.accent))
        painter.drawRoundedRect(done, 2, 2)
