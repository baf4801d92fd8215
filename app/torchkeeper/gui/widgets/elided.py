"""A line of text that is cut where there is no room for it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from torchkeeper.gui.widgets.plain import Label


class Elided(Label):
    """One line of plain text, cut in its middle or, as ``cut`` says, elsewhere."""

    def __init__(
        self,
        role: str = "",
        parent: QWidget | None = None,
        cut: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
    ) -> None:
        super().__init__("", role, parent)
        self._cut = cut
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, _: QPaintEvent) -> None:
        box = self.contentsRect()
        shown = self.fontMetrics().elidedText(self.text(), self._cut, box.width())
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
