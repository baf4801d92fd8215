"""What the pages of dialogs are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QHBoxLayout, QLayout, QVBoxLayout, QWidget

from torchkeeper.gui import forms

if TYPE_CHECKING:
    from torchkeeper.gui.matrix.pane import CellsPane


def page_of(layout: QLayout) -> QWidget:
    """A page of a dialog."""
    made = QWidget()
    made.setLayout(layout)
    return made


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
