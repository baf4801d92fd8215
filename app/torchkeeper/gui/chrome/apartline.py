"""What a place holds besides entries, in a line under the table, with the switch that shows it."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.widgets import forms


class ApartLine(QWidget):
    """Says how many locks, headers and unknown files there are; hidden where there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.said = forms.label("", "muted", wrap=True)
        self.button = forms.button("")
        self.button.setProperty("link", True)
        self._action: QAction | None = None
        self.button.clicked.connect(self._go)
        line = forms.row(gap=12)
        line.setContentsMargins(12, 4, 12, 4)
        line.addWidget(self.said, 1)
        line.addWidget(self.button)
        self.setLayout(line)
        self.hide()

    def bind(self, action: QAction) -> None:
        """Have the button do what an action does."""
        self._action = action

    def _go(self) -> None:
        if self._action is not None:
            self._action.trigger()

    def tell(self, said: str, *, shown: bool) -> None:
        """Say it; shown: whether the table shows all of that."""
        self.said.setText(said)
        self.button.setText(self.tr("Hide") if shown else self.tr("Show"))
        self.button.setAccessibleName(
            self.tr("Hide locks, headers and unknown files")
            if shown
            else self.tr("Show locks, headers and unknown files")
        )
        self.setVisible(bool(said))
