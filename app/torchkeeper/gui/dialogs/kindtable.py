"""A small table by kind: how many entries, how big, and whatever else there is to say of each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem

from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_ROW = 28


class KindTable(QTreeWidget):
    """A row for each kind, numbers to the right; the last row may be their sum."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHeaderLabels(list(columns))
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, len(columns)):
            wide = header.fontMetrics().horizontalAdvance(columns[column]) + 40
            header.resizeSection(column, max(88, wide))
            self.headerItem().setTextAlignment(column, _RIGHT)
        self._kinds: list[str] = []
        self._nothing = ""
        theme.follow(self, self._paint)

    def fill(self, rows: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Show these rows: a kind, and a text for each further column."""
        self.clear()
        self._kinds = [kind for kind, _ in rows]
        for kind, texts in rows:
            item = QTreeWidgetItem([kind_words(kind), *texts])
            for column in range(1, len(texts) + 1):
                item.setTextAlignment(column, _RIGHT)
            self.addTopLevelItem(item)
        self._paint()

    def say(self, nothing: str) -> None:
        """What to show as long as there are no rows."""
        self._nothing = nothing
        self.setAccessibleDescription(nothing if not self._kinds else "")
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._kinds and self._nothing:
            with QPainter(self.viewport()) as painter:
                painter.setPen(QColor(theme.shades().muted))
                box = self.viewport().rect().adjusted(16, 0, -16, 0)
                flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
                painter.drawText(box, flags, self._nothing)

    def room_for(self, rows: int) -> None:
        """Be at least as high as so many rows are."""
        self.setMinimumHeight(38 + _ROW * rows)

    def _paint(self) -> None:
        for row, kind in enumerate(self._kinds):
            item = self.topLevelItem(row)
            if item is not None:
                item.setIcon(0, _dot(theme.shades().kinds.get(kind, theme.shades().muted)))


def _dot(colour: str) -> QIcon:
    made = QPixmap(32, 32)
    made.setDevicePixelRatio(2)
    made.fill(Qt.GlobalColor.transparent)
    with QPainter(made) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(3, 3, 10, 10, 3, 3)
    return QIcon(made)
