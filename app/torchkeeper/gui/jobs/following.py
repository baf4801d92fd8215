"""What the window does about jobs: shows them, keeps them, tells the desktop of long ones."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from torchkeeper.client.words import say
from torchkeeper.gui.context import Context, late
from torchkeeper.gui.jobs.model import Job, State, held, state_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchkeeper.client.words.problems import UserError
    from torchkeeper.gui.activity.drawer import Drawer
    from torchkeeper.gui.activity.shown import JobStrip, Keeper
    from torchkeeper.gui.chrome.statusline import StatusBar
    from torchkeeper.gui.closing import Closing
    from torchkeeper.gui.jobs.operations import Operations
    from torchkeeper.gui.pages.making import Making


class Following(QObject):
    """Follows the jobs of a window; what shows them is made for the first one."""

    def __init__(
        self, context: Context, closing: Closing, status: StatusBar, making: Making
    ) -> None:
        """making: how the drawer is made when it is first asked for."""
        super().__init__(context.window)
        self._context, self._closing = context, closing
        self._status, self._making = status, making
        self._drawer: Drawer | None = None
        self._keeper: Keeper | None = None
        self._strip: JobStrip | None = None
        #: The last error of each kind of job in each place, until one of them succeeds.
        self._told: dict[tuple[str, str | None], UserError] = {}
        context.jobs.rowsInserted.connect(lambda *_: self._added())
        status.activity.clicked.connect(lambda *_: self.toggle(from_anywhere=True))

    def attend(self, operations: Operations) -> None:
        """Hear what becomes of the jobs that these start."""
        operations.succeeded.connect(self._done)
        operations.failed.connect(self._failed)
        operations.resumed.connect(self._resumed)

    @property
    def drawer(self) -> Drawer:
        """The drawer of the jobs; made when it is first asked for."""
        if self._drawer is None:
            self._drawer = made = self._making.drawer()
            made.current_changed.connect(self._context.update_soon)
            made.turned.connect(self._turned)
            self._context.update_soon()
        return self._drawer

    @property
    def open(self) -> Drawer | None:
        """The drawer, where it is open."""
        return self._drawer if self._drawer is not None and self._drawer.isVisible() else None

    @property
    def job(self) -> Job | None:
        """The job that actions are about: the one that is chosen in the drawer, or the last."""
        if self._drawer is not None:
            return self._drawer.job
        return next(iter(self._context.jobs.jobs), None)

    def toggle(self, *, from_anywhere: bool = False) -> None:
        """Go into the drawer; from there, or ``from_anywhere``, close it."""
        drawer = self.drawer
        held = drawer.isVisible() and (from_anywhere or drawer.holds_focus)
        (drawer.shut if held else drawer.go_in)()

    def show(self, job: Job | None) -> None:
        """Open the drawer with a job, and leave the keyboard where it is."""
        if job is not None:
            self.drawer.choose(job)
        self.drawer.open_up()

    def show_log(self, job: Job | None = None) -> None:
        """Go to the log of a job; without one, of the chosen one."""
        self.show(job)
        self.drawer.show_log()

    def close(self) -> None:
        """The window closes: what is cut off is kept as such."""
        if self._keeper is not None:
            self._keeper.close()

    def _turned(self) -> None:
        self._status.activity.setChecked(self.open is not None)
        self._looked()
        self._context.update_soon()

    def _looked(self) -> None:
        if self._strip is not None and self.open is not None:
            self._strip.looked()

    def _added(self) -> None:
        if self._keeper is not None:
            return
        from torchkeeper.gui.activity.shown import JobStrip, Keeper

        context = self._context
        window = context.window
        self._keeper = Keeper(context.jobs, context.engines, window.isVisible, window)
        self._closing.left.connect(self._keeper.tell_soon)
        self._closing.back.connect(self._keeper.tell_soon)
        self._strip = strip = JobStrip(context.jobs, self._status)
        strip.opened.connect(self._go_to)
        strip.wanted.connect(late(lambda: self._making.flows().results.open))
        strip.cancelled.connect(context.operations.cancel)
        self._status.hold(strip)
        strip.refresh()

    def _go_to(self, job: Job) -> None:
        self.show(job)
        self.drawer.go_in()

    def _failed(self, job: Job) -> None:
        if (drawer := self.open) is not None and drawer.job is job:
            self._looked()  # it says it
        elif job.error is not None:
            # Its log is a button away.
            self.drawer.choose(job)
            self._context.update_now()
            self._context.tell(job.error)
            self._told[job.kind, job.place] = job.error

    def _resumed(self, job: Job) -> None:
        if (error := self._told.pop((job.kind, job.place), None)) is not None:
            self._context.over(error)

    def _done(self, job: Job) -> None:
        context, of = self._context, job.traits
        bar = context.undo_bar
        self._resumed(job)
        if of.untrashes:
            if job.place == bar.place:
                bar.hide()
            context.jobs.no_longer_undoable(job)
        if job.receipt is not None:
            self._offer_undo(job)
        if of.untrashes:
            self._making.flows().results.select_back(job)
        elif of.proves:
            self._context.verifications.keep(job)

    def _offer_undo(self, job: Job) -> None:
        """Offer to undo what a job did, with all that was decided with it."""
        context, of = self._context, job.traits
        done: list[Job] = job.asked.get("also", [])
        done.append(job)
        some = held(done)
        if of.undoable:
            every = context.jobs.undoable
            context.jobs.undoable = [one for one in every if one is not done] + [done]
        if of.fills and job.place != context.place:
            return  # the place that is shown is as it was
        text = self.tr("{} imported" if of.fills else "{} moved to the trash").format(some)
        undoes = self.tr("Undo {}").format(say.done_of(job.did, some))
        bar = context.undo_bar
        bar.offer(str(job.place), text, lambda: context.undo(done), undoes=undoes, came=of.fills)


#: Where it is kept whether this is wanted; it is, until somebody says no.
SETTING = "notify/jobs"
#: Seconds a job has taken at least of which the desktop is told: for less, nobody goes away.
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
        from torchkeeper.client.desktop.services import Notifications

        self._context, self._alone = context, alone
        self.notifications = Notifications(self._was_clicked, self._was_lost)
        self._clicked.connect(self._show)
        # What every desktop has: the window's entry in the list of windows is marked.
        self._failed.connect(lambda _: QApplication.alert(context.window))
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
        from torchkeeper.client.desktop.services import Note
        from torchkeeper.gui.desktop import front

        took = job.elapsed(time.time()) or 0.0
        alone = self._alone()
        # Who has cancelled it knows that it has ended; what goes on has not.
        if job.state is State.CANCELLED or job.goes_on or not self.on:
            return
        if not alone and (took < LONG or front.in_front()):
            return
        # A window that has gone ends with its last job; a click could bring nothing back then.
        key = None if alone and not self._context.jobs.active else job.id
        came = job.error.what if job.error is not None else state_text(job)
        body = self.tr("{} · it took {}").format(came, say.seconds(took))
        summary = self.tr("Done: {}") if job.good else self.tr("Done, with problems: {}")
        if job.state is State.FAILED:
            summary = self.tr("Failed: {}")
        self.notifications.show(Note(summary.format(job.title), body, key, self.tr("Show the job")))

    def _show(self, key: int, token: str) -> None:
        from torchkeeper.gui.desktop import front

        front.bring(self._context.window, token)
        for job in self._context.jobs.jobs:
            if job.id == key:
                self.opened.emit(job)
