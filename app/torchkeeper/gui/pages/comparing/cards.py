"""One side of a comparison: which entry it is, of which place, and choosing another."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.inspector.parts import Chip
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.table.cells import shown_name
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.elided import Elided
from torchkeeper.gui.widgets.plain import tip


class Side(NamedTuple):
    """An entry, and the place it is in."""

    place: str
    entry: Entry


class Card(QWidget):
    """Shows a side by its letter, name, kind, key, and what made it."""

    #: Another entry is to be chosen for it.
    choose = Signal()

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._letter = letter
        self.name = Elided("heading")
        self.chip = Chip()
        # A card without an entry is as high as one that has one.
        policy = self.chip.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.chip.setSizePolicy(policy)
        self.key = Elided("muted")
        self.made = Elided("muted")
        self.chooser = forms.button(self.tr("Choose…"))
        self.chooser.setAccessibleName(self.tr("Choose {}").format(letter))
        self.chooser.setToolTip(self.tr("Go to the entries, and choose one for this side"))
        self.chooser.clicked.connect(self.choose)
        line = forms.row()
        line.addWidget(forms.label(letter, "heading"))
        line.addWidget(self.name, 1)
        line.addWidget(self.chooser)
        about = forms.row()
        about.addWidget(self.chip)
        about.addWidget(self.key, 1)
        inner = forms.column(margin=12, gap=6)
        inner.addLayout(line)
        inner.addLayout(about)
        inner.addWidget(self.made)
        whole = forms.column()
        whole.addWidget(forms.frame("hint", inner))
        self.setLayout(whole)
        theme.follow(self, lambda: self.key.setFont(theme.monospace()))

    def show_side(self, side: Side) -> None:
        """Show an entry of a place."""
        place, entry = side
        name, key = shown_name(entry), printable(entry.key)
        self.name.setText(name)
        self.name.setToolTip(tip(f"{name}\n{printable(entry.path, 4096)}"))
        self.chip.show_kind(entry.kind)
        self.chip.show()
        self.key.setText(key)
        self.key.setToolTip(tip(key))
        made = [self.tr("torch {}").format(entry.torch) if entry.torch else "", entry.device or ""]
        text = " · ".join([printable(x, 80) for x in made if x] + [Place(place).title])
        self.made.setText(text)
        self.made.setToolTip(tip(printable(place, 4096)))
        self.setAccessibleName(f"{self._letter}: {name}, {key}, {text}")

    def say(self, text: str) -> None:
        """Say what stands for an entry that is not known yet."""
        for label, said in ((self.name, text), (self.key, ""), (self.made, "")):
            label.setText(said)
            label.setToolTip("")
        self.chip.hide()
        self.setAccessibleName(f"{self._letter}: {text}")
