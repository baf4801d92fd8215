"""What is wrong with a recipe, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

from torchkeeper.gui.widgets.forms import tip
from torchkeeper.gui.widgets.trees import columns

if TYPE_CHECKING:
    from torchkeeper.link.recipes.files import Fault

#: Faults that are listed.
_MOST = 100
_PLACE = Qt.ItemDataRole.UserRole


class FaultList(QTreeWidget):
    """Each fault with its line, where in the data it is, and what was expected."""

    #: Somebody wants to see where one is: its line and column, from 1.
    wanted = Signal(int, int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setAllColumnsShowFocus(True)
        self.setHeaderLabels([self.tr("Line"), self.tr("Where"), self.tr("What is wrong")])
        columns(self, (56, 144, 0), 2)
        self.itemActivated.connect(self.want)

    def show_faults(self, faults: Sequence[Fault]) -> None:
        """List these; it is not seen where there are none."""
        self.clear()
        self.setVisible(bool(faults))
        for fault in faults[:_MOST]:
            item = QTreeWidgetItem([f"{fault.line:,}", fault.where, fault.text])
            item.setData(0, _PLACE, (fault.line, fault.column))
            for column in (1, 2):
                item.setToolTip(column, tip(item.text(column)))
            self.addTopLevelItem(item)

    def want(self, item: QTreeWidgetItem, _: int = 0) -> None:
        """Say that somebody wants to see where it is."""
        self.wanted.emit(*item.data(0, _PLACE))
