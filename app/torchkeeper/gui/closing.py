"""The end of the window: what is unsaved and what still runs is asked about before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QDialog

if TYPE_CHECKING:
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.base import LeaveDialog


class Closing(QObject):
    """Asks, and closes the window once nobody minds."""

    #: The window has gone, its jobs go on; and it is shown again.
    left = Signal()
    back = Signal()

    def __init__(self, context: Context, keep: Callable[[], None], end: Callable[[], None]) -> None:
        """keep: remembers where the window is. end: closes it without asking."""
        super().__init__(context.window)
        self._context, self._keep, self._end = context, keep, end
        self._leaving: LeaveDialog | None = None
        #: Whether jobs go on without the window, until it is shown again or they have ended.
        self.in_background = False
        context.jobs.finished.connect(lambda *_: QTimer.singleShot(0, self, self._end_alone))

    def ask(self) -> bool:
        """Whether the window has to stay for now: something is asked about."""
        if self._kept_open(self._context.window.close):
            return True
        active = self._context.jobs.active
        if active and self._leaving is None:
            from torchkeeper.gui.dialogs.base import LeaveDialog

            window = self._context.window
            self._leaving = LeaveDialog(window, active, self.leave_jobs, self.stop_jobs)
            self._leaving.finished.connect(self._stays)
            self._leaving.open()
        return bool(active)

    def _kept_open(self, then: Callable[[], object]) -> bool:
        """Whether something unsaved is asked about now; ``then`` goes on once it is closed."""
        from torchkeeper.gui.dialogs.base import Dialog

        for dialog in self._context.window.findChildren(Dialog):
            if dialog.isVisible() and dialog.unsaved:
                dialog.activateWindow()
                # Not while it and its question are still being closed.
                dialog.leave(lambda: QTimer.singleShot(0, self, then))
                return True
        for page in self._context.pages.made():
            if page.unsaved:
                page.leave(lambda: QTimer.singleShot(0, self, then))
                return True
        return False

    def _stays(self, _: int) -> None:
        self._leaving = None

    def leave_jobs(self) -> None:
        """Hide; close when the last job has ended, unless somebody has the window back before."""
        context = self._context
        if self._kept_open(self.leave_jobs):
            return
        self._keep()
        # A hidden dialog waits for its job, and is closed after that.
        for dialog in filter(QDialog.isVisible, context.window.findChildren(QDialog)):
            dialog.close()
        context.window.hide()
        self.in_background = True
        context.window.installEventFilter(self)
        if context.jobs.active:
            self.left.emit()
        self._end_alone()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self.over()
            self.back.emit()
        return super().eventFilter(watched, event)

    def over(self) -> None:
        """The window is back, or ends. Safe to call again."""
        self.in_background = False
        self._context.window.removeEventFilter(self)

    def stop_jobs(self) -> None:
        """Stop what runs, and close."""
        if not self._kept_open(self.stop_jobs):
            self._end()

    def _end_alone(self) -> None:
        # A job that has ended may have another follow it, which is there by now.
        if self.in_background and not self._context.jobs.active:
            self._end()
