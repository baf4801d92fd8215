"""The parts of an overview as a list, beside the map of the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from torchkeeper.gui.pages.overview import parts as words
from torchkeeper.gui.widgets import trees
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.link.overviewing import Part
from torchkeeper.link.words import say

_NAME, _SIZE, _ENTRIES, _COMPILE, _USABLE = range(5)
_VALUE = Qt.ItemDataRole.UserRole
#: Pixels for all columns, and for all but one.
_ALL, _MOST_OF = 440, 350
#: Pixels around the text of a cell, and what is needed for a name after its folder.
_AROUND, _LEAST = 16, 24
#: So many are listed; nobody reads more, and the map has them all.
MOST = 500


class _Names(QStyledItemDelegate):
    """Where there is no room for all of the name of a place, its folder stays whole: it tells
    places apart of which all are called alike.
    """

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        folder, slash, name = option.text.partition("/")
        metrics = option.fontMetrics
        room = option.rect.width() - _AROUND - metrics.horizontalAdvance(folder + slash)
        if slash and _LEAST < room < metrics.horizontalAdvance(name):
            middle = Qt.TextElideMode.ElideMiddle
            option.text = f"{folder}/{metrics.elidedText(name, middle, room)}"


class PartList(QTreeWidget):
    """The parts, the largest first. What is selected here is told like in the map."""

    #: The values that are selected now, by the user.
    chosen = Signal(list)
    #: A value that is to be gone into: a double click, or Enter.
    opened = Signal(str)
    #: Out of what was gone into last: Backspace.
    up = Signal()
    #: A menu for the current part, at a point of the viewport.
    menu_asked = Signal(QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("The parts, as a list"))
        # The theme draws a ring around the list that has the focus.
        self.setObjectName("parts")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHeaderLabels([self.tr("Name"), self.tr("Content"), self.tr("Entries"),
                              self.tr("Compiling"), self.tr("Usable")])  # fmt: skip
        trees.columns(self, (0, 76, 72, 88, 68), _NAME)
        trees.right(self, range(_SIZE, _USABLE + 1))
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setItemDelegateForColumn(_NAME, _Names(self))
        self.itemSelectionChanged.connect(lambda: self.chosen.emit(self.selected()))
        self.itemActivated.connect(lambda item, _: self.opened.emit(str(item.data(0, _VALUE))))

    def show_parts(
        self, dimension: str, some: Sequence[Part], titles: Callable[[str], str]
    ) -> None:
        """List these; what was selected and still is there stays so."""
        kept = set(self.selected())
        self.blockSignals(True)
        self.clear()
        ordered = sorted(some, key=lambda part: -part.totals.bytes)[:MOST]
        for value, totals in ordered:
            item = QTreeWidgetItem(
                [words.value_words(dimension, value, titles), say.size(totals.bytes),
                 f"{totals.entries:,}", words.compile_words(totals), words.usable_words(totals)]
            )  # fmt: skip
            item.setData(0, _VALUE, value)
            # Of a place all of its path; a value of anything else is what filters call it.
            item.setToolTip(_NAME, tip(value if dimension == "place" else item.text(_NAME)))
            for column in range(_SIZE, _USABLE + 1):
                item.setTextAlignment(column, trees.RIGHT)
            self.addTopLevelItem(item)
            item.setSelected(value in kept)
        self.blockSignals(False)

    def selected(self) -> list[str]:
        """The values that are selected."""
        return [str(item.data(0, _VALUE)) for item in self.selectedItems()]

    def select(self, values: Iterable[str]) -> None:
        """Select these; nobody is told."""
        wanted = set(values)
        self.blockSignals(True)
        first = None
        for row in range(self.topLevelItemCount()):
            item = self.topLevelItem(row)
            if item is not None:
                item.setSelected(str(item.data(0, _VALUE)) in wanted)
                first = item if first is None and item.isSelected() else first
        if first is not None:
            self.scrollToItem(first)
        self.blockSignals(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The names come first where there is little room.
        self.setColumnHidden(_COMPILE, self.width() < _ALL)
        self.setColumnHidden(_USABLE, self.width() < _MOST_OF)

    @property
    def current(self) -> str | None:
        """The value of the current part."""
        item = self.currentItem()
        return None if item is None else str(item.data(0, _VALUE))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.currentItem() is None and self.topLevelItemCount():
            # The keys and the menu are about something; nothing is selected by that.
            selection = self.selectionModel()
            first = self.model().index(0, 0)
            selection.setCurrentIndex(first, selection.SelectionFlag.NoUpdate)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = self.viewport().mapFromGlobal(event.globalPos())
        item = self.currentItem()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            if item is None:
                return
            at = self.visualItemRect(item).center()
        elif self.itemAt(at) is None:
            return
        self.menu_asked.emit(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Backspace:
            self.up.emit()
        else:
            super().keyPressEvent(event)
