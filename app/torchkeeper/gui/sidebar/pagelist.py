"""The pages of the window as a list: which is shown, and what there is to know of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QAbstractListModel, QCoreApplication, QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate

from torchkeeper.gui import actions, theme
from torchkeeper.gui.idle import once
from torchkeeper.gui.pages import ENTRIES, PAGES
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.sidebar.lists import Index, SideList
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QObject, QPoint
    from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
    from PySide6.QtWidgets import QStyleOptionViewItem


#: Milliseconds for which something is to rest on a page before that is opened.
_OPENS_MS = 700
#: Pixels above and below the name of a page.
_ROOM = 7


class Mark(NamedTuple):
    """What is beside the name of a page. words: the same for a tooltip and a screen reader. role:
    its colour.
    """

    words: str
    icon: str
    role: str = "muted"


class PageItem(NamedTuple):
    """A page as it is shown here."""

    id: str
    text: str
    icon: str
    hint: str


class PageItems(QAbstractListModel):
    """The pages in the order of their table."""

    PageRole = Qt.ItemDataRole.UserRole + 1
    MarkRole = Qt.ItemDataRole.UserRole + 2

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current = ENTRIES
        self._marks: dict[str, Mark] = {}
        self.items = [page_item(ident) for ident in PAGES]

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.items)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.items):
            return None
        item = self.items[index.row()]
        mark = self._marks.get(item.id)
        if role == Qt.ItemDataRole.DisplayRole:
            return item.text
        if role == PageItems.PageRole:
            return item
        if role == PageItems.MarkRole:
            return mark
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip("\n".join(line for line in (item.hint, mark.words if mark else "") if line))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            shown = self.tr("this page is shown") if item.id == self.current else ""
            return ", ".join(x for x in (item.text, shown, mark.words if mark else "") if x)
        return None

    def flags(self, _: Index) -> Qt.ItemFlag:
        # The page that is shown is marked, and stays so while the arrow keys go elsewhere.
        return Qt.ItemFlag.ItemIsEnabled

    def row_of(self, ident: str) -> int:
        """The row of a page, or -1."""
        return next((n for n, item in enumerate(self.items) if item.id == ident), -1)

    def show(self, ident: str) -> None:
        before, self.current = self.current, ident
        self._touch(before)
        self._touch(ident)

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """These pages have these marks, and no others have any."""
        before, self._marks = self._marks, dict(marks)
        for ident in {*before, *marks}:
            if before.get(ident) != marks.get(ident):
                self._touch(ident)

    def _touch(self, ident: str) -> None:
        if (row := self.row_of(ident)) >= 0:
            self.dataChanged.emit(self.index(row), self.index(row))


def page_item(ident: str) -> PageItem:
    """A page as it is shown, with the words of the action that goes to it."""
    spec = actions.spec(ident)
    text = actions.tr(spec.text).replace("&", "").rstrip("…")
    keys = f" ({spec.shortcut})" if spec.shortcut else ""
    return PageItem(ident, text, spec.icon, f"{actions.tr(spec.hint)}{keys}")


class PageDelegate(QStyledItemDelegate):
    """A page in one line: icon, name, and at the right what there is to know."""

    def __init__(self, view: PageList) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, _: Index) -> QSize:
        return QSize(120, option.fontMetrics.height() + 2 * _ROOM)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item, mark = index.data(PageItems.PageRole), index.data(PageItems.MarkRole)
        if not isinstance(item, PageItem):
            return
        shades = theme.shades()
        shown = item.id == self._view.items.current
        box = option.rect.adjusted(drawing.EDGE, 1, -drawing.EDGE, -1)
        painter.save()
        drawing.ground(painter, self._view, option, box, shown, self._view.frame_of(index))
        at = QRect(box.left() + 9, box.center().y() - 8, 18, 18)
        drawing.mark(painter, self._view, at, item.icon, "accent" if shown else "muted")
        line = box.adjusted(38, 0, -8, 0)
        if isinstance(mark, Mark):
            line = drawing.mark_at_right(painter, self._view, line, mark.icon, mark.role)
        font = painter.font()
        font.setWeight(font.Weight.DemiBold if shown else font.Weight.Normal)
        painter.setFont(font)
        drawing.words(painter, line, item.text, shades.text, Qt.TextElideMode.ElideRight)
        painter.restore()


class PageList(SideList):
    """The pages; a click or Enter goes to one."""

    wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__("goto", QCoreApplication.translate("PageList", "Pages"))
        self.items = PageItems(self)
        self.setItemDelegate(PageDelegate(self))
        self.hold(self.items)
        self.clicked.connect(self._go)
        self.activated.connect(self._go)
        self._rests_on = ""
        self._opening = once(self, self._open_page, _OPENS_MS)
        self.show_current(ENTRIES)

    def show_current(self, ident: str) -> None:
        self.items.show(ident)
        if (row := self.items.row_of(ident)) >= 0:
            self.setCurrentIndex(self.items.index(row))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        super().dragEnterEvent(event)
        self._wait_at(event.position().toPoint())

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        self._wait_at(event.position().toPoint())

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self._opening.stop()

    def dropEvent(self, event: QDropEvent) -> None:
        self._opening.stop()
        super().dropEvent(event)

    def _wait_at(self, at: QPoint) -> None:
        # A page over which something rests is opened: what is on it may be what is meant.
        ident = self.page_at(self.indexAt(at))
        if ident != self._rests_on:
            self._rests_on = ident
            self._opening.start()

    def _open_page(self) -> None:
        if self._rests_on and self._dragged is not None:
            self.wanted.emit(self._rests_on)

    def page_at(self, index: QModelIndex) -> str:
        """The id of a page, or ""."""
        item = index.data(PageItems.PageRole)
        return item.id if isinstance(item, PageItem) else ""

    def _go(self, index: QModelIndex) -> None:
        if ident := self.page_at(index):
            self.wanted.emit(ident)
