"""The head over the table, the name of the place and the filter; and the menu bar."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMenuBar, QWidget
from shiboken6 import isValid

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.chrome.statusline import BesideLine
from torchkeeper.gui.idle import once
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.query import parse, unfinished

#: Milliseconds after the last key before a filter is used, and before it is called wrong.
DEBOUNCE_MS, PAUSE_MS = 80, 800
#: Pixels of what stands below the box.
_CHIPS = 28
#: Pixels that the mark of the filter box is wide, and that it takes with what is around the text;
#: and that the box itself is wide, at most and at least.
_MARK, _MARKED = 16, 44
_BOX, _NARROW_BOX = 380, 176
#: Pixels that names have before the box has more than its least.
_NAMES = 216
#: Pixels of both together, at least: names are cut.
_NARROWEST = 360


class FilterBox(QLineEdit):
    """The filter. Down goes to the table, Escape shows everything again."""

    leave = Signal()

    def __init__(self) -> None:
        super().__init__()
        # Drawn here: an action of Qt's, for the same picture, is a whole button: two milliseconds.
        self.setTextMargins(_MARK + 4, 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        mark = theme.pixmap("find", _MARK, theme.shades().muted, self.devicePixelRatioF())
        with QPainter(self) as painter:
            painter.drawPixmap(_MARK // 2 + 2, (self.height() - _MARK) // 2, mark)

    def event(self, event: QEvent) -> bool:
        # Undo is the window's where nothing was typed: in a new place, the box has the keyboard.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Undo)
            and not self.isUndoAvailable()
        ):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.leave.emit()
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class Head(QWidget):
    """The name of the place, and the filter with what is wrong with it."""

    filtered = Signal(object)
    judged = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title, self._path, self._server = "", "", False
        #: What was typed that is no filter, and why; None where it is one.
        self.fault: tuple[str, str] | None = None
        self._why, self._good = "", ""
        self.title = forms.label("", "title")
        self.path = forms.label("", "muted", selectable=True)
        self.box = FilterBox()
        self.box.setAccessibleName(self.tr("Filter"))
        about = self.tr("Words match name and key. A minus in front of a word negates it.")
        self.box.setAccessibleDescription(about)
        # A file dropped here is meant for the window.
        self.box.setAcceptDrops(False)
        self.box.setFixedWidth(_BOX)
        self._suggest()
        self.wrong = forms.label("", "error", wrap=True)
        self.wrong.hide()
        self.wrong.setAccessibleName(self.tr("Fault of the filter"))
        #: Room for what is asked most, which is made later.
        self.below = QWidget()
        self.below.setFixedHeight(_CHIPS)
        self._timer = once(self, self._use, DEBOUNCE_MS)
        self._pause = once(self, self._paused, PAUSE_MS)
        self.box.textChanged.connect(lambda *_: self._timer.start())
        self.box.editingFinished.connect(self.use_now)
        self._beside: BesideLine | None = None
        # They are above the mark of what is below, not above its ring.
        names = forms.column(self.title, self.path, forms.REST, gap=2, margin=(4, 0, 0, 0))
        line = forms.row((names, 1), (self.box, forms.TOP), gap=16)
        right = Qt.AlignmentFlag.AlignRight
        # In a row of its own it is as high as it is at its width, and not at that of all.
        parts = line, (self.below, right), forms.row(forms.REST, self.wrong)
        self._whole = forms.column(*parts, gap=2, margin=(12, 12, 16, 8))
        self.setLayout(self._whole)

    def _suggest(self) -> None:
        text = self.tr("Filter: words, kind:fxgraph, size>10M, is:stale")
        if self._server:
            text = self.tr("Filter: words, kind:fxgraph, used>90d")
        # Where half of an example has room, none has.
        short = self.box.fontMetrics().horizontalAdvance(text) // 2 > self.box.width() - _MARKED
        self.box.setPlaceholderText(self.tr("Filter") if short else text)

    def show_place(self, title: str, path: str, server: bool = False) -> None:
        self._server, self._path, self._title = server, path, title
        self._suggest()
        self.title.setToolTip(tip(title))
        self.path.setToolTip(tip(path))
        self._elide()

    @property
    def beside(self) -> BesideLine:
        """The last verification of the place; made when asked for, for no first picture has it."""
        if self._beside is None:
            self._beside = made = BesideLine()
            # Under both, for it is long and has the whole width.
            self._whole.addWidget(made, 0, Qt.AlignmentFlag.AlignLeft)
            made.fit(self._width)
        return self._beside

    @property
    def _width(self) -> int:
        return max(80, self.width() - 32)

    def clear_filter(self) -> None:
        """Show everything again, at once."""
        self.box.clear()
        self._use()

    def use_now(self) -> None:
        """Do not wait for another key: what was typed is the filter, or is wrong."""
        if self._timer.isActive():
            self._use()
        self._tell_fault()

    def _use(self) -> None:
        self._timer.stop()
        typed, fault, self._why = self.box.text(), None, ""
        try:
            query = parse(typed)
        except Problem as problem:
            # The last good filter stays in use.
            token, why = (printable(str(problem.params.get(x) or "?")) for x in ("token", "why"))
            fault, self._why = (typed, why), self.tr("“{}”: {}").format(token, why)
            if self._good:
                still = self.tr("{} The list shows “{}” until then.")
                self._why = still.format(self._why, printable(self._good, 40))
        else:
            self._good = typed.strip()
        if self.fault != fault:
            self.fault = fault
            self.judged.emit()
        if fault is None:
            self._tell_fault()
            self.filtered.emit(query)
        elif self.box.hasFocus() and self.box.isModified():
            # Who types is not told what will be right with the next key.
            self._show_wrong("")
            self._pause.start()
        else:
            self._tell_fault()

    def _paused(self) -> None:
        if not unfinished(self.box.text(), self.box.cursorPosition()):
            self._tell_fault()

    def _tell_fault(self) -> None:
        self._pause.stop()
        self._show_wrong(self._why)

    def _show_wrong(self, text: str) -> None:
        forms.tell(self.wrong, text)
        if bool(self.box.property("wrong")) != bool(text):
            self.box.setProperty("wrong", bool(text))
            forms.repolish(self.box)

    def _elide(self) -> None:
        beside = max(80, self.width() - self.box.maximumWidth() - 48)
        for label, text in ((self.title, self._title), (self.path, self._path)):
            cut = label.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, beside)
            label.setText(cut)
        if self._beside is not None:
            self._beside.fit(self._width)

    def minimumSizeHint(self) -> QSize:
        # The texts are as long as there was room: they must not keep the window that wide.
        return QSize(_NARROWEST, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Where there is little room, the name of the place has its share of it.
        room = self.width() - 48
        wide = min(_BOX, max(_NARROW_BOX, min(room * 11 // 20, room - _NAMES)))
        if wide != self.box.width():
            self.box.setFixedWidth(wide)
            self._suggest()
        for below in (self.wrong, self.below):
            below.setFixedWidth(min(_BOX, self._width))
        self._elide()


class MenuBar(QMenuBar):
    """Qt's own gives the focus back too, but takes itself for what had it where a second menu is
    opened with its letter while the first is still marked: nothing would have it then.
    """

    def __init__(self, refuge: Callable[[QWidget], object]) -> None:
        """refuge: gives the focus to what is beside something that is gone."""
        super().__init__()
        self._refuge = refuge
        self._before: QWidget | None = None
        # One is told of each change, also while there are several windows.
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._focus_changed)

    def _focus_changed(self) -> None:
        # Not what the signal hands over: that may be a widget of Qt's own that is being destroyed,
        # and PySide would keep a wrapper of it.
        now = QApplication.focusWidget()
        if now is not None and now is not self and now.window() is self.window():
            self._before = now

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        self._give_back()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        super().keyReleaseEvent(event)
        self._give_back()

    def _give_back(self) -> None:
        """It was left: who was there before goes on."""
        left = self.activeAction() is None and QApplication.activePopupWidget() is None
        if left and self.hasFocus() and self._before is not None and isValid(self._before):
            if self._before.isVisible():
                self._before.setFocus()
            else:
                self._refuge(self._before)
