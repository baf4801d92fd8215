"""What stands where there is nothing to show, and the inline message of a pane."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from torchkeeper.gui import forms, icons, theme
from torchkeeper.gui.remedies import RemedyButtons
from torchkeeper.link.words import UserError


class Blank(QWidget):
    """A picture and a few words in the middle of a pane, and perhaps a button."""

    pressed = Signal()

    def __init__(self, icon: str, width: int = 280, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        self.picture = forms.label("")
        self.title = forms.label("", "heading", wrap=True)
        self.text = forms.label("", "muted", wrap=True)
        middle = forms.column(gap=8, margin=16)
        middle.addStretch(2)
        for label in (self.picture, self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            # A wrapped label gets its height from its width only where nothing aligns it.
            label.setFixedWidth(width)
            centred = forms.row(gap=0)
            centred.addStretch(1)
            centred.addWidget(label)
            centred.addStretch(1)
            middle.addLayout(centred)
        self.button: QPushButton | None = None
        self._middle = middle
        middle.addStretch(3)
        self.setLayout(middle)
        theme.follow(self, self._paint)

    def say(self, title: str, text: str = "", icon: str = "") -> None:
        """What to show."""
        self._icon = icon or self._icon
        self.title.setText(title)
        self.text.setText(text)
        self.title.setVisible(bool(title))
        self.text.setVisible(bool(text))
        # A picture alone says nothing.
        self.picture.setVisible(bool(title or text))
        self._paint()

    def offer(self, text: str) -> None:
        """Have a button of this text; without one where it is empty."""
        if self.button is None:
            if not text:
                return
            self.button = forms.button("")
            self.button.clicked.connect(self.pressed)
            at = self._middle.count() - 1
            self._middle.insertWidget(at, self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.button.setText(text)
        self.button.setAccessibleName(text.rstrip("…"))
        self.button.setVisible(bool(text))

    def _paint(self) -> None:
        scale = self.devicePixelRatioF()
        self.picture.setPixmap(icons.pixmap(self._icon, 40, theme.shades().muted, scale))


class Notice(QFrame):
    """What is wrong, why, and what to do, within a pane."""

    again = Signal()

    def __init__(self, parent: QWidget | None = None, *, mild: bool = False) -> None:
        """mild: for what does no harm."""
        super().__init__(parent)
        self.setObjectName("hint" if mild else "notice")
        self.error: UserError | None = None
        self.what = forms.label("", "heading", wrap=True)
        self.why = forms.label("", wrap=True)
        self.remedy = forms.label("", wrap=True)
        self.button = forms.button(self.tr("Try again"))
        self.button.clicked.connect(self.again)
        texts = forms.column(gap=4)
        for label in (self.what, self.why, self.remedy):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            texts.addWidget(label)
        self.remedies = RemedyButtons()
        ways = forms.row()
        ways.addWidget(self.button)
        ways.addWidget(self.remedies)
        ways.addStretch(1)
        texts.addLayout(ways)
        line = forms.row(gap=12, margin=12)
        picture = ("info", 20, "muted") if mild else ("warning", 20, "error")
        line.addWidget(forms.picture(*picture), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        self.setLayout(line)
        self.hide()

    def tell(self, error: UserError | None, *, again: bool = False) -> None:
        """Show an error, or with None take the last one away."""
        self.error = error
        if error is None:
            self.hide()
            return
        for text, label in (
            (error.what, self.what),
            (error.why, self.why),
            (error.remedy, self.remedy),
        ):
            label.setText(text)
            label.setVisible(bool(text))
        self.button.setVisible(again)
        self.remedies.offer(error, "refresh" if again else "")
        self.setAccessibleName(str(error))
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))
