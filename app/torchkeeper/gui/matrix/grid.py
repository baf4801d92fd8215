"""The matrix of a fleet: a line for each variant, a column for each kind of node."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QRect,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem, QTableView

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.matrix import cells as words
from torchkeeper.gui.matrix.cells import BAD, Cells
from torchkeeper.gui.matrix.painting import PlainDelegate, dress
from torchkeeper.gui.widgets.lists import CopyKey, Index
from torchkeeper.gui.widgets.plain import shown, tip

_tr = partial(QCoreApplication.translate, "FleetMatrix")

#: Cells that are taken in at a time, and kinds of nodes that have a column of their own.
STEP, _KINDS = 2_000, 200
_PAD, _SHIFT = 8, 24
#: Pixels of the names at most, unless there is much room; of each column beside them at least, and
#: at most.
_NAMES, _NARROW, _WIDE = 240, 140, 320
#: Names that are looked at for how wide they are.
_MEASURED = 200
_VISIBLE = QAbstractItemView.ScrollHint.EnsureVisible
_LEFT = (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value


class CellsModel(QAbstractTableModel):
    """Shows the cells of one fleet; ``refresh`` brings in some of what has changed since."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.cells = Cells()
        self._clear()

    def _clear(self) -> None:
        #: For each line the first of its cells; and the cell at each line and column.
        self._lines: list[str] = []
        self._line_of: dict[tuple[str, int], int] = {}
        self._kinds: list[str] = []
        self._at: dict[tuple[int, int], str] = {}
        self._shown: list[int] | None = None
        self._seen = 0
        self._recipes: set[str] = set()

    def show_cells(self, cells: Cells) -> None:
        """Show those of another fleet."""
        self.beginResetModel()
        self.cells = cells
        bad = self._shown is not None
        self._clear()
        self._shown = [] if bad else None
        self.endResetModel()

    def only_bad(self, on: bool) -> None:
        """Show only the lines with a cell that is no good, or all again."""
        if on != (self._shown is not None):
            self.beginResetModel()
            self._shown = self._bad() if on else None
            self.endResetModel()

    def _bad(self) -> list[int]:
        rows = self.cells.rows
        return sorted({line for (line, _), x in self._at.items() if rows[x]["state"] in BAD})

    def refresh(self) -> bool:
        """Take in what is new, as much as is done at once; whether there is more."""
        order = self.cells.order
        if self._seen < len(order):
            self._take(order[self._seen : self._seen + STEP])
            self._seen = min(self._seen + STEP, len(order))
        if self.cells.changed:
            self.cells.changed.clear()
            if self._shown is not None and (now := self._bad()) != self._shown:
                self.beginResetModel()
                self._shown = now
                self.endResetModel()
            elif self.rowCount():
                # Only what is in sight is drawn, and asked for.
                last = self.index(self.rowCount() - 1, self.columnCount() - 1)
                self.dataChanged.emit(self.index(0, 0), last)
        return self._seen < len(order)

    def _take(self, some: list[str]) -> None:
        rows, line_of, columns = self.cells.rows, self._line_of, list(self._kinds)
        known = {kind: number for number, kind in enumerate(columns)}
        lines: list[str] = []
        at: dict[tuple[int, int], str] = {}
        for ident in some:
            cell = rows[ident]
            kind = cell.get("kind", "")
            if kind not in known:
                if len(columns) >= _KINDS:
                    continue
                known[kind] = len(columns)
                columns.append(kind)
            variant = cell.get("recipe", ""), cell.get("index", 0)
            if (line := line_of.get(variant)) is None:
                line = line_of[variant] = len(self._lines) + len(lines)
                lines.append(ident)
                self._recipes.add(variant[0])
            at[line, known[kind]] = ident
        if len(columns) > len(self._kinds):
            self.beginInsertColumns(QModelIndex(), 1 + len(self._kinds), len(columns))
            self._kinds = columns
            self.endInsertColumns()
        self._at.update(at)
        if lines and self._shown is None:
            first = len(self._lines)
            self.beginInsertRows(QModelIndex(), first, first + len(lines) - 1)
            self._lines += lines
            self.endInsertRows()
        else:
            self._lines += lines

    def ident(self, row: int, column: int) -> str:
        """The cell that is there; that of the first column that has one, for the name; or ""."""
        if not 0 <= row < self.rowCount():
            return ""
        line = row if self._shown is None else self._shown[row]
        if column > 0:
            return self._at.get((line, column - 1), "")
        return self._lines[line]

    def place_of(self, ident: str) -> QModelIndex:
        """Where a cell is shown; nowhere where it is not."""
        cell = self.cells.rows.get(ident)
        variant = (cell.get("recipe", ""), cell.get("index", 0)) if cell else ("", -1)
        line = self._line_of.get(variant)
        if cell is None or line is None or cell.get("kind", "") not in self._kinds:
            return QModelIndex()
        if self._shown is not None:
            if line not in self._shown:
                return QModelIndex()
            line = self._shown.index(line)
        return self.index(line, 1 + self._kinds.index(cell.get("kind", "")))

    @property
    def several(self) -> bool:
        """Whether there is more than one recipe."""
        return len(self._recipes) > 1

    # As Qt asks for it.

    def rowCount(self, parent: Index | None = None) -> int:
        if parent is not None and parent.isValid():
            return 0
        return len(self._lines if self._shown is None else self._shown)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else 1 + len(self._kinds)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section > len(self._kinds):
            return None
        kind = self._kinds[section - 1] if section else ""
        name = words.kind_words(kind) if section else _tr("Variant")
        if role == Qt.ItemDataRole.DisplayRole:
            brief = self._brief(kind, name) if section else name
            return "\n".join(shown(line) for line in brief.split("\n"))
        if role == Qt.ItemDataRole.ToolTipRole and section:
            return tip(name)
        return _LEFT if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _brief(self, kind: str, name: str) -> str:
        """What a kind is called among these: with what tells it from alike ones, which is long;
        without the torch that all have, else in two lines.
        """
        if len(self._kinds) == 1 or not kind:
            return name.partition(" · ")[0]
        plain = [one.partition(" · ")[0] for one in self._kinds if one]
        first, comma, last = name.partition(" · ")[0].rpartition(", ")
        if plain.count(kind.partition(" · ")[0]) > 1:
            last = name.removeprefix(f"{first}{comma}")
        elif comma and {one.rpartition(", ")[2] for one in plain} == {last}:
            return first
        return f"{first}\n{last}" if comma else last

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= self.rowCount():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self._tip(index.row(), index.column()))
        return None

    def text(self, row: int, column: int) -> str:
        if not (ident := self.ident(row, column)):
            return ""
        cell = self.cells.rows[ident]
        return shown(words.name_of(cell, self.several) if column == 0 else words.short(cell))

    def _spoken(self, row: int, column: int) -> str:
        if column == 0:
            return self.text(row, 0)
        of = _tr("{}, {}").format(self.text(row, 0), words.kind_words(self._kinds[column - 1]))
        return f"{of}: {self.text(row, column) or _tr('nothing to do')}"

    def _tip(self, row: int, column: int) -> str:
        if not (ident := self.ident(row, column)):
            return ""
        cell = self.cells.rows[ident]
        if column == 0:
            return words.name_of(cell)
        error = words.error_of(cell.get("problem"))
        lines = words.name_of(cell), words.told(cell), words.about(cell["state"])
        return "\n".join([*filter(None, lines), *([error.what] if error else [])])


