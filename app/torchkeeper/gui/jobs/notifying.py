"""Tells the desktop that a long job has ended, where the user is not at the window."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from torchkeeper.client.desktop.notifications import Note, Notifications
from torchkeeper.client.words import say
from torchkeeper.gui.desktop import front
from torchkeeper.gui.jobs.model import Job, State, state_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchkeeper.gui.context import Context

#: Where it is kept whether this is wanted; it is, until somebody says no.
SETTING = "notify/jobs"
#: Seconds a job has taken at least of which the desktop is told while the window is there: for
#: less, nobody goes away.
LONG = 10.0


class Notifier(QObject):
    """Looks at every job that ends. What is said to the desktop waits in a thread of its own."""

    #: The job of a notification that was clicked, by its id, and what lets the window come forward.
    _clicked = Signal(int, str)
    #: A notification that no desktop has shown.
    _failed = Signal(object)

    #: A notification of a job was clicked.
    opened = Signal(Job)

    def __init__(self, context: Context, alone: Callable[[], bool]) -> None:
        """alone: whether the window has gone, and its jobs go on."""
        super().__init__(context.window)
        self._context, self._alone = context, alone
        self.notifications = Notifications(self._was_clicked, self._was_lost)
        self._clicked.connect(self._show)
        self._failed.connect(self._alert)
        context.jobs.finished.connect(self._ended)
        for end in (context.engines.stopped, self.destroyed):
            end.connect(self.notifications.stop)

    @property
    def on(self) -> bool:
        """Whether the user wants this."""
        return str(self._context.settings.value(SETTING, "true")).lower() != "false"

    def toggle_notify(self) -> None:
        """Tell the desktop from now on, or no longer."""
        self._context.settings.setValue(SETTING, not self.on)
        self._context.update_soon()

    def _was_clicked(self, key: int, token: str) -> None:
        with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
            self._clicked.emit(key, token)

    def _was_lost(self, key: int | None) -> None:
        with contextlib.suppress(RuntimeError):
            self._failed.emit(key)

    def _ended(self, job: Job) -> None:
        took = job.elapsed(time.time()) or 0.0
        alone = self._alone()
        # Who has cancelled it knows that it has ended.
        if job.state is State.CANCELLED or not self.on:
            return
        if not alone and (took < LONG or front.in_front()):
            return
        # A window that has gone ends with its last job; a click could bring nothing back then.
        key = None if alone and not self._context.jobs.active else job.id
        came = job.error.what if job.error is not None else state_text(job)
        body = self.tr("{} · it took {}").format(came, say.seconds(took))
        note = Note(self._summary(job), body, key, self.tr("Show the job"))
        self.notifications.show(note)

    def _summary(self, job: Job) -> str:
        if job.state is State.FAILED:
            return self.tr("Failed: {}").format(job.title)
        if not job.good:
            return self.tr("Done, but not all is well: {}").format(job.title)
        return self.tr("Done: {}").format(job.title)

    def _show(self, key: int, token: str) -> None:
        """A notification was clicked."""
        job = next((job for job in self._context.jobs.jobs if job.id == key), None)
        front.bring(self._context.window, token)
        if job is not None:
            self.opened.emit(job)

    def _alert(self, _key: object) -> None:
        # What every desktop has: the window's entry in the list of windows is marked.
        QApplication.alert(self._context.window)
