"""The first page of the inspector: the verdict, what the entry is, what it belongs to, what its
place was measured to be, and what would leave with it.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.inspector.facts import FactsView
from torchkeeper.gui.inspector.measured import Measured
from torchkeeper.gui.inspector.sharing import Sharing
from torchkeeper.gui.inspector.verdictcard import VerdictCard
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.blank import Notice

#: Pixels that are left around what has the focus.
_AROUND = 24


class SummaryPage(QScrollArea):
    """The sections under each other, scrolled as one; what has the focus is in sight."""

    #: An action of the window is wanted.
    asked = Signal(str)

    def __init__(self, engines: Engines, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Summary"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.problem = Notice()
        self.orphan = Notice(mild=True)
        self.verdict = VerdictCard()
        self.facts = FactsView(self.tr("Facts of the entry"), whole=True)
        self.measured = Measured()
        self.sharing = Sharing(engines)
        top = forms.column(gap=8)
        top.setContentsMargins(12, 12, 12, 0)
        for first in (self.verdict, self.problem, self.orphan):
            top.addWidget(first)
        whole = forms.column(gap=0)
        whole.addLayout(top)
        for widget in (self.facts, self.measured, self.sharing):
            whole.addWidget(widget)
        whole.addStretch(1)
        self._inside = forms.frame("pane", whole)
        self.setWidget(self._inside)
        self.verdict.asked.connect(self.asked)
        self.measured.asked.connect(self.asked)
        for view in (self.facts, self.verdict.why, self.sharing.view):
            view.reached.connect(lambda y, view=view: self._show_line(view, y))
        for button in (self.verdict.button, self.measured.button, self.sharing.button):
            button.installEventFilter(self)

    def _show_line(self, view: QWidget, y: int) -> None:
        at = view.mapTo(self._inside, view.rect().topLeft())
        self.ensureVisible(0, at.y() + y, 0, _AROUND)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, QWidget):
            self.ensureWidgetVisible(watched, 0, _AROUND)
        return super().eventFilter(watched, event)

    def to_top(self) -> None:
        """Show the beginning."""
        self.verticalScrollBar().setValue(0)
