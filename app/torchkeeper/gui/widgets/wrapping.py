"""Controls beside each other, and in another line where they have no room."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from torchkeeper.gui.widgets import forms


class Wrapping(QWidget):
    """A row of controls no wider than its widest has to be. What is hidden takes no room.

    It places them itself. A layout in Python would own items that Qt deletes when a control goes,
    and the process ends when Python lets go of them as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self._controls: list[QWidget] = []
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def addWidget(self, control: QWidget) -> None:
        """Put a control behind the others."""
        control.setParent(self)
        self._controls.append(control)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int, /) -> int:
        return self._place(width, move=False)

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def minimumSizeHint(self) -> QSize:
        size = QSize(0, 0)
        for control in self._shown():
            size = size.expandedTo(control.sizeHint())
        return size

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            # One of them is shown or hidden, or says something else.
            self.updateGeometry()
            self._place(self.width(), move=True)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(self.width(), move=True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._place(self.width(), move=True)

    def _shown(self) -> list[QWidget]:
        return [control for control in self._controls if not control.isHidden()]

    def _place(self, room: int, *, move: bool) -> int:
        """How high all of it is at this width; ``move``: put it there."""
        x = y = line = 0
        for control in self._shown():
            size = control.sizeHint()
            if line and x + size.width() > room:
                x, y, line = 0, y + line + forms.GAP, 0
            if move:
                control.setGeometry(x, y, size.width(), size.height())
            x += size.width() + forms.GAP
            line = max(line, size.height())
        return y + line
