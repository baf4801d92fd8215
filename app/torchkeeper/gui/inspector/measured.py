"""The last verification of the place that an entry lies in."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.gui import icons, theme
from torchkeeper.gui.verdicts.verifications import Beside
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words.say import number

_MARK = 16


class Measured(QWidget):
    """When it was, what it found, how fast; and a button that measures again."""

    #: An action of the window is wanted.
    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._beside: Beside | None = None
        self.setAccessibleName(self.tr("Last verification of the place"))
        self.title = forms.label(self.tr("Last verification of the place"), "section")
        self.mark = forms.label("")
        self.mark.setFixedSize(_MARK, _MARK)
        self.said = forms.label("", wrap=True)
        self.more = forms.label("", "muted", wrap=True)
        self.button = forms.button(self.tr("Verify…"))
        self.button.setToolTip(
            self.tr("Measure what a fresh process finds in the place, and how fast it is")
        )
        self.button.clicked.connect(lambda: self.asked.emit("verify"))
        line = forms.row(gap=8)
        line.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.said, 1)
        whole = forms.column(gap=6)
        whole.setContentsMargins(12, 4, 12, 12)
        whole.addWidget(self.title)
        whole.addLayout(line)
        whole.addWidget(self.more)
        whole.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self.setLayout(whole)
        self.tell(None)
        theme.follow(self, self._paint)

    def tell(self, beside: Beside | None) -> None:
        """Say what the last verification came to; None where there was none."""
        self._beside = beside
        if beside is None:
            self.said.setText(self.tr("Not verified yet."))
            self.more.setText(
                self.tr("Verify runs recipes on a copy of the place, and counts what hits.")
            )
        else:
            result = beside.one.result
            names = ("hits", "misses", "rebuilt")
            counts = (f"{number(result, name):,}" for name in names)
            self.said.setText(beside.line)
            found = self.tr("{} hit, {} missed, {} rebuilt").format(*counts)
            self.more.setText("\n".join(part for part in (found, beside.more) if part))
        self._paint()

    def again(self) -> None:
        """Some time has passed since."""
        self.tell(self._beside)

    def _paint(self) -> None:
        beside, shades = self._beside, theme.shades()
        name, colour = "verify", shades.muted
        if beside is not None:
            name, colour = beside.icon, getattr(shades, beside.role)
        self.mark.setPixmap(icons.pixmap(name, _MARK, colour, self.devicePixelRatioF()))
