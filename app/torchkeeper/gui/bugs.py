"""Bugs, as opposed to errors of the user's world: each distinct one is reported once."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from torchkeeper.gui import forms, theme
from torchkeeper.gui.dialogs import Dialog

log = logging.getLogger(__name__)


class Bugs(QObject):
    """Takes the place of ``sys.excepthook`` while the window is up."""

    #: One distinct traceback; from whatever thread, delivered on the main thread.
    found = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._seen: set[str] = set()
        self._window: QWidget | None = None
        self.found.connect(self._report, Qt.ConnectionType.QueuedConnection)

    def install(self, window: QWidget) -> None:
        """Report from now on, over this window."""
        self._window = window
        sys.excepthook = self.hook
        threading.excepthook = lambda args: self.hook(
            args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
        )

    def hook(
        self, kind: type[BaseException], value: BaseException, trace: TracebackType | None
    ) -> None:
        """What ``sys.excepthook`` is called with."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, value, trace)
            return
        text = "".join(traceback.format_exception(kind, value, trace))
        log.error("unexpected error\n%s", text)
        where = "".join(traceback.format_tb(trace)) + kind.__name__
        if where not in self._seen:
            self._seen.add(where)
            self.found.emit(text)

    def _report(self, text: str) -> None:
        BugDialog(self._window, text).open()


class BugDialog(Dialog):
    """Says that this is our fault, and gives what a report needs."""

    def __init__(self, parent: QWidget | None, text: str) -> None:
        super().__init__(parent, "", 680)
        self.setWindowTitle(self.tr("Something went wrong in Torchkeeper"))
        self.body.addWidget(
            forms.label(self.tr("This is a fault of Torchkeeper, not of your cache."), "heading")
        )
        self.body.addWidget(
            forms.label(
                self.tr("The window goes on. Please report this text; it is shown only once."),
                "muted",
                wrap=True,
            )
        )
        view = QPlainTextEdit(text)
        view.setReadOnly(True)
        view.setAccessibleName(self.tr("The text of the report"))
        view.setFont(theme.monospace())
        view.setMinimumHeight(220)
        self.body.addWidget(view)
        copy = forms.button(self.tr("Copy"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        close = forms.button(self.tr("Close"))
        close.clicked.connect(self.accept)
        close.setDefault(True)
        self.buttons(copy, close)
