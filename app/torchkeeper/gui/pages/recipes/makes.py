"""The cells that the text of a recipe makes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.pages.recipes import words
from torchkeeper.gui.pages.recipes.known import Looked
from torchkeeper.gui.widgets import forms

#: Cells that are named.
_CELLS = 1000


class Makes(QWidget):
    """How many there are, of what, and what each is called."""

    def __init__(self) -> None:
        super().__init__()
        self.title = forms.label("", "heading", wrap=True)
        self.source = forms.label("", "muted", wrap=True)
        self.cells = QListWidget()
        self.cells.setAccessibleName(self.tr("Cells that it makes"))
        self.cells.setUniformItemSizes(True)
        self.cells.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.cells.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        whole = forms.column()
        whole.setContentsMargins(12, 0, 0, 0)
        whole.addWidget(self.title)
        whole.addWidget(self.source)
        whole.addWidget(self.cells, 1)
        whole.addStretch(0)
        self.setLayout(whole)

    def show_looked(self, looked: Looked) -> None:
        """Show what a text comes to."""
        self.cells.clear()
        self.cells.setVisible(bool(looked.cells))
        if looked.faults:
            self.title.setText(self.tr("Cells"))
            self.source.setText(self.tr("They are listed here when nothing is wrong with it."))
            return
        count = say.count(len(looked.cells), "cell", "cells")
        self.title.setText(self.tr("It makes {}").format(count))
        self.source.setText(words.source_title(looked.source))
        forms.list_up(self.cells, [printable(name, 200) for name in looked.cells[:_CELLS]])
        if len(looked.cells) > _CELLS:
            self.cells.addItem(self.tr("and {} more").format(f"{len(looked.cells) - _CELLS:,}"))
