"""Bugs, as opposed to errors of the user's world: each distinct one is reported once."""

from __future__ import annotations

import sys
import threading
import traceback
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget


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
        import logging  # only here: it takes long to load, and the window should start fast

        logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
        logging.getLogger(__name__).error("unexpected error\n%s", text)
        where = "".join(traceback.format_tb(trace)) + kind.__name__
        if where not in self._seen:
            self._seen.add(where)
            self.found.emit(text)

    def _report(self, text: str) -> None:
        from torchkeeper.gui.dialogs.bug import BugDialog

        BugDialog(self._window, text).open()
