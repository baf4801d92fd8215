"""The part of the entries' page that holds the table, and above it the map where it is wanted."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtWidgets import QSplitter, QWidget

from torchkeeper.gui.widgets import forms

#: Where it is kept whether the map is wanted, and how high it is.
SHOWN, HEIGHT = "map/shown", "map/height"
#: Pixels of it where nobody said otherwise.
_HIGH = 240


class MapSplitter(QSplitter):
    """Remembers whether the map is shown, and how high. It is made when it is first wanted."""

    placed = Signal()

    def __init__(self, settings: QSettings, table: QWidget, make: Callable[[], QWidget]) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._settings, self._make = settings, make
        self._map: QWidget | None = None
        #: Whether it is wanted, and whether there is anything that it could show.
        self.wanted = self._of_use = False
        self.addWidget(table)
        self.setChildrenCollapsible(False)
        self.setStretchFactor(0, 1)
        self.splitterMoved.connect(self._moved)

    def restore(self) -> None:
        """As it was left."""
        if str(self._settings.value(SHOWN) or "") == "true":
            self.want(True)

    def want(self, wanted: bool) -> None:
        self.wanted = wanted
        self._settings.setValue(SHOWN, "true" if wanted else "false")
        self._show()

    def stand_by(self, of_use: bool) -> None:
        """Whether there are entries; where not, the map waits for some."""
        if of_use != self._of_use:
            self._of_use = of_use
            self._show()

    def _show(self) -> None:
        shown = self.wanted and self._of_use
        if self._map is None:
            if not shown:
                return
            self._map = self._make()
            self.insertWidget(0, self._map)
            self.setStretchFactor(0, 0)
            self.setStretchFactor(1, 1)
            high = forms.kept(self._settings, HEIGHT, _HIGH)
            self.setSizes([high, max(1, self.height() - high)])
            self.placed.emit()
        self._map.setVisible(shown)

    def _moved(self, *_: int) -> None:
        if self._map is not None and not self._map.isHidden():
            self._settings.setValue(HEIGHT, self._map.height())
