"""What may be higher than the room there is for it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget

#: Pixels of it that are seen at least: less would be no use.
_LEAST = 160
#: And around what has the focus, where it is scrolled to.
_AROUND = 12


class Scrolled(QScrollArea):
    """As high as what is in it where there is room for that; elsewhere it is scrolled, and what
    has the focus is in sight.
    """

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        self.setObjectName("scrolled")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # What is in it is reached with Tab, and it scrolls along.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside.setObjectName("scrolledInside")
        self.setWidget(inside)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._show_focus)

    def needed(self, width: int) -> int:
        """How high all of it is at a width."""
        layout = self._inside.layout()
        if layout is None:
            return _LEAST
        layout.activate()
        return layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else (
            layout.totalSizeHint().height()
        )  # fmt: skip

    def sizeHint(self) -> QSize:
        wide = self._inside.sizeHint().width()
        return QSize(wide, self.needed(max(wide, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._inside.minimumSizeHint().width(), _LEAST)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self._inside:
            # Whoever shows it may have room for what it says now.
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def _show_focus(self, _: QWidget | None, now: QWidget | None) -> None:
        if now is not None and self.isAncestorOf(now):
            self.ensureWidgetVisible(now, _AROUND, _AROUND)
