"""What is dropped on the window and dialogs, but for the sidebar: a frame shows who takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QDragEnterEvent, QDragMoveEvent, QDropEvent, QFont, QPainter, QPen
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from torchkeeper.gui import theme
from torchkeeper.gui.sidebar.lists import Offer, answer
from torchkeeper.gui.table.mimedata import Carried, carried, pasted, rows_of

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from torchkeeper.gui.dialogs.base import Dialog
    from torchkeeper.gui.pages.stack import Pages
    from torchkeeper.gui.sidebar.taking import Taking

#: Pixels of the frame, around its words, and the most that these are wide.
_FRAME, _ROOM, _WIDE = 3, 16, 520
_ICON = 20
#: How much of what is under a frame is hidden.
_DIM = 0.72


class Veil(QWidget):
    """Lies over a part of a window: a frame, and what a drop there would do."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("veil")
        # What is dragged is for what lies under it.
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.text = ""
        self.takes = False
        self.hide()

    def show_over(self, part: QWidget, text: str, *, takes: bool) -> None:
        """Say this over a part of the window; ``takes``: whether it can be dropped there."""
        window = self.parentWidget()
        assert window is not None
        at = part.mapTo(window, QPoint(0, 0)) if part is not window else QPoint(0, 0)
        self.text, self.takes = text, takes
        self.setAccessibleName(text)
        self.setGeometry(QRect(at, part.size()))
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        shades = theme.shades()
        colour = QColor(shades.accent if self.takes else shades.muted)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            ground = QColor(shades.window)
            ground.setAlphaF(_DIM)
            edge = _FRAME / 2 + 1
            box = QRectF(self.rect()).adjusted(edge, edge, -edge, -edge)
            pen = QPen(colour, _FRAME)
            if not self.takes:
                pen.setStyle(Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.setBrush(ground)
            painter.drawRoundedRect(box, 8, 8)
            self._words(painter, colour)

    def _words(self, painter: QPainter, colour: QColor) -> None:
        shades = theme.shades()
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        wide = min(_WIDE, self.width() - 2 * _ROOM) - 3 * _ROOM - _ICON
        flags = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
        needed = painter.fontMetrics().boundingRect(QRect(0, 0, wide, 2000), flags, self.text)
        high = max(needed.height(), _ICON) + 2 * _ROOM - 8
        label = QRect(0, 0, needed.width() + 3 * _ROOM + _ICON, high)
        label.moveCenter(self.rect().center())
        painter.setPen(QPen(QColor(shades.line), 1))
        painter.setBrush(QColor(shades.base))
        painter.drawRoundedRect(label, 8, 8)
        mark = theme.icon("import" if self.takes else "cancel", colour.name())
        mark.paint(painter, label.left() + _ROOM, label.center().y() - _ICON // 2, _ICON, _ICON)
        text = QRect(QPoint(0, 0), needed.size())
        text.moveTo(label.left() + 2 * _ROOM + _ICON, label.center().y() - needed.height() // 2)
        painter.setPen(QColor(shades.text))
        painter.drawText(text.adjusted(0, 0, 2, 2), flags, self.text)


class Drops(QObject):
    """What is dragged over the window, and over its dialogs."""

    #: What a drop here would do; empty when nothing is dragged over it any more.
    said = Signal(str)
    #: Entries that this window has dragged are let go of in it.
    back = Signal()

    def __init__(self, window: QWidget, pages: Pages, taking: Taking) -> None:
        super().__init__(window)
        self._window, self._pages, self._taking = window, pages, taking
        self._veil: Veil | None = None
        self._carried: Carried | None = None
        self._offer: Offer | None = None

    @property
    def veil(self) -> Veil | None:
        """The frame that is seen; None while nothing is dragged."""
        veil = self._alive()
        return veil if veil is not None and not veil.isHidden() else None

    def enter(self, event: QDragEnterEvent) -> None:
        """Something is dragged into the window."""
        self._carried = carried(event.mimeData())
        self.move(event)

    def move(self, event: QDragMoveEvent | QDragEnterEvent) -> None:
        if self._carried is None:
            self._carried = carried(event.mimeData())
        if (found := self._found(event, event.position().toPoint())) is None:
            self.leave()
            event.ignore()
            return
        self._show(self._window, *found)
        if isinstance(event, QDragEnterEvent) and self._carried is not None:
            # Also where nothing takes it: the part beside it may, and says so.
            event.accept()
        else:
            self._answer(event)

    def leave(self) -> None:
        if (veil := self._alive()) is not None:
            veil.hide()
        if self._offer is not None:
            self.said.emit("")
        self._carried = self._offer = None

    def drop(self, event: QDropEvent) -> None:
        self._carried = carried(event.mimeData())
        found = self._found(event, event.position().toPoint())
        self._land(event, found[1] if found is not None else None)

    def paste(self) -> None:
        """Do with what is on the clipboard as if it were dropped where the keyboard is."""
        if (what := pasted()) is None:
            self.said.emit(self.tr("There are no files, paths or addresses on the clipboard"))
            return
        page = self._pages.page
        found = page.offer(what, None) if page is not None else None
        offer = found[1] if found is not None else self._taking.on_window(what)
        if offer.do is not None:
            offer.do()
        else:
            self.said.emit(offer.text)

    def attend(self, dialog: Dialog) -> None:
        """Have a dialog take what is dropped on it as the window behind it does, or say why not."""
        dialog.setAcceptDrops(True)
        _Over(dialog, self)

    def over_dialog(self, dialog: Dialog, event: QEvent) -> bool:
        if isinstance(event, (QDragEnterEvent, QDragMoveEvent)):
            what = carried(event.mimeData()) if event.source() is None else None
            if what is None or what.only_rows:
                event.ignore()
                return True
            self._show(dialog, dialog, self._of_dialog(dialog, what))
            if type(event) is QDragEnterEvent:
                event.accept()
            else:
                self._answer(event)
            return True
        if isinstance(event, QDropEvent):
            what = carried(event.mimeData())
            self._land(event, self._of_dialog(dialog, what) if what is not None else None)
            return True
        if event.type() == QEvent.Type.DragLeave:
            self.leave()
            return True
        return False

    def _of_dialog(self, dialog: Dialog, what: Carried) -> Offer:
        why = dialog.takes_nothing
        return self._taking.on_window(what) if why is None else Offer(why, None)

    def _found(self, event: QDropEvent, at: QPoint) -> tuple[QWidget, Offer] | None:
        """The part that is meant, and what becomes of it; None where it is ours and stays."""
        window, what = self._window, self._carried
        if event.source() is not None and (what is None or what.rows is None):
            return None  # a text of ours
        if what is None:
            text = self.tr("Only files, folders and addresses of servers can be dropped here")
            return self._pages, Offer(text, None)
        page = self._pages.page
        if page is not None and (found := page.offer(what, page.mapFrom(window, at))) is not None:
            return found
        # Our own rows are here already.
        return (self._pages, self._taking.on_window(what)) if not what.only_rows else None

    def _show(self, window: QWidget, part: QWidget, offer: Offer) -> None:
        veil = self._alive()
        if veil is None or veil.parentWidget() is not window:
            if veil is not None:
                veil.deleteLater()
            self._veil = veil = Veil(window)
        veil.show_over(part, offer.text, takes=offer.do is not None)
        if self._offer is None or self._offer.text != offer.text:
            self.said.emit(offer.text)
        self._offer = offer

    def _alive(self) -> Veil | None:
        """The frame, if there is one: it goes with the dialog that it was over."""
        return self._veil if self._veil is not None and isValid(self._veil) else None

    def _answer(self, event: QDropEvent) -> None:
        answer(event, self._offer is not None and self._offer.do is not None)

    def _land(self, event: QDropEvent, offer: Offer | None) -> None:
        self.leave()
        do = offer.do if offer is not None else None
        answer(event, do is not None)
        if do is None:
            return
        rows = rows_of(event.mimeData())
        if rows is not None and rows.own:
            self.back.emit()
        # The source of the drag waits until this returns.
        QTimer.singleShot(0, self, do)


class _Over(QObject):
    """Passes on what is dragged over a dialog, as long as that lives."""

    def __init__(self, dialog: Dialog, drops: Drops) -> None:
        super().__init__(dialog)
        self._dialog, self._drops = dialog, drops
        dialog.installEventFilter(self)

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        kinds = QEvent.Type
        if event.type() in (kinds.DragEnter, kinds.DragMove, kinds.DragLeave, kinds.Drop):
            return self._drops.over_dialog(self._dialog, event)
        return False
