"""What stands where there is nothing to show: what it is for, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import RemedyButtons

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent, QShowEvent

    from torchkeeper.client.words.problems import UserError

#: What a window has set while something else in it says what to do next.
GUIDED = "guided"
#: Pixels of a line at most and of the picture: of a page, and of a pane at its side.
_WIDE, _NARROW = 460, 280
_PICTURE, _SMALL = 56, 40


class EmptyState(QWidget):
    """A picture, a title, words and what can be done next; ``side``: smaller, beside a page."""

    #: Its button was pressed: the id of the action that it is for, where it was given one.
    asked = Signal(str)

    def __init__(self, icon: str = "box", *, side: bool = False) -> None:
        super().__init__()
        self._icon, self._side = icon, side
        self._action = ""
        self._error: UserError | None = None
        #: What goes on from here; made when there is something to go on with.
        self.button: QPushButton | None = None
        #: What can be done about an error besides, once there was one.
        self.remedies: RemedyButtons | None = None
        self.picture = forms.label("")
        self.title = forms.label("", "heading" if side else "title", wrap=True)
        self.text = forms.label("", "muted", wrap=True)
        self._ways = forms.row(forms.REST, forms.REST, gap=12)
        self._middle = middle = forms.column(gap=8 if side else 12, margin=16 if side else 24)
        middle.addStretch(2)
        forms.add(middle, (self.picture, Qt.AlignmentFlag.AlignHCenter))
        for label in (self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            label.setMaximumWidth(_NARROW if side else _WIDE)
            # A wrapped label gets its height from its width only where nothing aligns it.
            forms.add(middle, forms.row(forms.REST, (label, 1000), forms.REST, gap=0))
        forms.add(middle, 4, self._ways)
        middle.addStretch(3)
        self.setLayout(middle)
        theme.follow(self, self._paint, now=False)

    def say(self, title: str, text: str = "", icon: str = "") -> None:
        """What to show; the picture stays without another ``icon``."""
        self._icon = icon or self._icon
        forms.tell(self.title, title.removesuffix("."))
        forms.tell(self.text, text)
        # A picture alone says nothing.
        self.picture.setVisible(bool(title or text))
        self._paint()
        self._fit()

    def offer(self, text: str, action: str = "") -> None:
        """Have a button of this text, and none where it is empty; ``asked`` says ``action``."""
        self._action = action
        if self.button is None:
            if not text:
                return
            self.button = forms.button("", primary=not self._side)
            self.button.clicked.connect(lambda: self.asked.emit(self._action))
            self._ways.insertWidget(1, self.button)
        self.button.setText(text)
        self.button.setAccessibleName(text.replace("&", "").rstrip("…"))
        self.button.setVisible(bool(text))
        self.suit()

    def suit(self) -> None:
        """Have the button stand out where nothing else in the window says what to do next."""
        primary = not self.window().property(GUIDED)
        if not self._side and self.button and self.button.property("primary") != primary:
            self.button.setProperty("primary", primary)
            forms.repolish(self.button)

    def beside(self, *widgets: QWidget) -> None:
        """Have these after the button: what can be done as well."""
        for widget in widgets:
            self._ways.insertWidget(self._ways.count() - 1, widget)

    def blame(self, error: UserError | None, action: str = "") -> None:
        """What it is about: there are buttons for its remedies, less the one of ``action``."""
        if error is self._error:
            return
        self._error = error
        if self.remedies is None:
            self.remedies = RemedyButtons(self, middle=True)
            if self._side:
                at, centre = self._middle.count() - 1, Qt.AlignmentFlag.AlignHCenter
                self._middle.insertWidget(at, self.remedies, 0, centre)
            else:
                self.beside(self.remedies)
        self.remedies.offer(error, action)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.suit()
        self._paint()
        self._fit()
        self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()
        self._fit()

    def minimumSizeHint(self) -> QSize:
        # A layout takes any wrapped text for a line or two; what is beside this has to leave it the
        # room for its words and its button.
        least = super().minimumSizeHint()
        if self._side or not self.isVisible():
            return least
        return QSize(least.width(), self._needed(pictured=False))

    def _needed(self, *, pictured: bool) -> int:
        """Pixels that it is high at its width, with and without its picture."""
        needed = self._middle.totalHeightForWidth(self.width())
        picture = self.picture.sizeHint().height() + self._middle.spacing()
        return needed + picture * (int(pictured) - int(not self.picture.isHidden()))

    def _fit(self) -> None:
        """Where there is no room for all of it, the words are whole and the picture is left out."""
        if self.isVisible() and (self.title.text() or self.text.text()):
            self.picture.setVisible(self._needed(pictured=True) <= self.height())

    def _paint(self) -> None:
        # Where there is something to show it is never seen, and need not be drawn before that is.
        if self.isVisible():
            size = _SMALL if self._side else _PICTURE
            shade = theme.shades().muted
            self.picture.setPixmap(theme.pixmap(self._icon, size, shade, self.devicePixelRatioF()))
