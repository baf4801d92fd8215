"""Texts in tables that can be searched and copied; and one of them, an entry's key factors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSplitter,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.inspector.code_edit import cleaned
from torchkeeper.gui.inspector.sources import BlankPane, SearchBox
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.lists import CopyKey
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import FactorsRow


# A plain table of texts: rows that can be filtered and copied.

Index = QModelIndex | QPersistentModelIndex

#: Characters of a cell that are drawn.
_CELL = 300


class RowsModel(QAbstractTableModel):
    """Rows of texts under titles. A filter keeps the rows with all its words."""

    def __init__(
        self,
        titles: Sequence[str],
        parent: QObject | None = None,
        fixed: Collection[int] = (),
        numbers: Collection[int] = (),
    ) -> None:
        """numbers: columns that stand to the right; fixed: those in the fixed-width font."""
        super().__init__(parent)
        self._titles = tuple(titles)
        self._numbers, self._fixed = numbers, fixed
        self._all: list[tuple[str, ...]] = []
        self._hay: list[str] = []
        self._shown: list[tuple[str, ...]] = []
        self._words: list[str] = []
        self._font = QFont()
        theme.follow(self, self._fonts)

    def _fonts(self) -> None:
        self._font = theme.monospace()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._titles):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return None

    def _side(self, column: int) -> Qt.AlignmentFlag:
        sides = Qt.AlignmentFlag
        side = sides.AlignRight if column in self._numbers else sides.AlignLeft
        return side | sides.AlignVCenter

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        column = index.column()
        text = self._shown[index.row()][column]
        if role == Qt.ItemDataRole.DisplayRole:
            return text[:_CELL]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(text)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(column)
        if role == Qt.ItemDataRole.FontRole and column in self._fixed:
            return self._font
        return None

    @property
    def total(self) -> int:
        """How many rows there are, shown or not."""
        return len(self._all)

    def row_at(self, row: int) -> tuple[str, ...]:
        """The texts of a row that is shown."""
        return self._shown[row]

    def fill(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Show these rows instead."""
        self.beginResetModel()
        self._all = list(rows)
        self._hay = ["\n".join(row).lower() for row in self._all]
        self._shown = self._matching(0)
        self.endResetModel()

    def add(self, rows: Sequence[tuple[str, ...]]) -> None:
        """More rows at the end."""
        first = len(self._all)
        self._all += rows
        self._hay += ["\n".join(row).lower() for row in rows]
        if fresh := self._matching(first):
            at = len(self._shown)
            self.beginInsertRows(QModelIndex(), at, at + len(fresh) - 1)
            self._shown += fresh
            self.endInsertRows()

    def filter(self, text: str) -> None:
        """Show the rows that hold all words of a text."""
        self._words = text.lower().split()
        self.beginResetModel()
        self._shown = self._matching(0)
        self.endResetModel()

    def _matching(self, first: int) -> list[tuple[str, ...]]:
        found = zip(self._all[first:], self._hay[first:], strict=True)
        return [row for row, hay in found if all(word in hay for word in self._words)]


class RowsView(QTableView):
    """The view of such a table. Copy takes what ``copied`` puts together."""

    copied = Signal()

    def __init__(self, model: RowsModel, name: str) -> None:
        super().__init__()
        CopyKey(self, self.copied.emit)
        self.setObjectName("rows")
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setModel(model)
        lines, header = self.verticalHeader(), self.horizontalHeader()
        lines.hide()
        lines.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        lines.setDefaultSectionSize(26)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(48)

    def rows(self) -> list[int]:
        """The selected rows, in order."""
        return sorted({index.row() for index in self.selectionModel().selectedRows()})


NAME, VALUE, HASH = range(3)
#: Pixels around the text of a cell, and what is needed for what stands before a bracket.
_AROUND, _LEAST = 16, 16


