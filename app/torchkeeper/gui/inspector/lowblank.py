"""The inspector where nothing is selected and it stands below the table: in two lines."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.widgets import forms


class LowBlank(QWidget):
    """Says that nothing is selected, and what to do, as low as can be: the rows are above."""

    #: The first entry is to be selected.
    first = Signal()

    def __init__(self) -> None:
        super().__init__()
        texts = forms.column(gap=2)
        texts.addWidget(forms.label(self.tr("No entry is selected"), "heading"))
        what = self.tr("Select one, and here stands whether it is of use, and why.")
        texts.addWidget(forms.label(what, "muted", wrap=True))
        texts.addStretch(1)
        self.button = forms.button("")
        self.button.clicked.connect(self.first)
        line = forms.row(gap=16)
        line.setContentsMargins(16, 12, 16, 12)
        line.addLayout(texts, 1)
        line.addWidget(self.button)
        self.setLayout(line)

    def offer(self, text: str) -> None:
        """Have a button of this text, and none where it is empty."""
        self.button.setText(text)
        self.button.setAccessibleName(text.replace("&", ""))
        self.button.setVisible(bool(text))
