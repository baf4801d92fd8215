"""The table of entries: its view, how cells are painted, and what stands in for an empty one."""

from __future__ import annotations

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui import forms, icons, theme
from torchkeeper.gui.entries import (
    COMPILE,
    DEVICE,
    FILES,
    KEY,
    KIND,
    MTIME,
    NAME,
    SIZE,
    TORCH,
    EntriesModel,
    EntryRole,
)

WIDTHS = {
    KIND: 128,
    NAME: 260,
    KEY: 128,
    SIZE: 92,
    FILES: 68,
    MTIME: 108,
    TORCH: 108,
    DEVICE: 76,
    COMPILE: 116,
}
_ROW_HEIGHT = 30


class EntryDelegate(QStyledItemDelegate):
    """Paints a cell: a coloured mark before the kind, keys in a fixed-width font."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        # The row is selected, not the cell: no frame around the current cell.
        option.state &= ~QStyle.StateFlag.State_HasFocus
        option.textElideMode = Qt.TextElideMode.ElideRight
        if index.column() == KEY:
            option.font = theme.monospace()
            option.textElideMode = Qt.TextElideMode.ElideMiddle
        if index.column() not in (KIND, NAME):
            muted = QColor(theme.shades().muted)
            selected = option.state & QStyle.StateFlag.State_Selected
            if not selected:
                option.palette.setColor(QPalette.ColorRole.Text, muted)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        entry = index.data(EntryRole)
        mark = isinstance(entry, Entry) and (index.column() == KIND or _broken(entry, index))
        if not mark:
            super().paint(painter, option, index)
            return
        inner = QStyleOptionViewItem(option)
        self.initStyleOption(inner, index)
        style = inner.widget.style()
        text = inner.text
        inner.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, inner, painter, inner.widget)
        box: QRect = option.rect
        self._mark(painter, box, entry, index.column())
        painter.save()
        painter.setPen(QColor(theme.shades().text))
        words = box.adjusted(28, 0, -8, -1)
        shown = inner.fontMetrics.elidedText(text, Qt.TextElideMode.ElideRight, words.width())
        painter.setFont(inner.font)
        painter.drawText(words, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()

    def _mark(self, painter: QPainter, box: QRect, entry: Entry, column: int) -> None:
        shades = theme.shades()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if column == KIND:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(shades.kinds.get(entry.kind, shades.muted)))
            painter.drawRoundedRect(box.left() + 10, box.center().y() - 4, 10, 10, 3, 3)
        else:
            drawn = icons.pixmap("warning", 16, shades.error, painter.device().devicePixelRatio())
            painter.drawPixmap(box.left() + 6, box.center().y() - 7, drawn)
        painter.restore()

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        hint = super().sizeHint(option, index)
        return QSize(hint.width() + (28 if index.column() == KIND else 8), _ROW_HEIGHT)


def _broken(entry: Entry, index: QModelIndex | QPersistentModelIndex) -> bool:
    return index.column() == NAME and entry.problem is not None


class EntryTable(QTableView):
    """The entries. Selection and scroll position survive what the model tells as a reset."""

    selection_changed = Signal()
    #: The selected rows are being dragged; the button was let go of, or Escape pressed.
    dragged = Signal()
    let_go = Signal()

    def __init__(self, model: EntriesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("entries")
        self.setAccessibleName(self.tr("Entries of the place"))
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
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        self.setItemDelegate(EntryDelegate(self))
        self._model = model
        self.setModel(model)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        # A selection of its own, always empty: with the table's, every repaint of the header
        # asks row by row whether whole columns are selected (seconds at 200,000 rows).
        header.setSelectionModel(QItemSelectionModel(model, header))
        header.setAccessibleName(self.tr("Columns of the table of entries"))
        header.setMinimumSectionSize(48)
        for column, width in WIDTHS.items():
            header.resizeSection(column, width)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self.setSortingEnabled(True)
        self.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
        self._kept: tuple[set[tuple[str, str]], tuple[str, str] | None, int] | None = None
        model.modelAboutToBeReset.connect(self._remember)
        model.modelReset.connect(self._recall)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self._dragging = False
        #: Where the button was pressed on a selected row, until that has become a drag.
        self._pressed: QPoint | None = None
        self._anchors: list[tuple[tuple[str, str], int]] = []
        model.merging.connect(self._anchor)
        model.merged.connect(self._hold)
        self.selectionModel().selectionChanged.connect(lambda *_: self.selection_changed.emit())
        theme.follow(self, self._repaint, now=False)

    def _repaint(self) -> None:
        self.viewport().update()

    def selected(self) -> list[Entry]:
        """The entries that are selected, in the order of the table."""
        rows: set[int] = set()
        selection = self.selectionModel().selection()
        for piece in (selection.at(number) for number in range(selection.count())):
            rows.update(range(piece.top(), piece.bottom() + 1))
        return [self._model.entry_at(row) for row in sorted(rows)]

    def select(self, identities: set[tuple[str, str]]) -> None:
        """Select these entries and no others."""
        selection = self.selectionModel()
        selection.clearSelection()
        selection.select(self._ranges(identities), selection.SelectionFlag.Select)

    def _ranges(self, identities: set[tuple[str, str]]) -> QItemSelection:
        found = QItemSelection()
        last = self._model.columnCount() - 1
        start = previous = -2
        for row in [*self._model.rows_of(identities), -2]:
            if row != previous + 1:
                if start >= 0:
                    found.append(
                        QItemSelectionRange(
                            self._model.index(start, 0), self._model.index(previous, last)
                        )
                    )
                start = row
            previous = row
        return found

    def _remember(self) -> None:
        current = self.currentIndex()
        self._kept = (
            {entry.identity for entry in self.selected()},
            self._model.entry_at(current.row()).identity if current.isValid() else None,
            self.verticalScrollBar().value(),
        )

    def _recall(self) -> None:
        if self._kept is None:
            return
        identities, current, scroll = self._kept
        self._kept = None
        rows = self._model.rows_of({current}) if current else []
        selection = self.selectionModel()
        if rows:
            selection.setCurrentIndex(
                self._model.index(rows[0], 0), selection.SelectionFlag.NoUpdate
            )
        if identities:
            selection.select(self._ranges(identities), selection.SelectionFlag.Select)
        self.verticalScrollBar().setValue(scroll)
        self.selection_changed.emit()

    def _anchor(self) -> None:
        """Note where the rows that can be seen are, the current one first."""
        self._anchors = []
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        if first < 0:
            return
        seen = list(range(first, (last if last >= 0 else self._model.rowCount() - 1) + 1))
        current = self.currentIndex().row()
        if current in seen:
            seen.insert(0, current)
        elif not self.verticalScrollBar().value():
            return  # at the top one sees what comes in at the top
        self._anchors = [
            (self._model.entry_at(row).identity, self.rowViewportPosition(row)) for row in seen
        ]

    def _hold(self) -> None:
        """Scroll so that the first of those rows that is left is where it was."""
        for identity, y in self._anchors:
            rows = self._model.rows_of({identity})
            if rows:
                self.updateGeometries()
                self.verticalScrollBar().setValue(rows[0] * _ROW_HEIGHT - y)
                break
        self._anchors = []

    def end_drag(self) -> None:
        """The drag is over, so that another may begin."""
        self._dragging = False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        at = event.position().toPoint()
        left = event.button() == Qt.MouseButton.LeftButton
        # With the button held on a selected row, what follows is a drag.
        held = left and self.selectionModel().isSelected(self.indexAt(at))
        self._pressed = at if held else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # Before it begins a drag, Qt asks every selected cell whether it can be dragged: half a
        # second at 10,000 rows. Moves after that it takes for the choosing of rows.
        if self._pressed is None and not self._dragging:
            super().mouseMoveEvent(event)
        elif self._pressed is not None and not self._dragging:
            way = (event.position().toPoint() - self._pressed).manhattanLength()
            if way >= QApplication.startDragDistance():
                self._pressed = None
                self._dragging = True
                self.dragged.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self._pressed = None
        if self._dragging:
            self.end_drag()
            self.let_go.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._dragging and event.key() == Qt.Key.Key_Escape:
            self.let_go.emit()
            return
        # Home and End go to the first and last row, not to the first and last column.
        rows = self._model.rowCount()
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if rows and plain and event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.selectRow(0 if event.key() == Qt.Key.Key_Home else rows - 1)
            return
        super().keyPressEvent(event)


class EmptyState(QWidget):
    """What is shown instead of an empty table: what it is for, and what to do."""

    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = ""
        self.picture = forms.label("")
        self.title = forms.label("", "title", wrap=True)
        self.text = forms.label("", "muted", wrap=True)
        self.button = forms.button("", primary=True)
        self.button.clicked.connect(lambda: self.asked.emit(self._action))
        for label in (self.picture, self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        # A wrapped label gets its height from its width only where nothing aligns it.
        self.text.setFixedWidth(480)
        centred = forms.row(gap=0)
        centred.addStretch(1)
        centred.addWidget(self.text)
        centred.addStretch(1)
        middle = forms.column(gap=12, margin=24)
        middle.addStretch(2)
        middle.addWidget(self.picture, 0, Qt.AlignmentFlag.AlignHCenter)
        middle.addWidget(self.title)
        middle.addLayout(centred)
        middle.addSpacing(4)
        middle.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        middle.addStretch(3)
        self.setLayout(middle)
        self._icon = "box"
        theme.follow(self, self._paint)

    def say(self, icon: str, title: str, text: str, button: str = "", action: str = "") -> None:
        """What to show; ``action`` is the id of the action behind the button."""
        self._icon, self._action = icon, action
        self.title.setText(title)
        self.text.setText(text)
        self.button.setText(button)
        self.button.setAccessibleName(button)
        self.button.setVisible(bool(button))
        self._paint()

    def _paint(self) -> None:
        scale = self.devicePixelRatioF()
        self.picture.setPixmap(icons.pixmap(self._icon, 56, theme.shades().muted, scale))