class _Names(QStyledItemDelegate):
    """Names differ at their end: what stands in brackets is shown before what precedes them."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle
        group, bracket, name = option.text.partition("[")
        metrics = option.fontMetrics
        room = option.rect.width() - _AROUND - metrics.horizontalAdvance(bracket + name)
        if bracket and room < metrics.horizontalAdvance(group):
            short = metrics.elidedText(group, Qt.TextElideMode.ElideRight, room)
            option.text = f"{short if room > _LEAST else '…'}[{name}"


class FactorsPane(BlankPane):
    """The table, its search field, and the chosen factor in full."""

    #: The factors are wanted: the pane is shown for the first time for this entry.
    wanted = Signal()

    def __init__(self) -> None:
        super().__init__("shield")
        self._there = 0
        self._asked = False
        titles = self.tr("Name"), self.tr("Value"), self.tr("Hash")
        self.model = RowsModel(titles, self, fixed={VALUE, HASH})
        self.search = SearchBox(self.tr("Search name, value or hash"))
        self.count = forms.label("", "muted")
        self.copy = forms.icon_button("copy", self.tr("Copy the chosen factors"))
        self.table = RowsView(self.model, self.tr("Key factors"))
        self.table.setItemDelegateForColumn(NAME, _Names(self.table))
        header = self.table.horizontalHeader()
        header.resizeSection(NAME, 176)
        header.resizeSection(HASH, 76)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        self.full = forms.read_only_text(self.tr("The chosen factor in full"))
        self.full.setObjectName("code")
        self.full.setAcceptDrops(False)
        self.full.setPlaceholderText(self.tr("The chosen factor appears here in full."))
        self.full.document().setDocumentMargin(8)
        self._lay_out()
        self.search.textChanged.connect(self._filter)
        self.search.leave.connect(self._to_table)
        self.search.step.connect(lambda _: self._to_table())
        self.copy.clicked.connect(self._copy)
        self.table.copied.connect(self._copy)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._chosen())
        self.model.modelReset.connect(self._chosen)
        theme.follow(self, lambda: self.full.setFont(theme.monospace()))
        self.offer(0)

    def _lay_out(self) -> None:
        line = forms.row((self.search, 1), self.count, self.copy, gap=4, margin=(12, 8, 8, 8))
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.table)
        split.addWidget(self.full)
        split.setStretchFactor(0, 1)
        split.setSizes([400, 120])
        self._page = forms.page(forms.column(line, (split, 1), gap=0))
        self.stack.addWidget(self._page)

    def clear(self, waiting: str = "") -> None:
        """Show nothing, or that something is being read."""
        self._there, self._asked = 0, False
        self.model.fill([])
        self.show_blank(waiting)

    def offer(self, count: int) -> None:
        """How many factors the entry has."""
        self.clear()
        self._there = count
        if not count:
            self.blank.say(
                self.tr("No key factors"),
                self.tr("Graphs keep what their key was made of; other entries do not, "
                        "nor do those of older versions of torch."),
            )  # fmt: skip
        elif self.isVisible():
            self._ask()

    def _ask(self) -> None:
        self._asked = True
        self.blank.say(self.tr("Reading…"))
        self.wanted.emit()

    def add(self, rows: list[FactorsRow]) -> None:
        """Rows that were asked for."""
        told = ((printable(x["name"]), cleaned(x["value"]), printable(x["hash"])) for x in rows)
        self.model.add(list(told))
        self.stack.setCurrentWidget(self._page)
        self._say()

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        if self._there and not self._asked:
            self._ask()

    def _filter(self, text: str) -> None:
        self.model.filter(text)
        self._say()

    def _say(self) -> None:
        shown, total = self.model.rowCount(), self.model.total
        text = f"{total:,}" if shown == total else self.tr("{} of {}").format(shown, total)
        self.count.setText(text)

    def _to_table(self) -> None:
        self.table.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.table.rows() and self.model.rowCount():
            self.table.selectRow(0)

    def _chosen(self) -> None:
        rows = self.table.rows()
        self.copy.setEnabled(bool(rows))
        text = ""
        if rows:
            name, value, digest = self.model.row_at(rows[-1])
            text = f"{name}\n[{digest}]\n\n{value}"
        self.full.setPlainText(text)

    def _copy(self) -> None:
        rows = map(self.model.row_at, self.table.rows())
        # As PyTorch itself writes them.
        if lines := [f"[{digest}] {name}: {value}" for name, value, digest in rows]:
            QGuiApplication.clipboard().setText("\n".join(lines))
