"""How lists are laid out; what says how long ago it was; texts to be read, copied and edited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from PySide6 import QtGui, QtWidgets
from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QLineEdit, QMenu, QTreeWidget, QTreeWidgetItem, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.idle import every
from torchkeeper.gui.widgets.plain import tip

Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
#: How a row becomes the current one without a change of what is selected. By itself Qt asks the
#: keyboard: while Ctrl is held, by which a page is gone to, it takes the row out of the selection.
KEEP = QItemSelectionModel.SelectionFlag.NoUpdate
#: What a heading has beside its text.
_AROUND = 36


#: A line of a menu: its icon, text and hint, and what it does; None where that is not possible.
Offer = tuple[str, str, str, Callable[[], object] | None]
Does = QtWidgets.QPushButton | QtGui.QAction


def choose(over: QWidget, offers: Iterable[Offer], at: QPoint | None = None) -> QMenu:
    """Open a menu below a button, or at a point of something else."""
    menu = QMenu(over)
    menu.setToolTipsVisible(True)
    menu.aboutToHide.connect(menu.deleteLater)
    for icon, text, hint, slot in offers:
        action = menu.addAction(theme.icon(icon), text)
        action.setToolTip(tip(hint))
        action.setStatusTip(hint)
        action.setEnabled(slot is not None)
        action.triggered.connect(lambda _=False, slot=slot: slot and slot())
    menu.popup(over.mapToGlobal(QPoint(0, over.height()) if at is None else at))
    return menu


def offer_buttons(view: QTreeWidget, *icons: tuple[Does, str]) -> None:
    """Give rows a menu of these actions, and of those of these buttons that are shown."""

    def opened(at: QPoint) -> None:
        offers = []
        for x, icon in icons if view.currentItem() else ():
            does = x.trigger if isinstance(x, QtGui.QAction) else x.click
            if isinstance(x, QtGui.QAction) or not x.isHidden():
                offers.append((icon, x.text(), x.toolTip(), does if x.isEnabled() else None))
        choose(view.viewport(), offers, at)

    view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    view.customContextMenuRequested.connect(opened)


class Table(QTreeWidget):
    """Rows without branches, all as high, under headings."""

    def __init__(self, name: str, headings: Sequence[str]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setHeaderLabels(list(headings))

    def items(self) -> list[QTreeWidgetItem]:
        """All rows, in order."""
        return items(self)


def columns(tree: QTreeWidget, widths: Sequence[int], wide: int) -> None:
    """Give columns their widths, or what headings need; ``wide`` takes the room that is left."""
    header = tree.header()
    header.setStretchLastSection(False)
    header.setSectionsMovable(False)
    header.setMinimumSectionSize(24)
    for column, width in enumerate(widths):
        if column == wide:
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        else:
            header.resizeSection(column, max(width, needed(tree, column)))


def needed(tree: QTreeWidget, column: int) -> int:
    """Pixels that the heading of a column needs."""
    text = tree.headerItem().text(column)
    return tree.header().fontMetrics().horizontalAdvance(text) + _AROUND


def right(tree: QTreeWidget, some: Iterable[int]) -> None:
    """Set the headings of columns of numbers to the right, where the numbers are."""
    for column in some:
        tree.headerItem().setTextAlignment(column, RIGHT)


def line(
    texts: Sequence[str], *, numbers: Iterable[int] = (), tips: Iterable[int] = ()
) -> QTreeWidgetItem:
    """A line of these texts. numbers: columns set to the right; tips: those whose texts, of which
    not all may be seen, are their tooltips, too.
    """
    made = QTreeWidgetItem(list(texts))
    for column in numbers:
        made.setTextAlignment(column, RIGHT)
    for column in tips:
        made.setToolTip(column, tip(texts[column]))
    return made


def items(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    """The lines of a tree that are in no other."""
    tops = (tree.topLevelItem(row) for row in range(tree.topLevelItemCount()))
    return [top for top in tops if top is not None]


#: Characters of a name that are seen before anything stands beside it; and of what does, at most:
#: what is longer is cut.
_NAME, _BESIDE = 28, 32
#: Pixels between what is in a column and the next.
_BETWEEN = 12


class Fitted(QTreeWidget):
    """A list with columns as wide as their content; some are left away before names are cut."""

    def __init__(self, name: int, leaves: Sequence[int]) -> None:
        """name: the column of the names; leaves: those that are left away, the first first."""
        super().__init__()
        self._name, self._leaves = name, leaves
        self._never: Collection[int] = ()
        self._fitting = False
        #: The widths that the user gave to columns.
        self._own: dict[int, int] = {}
        self.header().sectionResized.connect(self._resized)

    def head(self, labels: Sequence[str], numbers: Collection[int], never: Collection[int]) -> None:
        """Have these headings, some of them at the right; ``never``: those that are not shown."""
        self._fitting = True
        self._never = never
        self.setHeaderLabels(labels)
        right(self, numbers)
        columns(self, (0,) * len(labels), self._name)
        for column in never:
            self.setColumnHidden(column, True)
        self._fitting = False

    def fit(self) -> None:
        """Give the columns their widths by what is in them now."""
        if self._fitting:
            return
        self._fitting = True
        others = [column for column in range(self.columnCount())
                  if column != self._name and column not in self._never]  # fmt: skip
        widths = {column: self._wanted(column) for column in others}
        name = max(self.sizeHintForColumn(self._name), needed(self, self._name))
        least = min(name, self.fontMetrics().averageCharWidth() * _NAME)
        room = self.viewport().width() - sum(widths.values())
        for column in self._leaves:
            gone = room < least
            self.setColumnHidden(column, gone)
            room += widths[column] if gone else 0
        for column, width in widths.items():
            if not self.isColumnHidden(column):
                self.header().resizeSection(column, width)
        self._fitting = False

    def _wanted(self, column: int) -> int:
        content = self.sizeHintForColumn(column) + _BETWEEN
        content = min(content, self.fontMetrics().averageCharWidth() * _BESIDE)
        return self._own.get(column) or max(content, needed(self, column))

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._fitting and width and column != self._name:
            self._own[column] = width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.fit()


#: Milliseconds until what says how long ago something was says it anew.
_ANEW_MS = 20_000


def keep_up(widget: QWidget, say: Callable[[], object]) -> None:
    """Call ``say`` every now and then, as long as there is a widget and it is seen."""

    def anew() -> None:
        if widget.isVisible():
            say()

    timer = every(widget, anew, _ANEW_MS)
    timer.setObjectName("aging")
    timer.start()


class _Numbers(QWidget):
    def __init__(self, edit: NumberedEdit) -> None:
        super().__init__(edit)
        self._edit = edit

    def sizeHint(self) -> QSize:
        return QSize(self._edit.numbers_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._edit.paint_numbers(painter, event.rect())


class NumberedEdit(QtWidgets.QPlainTextEdit):
    """Whoever inherits it gives it its font, and calls ``place_numbers`` when that has changed."""

    #: Pixels beside the digits.
    beside = 20

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        #: Lines, counted from 1, that something is wrong with.
        self.marked: Collection[int] = ()
        self.numbers = _Numbers(self)
        self.blockCountChanged.connect(lambda *_: self.place_numbers())
        self.updateRequest.connect(self._scrolled)

    def numbers_width(self) -> int:
        """Pixels for the widest number, and what is beside it."""
        digits = max(3, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("0") * digits + self.beside

    def place_numbers(self) -> None:
        """Give the numbers the room that they need now."""
        width = self.numbers_width()
        self.setViewportMargins(width, 0, 0, 0)
        inner = self.contentsRect()
        # They end where the text does: what is below is the scroll bar's.
        self.numbers.setGeometry(inner.left(), inner.top(), width, self.viewport().height())
        self.numbers.update()

    def _scrolled(self, _: QRect, by: int) -> None:
        if by:
            self.numbers.scroll(0, by)
        else:
            self.numbers.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.place_numbers()

    def is_numbered(self) -> bool:
        return True

    def paint_numbers(self, painter: QPainter, where: QRect) -> None:
        """Draw the numbers of the lines that are in sight."""
        shades, width = theme.shades(), self.numbers.width()
        painter.fillRect(where, QColor(shades.raised))
        painter.setPen(QColor(shades.line))
        painter.drawLine(width - 1, where.top(), width - 1, where.bottom())
        if not self.is_numbered():
            return
        painter.setFont(self.font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        block = self.firstVisibleBlock()
        height = self.fontMetrics().height()
        while block.isValid():
            box = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if box.top() > where.bottom():
                return
            if block.isVisible() and box.bottom() >= where.top():
                number, top = block.blockNumber() + 1, round(box.top())
                marked = number in self.marked
                if marked:
                    painter.setBrush(QColor(shades.warning))
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.drawEllipse(6, top + height // 2 - 3, 7, 7)
                painter.setPen(QColor(shades.warning if marked else shades.muted))
                at = QRect(0, top, width - 10, height)
                painter.drawText(at, Qt.AlignmentFlag.AlignRight, str(number))
            block = block.next()


class EditingDelegate(QtWidgets.QStyledItemDelegate):
    """Keeps what somebody types: Qt shows the model's value anew with any change of the line."""

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        if not (isinstance(editor, QLineEdit) and editor.isModified()):
            super().setEditorData(editor, index)