class CellDelegate(PlainDelegate):
    """Paints the name of a variant, and what has become of a cell."""

    def __init__(self, view: QTableView, model: CellsModel) -> None:
        super().__init__(view)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        shades, box = theme.shades(), self.ground(painter, option)
        ident = self._model.ident(index.row(), index.column())
        if not ident:
            return
        text, colour = self._model.text(index.row(), index.column()), shades.text
        left, width = box.left() + _PAD, box.width() - 2 * _PAD
        if index.column():
            name, role = words.mark(self._model.cells.rows[ident]["state"])
            self.mark(painter, left, box, name, role)
            left, width = left + _SHIFT, width - _SHIFT
            if self._metrics.horizontalAdvance(text) > width:
                # Its icon says the state.
                text = shown(words.more(self._model.cells.rows[ident])) or text
            colour = shades.muted if role == "muted" else shades.text
        self.words(painter, QRect(left, box.top(), width, box.height()), text, colour, _LEFT)


class _Names(QTableView):
    """The names of the variants, over the matrix: they stay where that is scrolled to the side."""

    def __init__(self, over: MatrixView) -> None:
        super().__init__(over)
        self.setModel(over.cells)
        self.setSelectionModel(over.selectionModel())
        self.setItemDelegate(CellDelegate(self, over.cells))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        dress(self, over.accessibleName(), rows=0)
        for policy in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            policy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().valueChanged.connect(over.verticalScrollBar().setValue)
        over.verticalScrollBar().valueChanged.connect(self.verticalScrollBar().setValue)
        over.horizontalScrollBar().valueChanged.connect(lambda _: self.place(over))
        self.hide()

    def place(self, over: MatrixView) -> None:
        """Lie over the names where they are scrolled away."""
        away = over.horizontalScrollBar().value() > 0
        if away:
            for column in range(1, over.cells.columnCount()):
                self.setColumnHidden(column, True)
            self.setColumnWidth(0, over.columnWidth(0))
            header, edge = over.horizontalHeader().height(), over.frameWidth()
            self.horizontalHeader().setFixedHeight(header)
            # Frame over frame: the lines of both are as high.
            height = header + over.viewport().height() + 2 * edge
            self.setGeometry(0, 0, over.columnWidth(0) + 2 * edge, height)
            self.verticalScrollBar().setValue(over.verticalScrollBar().value())
        self.setVisible(away)


