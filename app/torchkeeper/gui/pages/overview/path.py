"""The way into an overview: what was gone into, each a button that leads back to it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import caption, tip


class Crumbs(QWidget):
    """Buttons from the outermost on; the last, where one is, is a text."""

    #: How many values are still gone into: 0 for the outermost.
    gone = Signal(int)

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = root
        self._parts: list[QWidget] = []
        self._line = forms.row(gap=4)
        self._line.addStretch(1)
        self.setLayout(self._line)
        self._names: list[str] | None = None
        self.show_path([])

    def show_path(self, names: Sequence[str]) -> None:
        """What was gone into, in this order."""
        if self._names == list(names):
            return
        self._names = list(names)
        for part in self._parts:
            self._line.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._parts = []
        every = [self._root, *names]
        for level, name in enumerate(every):
            if level:
                self._add(forms.label("›", "muted"))
            short = name if len(name) <= 40 else f"{name[:19]}…{name[-20:]}"
            self._add(
                forms.label(short, "heading")
                if level == len(every) - 1
                else self._button(short, level)
            )
            if 0 < level == len(every) - 1:
                # As far as the words of a button are from its edge.
                self._parts[-1].setContentsMargins(4, 0, 0, 0)
            self._parts[-1].setToolTip(tip(name))

    @property
    def buttons(self) -> list[QPushButton]:
        """The buttons, the outermost first."""
        return [part for part in self._parts if isinstance(part, QPushButton)]

    @property
    def here(self) -> str:
        """Where one is."""
        last = self._parts[-1]
        return last.text() if isinstance(last, QLabel) else ""

    def _button(self, text: str, level: int) -> QPushButton:
        made = forms.button(caption(text))
        made.setObjectName("crumb")
        made.setProperty("link", True)
        made.setAccessibleName(text)
        made.setAccessibleDescription(self.tr("Go back to it"))
        made.clicked.connect(lambda _=False: self.gone.emit(level))
        return made

    def _add(self, widget: QWidget) -> None:
        self._line.insertWidget(len(self._parts), widget)
        self._parts.append(widget)
