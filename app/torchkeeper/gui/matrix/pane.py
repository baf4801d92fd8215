"""The cells of a warm-up in a table, and below it what there is to know of the chosen one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHeaderView,
    QPlainTextEdit,
    QTableView,
    QWidget,
)

from torchkeeper.gui import theme
from torchkeeper.gui.later import once
from torchkeeper.gui.matrix.cells import COMPILING, LINES, Cells, CellState
from torchkeeper.gui.matrix.delegate import ROW_HEIGHT, CellDelegate
from torchkeeper.gui.matrix.legend import Legend
from torchkeeper.gui.matrix.model import CELL, HITS, MISSES, PHASES, TIME, CellsModel
from torchkeeper.gui.matrix.words import name_of, told, uncached
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.blank import Notice
from torchkeeper.gui.widgets.copykey import CopyKey

#: Milliseconds between two looks at what has changed.
_EVERY_MS = 100
#: How the table and the log share the room.
_TABLE, _DETAIL = 3, 2


class CellsPane(QWidget):
    """Follows one job's cells; ``show_cells`` says that there may be something new."""

    #: The recipe of the chosen cell is to be edited: its file.
    edit = Signal(str)

    def __init__(self, *, narrow: bool = False) -> None:
        """narrow: where there is less room than in a dialog."""
        super().__init__()
        self._narrow = narrow
        #: The file of a recipe, by what the job calls it; empty for one that cannot be edited.
        self.file_of: Callable[[str], str] = lambda _: ""
        self.model = CellsModel(self)
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(CellDelegate(self.view, self.model))
        self._dress_view()
        CopyKey(self.view, self._copy_rows)
        self.legend = Legend()
        self.bad = QCheckBox(self.tr("Only what is not &warm"))
        self.bad.setToolTip(self.tr("Show only cells that failed, or that are not found again"))
        self.bad.toggled.connect(self._only_bad)
        self.name = forms.label("", "heading", wrap=True)
        self.facts = forms.label("", "muted", wrap=True)
        self.uncached = forms.label("", "warning", wrap=True)
        self.uncached.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.uncached.hide()
        self.notice = Notice()
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setTabChangesFocus(True)
        self.log.setAccessibleName(self.tr("Log of the chosen cell"))
        self.log.setMinimumHeight(88)
        self.log.setMaximumBlockCount(LINES)
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.copy = forms.button(self.tr("Co&py log"), enter=False)
        self.copy.setToolTip(self.tr("Copy what is said of this cell, and its log"))
        self.copy.clicked.connect(self._copy_log)
        self.recipe = forms.button(self.tr("Ed&it recipe…"), enter=False)
        self.recipe.setToolTip(self.tr("Close this, and change the text of its recipe"))
        self.recipe.hide()
        self.recipe.clicked.connect(self._edit)
        self._chosen: int | None = None
        #: Whether the user has chosen a cell; before, it is the one that is compiled.
        self._touched = False
        #: The log that is shown, and how many of its lines had come by then.
        self._log: list[str] | None = None
        self._heard = 0
        self._timer = once(self, self._refresh, _EVERY_MS)
        self._lay_out()
        self.view.selectionModel().currentChanged.connect(self._moved)
        self.view.clicked.connect(self._touch)
        theme.follow(self, self._paint)

    def _dress_view(self) -> None:
        view = self.view
        view.setAccessibleName(self.tr("Cells"))
        view.setMinimumHeight(3 * ROW_HEIGHT)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setShowGrid(False)
        view.setTabKeyNavigation(False)
        view.setWordWrap(False)
        view.verticalHeader().hide()
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = view.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(False)
        # Where there is little room, names come first.
        widths = (48, 108, 92, 124) if self._narrow else (64, 116, 100, 300)
        for column, width in zip((HITS, MISSES, TIME, PHASES), widths, strict=True):
            header.resizeSection(column, width)
        header.setSectionResizeMode(CELL, QHeaderView.ResizeMode.Stretch)

    def _lay_out(self) -> None:
        head = forms.column(gap=4) if self._narrow else forms.row()
        head.addWidget(self.legend, 1)
        head.addWidget(self.bad)
        line = forms.row()
        line.addWidget(self.name, 1)
        line.addWidget(self.recipe)
        line.addWidget(self.copy)
        below = forms.column(gap=4)
        below.setContentsMargins(0, 4, 0, 0)
        below.addLayout(line)
        below.addWidget(self.facts)
        below.addWidget(self.uncached)
        below.addWidget(self.notice)
        below.addWidget(self.log, 1)
        self.detail = QWidget()
        self.detail.setLayout(below)
        whole = forms.column()
        whole.addLayout(head)
        whole.addWidget(self.view, _TABLE)
        whole.addWidget(self.detail)
        self._layout = whole
        self.setLayout(whole)

    def _paint(self) -> None:
        self.log.setFont(theme.monospace())
        self.view.viewport().update()

    # What is shown.

    def show_cells(self, cells: Cells) -> None:
        """Show these cells, or what has changed of them; soon, and not each time."""
        if cells is not self.model.cells:
            self._chosen, self._touched = None, False
            self.bad.setChecked(False)
            self.model.show_cells(cells)
            self._refresh()
        elif not self._timer.isActive():
            self._timer.start()

    def choose_bad(self) -> None:
        """Go to the first cell that is not warm, if there is one and the user has chosen none."""
        self._refresh()
        bad = self.model.cells.bad
        if bad and not self._touched:
            self._go_to(next(n for n, cell in enumerate(self.model.cells.rows) if cell is bad[0]))

    def choose(self, row: int) -> None:
        """Go to a cell, by its place among all, and stay there."""
        self._touched = True
        self._go_to(row)

    def _go_to(self, row: int) -> None:
        line = self.model.line_of(row)
        if line is not None:
            index = self.model.index(line, CELL)
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index)

    @property
    def cell(self) -> CellState | None:
        """The chosen cell."""
        rows = self.model.cells.rows
        return rows[self._chosen] if self._chosen is not None and self._chosen < len(rows) else None

    def _refresh(self) -> None:
        self._timer.stop()
        self.model.refresh()
        self.model.tick()
        cells = self.model.cells
        counts = cells.counts
        failed = counts.get("failed", 0) + counts.get("cancelled", 0)
        self.bad.setVisible(self.bad.isChecked() or (len(cells.rows) > 1 and failed > 0))
        if not self._touched and counts.get(COMPILING):
            first = next(n for n, cell in enumerate(cells.rows) if cell.state == COMPILING)
            if first != self._chosen:
                self._go_to(first)
        elif self._chosen is None and cells.rows:
            self._go_to(0)
        self._tell()

    def _only_bad(self, on: bool) -> None:
        kept = self._chosen
        self.model.only_bad(on)
        line = self.model.line_of(kept) if kept is not None else None
        if line is not None and kept is not None:
            self._go_to(kept)
        elif self.model.rowCount():
            self.view.setCurrentIndex(self.model.index(0, CELL))

    def _touch(self, *_: object) -> None:
        self._touched = True

    def _moved(self, current: QModelIndex, _: QModelIndex) -> None:
        if self.view.hasFocus():
            self._touched = True
        if current.isValid():
            self._chosen = self.model.row_of(current.row())
            # Not within the signal: lines come and go.
            QTimer.singleShot(0, self, self._open)
        self._tell()

    def _open(self) -> None:
        self.model.open(self._chosen)

    # The chosen cell.

    def _tell(self) -> None:
        cell = self.cell
        self.detail.setEnabled(cell is not None)
        if cell is None:
            self.name.setText("")
            self.facts.setText("")
            self.uncached.hide()
            self.recipe.hide()
            self._show_log(None)
            return
        self.name.setText(name_of(cell, self.model.several))
        self.facts.setText(told(cell))
        self.uncached.setText(uncached(cell))
        self.uncached.setVisible(bool(self.uncached.text()))
        if cell.error is not self.notice.error:
            self.notice.tell(cell.error)
        bad = cell.ended and not cell.good
        self.recipe.setVisible(bad and bool(self.file_of(cell.recipe)))
        self._show_log(cell)

    def _show_log(self, cell: CellState | None) -> None:
        # Where there is nothing to read, the table has the room.
        log, heard = (cell.log, cell.heard) if cell is not None else (None, 0)
        self.log.setVisible(bool(log))
        said = self.notice.error is not None or not self.uncached.isHidden()
        self.copy.setVisible(bool(log) or said)
        self._layout.setStretchFactor(self.detail, _DETAIL if log else 0)
        same = log is self._log
        fresh, self._log, self._heard = heard - self._heard, log, heard
        if cell is None or (same and not fresh):
            if not log:
                self.log.clear()
            return
        bar = self.log.verticalScrollBar()
        follow = bar.value() >= bar.maximum() - 4
        if same:
            self.log.appendPlainText("\n".join(cell.lines(fresh)))
        else:
            self.log.setPlainText("\n".join(cell.lines()))
        if follow:
            bar.setValue(bar.maximum())

    def _edit(self) -> None:
        if self.cell is not None and (file := self.file_of(self.cell.recipe)):
            self.edit.emit(file)

    # Copying.

    def _copy_log(self) -> None:
        cell = self.cell
        if cell is not None:
            said = str(cell.error).splitlines() if cell.error else []
            head = [name_of(cell, True), told(cell), *uncached(cell).splitlines()]
            text = [*head, *said, "", *cell.lines()]
            QGuiApplication.clipboard().setText("\n".join(text) + "\n")

    def _copy_rows(self) -> None:
        current = self.view.currentIndex()
        if current.isValid():
            cells = (self.model.index(current.row(), n).data() for n in range(5))
            QGuiApplication.clipboard().setText("\t".join(str(text) for text in cells))
