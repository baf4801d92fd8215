"""How columns of lists are laid out in all dialogs; and what says how long ago something was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from torchkeeper.gui.idle import every

#: What Qt says of a cell by.
Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
#: What a heading has beside its text.
_AROUND = 36


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
        found = (self.topLevelItem(row) for row in range(self.topLevelItemCount()))
        return [item for item in found if item is not None]


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
    metrics = tree.header().fontMetrics()
    return metrics.horizontalAdvance(tree.headerItem().text(column)) + _AROUND


def right(tree: QTreeWidget, some: Iterable[int]) -> None:
    """Set the headings of columns of numbers to the right, where the numbers are."""
    for column in some:
        tree.headerItem().setTextAlignment(column, RIGHT)


def items(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    """The lines of a tree that are in no other."""
    tops = (tree.topLevelItem(row) for row in range(tree.topLevelItemCount()))
    return [top for top in tops if top is not None]


# What says how long ago something was says it anew while it is seen.

#: Milliseconds between two times.
_ANEW_MS = 20_000


def keep_up(widget: QWidget, say: Callable[[], object]) -> None:
    """Call ``say`` every now and then, as long as there is a widget and it is seen."""

    def anew() -> None:
        if widget.isVisible():
            say()

    timer = every(widget, anew, _ANEW_MS)
    timer.setObjectName("aging")
    timer.start()
