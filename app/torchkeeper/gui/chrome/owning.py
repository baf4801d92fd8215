"""The bar that says that others can change what runs from the place that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.client.words import owned
from torchkeeper.client.words.owned import Owned
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QHBoxLayout, QPushButton

    from torchkeeper.stores import shapes

#: Warnings that are shown at once; of more there is but the number.
_SHOWN = 2


class OwnersBar(QFrame):
    """The warnings about a place, each with its command; closed, they stay away for as long as the
    window is open and nothing else is found.
    """

    #: Something was done that the status bar is to say.
    said = Signal(str)
    #: The entries that match a filter are to be shown.
    filtered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ownersBar")
        self.warnings: list[Owned] = []
        #: What copies the command or shows the entries, for each of the warnings that are shown.
        self.buttons: list[QPushButton] = []
        self._place = ""
        self._closed: dict[str, list[Owned]] = {}
        self._texts: QWidget | None = None
        self.hide()

    def tell(self, place: str, found: Sequence[shapes.Owned]) -> None:
        """Show the warnings among what an engine found of a place, if there are any."""
        warnings = owned.grave(found)
        if warnings == self.warnings and place == self._place:
            return
        self._place, self.warnings = place, warnings
        if warnings and self._closed.get(place) != warnings:
            self._show()
        else:
            self.hide()

    def _show(self) -> None:
        if self._texts is None:
            self._make()
        texts = QWidget()
        lines = forms.column(gap=8)
        self.buttons = []
        for warning in self.warnings[:_SHOWN]:
            lines.addLayout(self._line(warning))
        if (more := len(self.warnings) - _SHOWN) > 0:
            text = self.tr("and {} more, which “torchkeeper check” tells").format(more)
            lines.addWidget(forms.label(text, "muted"))
        texts.setLayout(lines)
        if self._texts is not None:
            self._row.replaceWidget(self._texts, texts)
            self._texts.deleteLater()
        self._texts = texts
        self.setAccessibleName(" ".join(one.what for one in self.warnings))
        self.show()

    def _make(self) -> None:
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self._close)
        self._texts = QWidget()
        self._row = forms.row(gap=12)
        self._row.setContentsMargins(16, 8, 8, 8)
        top = Qt.AlignmentFlag.AlignTop
        self._row.addWidget(forms.picture("warning", 20, "warning"), 0, top)
        self._row.addWidget(self._texts, 1)
        self._row.addWidget(close, 0, top)
        self.setLayout(self._row)

    def _line(self, warning: Owned) -> QHBoxLayout:
        texts = forms.column(gap=2)
        parts = (warning.what, "heading"), (warning.why, ""), (warning.remedy, "")
        for text, role in parts:
            label = forms.label(text, role, wrap=True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            texts.addWidget(label)
        button = forms.button(self.tr("Show them") if warning.filter else self.tr("Copy command"))
        if warning.filter:
            button.clicked.connect(lambda: self.filtered.emit(warning.filter))
        else:
            button.setToolTip(tip(warning.command))
            button.clicked.connect(lambda: self._copy(warning.command))
        self.buttons.append(button)
        line = forms.row(gap=12)
        line.addLayout(texts, 1)
        line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return line

    def _copy(self, command: str) -> None:
        QGuiApplication.clipboard().setText(command)
        self.said.emit(self.tr("Copied: {}").format(command))

    def _close(self) -> None:
        self._closed[self._place] = self.warnings
        self.hide()
