"""What may be higher than the room there is for it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget

#: Pixels around what has the focus, where it is scrolled to.
_AROUND = 12


class Area(QScrollArea):
    """Room for what may be larger than it."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setObjectName("scrolled")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        # What is in it is reached with Tab.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside.setObjectName("scrolledInside")
        self.setWidget(inside)


class Scrolled(Area):
    """As high as what is in it where there is room for that; elsewhere it is scrolled, and what
    has the focus is in sight.

    least: pixels of it that are seen at least; fewer would be no use.
    """

    def __init__(self, inside: QWidget, least: int = 160) -> None:
        self._inside, self._least = inside, least
        super().__init__(inside)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._show_focus)

    def needed(self, width: int) -> int:
        """How high all of it is at a width."""
        layout = self._inside.layout()
        if layout is None:
            return self._least
        layout.activate()
        return layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else (
            layout.totalSizeHint().height()
        )  # fmt: skip

    def sizeHint(self) -> QSize:
        wide = self._inside.sizeHint().width()
        return QSize(wide, self.needed(max(wide, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._inside.minimumSizeHint().width(), self._least)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self._inside:
            # Whoever shows it may have room for what it says now.
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def _show_focus(self) -> None:
        # Not what the signal hands over: that may be a widget of Qt's own that is being destroyed,
        # and PySide would keep a wrapper of it.
        now = QApplication.focusWidget()
        if now is not None and self.isAncestorOf(now):
            self.ensureWidgetVisible(now, _AROUND, _AROUND)
