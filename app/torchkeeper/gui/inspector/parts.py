"""A small part that others use, too: a kind with its mark."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme


class Chip(QWidget):
    """A kind, with its mark."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = "unknown"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.follow(self, self.update)

    def show_kind(self, kind: str) -> None:
        """Name another kind."""
        self._kind = kind
        self.setAccessibleName(self.tr("Kind: {}").format(kind_words(kind)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(kind_words(self._kind)) + 34, metrics.height() + 8)

    def paintEvent(self, _: QPaintEvent) -> None:
        shades = theme.shades()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(shades.line))
        painter.setBrush(QColor(shades.raised))
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(shades.kinds.get(self._kind, shades.muted)))
        painter.drawRoundedRect(QRectF(11, box.center().y() - 4.5, 9, 9), 3, 3)
        painter.setPen(QColor(shades.text))
        words = self.rect().adjusted(26, 0, -6, 0)
        painter.drawText(
            words, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
            kind_words(self._kind),
        )  # fmt: skip
