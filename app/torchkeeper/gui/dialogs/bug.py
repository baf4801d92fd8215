"""The report of a bug: what to send us."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.widgets import forms


class BugDialog(Dialog):
    """Says that this is our fault, and gives what a report needs."""

    def __init__(self, parent: QWidget | None, text: str, *, kept: bool = False) -> None:
        """kept: it can be shown again."""
        super().__init__(parent, "", 680)
        self.setWindowTitle(self.tr("Something went wrong in Torchkeeper"))
        self.body.addWidget(
            forms.label(self.tr("This is a fault of Torchkeeper, not of your cache."), "heading")
        )
        self.body.addWidget(
            forms.label(
                self.tr("The window goes on. Please report this text.")
                if kept
                else self.tr("The window goes on. Please report this text; it is shown only once."),
                "muted",
                wrap=True,
            )
        )
        view = QPlainTextEdit(text)
        view.setReadOnly(True)
        view.setAccessibleName(self.tr("The text of the report"))
        view.setAccessibleDescription(self.tr("Copy puts all of it on the clipboard"))
        view.setFont(theme.monospace())
        view.setMinimumHeight(220)
        self.body.addWidget(view)
        copy = forms.button(self.tr("Copy"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        close = forms.button(self.tr("Close"))
        close.clicked.connect(self.accept)
        close.setDefault(True)
        self.buttons(copy, close)