class MatrixView(QTableView):
    """The matrix; each cell is chosen by itself."""

    #: Another cell is chosen: its ident, or "" for none.
    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.cells = CellsModel(self)
        self.setModel(self.cells)
        self.setItemDelegate(CellDelegate(self, self.cells))
        dress(self, _tr("Cells: variants by kinds of nodes"), rows=4)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(120)
        header.setDefaultSectionSize(_NARROW)
        self.cells.columnsInserted.connect(self._widen)
        self.cells.rowsInserted.connect(self._widen)
        self.cells.modelReset.connect(self._widen)
        #: Whether the user has given the columns their widths.
        self._own = self._widening = False
        header.sectionResized.connect(self._resized)
        self.selectionModel().currentChanged.connect(self._moved)
        self.names = _Names(self)
        CopyKey(self, self.copy_line)
        theme.follow(self, self.viewport().update)

    def _widen(self, *_: object) -> None:
        """Share the room among the kinds, beside the names."""
        if self._own or (kinds := self.cells.columnCount() - 1) < 1:
            return
        self._widening = True
        some = range(min(self.cells.rowCount(), _MEASURED))
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(self.cells.text(n, 0)) for n in some), default=0)
        whole = self.viewport().width()
        names = max(120, min(max(_NAMES, whole * 3 // 10), widest + 3 * _PAD))
        room = whole - names
        self.setColumnWidth(0, names)
        for column in range(1, kinds + 1):
            head = self.horizontalHeader().sectionSizeHint(column)
            self.setColumnWidth(column, max(_NARROW, min(max(head, room // kinds), _WIDE)))
        self._widening = False

    def _resized(self, *_: object) -> None:
        self._own = self._own or not self._widening

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._widen()
        self.names.place(self)

    def scrollTo(self, index: Index, hint: QAbstractItemView.ScrollHint = _VISIBLE) -> None:
        """Not below the names, either."""
        super().scrollTo(index, hint)
        bar, left = self.horizontalScrollBar(), self.visualRect(index).left()
        if index.column() > 0 and left < self.columnWidth(0):
            bar.setValue(bar.value() + left - self.columnWidth(0))

    def go_to(self, ident: str) -> None:
        """Choose a cell, where it is shown."""
        if (index := self.cells.place_of(ident)).isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)

    @property
    def current(self) -> str:
        """The cell that is chosen."""
        at = self.currentIndex()
        return self.cells.ident(at.row(), at.column()) if at.isValid() else ""

    def _moved(self, *_: object) -> None:
        self.chosen.emit(self.current)

    def copy_line(self) -> None:
        """Copy the line of the cell that is chosen."""
        at = self.currentIndex()
        if at.isValid():
            texts = (self.cells.text(at.row(), n) for n in range(self.cells.columnCount()))
            QGuiApplication.clipboard().setText("\t".join(printable(text, 400) for text in texts))
