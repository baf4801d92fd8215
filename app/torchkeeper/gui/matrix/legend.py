"""What the colours of the phases mean."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.matrix import phases
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip


class _Swatch(QWidget):
    """A small square in the colour of a phase."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.follow(self, self.update)

    def sizeHint(self) -> QSize:
        return QSize(12, 12)

    def paintEvent(self, _: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.shades().phases[self._name]))
            painter.drawRoundedRect(1, 1, 10, 10, 2, 2)


class Legend(QWidget):
    """The phases in their order, each with its colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Phases of a compile"))
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(5)
        for name in phases.PHASES:
            swatch, label = _Swatch(name), forms.label(phases.title(name), "muted")
            for widget in (swatch, label):
                widget.setToolTip(tip(phases.about(name)))
            line.addWidget(swatch)
            line.addWidget(label)
            line.addSpacing(9)
        line.addStretch(1)
        self.setLayout(line)
