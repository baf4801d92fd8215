"""A pane over a list of findings: the list has the room that it needs, and the pane the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QSplitter, QWidget

from torchkeeper.gui.pages.profiles.checked import Checked

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

#: Pixels for the findings at most, unless somebody wants more, and of what is over their list.
_MOST = 272
#: The share of the height that they have at most.
_SHARE = 0.4
_ABOVE = 44


class Divided(QSplitter):
    """Once somebody has moved the bar between the two, it stays where it is."""

    def __init__(self, above: QWidget, below: Checked) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._below = below
        self._moved = False
        self.setChildrenCollapsible(False)
        self.addWidget(above)
        self.addWidget(below)
        self.setStretchFactor(0, 1)
        self.splitterMoved.connect(self._stay)

    def fit(self) -> None:
        """There are other findings."""
        self._fit()
        # Those that were never seen know their heights only once they have their places.
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        if not self._moved and self.height() > 2:
            found = self._below.list
            low = (
                min(_MOST, int(self.height() * _SHARE), found.needed + _ABOVE) if found.cards else 0
            )
            self.setSizes([max(1, self.height() - low), low])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _stay(self, *_: object) -> None:
        self._moved = True
