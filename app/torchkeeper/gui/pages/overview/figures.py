"""A few plain numbers beside each other, each with what it counts below it."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip


class Figure(QFrame):
    """One number: large, with what it is of, and what else there is to know of it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName("hint")
        self.name = name
        self.value = forms.label("", "figure")
        self.about = forms.label(name, "muted")
        self.more = forms.label("", "muted", wrap=True)
        inner = forms.column(gap=2)
        inner.setContentsMargins(14, 10, 14, 10)
        for label in (self.value, self.about, self.more):
            inner.addWidget(label)
        # What is longer in one of them does not pull the others apart.
        inner.addStretch(1)
        self.setLayout(inner)
        self.tell("", "")

    def tell(self, value: str, more: str, hint: str = "") -> None:
        """Show a number; without one, that it is not known."""
        self.value.setText(value or "–")
        self.more.setText(more)
        # Where nothing is said the others keep their height.
        self.setToolTip(tip(hint) if hint else "")
        said = value or self.tr("not known")
        self.setAccessibleName(f"{self.name}: {said}" + (f", {more}" if more else ""))


class Figures(QWidget):
    """Several of them in a row, equally wide."""

    def __init__(self, *figures: Figure) -> None:
        super().__init__()
        line = forms.row(gap=12)
        for figure in figures:
            line.addWidget(figure, 1)
        self.setLayout(line)