_KEYPAD, _ARROWS = Qt.KeyboardModifier.KeypadModifier, (Qt.Key.Key_Up, Qt.Key.Key_Down)
_MOVING = *_ARROWS, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown


class FirstKey(QObject):
    """The first arrow key selects a row, in whichever list: Qt makes the first row the current one
    unseen, and goes on from there; where there is no other it does nothing.
    """

    def __init__(self, application: QtWidgets.QApplication) -> None:
        super().__init__(application)
        application.focusChanged.connect(self._attend)

    def _attend(self, *_: object) -> None:
        # Not what the signal hands over: see forms.Scrolled.
        now = QtWidgets.QApplication.focusWidget()
        if isinstance(now, QtWidgets.QAbstractItemView):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        if event.key() not in _MOVING or event.modifiers() & ~_KEYPAD:
            return False
        assert isinstance(watched, QtWidgets.QAbstractItemView)
        selection, at = watched.selectionModel(), watched.currentIndex()
        first = watched.model().index(0, 0)
        if event.key() == Qt.Key.Key_Home and first.isValid() and not first.flags():
            # The first row is a heading, which Qt does not choose.
            watched.setCurrentIndex(first.siblingAtRow(1))
            return True
        if not Qt.ItemFlag.ItemIsSelectable & at.flags() or selection.hasSelection():
            return False
        if event.key() not in _ARROWS:
            watched.event(event)
        if not selection.hasSelection():
            watched.setCurrentIndex(watched.currentIndex())
        return True


class CopyKey(QObject):
    """While a widget has the keyboard, Copy is the widget's, not the window's."""

    def __init__(self, widget: QWidget, copy: Callable[[], object]) -> None:
        super().__init__(widget)
        self._copy = copy
        widget.installEventFilter(self)

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        if not (isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)):
            return False
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() == QEvent.Type.KeyPress:
            self._copy()
            return True
        return False
