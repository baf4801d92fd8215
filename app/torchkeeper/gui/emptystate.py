"""What stands in for an empty table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.gui import forms, icons, theme

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

    from torchkeeper.gui.remedies import RemedyButtons
    from torchkeeper.link.words import UserError


class EmptyState(QWidget):
    """What is shown instead of an empty table: what it is for, and what to do."""

    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = ""
        self._error: UserError | None = None
        #: What can be done about an error besides, once there was one.
        self.remedies: RemedyButtons | None = None
        self.picture = forms.label("")
        self.title = forms.label("", "title", wrap=True)
        self.text = forms.label("", "muted", wrap=True)
        self.button = forms.button("", primary=True)
        self.button.clicked.connect(lambda: self.asked.emit(self._action))
        for label in (self.picture, self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        # A wrapped label gets its height from its width only where nothing aligns it.
        self.text.setFixedWidth(480)
        centred = forms.row(gap=0)
        centred.addStretch(1)
        centred.addWidget(self.text)
        centred.addStretch(1)
        middle = forms.column(gap=12, margin=24)
        middle.addStretch(2)
        middle.addWidget(self.picture, 0, Qt.AlignmentFlag.AlignHCenter)
        middle.addWidget(self.title)
        middle.addLayout(centred)
        middle.addSpacing(4)
        middle.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        middle.addStretch(3)
        self._middle = middle
        self.setLayout(middle)
        self._icon = "box"
        theme.follow(self, self._paint, now=False)

    def say(
        self,
        icon: str,
        title: str,
        text: str,
        button: str = "",
        action: str = "",
        *,
        error: UserError | None = None,
    ) -> None:
        """What to show; ``action`` is the id of the action behind the button. error: what it is
        about, for which there may be buttons more.
        """
        self._icon, self._action = icon, action
        self.title.setText(title)
        self.text.setText(text)
        self.button.setText(button)
        self.button.setAccessibleName(button)
        self.button.setVisible(bool(button))
        if error is not self._error:
            self._error = error
            self._offer(error, action)
        self._paint()

    def _offer(self, error: UserError | None, action: str) -> None:
        # Most windows never show an error.
        from torchkeeper.gui.remedies import RemedyButtons

        if self.remedies is None:
            if error is None:
                return
            self.remedies = RemedyButtons(self)
            at, centre = self._middle.count() - 1, Qt.AlignmentFlag.AlignHCenter
            self._middle.insertWidget(at, self.remedies, 0, centre)
        self.remedies.offer(error, action)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._paint()

    def _paint(self) -> None:
        # Where there are entries it is never seen, and need not be drawn before they are.
        if self.isVisible():
            scale = self.devicePixelRatioF()
            self.picture.setPixmap(icons.pixmap(self._icon, 56, theme.shades().muted, scale))
