"""The table of entries: its view, which also shows the headings of groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QAbstractItemView as View
from PySide6.QtWidgets import QApplication, QTableView, QWidget

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui import theme
from torchkeeper.gui.table import delegate
from torchkeeper.gui.table.chosen import Chosen
from torchkeeper.gui.table.delegate import ROW_HEIGHT, EntryDelegate, Header, NameColumn
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import Group
from torchkeeper.gui.table.lines import Line
from torchkeeper.gui.table.rows import EXPIRES, MTIME, SERVERS, SIZE, USED, Row, cell_text
from torchkeeper.gui.widgets import lists

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex
    from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent

#: Whose texts change with the time that passes.
_PASSING = (MTIME, EXPIRES, USED)
_FLAGS = QItemSelectionModel.SelectionFlag
_NO_KEY = Qt.KeyboardModifier.NoModifier


class EntryTable(QTableView):
    """The entries. Selection and scroll position survive what the model tells as a reset."""

    selection_changed = Signal()
    #: The selected rows are being dragged; the pointer is there on the screen meanwhile; the button
    #: was let go of; Escape was pressed.
    dragged = Signal()
    drag_moved = Signal(QPoint)
    let_go = Signal()
    given_up = Signal()

    def __init__(self, model: EntriesModel) -> None:
        super().__init__()
        # Asked for a viewport that Qt has made, PySide makes every type of widget there is, to see
        # which one it may be: 8 ms before the first rows.
        self.setViewport(QWidget())
        self.setObjectName("entries")
        self.setAccessibleName(self.tr("Entries of the place"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.entries = model
        self._delegate = EntryDelegate(self, model)
        self.setItemDelegate(self._delegate)
        header = Header(self)
        self.setHorizontalHeader(header)
        delegate.as_rows(self, ROW_HEIGHT)
        self.setModel(model)
        # A selection of its own, always empty: with the table's, every repaint of the header
        # asks row by row whether whole columns are selected (seconds at 200,000 rows).
        header.setSelectionModel(QItemSelectionModel(model, header))
        header.setAccessibleName(self.tr("Columns of the table of entries"))
        for column, width in delegate.first_widths().items():
            header.resizeSection(column, width)
        for column in SERVERS:
            header.hideSection(column)
        self.name = NameColumn(self)
        self.setSortingEnabled(True)
        self.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
        #: What is selected, which may be a million entries; where it is not known yet,
        #: ``selection_changed`` follows.
        self.chosen = Chosen(self.selected_lines, self)
        self.chosen.told.connect(self.selection_changed)
        for changed in (self.selectionModel().selectionChanged, model.modelReset, model.changed,
                        model.layoutChanged, model.rowsInserted, model.rowsRemoved,
                        model.dataChanged):  # fmt: skip
            changed.connect(self.chosen.forget)
        self._kept: tuple[set[Line], Line | None, int, int] | None = None
        model.modelAboutToBeReset.connect(self._remember)
        model.modelReset.connect(self._recall)
        self.setDragEnabled(True)
        self.setDragDropMode(View.DragDropMode.DragOnly)
        self._dragging = False
        #: Where the button was pressed on a selected row, until that has become a drag.
        self._pressed: QPoint | None = None
        self._painted: tuple[tuple[object, ...], QPixmap] | None = None
        self._anchors: list[tuple[Line, int]] = []
        model.merging.connect(self._anchor)
        model.merged.connect(self._hold)
        self.selectionModel().selectionChanged.connect(lambda *_: self.selection_changed.emit())
        theme.follow(self, self._repaint, now=False)
        lists.keep_up(self, self._repaint)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.name.fit()
        super().resizeEvent(event)
        at, lower = self.currentIndex(), event.size().height()
        if at.isValid() and event.oldSize().height() > lower:
            # The inspector opens below it, for what was just selected: that stays in sight.
            end = self.rowViewportPosition(at.row()) + ROW_HEIGHT
            if lower < end <= event.oldSize().height() + ROW_HEIGHT - 1:
                self.scrollTo(at)

    def _repaint(self) -> None:
        self.viewport().update()

    def selected(self, most: int | None = None) -> list[Entry]:
        """The entries that are selected, in the order of the table; the first ``most`` of them."""
        if most is None:
            return self.chosen.entries()
        return [line.entry for line in self.selected_lines(most) if isinstance(line, Row)][:most]

    def selected_lines(self, most: int | None = None) -> list[Line]:
        """What lies in the selected ranges; headings may lie between entries."""
        selection = self.selectionModel().selection()
        parts = (selection.at(number) for number in range(selection.count()))
        lines, found, at = self.entries.lines, list[Line](), 0
        for first, last in sorted((part.top(), part.bottom()) for part in parts):
            if most is not None:
                last = min(last, first + 2 * most)  # headings are fewer than entries
            found += lines[max(first, at) : last + 1]
            at = max(at, last + 1)
            if most is not None and len(found) >= 2 * most:
                break
        return found

    def select(self, identities: set[tuple[str, str]]) -> None:
        selection = self.selectionModel()
        selection.clearSelection()
        selection.select(self._ranges(self.entries.rows_of(identities)), _FLAGS.Select)

    def select_groups(self, groups: Iterable[Group]) -> None:
        """Select all entries under these headings, which are not collapsed, and no others."""
        found, last = QItemSelection(), self.entries.columnCount() - 1
        wanted = {group: len(group.rows) for group in groups}
        for line, at in self.entries.where(set(wanted)).items():
            if isinstance(line, Group) and not line.collapsed and wanted[line]:
                end = self.entries.index(at + wanted[line], last)
                found.select(self.entries.index(at + 1, 0), end)
        self.selectionModel().select(found, _FLAGS.ClearAndSelect)

    def _ranges(self, rows: Iterable[int]) -> QItemSelection:
        found = QItemSelection()
        last = self.entries.columnCount() - 1
        start = previous = -2
        for row in [*rows, -2]:
            if row != previous + 1:
                if start >= 0:
                    found.select(self.entries.index(start, 0), self.entries.index(previous, last))
                start = row
            previous = row
        return found

    def selectAll(self) -> None:
        found, last = QItemSelection(), self.entries.columnCount() - 1
        for first, count in self.entries.stretches():
            found.select(self.entries.index(first, 0), self.entries.index(first + count - 1, last))
        self.selectionModel().select(found, _FLAGS.Select)

    def select_rows(self, rows: Iterable[int]) -> None:
        """Select these rows, which are in order, and no others."""
        self.selectionModel().select(self._ranges(rows), _FLAGS.ClearAndSelect)

    def go_to_top(self) -> None:
        """Scroll to the top, or to what is selected: other rows are shown than before."""
        at, chosen = self.currentIndex(), self.selectionModel()
        # What came before may have stood anywhere.
        self.updateGeometries()
        if not chosen.hasSelection():
            self.scrollToTop()
            return
        if not chosen.isSelected(at):
            at = self.entries.index(chosen.selection().at(0).top(), 0)
        self.scrollTo(at, View.ScrollHint.PositionAtCenter)

    def _remember(self) -> None:
        current = self.currentIndex()
        self._kept = (
            {line for line in self.selected_lines() if isinstance(line, Row)},
            self.entries.lines[current.row()] if current.isValid() else None,
            current.row(),
            self.verticalScrollBar().value(),
        )

    def _recall(self) -> None:
        if self._kept is None:
            return
        lines, current, row, scroll = self._kept
        self._kept = None
        selection = self.selectionModel()
        if current is not None and (last := self.entries.rowCount() - 1) >= 0:
            # Where it is gone, keys go on at what has taken its place.
            at = self.entries.where({current}).get(current, min(row, last))
            selection.setCurrentIndex(self.entries.index(at, 0), selection.SelectionFlag.NoUpdate)
        if lines:
            rows = sorted(self.entries.where(lines).values())
            selection.select(self._ranges(rows), _FLAGS.Select)
        self.verticalScrollBar().setValue(scroll)
        self.selection_changed.emit()

    def _anchor(self) -> None:
        """Note where the lines that can be seen are, the current one first."""
        self._anchors = []
        seen, current = list(self.seen_lines()), self.currentIndex().row()
        if not seen:
            return
        if current in seen:
            seen.insert(0, current)
        elif not self.verticalScrollBar().value():
            return  # at the top one sees what comes in at the top
        self._anchors = [(self.entries.lines[row], self.rowViewportPosition(row)) for row in seen]

    def _hold(self) -> None:
        """Scroll so that the first of those lines that is left is where it was."""
        for line, y in self._anchors:
            if (row := self.entries.where({line}).get(line)) is not None:
                self.updateGeometries()
                self.verticalScrollBar().setValue(row * ROW_HEIGHT - y)
                break
        self._anchors = []

    def _group_at(self, index: QModelIndex | QPersistentModelIndex) -> Group | None:
        line = self.entries.lines[index.row()] if index.isValid() else None
        return line if isinstance(line, Group) else None

    def _heading_under(self, y: int) -> Group | None:
        """The group whose heading is at a height of the viewport: its own, or the one on top."""
        top = self._on_top()
        if top is not None and y < top[1] + ROW_HEIGHT:
            return top[0]
        row = self.rowAt(y)
        return self._group_at(self.entries.index(row, 0)) if row >= 0 else None

    def _on_top(self) -> tuple[Group, int] | None:
        """The group whose heading stays at the top while its rows are seen, and its y."""
        row, lines = self.rowAt(0), self.entries.lines
        if not 0 <= row < len(lines) or self.entries.grouping == "none":
            return None
        line = lines[row]
        group = self.entries.group_of(line) if isinstance(line, Row) else line
        if group is None or (group is line and not self.rowViewportPosition(row)):
            return None
        pushed = row + 1 < len(lines) and isinstance(lines[row + 1], Group)
        return group, self.rowViewportPosition(row + 1) - ROW_HEIGHT if pushed else 0

    def toggle(self, group: Group, collapsed: bool | None = None) -> None:
        """Hide or show what is under a heading, and go to the heading."""
        collapsed = not group.collapsed if collapsed is None else collapsed
        self._go_to(group)
        if collapsed != group.collapsed:
            self.entries.collapse([group], collapsed)

    def go_to_row(self, row: int) -> None:
        """Make a row the current one, and select it where it is an entry's."""
        index = self.entries.index(row, 0)
        group = self._group_at(index)
        if group is not None:
            self._go_to(group)
            return
        # Left to itself, Qt asks the keyboard: while Ctrl is held, by which a page is gone to, a
        # row that is to be chosen would be taken out of the selection.
        self.selectionModel().setCurrentIndex(index, _FLAGS.ClearAndSelect | _FLAGS.Rows)
        self.scrollTo(index)

    def _go_to(self, group: Group) -> None:
        """Make a heading the current line; the selection stays."""
        index = self.entries.index(self.entries.where({group})[group], 0)
        self.selectionModel().setCurrentIndex(index, _FLAGS.NoUpdate)
        self.scrollTo(index)

    def selectionCommand(
        self, index: QModelIndex | QPersistentModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        # Going over a heading leaves the selection as it is.
        if self._group_at(index) is not None:
            return _FLAGS.NoUpdate
        return super().selectionCommand(index, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        viewport = self.viewport()
        if event.rect() != viewport.rect():
            with QPainter(viewport) as painter:
                painter.setClipRect(event.rect())
                self._paint(painter, event.rect())
            return
        # Rows that arrive below what is seen have Qt repaint all of it.
        state = self._state()
        if self._painted is None or state != self._painted[0]:
            picture = self._canvas()
            with QPainter(picture) as painter:
                self._paint(painter, viewport.rect())
            self._painted = (state, picture)
        with QPainter(viewport) as painter:
            painter.drawPixmap(0, 0, self._painted[1])

    def _canvas(self) -> QPixmap:
        """The last picture again, if it is as large: a new one takes 10 ms to be had."""
        scale = self.devicePixelRatioF()
        size = self.viewport().size() * scale
        if self._painted is not None:
            picture = self._painted[1]
            self._painted = None  # no state is that of a half of it
            if picture.size() == size and picture.devicePixelRatio() == scale:
                return picture
        picture = QPixmap(size)
        picture.setDevicePixelRatio(scale)
        return picture

    def seen_lines(self, box: QRect | None = None) -> range:
        """The lines that are on the screen, or in a box of it, headings among them."""
        box = self.viewport().rect() if box is None else box
        first, last = self.rowAt(box.top()), self.rowAt(box.bottom())
        rows = len(self.entries.lines)
        return range(first, (last if last >= 0 else rows - 1) + 1) if first >= 0 else range(0)

    def seen(self) -> list[Entry]:
        """The entries that are on the screen, from the top."""
        rows = self.seen_lines()
        lines = self.entries.lines[rows.start : rows.stop]
        return [line.entry for line in lines if isinstance(line, Row)]

    def _columns(self) -> list[tuple[int, int, int]]:
        header = self.horizontalHeader()
        order = map(header.logicalIndex, range(header.count()))
        shown = (column for column in order if not header.isSectionHidden(column))
        return [(n, self.columnViewportPosition(n), self.columnWidth(n)) for n in shown]

    def _state(self) -> tuple[object, ...]:
        seen = self.seen_lines()
        lines, chosen = self.entries.lines[seen.start : seen.stop], self.selectionModel()
        root = self.rootIndex()
        entries = [line.entry for line in lines if isinstance(line, Row)]
        return (
            seen,
            [line if isinstance(line, Row) else (line, line.spoken) for line in lines],
            [(id(one), *(cell_text(one, column) for column in _PASSING)) for one in entries],
            # Each of these asks the model, row by row, also where nothing is selected.
            chosen.hasSelection() and [chosen.isRowSelected(row, root) for row in seen],
            self.currentIndex().row(),
            (self.hasFocus(), self.isActiveWindow(), self.isEnabled()),
            (self.viewport().size(), self.verticalOffset(), self._columns()),
            (theme.shades(), self.devicePixelRatioF()),
        )

    def _paint(self, painter: QPainter, box: QRect) -> None:
        palette, width, columns = self.palette(), self.viewport().width(), self._columns()
        # Not fillRect: among what that may be called with, PySide first makes QGradient's presets.
        painter.setBackground(palette.brush(QPalette.ColorRole.Base))
        painter.eraseRect(box)
        chosen, root = self.selectionModel(), self.rootIndex()
        any_chosen = chosen.hasSelection()
        current = self.currentIndex().row() if self.hasFocus() else -1
        active = self.isActiveWindow()
        group = QPalette.ColorGroup.Active if active else QPalette.ColorGroup.Inactive
        selected_ground = palette.brush(group, QPalette.ColorRole.Highlight)
        odd_ground = palette.brush(QPalette.ColorRole.AlternateBase)
        right = columns[-1][1] + columns[-1][2] if columns else 0
        for row in self.seen_lines(box):
            line, top = self.entries.lines[row], self.rowViewportPosition(row)
            if isinstance(line, Group):
                where = QRect(0, top, width, ROW_HEIGHT)
                self._delegate.paint_heading(painter, where, line, row == current)
                continue
            selected = any_chosen and chosen.isRowSelected(row, root)
            if selected or row % 2:
                painter.setBackground(selected_ground if selected else odd_ground)
                painter.eraseRect(0, top, right, ROW_HEIGHT)
            self._delegate.paint_row(painter, line, top, columns, selected)
        if (top_heading := self._on_top()) is not None:
            heading, y = top_heading
            focus = current >= 0 and self.entries.where({heading}).get(heading) == current
            self._delegate.paint_heading(painter, QRect(0, y, width, ROW_HEIGHT), heading, focus)
        self._paint_focus(painter, current, any_chosen)

    def _paint_focus(self, painter: QPainter, current: int, any_chosen: bool) -> None:
        """Show that the keyboard is here: around its row, or around all where none is selected."""
        # A table in a dialog has a frame of its own, which shows it.
        if not self.hasFocus() or (self.frameWidth() > 0 and not any_chosen):
            return
        box = self.viewport().rect()
        if any_chosen:
            row = self.entries.lines[current] if 0 <= current < len(self.entries.lines) else None
            if not isinstance(row, Row):
                return
            box = QRect(0, self.rowViewportPosition(current), box.width(), ROW_HEIGHT)
        self._delegate.paint_focus(painter, box)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if self.entries.grouping != "none":
            # What stays at the top was moved along; headings do not move sideways.
            self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        left = event.button() == Qt.MouseButton.LeftButton
        group = self._heading_under(at.y())
        self._pressed = None
        if group is not None:
            if left:
                self.toggle(group)
            elif event.button() == Qt.MouseButton.RightButton:
                # The menu that follows is about all that is under the heading.
                self.toggle(group, collapsed=False)
                self.select_groups([group])
            return
        # Held on what was selected before, the pointer drags that; on another row it selects.
        index = self.indexAt(at)
        was = left and self.selectionModel().isSelected(index)
        self.setDragEnabled(was)
        super().mousePressEvent(event)
        self._pressed = at if was and self.selectionModel().isSelected(index) else None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # Two quick clicks on a heading are two clicks.
        if self._heading_under(int(event.position().y())) is not None:
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    def _group_key(self, key: int) -> bool:
        """Whether a key was about groups: Left and Right, and on a heading Enter and Space."""
        index = self.currentIndex()
        if (group := self._group_at(index)) is None:
            line = self.entries.lines[index.row()] if index.isValid() else None
            of = self.entries.group_of(line) if isinstance(line, Row) else None
            if key != Qt.Key.Key_Left or of is None or not of.headed:
                return False
            self._go_to(of)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.toggle(group, key == Qt.Key.Key_Left)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.toggle(group)
        else:
            return False
        return True

    def end_drag(self) -> None:
        """The drag is over, so that another may begin."""
        self._dragging = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # Before it begins a drag, Qt asks every selected cell whether it can be dragged: half a
        # second at 10,000 rows. Moves after that it takes for the choosing of rows.
        if self._pressed is not None and not self._dragging:
            way = (event.position().toPoint() - self._pressed).manhattanLength()
            if way >= QApplication.startDragDistance():
                self._pressed = None
                self._dragging = True
                self.dragged.emit()
        elif not self._dragging:
            super().mouseMoveEvent(event)
        if self._dragging:
            self.drag_moved.emit(event.globalPosition().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self._pressed = None
        if self._dragging:
            self.end_drag()
            self.let_go.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._dragging and event.key() == Qt.Key.Key_Escape:
            self.given_up.emit()
            return
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == _NO_KEY
        if plain and self._group_key(event.key()):
            return
        # Home and End go to the first and last row, not to the first and last column.
        rows = self.entries.rowCount()
        if rows and plain and event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.go_to_row(0 if event.key() == Qt.Key.Key_Home else rows - 1)
            return
        super().keyPressEvent(event)
