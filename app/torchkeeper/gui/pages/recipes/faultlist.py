"""What is wrong with a recipe: a row each, as high as its words need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from torchkeeper.gui.widgets.trees import columns

if TYPE_CHECKING:
    from torchkeeper.link.recipes.files import Fault

#: Faults that are listed.
_MOST = 100
#: Pixels it asks for at most.
_HIGHEST = 260
_PLACE = Qt.ItemDataRole.UserRole
#: What may be longer than a line, as paths, and what lets it be broken anywhere.
_LONG, _BREAK = re.compile(r"\S{32,}"), "\u200b"
_TOP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop


class _Wrapped(QStyledItemDelegate):
    """Cells that are as high as their text is in the width of their column: what is wrong is read
    as a whole. A tree alone asks for cells of any width.
    """

    def __init__(self, tree: QTreeWidget) -> None:
        super().__init__(tree)
        self._tree = tree

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        option.text = _LONG.sub(lambda found: _BREAK.join(found[0]), option.text)

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        one_line = super().sizeHint(option, index)
        self.initStyleOption(option, index)
        option.rect = QRect(0, 0, self._tree.columnWidth(index.column()), one_line.height())
        text = QStyle.SubElement.SE_ItemViewItemText
        room = self._tree.style().subElementRect(text, option, self._tree).width()
        room -= 2 * (self._tree.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 1)
        metrics = option.fontMetrics
        asked = metrics.boundingRect(
            QRect(0, 0, max(room, 1), 1), Qt.TextFlag.TextWordWrap, option.text
        )
        more = max(0, asked.height() - metrics.height())
        return QSize(one_line.width(), one_line.height() + more)


class FaultList(QTreeWidget):
    """Each fault with its line, where in the data it is, and what was expected."""

    #: Somebody wants to see where one is: its line and column, from 1.
    wanted = Signal(int, int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setAllColumnsShowFocus(True)
        self.setWordWrap(True)
        self.setItemDelegate(_Wrapped(self))
        self.setSizeAdjustPolicy(QAbstractItemView.SizeAdjustPolicy.AdjustToContents)
        # Of a high row the rest is to be reached, too.
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHeaderLabels([self.tr("Line"), self.tr("Where"), self.tr("What is wrong")])
        columns(self, (56, 144, 0), 2)
        self.header().sectionResized.connect(lambda *_: self.scheduleDelayedItemsLayout())
        self.itemActivated.connect(self.want)

    def show_faults(self, faults: Sequence[Fault]) -> None:
        """List these; it is not seen where there are none."""
        self.clear()
        self.setVisible(bool(faults))
        for fault in faults[:_MOST]:
            item = QTreeWidgetItem([f"{fault.line:,}", fault.where, fault.text])
            item.setData(0, _PLACE, (fault.line, fault.column))
            for column in range(3):
                item.setTextAlignment(column, _TOP)
            self.addTopLevelItem(item)

    def sizeHint(self) -> QSize:
        asked = super().sizeHint()
        return QSize(asked.width(), min(asked.height(), _HIGHEST))

    def want(self, item: QTreeWidgetItem, _: int = 0) -> None:
        """Say that somebody wants to see where it is."""
        self.wanted.emit(*item.data(0, _PLACE))
