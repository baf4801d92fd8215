"""What the pages of dialogs are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLayout, QVBoxLayout, QWidget

from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.scrolled import Scrolled

if TYPE_CHECKING:
    from torchkeeper.gui.matrix.pane import CellsPane


def page_of(layout: QLayout) -> QWidget:
    """A page of a dialog."""
    made = QWidget()
    made.setLayout(layout)
    return made


class ChoicePage(QWidget):
    """What a dialog asks, and its buttons, which stay where they are when the rest is scrolled."""

    def __init__(self, body: QLayout, *buttons: QWidget) -> None:
        super().__init__()
        self.inside = Scrolled(page_of(body))
        self._row = button_row(*buttons)
        #: Why the last of the buttons is off, where that is not what one is asked: over the
        #: buttons, for what says it otherwise may be below the fold.
        self.why = forms.label("", "muted", wrap=True)
        self.why.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.why.hide()
        whole = forms.column()
        whole.addWidget(self.inside, 1)
        whole.addWidget(self.why)
        whole.addLayout(self._row)
        self.setLayout(whole)

    def say_why(self, text: str) -> None:
        """Say why it cannot go on; nothing where it can."""
        self.why.setText(text)
        self.why.setVisible(bool(text))

    def needed(self, width: int) -> int:
        """How high all of it is at a width."""
        high = self.inside.needed(width) + forms.GAP + self._row.totalSizeHint().height()
        if not self.why.isHidden():
            high += forms.GAP + self.why.heightForWidth(width)
        return high


def button_row(*widgets: QWidget, before: QWidget | None = None) -> QHBoxLayout:
    """The buttons at the bottom of a page; the last is the one that goes on."""
    line = forms.row()
    line.setContentsMargins(0, forms.GAP, 0, 0)
    if before is not None:
        line.addWidget(before)
    line.addStretch(1)
    for widget in widgets:
        line.addWidget(widget)
    return line


def cells_pane(layout: QVBoxLayout, at: int) -> CellsPane:
    """The table of cells in a page: it takes the room that nothing else needs."""
    from torchkeeper.gui.matrix.pane import CellsPane

    made = CellsPane()
    layout.insertWidget(at, made, 1)
    layout.setStretch(at + 1, 0)
    return made
