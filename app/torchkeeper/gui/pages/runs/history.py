"""A small history: one bar for each run, the latest at the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.widgets.plain import tip

#: How many bars there is room for, and how wide one and its share of the row are at most.
MOST = 40
_SHARE = 22.0
_FILL = 0.7
_HEAD = 24
_FOOT = 6
#: What is nothing is seen, too.
_NOTHING = 2.0


class History(QWidget):
    """Bars of one figure. Colours and texts are of the theme; a screen reader hears the figures.

    told: a figure as people read it. most: the figure of the highest bar; None for the highest
    that there is.
    """

    #: A bar was clicked: which, of all that were given.
    chosen = Signal(int)

    def __init__(
        self,
        title: str,
        told: Callable[[float], str],
        shade: str,
        most: float | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._title = title
        self._told = told
        self._shade = shade
        self._most = most
        self._values: list[float | None] = []
        self._hints: list[str] = []
        self._skipped = 0
        self._current = -1
        self.setMinimumHeight(96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAccessibleName(title)
        theme.follow(self, self.update)

    def sizeHint(self) -> QSize:
        return QSize(320, 108)

    def fill(self, values: Sequence[float | None], hints: Sequence[str]) -> None:
        """Show figures, the oldest first, None where there is none; ``hints``: of which run."""
        self._skipped = max(0, len(values) - MOST)
        self._values = list(values[self._skipped :])
        self._hints = list(hints[self._skipped :])
        said = ", ".join("–" if v is None else self._told(v) for v in self._values)
        self.setAccessibleDescription(self.tr("The oldest first: {}").format(said) if said else "")
        self.update()

    def mark(self, index: int) -> None:
        """Say which of all figures is the chosen one's; -1 for none."""
        self._current = index - self._skipped
        self.update()

    def bars(self) -> list[QRectF]:
        """Where the bars are; one without a figure has no height."""
        count = len(self._values)
        if not count:
            return []
        known = [value for value in self._values if value is not None]
        most = self._most if self._most is not None else max(known, default=0.0)
        room = QRectF(0, _HEAD, self.width(), self.height() - _HEAD - _FOOT)
        share = min(room.width() / count, _SHARE)
        found = []
        for at, value in enumerate(self._values):
            height = room.height() * value / most if value is not None and most > 0 else 0.0
            if value is not None:
                height = max(height, _NOTHING)
            left = room.left() + share * at + share * (1 - _FILL) / 2
            found.append(QRectF(left, room.bottom() - height, share * _FILL, height))
        return found

    def paintEvent(self, _event: QPaintEvent) -> None:
        shades = theme.shades()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            head = QRectF(0, 0, self.width(), _HEAD - 4)
            flags = Qt.AlignmentFlag.AlignVCenter
            painter.setPen(QColor(shades.muted))
            painter.drawText(head, flags | Qt.AlignmentFlag.AlignLeft, self._title)
            known = [value for value in self._values if value is not None]
            if known:
                most = self._most if self._most is not None else max(known)
                text = self.tr("up to {}").format(self._told(most))
                painter.drawText(head, flags | Qt.AlignmentFlag.AlignRight, text)
            bottom = self.height() - _FOOT + 0.5
            painter.setPen(QPen(QColor(shades.line), 1))
            painter.drawLine(QPointF(0, bottom), QPointF(self.width(), bottom))
            painter.setPen(Qt.PenStyle.NoPen)
            quiet = QColor(getattr(shades, self._shade))
            quiet.setAlphaF(0.55)
            for at, bar in enumerate(self.bars()):
                loud = self._current < 0 or at == self._current
                painter.setBrush(QColor(getattr(shades, self._shade)) if loud else quiet)
                painter.drawRoundedRect(bar, 2, 2)

    def _at(self, x: float) -> int:
        """The bar in whose share of the row a point is, or -1."""
        if not self._values:
            return -1
        at = int(x / min(self.width() / len(self._values), _SHARE))
        return at if 0 <= at < len(self._values) else -1

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self._at(event.position().x())
        if at >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(at + self._skipped)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = self._at(event.pos().x())
            if at >= 0:
                value = self._values[at]
                said = "–" if value is None else self._told(value)
                QToolTip.showText(event.globalPos(), tip(f"{said}\n{self._hints[at]}"), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)
