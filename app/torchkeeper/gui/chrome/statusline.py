"""The status bar: counts of what is shown, and for a while a sentence in their place."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QSizePolicy,
    QStackedWidget,
    QStatusBar,
    QStyle,
    QStyleOption,
    QToolButton,
    QWidget,
)

from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.elided import Elided
from torchkeeper.gui.widgets.plain import tip

#: Pixels that the totals keep at least: in a bar as wide as the last, and in a narrow one.
_TOTALS, _SHORT, _ROOMY = 280, 160, 1000
#: Pixels that a sentence keeps at least.
_SENTENCE = 120


class Line(Elided):
    """Cut at its end; its tooltip has all of it then."""

    def __init__(self, least: int) -> None:
        super().__init__(cut=Qt.TextElideMode.ElideRight)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.least = least

    def setText(self, text: str) -> None:
        super().setText(text)
        self._tell()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tell()

    def _tell(self) -> None:
        needed = self.fontMetrics().horizontalAdvance(self.text())
        self.setToolTip(tip(self.text() if needed > self.contentsRect().width() else ""))

    def minimumSizeHint(self) -> QSize:
        wanted = self.sizeHint()
        return QSize(min(wanted.width(), self.least), wanted.height())


class Trash(QWidget):
    """What lies in the trash, with a click to empty it; nothing is seen where there is nothing."""

    #: The trash is to be emptied.
    asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.button = QToolButton()
        self.button.setObjectName("beside")
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.setToolTip(self.tr("Delete for good what lies in the trash; it asks before"))
        self.button.clicked.connect(self.asked)
        line = forms.row(gap=0)
        line.addWidget(self.button)
        self.setLayout(line)
        self.setText("")

    def text(self) -> str:
        """What is said; empty where there is nothing in the trash."""
        return self.button.text()

    def setText(self, text: str) -> None:
        """Say what lies in it."""
        self.button.setText(text)
        self.button.setAccessibleName(text)
        self.button.setVisible(bool(text))


class StatusBar(QStatusBar):
    """Where Qt paints a message itself, it stands on another line than the counts, and over what is
    shown anew meanwhile: here it is a label, and only one of the two is ever there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self.totals = Line(_SHORT)
        self.totals.setAccessibleName(self.tr("Totals"))
        self._counts = forms.row(gap=6)
        self._counts.addWidget(self.totals)
        counted = QWidget()
        counted.setLayout(self._counts)
        self._said = Line(_SENTENCE)
        self._stack = QStackedWidget()
        self._stack.setContentsMargins(4, 0, 0, 0)
        self._stack.addWidget(counted)
        self._stack.addWidget(self._said)
        # Qt hides what is not permanent while it has a message.
        self.addPermanentWidget(self._stack, 1)
        self.messageChanged.connect(self._say)

    def count(self, widget: QWidget) -> None:
        """Have this beside the totals, with the room that is left."""
        self._counts.addWidget(widget, 1)

    def _say(self, text: str) -> None:
        self._said.setText(text)
        self._stack.setCurrentIndex(int(bool(text)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        # Were it always the more, a window could not be made narrow.
        least = _TOTALS if self.width() >= _ROOMY else _SHORT
        if least != self.totals.least:
            self.totals.least = least
            self.totals.updateGeometry()
        super().resizeEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = QStyleOption()
        look.initFrom(self)
        with QPainter(self) as painter:
            self.style().drawPrimitive(
                QStyle.PrimitiveElement.PE_PanelStatusBar, look, painter, self
            )
