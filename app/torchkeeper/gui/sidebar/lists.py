"""The lists of the sidebar, as high as what is in them, and the headings that fold them away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6 import QtCore
from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QListView, QMenu, QScrollArea, QSizePolicy, QToolButton, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.idle import soon
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from PySide6 import QtGui, QtWidgets
    from PySide6.QtCore import QAbstractItemModel
    from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent

    from torchkeeper.gui.table.mimedata import Carried


Index = QModelIndex | QPersistentModelIndex

#: Pixels from the edge where a drag scrolls, and by how many.
_EDGE, _STEP = 20, 12
#: Pixels of a heading besides its mark and its text.
_BESIDE = 18
#: Who has the focus again did nothing for it.
_RETURNING = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)


class Onto(Enum):
    """What of a list of the sidebar takes what is dropped on an item of it."""

    ITEM, LIST, ELSEWHERE = range(3)


class Offer(NamedTuple):
    """What becomes of what is dropped or pasted; with nothing to do, the words say why."""

    text: str
    do: Callable[[], object] | None
    onto: Onto = Onto.ITEM


def answer(event: QtGui.QDropEvent, takes: bool) -> None:
    """Tell the source of a drag whether a copy is taken here."""
    if takes:
        event.setDropAction(Qt.DropAction.CopyAction)
    event.setAccepted(takes)


def paste(offers: Callable[[Carried], Offer] | None, said: Callable[[str], object]) -> None:
    """Do with what is on the clipboard what is offered for it, and say that."""
    from torchkeeper.gui.table.mimedata import pasted

    if (carried := pasted()) is None or offers is None:
        tr = QtCore.QCoreApplication.translate
        said(tr("SideList", "There are no files, paths or addresses on the clipboard"))
        return
    offer = offers(carried)
    said(offer.text)
    if offer.do is not None:
        offer.do()


#: What becomes of something on an item, or on the list where that is not valid.
Offers = Callable[["Carried", QModelIndex], Offer]


class SideList(QListView):
    """A list without scroll bars; ``offers`` says what becomes of what is dropped or pasted."""

    #: What a drop here would do; empty when nothing is dragged over it any more.
    said = Signal(str)
    #: Somebody wants the current item to be gone from the list, and to be called otherwise.
    removing = Signal()
    renaming = Signal()
    copying = Signal()
    #: An item of it is to be seen from now on.
    seeks = Signal()

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        # As that of the table: PySide knows its type.
        self.setViewport(QWidget())
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setAcceptDrops(True)
        self.offers: Offers | None = None
        self.area: QScrollArea | None = None
        #: Keys that are meant for it rather than for the window.
        self.keys: frozenset[Qt.Key] = frozenset()
        #: Whether the current item is marked while the list has the focus: for who uses keys.
        self.ring = False
        self._dragged: Carried | None = None
        self._aim = QPersistentModelIndex()
        #: What becomes of what is dragged, where it is; None where that is not on the list.
        self.offered: Offer | None = None
        #: What is to be seen, until somebody scrolls or seeks something else.
        self._sought = QPersistentModelIndex()
        theme.follow(self, lambda: self.viewport().update(), now=False)

    def hold(self, model: QAbstractItemModel) -> None:
        """Show what is in a model."""
        self.setModel(model)
        fit_soon = soon(self, self.fit)
        for change in (model.rowsInserted, model.rowsRemoved, model.rowsMoved, model.modelReset,
                       model.dataChanged):  # fmt: skip
            change.connect(fit_soon)
        self.fit()

    def fit(self) -> None:
        """Be as high as what is in it."""
        rows = range(self.model().rowCount())
        high = sum(self.sizeHintForIndex(self.model().index(n, 0)).height() for n in rows)
        if high != self.maximumHeight():
            self.setFixedHeight(high)
            self.scheduleDelayedItemsLayout()

    def aimed_at(self, index: Index) -> bool:
        """Whether what is dragged would land on an item."""
        return self._aim.isValid() and self._aim == index and self.aimed_onto is Onto.ITEM

    def frame_of(self, index: Index) -> int:
        """Pixels of the frame around an item: where a drop would land, or the keyboard is."""
        at_keyboard = self.ring and self.hasFocus() and index == self.currentIndex()
        return 2 if self.aimed_at(index) else int(at_keyboard)

    @property
    def aimed_onto(self) -> Onto | None:
        """What of the list takes what is dragged; None where nothing does."""
        offer = self.offered
        return offer.onto if offer is not None and offer.do is not None else None

    def scrollTo(self, index: Index, _hint: Any = None) -> None:
        # To make all that QAbstractItemView names takes 8 ms, which the first picture needs not.
        self._sought = QPersistentModelIndex(index)
        self.seeks.emit()
        self._reveal(index)

    def _reveal(self, index: Index) -> None:
        inside = self.area.widget() if self.area is not None else None
        if self.area is not None and inside is not None and index.isValid():
            box = self.visualRect(index)
            box.moveTopLeft(self.viewport().mapTo(inside, box.topLeft()))
            self.area.ensureVisible(box.left(), box.bottom(), 0, 4)
            self.area.ensureVisible(box.left(), box.top(), 0, 4)

    def keep_in_sight(self, *_: object) -> None:
        """What is to be seen has another place: what was added above it has its room by now."""
        if self._sought.isValid():
            self._reveal(self._sought)

    def seek_nothing(self, *_: object) -> None:
        """Leave it to whoever scrolls what is seen."""
        self._sought = QPersistentModelIndex()

    def event(self, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and self._means(event):
            event.accept()
            return True
        return super().event(event)

    def _means(self, event: QKeyEvent) -> bool:
        if event.matches(QKeySequence.StandardKey.Paste):
            return True
        if event.matches(QKeySequence.StandardKey.Copy):
            return Qt.Key.Key_C in self.keys
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        return plain and event.key() in self.keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.ring = True
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        elif event.matches(QKeySequence.StandardKey.Copy) and self._means(event):
            self.copying.emit()
        elif event.key() == Qt.Key.Key_Delete and self._means(event):
            self.removing.emit()
        elif event.key() == Qt.Key.Key_F2 and self._means(event):
            self.renaming.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QtGui.QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() not in _RETURNING:
            self.ring = event.reason() != Qt.FocusReason.MouseFocusReason
        self.scrollTo(self.currentIndex())
        self.update(self.currentIndex())

    def focusOutEvent(self, event: QtGui.QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update(self.currentIndex())

    def paste(self) -> None:
        """Do with what is on the clipboard as if it were dropped on the current item."""
        if (offers := self.offers) is not None:
            paste(lambda carried: offers(carried, self.currentIndex()), self.said.emit)

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        from torchkeeper.gui.table.mimedata import carried

        self._dragged = carried(event.mimeData())
        if self._dragged is not None and self._dragged.rows is None and event.source() is not None:
            self._dragged = None  # a text of ours
        if self._dragged is None or self.offers is None:
            event.ignore()
            return
        # Also where the item under it takes nothing: another is a move away.
        event.accept()
        self.aim_at(event.position().toPoint())

    def dragMoveEvent(self, event: QtGui.QDragMoveEvent) -> None:
        self.aim_at(event.position().toPoint())
        self.scroll_near(event.position().toPoint())
        answer(event, self.aimed_onto is not None)

    def dragLeaveEvent(self, event: QtGui.QDragLeaveEvent) -> None:
        self._let_go()
        self.said.emit("")
        event.accept()

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        self.aim_at(event.position().toPoint())
        answer(event, self.aimed_onto is not None)
        offer = self.offered
        self._let_go()
        # What was said of it is over: from now on others may say what comes of it.
        self.said.emit("")
        if offer is not None and offer.do is not None:
            # The source of the drag waits until this returns.
            QTimer.singleShot(0, self, offer.do)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        super().paintEvent(event)
        if self.aimed_onto is Onto.LIST:
            from torchkeeper.gui.sidebar import drawing

            drawing.ring(self)

    def under(self, at: QPoint) -> QModelIndex:
        """The item at a point of the viewport that something is dropped on."""
        return self.indexAt(at)

    def aim_at(self, at: QPoint) -> None:
        """What is dragged is at this point of the viewport."""
        if self._dragged is None or self.offers is None:
            return
        index = self.under(at)
        offer = self.offers(self._dragged, index)
        if offer.text != (self.offered.text if self.offered else ""):
            self.said.emit(offer.text)
        self._aim, self.offered = QPersistentModelIndex(index), offer
        self.viewport().update()

    def scroll_near(self, at: QPoint) -> None:
        """Scroll on where something is dragged to the upper or lower edge of what is seen."""
        seen = self.visibleRegion().boundingRect()
        if self.area is None or not seen.contains(at):
            return
        above, below = at.y() - seen.top() < _EDGE, seen.bottom() - at.y() < _EDGE
        if above or below:
            self.seek_nothing()
            scrolled = self.area.verticalScrollBar()
            scrolled.setValue(scrolled.value() + (-_STEP if above else _STEP))

    def _let_go(self) -> None:
        self._dragged, self.offered, self._aim = None, None, QPersistentModelIndex()
        self.viewport().update()


#: The sections that are folded, as a list of their names.
FOLDED = "sidebar/folded"


class Fold(QToolButton):
    """The heading: Space, Enter and the arrows fold. What is dropped is for the list under it."""

    said = Signal(str)

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setObjectName("fold")
        self.setText(title)
        self.setCheckable(True)
        self.setChecked(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QtCore.QSize(14, 14))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # It has what room there is: a long title makes nothing under it wider than the sidebar.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAcceptDrops(True)
        self.offers: Callable[[Carried], Offer] | None = None
        self._offer: Offer | None = None
        self.toggled.connect(lambda *_: self._say())
        theme.follow(self, self._say)

    def _say(self) -> None:
        open_ = self.isChecked()
        name = "open-group" if open_ else "closed-group"
        self.setIcon(theme.icon(name, theme.shades().muted))
        told = self.tr("{}, unfolded") if open_ else self.tr("{}, folded")
        self.setAccessibleName(told.format(self.text()))
        self.setToolTip(self.tr("Fold") if open_ else self.tr("Unfold"))

    def initStyleOption(self, option: QtWidgets.QStyleOptionToolButton) -> None:
        super().initStyleOption(option)
        room = self.width() - self.iconSize().width() - _BESIDE
        option.text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.setChecked(event.key() == Qt.Key.Key_Right)
        elif event.matches(QKeySequence.StandardKey.Paste):
            paste(self.offers, self.said.emit)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        key = event if event.type() == QEvent.Type.ShortcutOverride else None
        if isinstance(key, QKeyEvent) and key.matches(QKeySequence.StandardKey.Paste):
            event.accept()
            return True
        return super().event(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        from torchkeeper.gui.table.mimedata import carried

        some = carried(event.mimeData()) if event.source() is None else None
        self._offer = self.offers(some) if some is not None and self.offers is not None else None
        if self._offer is None:
            event.ignore()
            return
        self.said.emit(self._offer.text)
        self._aim(self._offer.do is not None)
        event.setDropAction(Qt.DropAction.CopyAction)
        event.setAccepted(self._offer.do is not None)

    def dragLeaveEvent(self, _: QDragLeaveEvent) -> None:
        self._aim(False)
        self.said.emit("")

    def dropEvent(self, event: QDropEvent) -> None:
        offer, self._offer = self._offer, None
        self._aim(False)
        self.said.emit("")
        if offer is not None and offer.do is not None:
            answer(event, True)
            # The source of the drag waits until this returns.
            QTimer.singleShot(0, self, offer.do)

    def _aim(self, on: bool) -> None:
        self.setProperty("aimed", on)
        forms.repolish(self)


class Section(QWidget):
    """A heading, what can be added beside it, and the rest under it."""

    def __init__(self, name: str, title: str, settings: QtCore.QSettings | None) -> None:
        super().__init__()
        self._name, self._settings = name, settings
        self.fold = Fold(title)
        self._head = forms.row((self.fold, 1), gap=0, margin=(6, 6, 10, 2))
        self.body = forms.column(gap=0)
        self._inside = forms.page(self.body)
        self.setLayout(forms.column(self._head, self._inside, gap=0))
        self.fold.toggled.connect(self._folded)
        self.fold.setChecked(name not in self._kept())

    def offer(self, tip: str, choices: Sequence[QAction]) -> QToolButton:
        """A button beside the heading that adds something: in one way, or in one of several."""
        made = forms.icon_button("add", tip)
        if len(choices) == 1:
            made.clicked.connect(lambda *_: choices[0].trigger())
        else:
            menu = QMenu(made)
            menu.addActions(list(choices))
            made.setMenu(menu)
            made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
            made.setObjectName("adder")
        self._head.addWidget(made)
        QWidget.setTabOrder(self.fold, made)
        return made

    def _kept(self) -> list[str]:
        kept = self._settings.value(FOLDED, []) if self._settings is not None else []
        # A list of one comes back as a string.
        kept = [kept] if isinstance(kept, str) else kept
        return [str(one) for one in kept] if isinstance(kept, list) else []

    def _folded(self, open_: bool) -> None:
        self._inside.setVisible(open_)
        if self._settings is not None:
            others = [one for one in self._kept() if one not in (self._name, "")]
            self._settings.setValue(FOLDED, others if open_ else [*others, self._name])
