"""The inline message of a pane: what is wrong, why, and what to do."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.gui.remedies import RemedyButtons
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words.problems import UserError


class Notice(QFrame):
    """What is wrong, why, and what to do, within a pane."""

    again = Signal()
    #: The log is to be shown.
    log = Signal()

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
        self.shows_log = forms.button(self.tr("Show log"))
        self.shows_log.clicked.connect(self.log)
        texts = forms.column(gap=4)
        for label in (self.what, self.why, self.remedy):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            texts.addWidget(label)
        self.remedies = RemedyButtons()
        ways = forms.row()
        ways.addWidget(self.button)
        ways.addWidget(self.shows_log)
        ways.addWidget(self.remedies)
        ways.addStretch(1)
        texts.addLayout(ways)
        line = forms.row(gap=12, margin=12)
        picture = ("info", 20, "muted") if mild else ("warning", 20, "error")
        line.addWidget(forms.picture(*picture), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        self.setLayout(line)
        self.hide()

    def tell(self, error: UserError | None, *, again: bool = False, log: bool = False) -> None:
        """Show an error, or with None take the last one away. log: there is one to be shown."""
        self.error = error
        if error is None:
            self.hide()
            # They may stand elsewhere.
            self.remedies.offer(None)
            return
        for text, label in (
            (error.what, self.what),
            (error.why, self.why),
            (error.remedy, self.remedy),
        ):
            label.setText(text)
            label.setVisible(bool(text))
        self.button.setVisible(again)
        self.shows_log.setVisible(log)
        self.remedies.offer(error, "refresh" if again else "")
        self.setAccessibleName(str(error))
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))
