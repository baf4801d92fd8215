"""What more a dialog has to show of how a job ended: tables, a snippet, and what can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.laptable import GraphTable, LapTable, VerifiedCells
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words import preparing, tongue

if TYPE_CHECKING:
    from torchkeeper.link.kept.verification import KeptVerification


class Snippet(QWidget):
    """A line for a shell, and a button that copies it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = forms.label(text)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.text.setAccessibleName(self.tr("To be set where programs run"))
        theme.follow(self.text, lambda: self.text.setFont(theme.monospace()))
        self.copy = forms.button(self.tr("Cop&y"))
        self.copy.setAutoDefault(False)
        self.copy.setToolTip(self.tr("Copy the line to the clipboard"))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.text()))
        line = forms.row(gap=12)
        line.setContentsMargins(12, 8, 8, 8)
        line.addWidget(self.text, 1)
        line.addWidget(self.copy)
        whole = forms.column()
        whole.addWidget(forms.frame("hint", line))
        self.setLayout(whole)


class Aftermath(QWidget):
    """Below the words of a result page."""

    #: The environment is to be prepared: the interpreter.
    prepare = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._python = ""
        self.table = LapTable()
        self.cells_title = forms.label("", "heading")
        self.cells = VerifiedCells()
        self.cells_title.setBuddy(self.cells)
        self.graphs_title = forms.label("", "heading")
        self.graphs = GraphTable()
        self.graphs_title.setBuddy(self.graphs)
        self.condition = forms.label(preparing.portable_condition(), wrap=True)
        self.why = forms.label(tongue.tr(preparing.WHY), wrap=True)
        self.snippet = Snippet(preparing.SNIPPET)
        self.offer = forms.button(self.tr("&Prepare this environment…"))
        self.offer.setAutoDefault(False)
        self.offer.clicked.connect(lambda: self.prepare.emit(self._python))
        line = forms.row()
        line.addWidget(self.offer)
        line.addStretch(1)
        whole = forms.column()
        for widget in (self.table, self.cells_title):
            whole.addWidget(widget)
        whole.addWidget(self.cells, 1)
        whole.addWidget(self.graphs_title)
        whole.addWidget(self.graphs, 1)
        whole.addWidget(self.condition)
        whole.addWidget(self.snippet)
        whole.addWidget(self.why)
        whole.addLayout(line)
        self.setLayout(whole)

    def show_job(self, job: Job) -> bool:
        """Show what there is; False where there is nothing, and nothing is seen."""
        done = job.state is State.DONE
        verified = done and job.traits.proves
        portable = done and job.asked.get("portable", False)
        if job.traits.brings_code:
            done = done and bool(job.result.get("entries"))
            portable = portable and done
        self._python = job.asked.get("python", "")
        offered = done and job.asked.get("offer_prepare", False) and bool(self._python)
        for widget, seen in (
            (self.cells_title, False), (self.cells, False), (self.table, verified),
            (self.graphs_title, verified), (self.graphs, verified),
            (self.condition, portable), (self.snippet, portable),
            (self.why, offered), (self.offer, offered),
        ):  # fmt: skip
            widget.setVisible(seen)
        if verified:
            self._verified(job)
        return verified or portable or offered

    @property
    def has_list(self) -> bool:
        """Whether there is a table that takes what room there is."""
        return self.graphs.isVisibleTo(self) or self.cells.isVisibleTo(self)

    def _verified(self, job: Job) -> None:
        result: KeptVerification = job.result
        cells = result["cells"]
        several = len(cells) > 1
        self.cells_title.setText(self.tr("Cells"))
        for widget in (self.cells_title, self.cells):
            widget.setVisible(several)
        # The graphs of all cells in one list would say nothing.
        rows = [] if several else result["rows"]
        if several:
            self.cells.show_cells(cells)
            self.cells.setMinimumHeight(36 + 28 * min(len(cells), 5))
        self.table.show_result(result)
        self.graphs.show_graphs(rows)
        self.graphs_title.setText(self.tr("Graphs"))
        self.graphs.setVisible(bool(rows))
        self.graphs_title.setVisible(bool(rows))
        self.graphs.setMinimumHeight(36 + 28 * min(len(rows), 4))
