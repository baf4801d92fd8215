"""What the window does about jobs: the strip, the page, the history, and what they end with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.client.words import say
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.pages.table import ACTIVITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchkeeper.gui.chrome.statusline import StatusBar
    from torchkeeper.gui.closing import Closing
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.jobs.operations import Operations
    from torchkeeper.gui.jobs.results import Results
    from torchkeeper.gui.pages.activity.page import ActivityPage
    from torchkeeper.gui.pages.activity.past import Keeper
    from torchkeeper.gui.pages.activity.strip import JobStrip


class Following(QObject):
    """Follows the jobs of a window; what shows them is made for the first one."""

    def __init__(
        self, context: Context, closing: Closing, status: StatusBar, results: Callable[[], Results]
    ) -> None:
        """results: what shows what came of jobs; made when it is first asked for."""
        super().__init__(context.window)
        self._context, self._closing = context, closing
        self._status, self._results = status, results
        self._page: ActivityPage | None = None
        self._keeper: Keeper | None = None
        self._strip: JobStrip | None = None
        context.jobs.rowsInserted.connect(lambda *_: self._added())

    def attend(self, operations: Operations) -> None:
        """Hear what becomes of the jobs that these start."""
        operations.succeeded.connect(self._done)
        operations.failed.connect(self._failed)

    @property
    def page(self) -> ActivityPage:
        """The page of the jobs; made when it is first asked for."""
        from torchkeeper.gui.pages.activity.page import ActivityPage

        if self._page is None:
            page = self._context.pages.of(ACTIVITY)
            assert isinstance(page, ActivityPage)
            self._page = page
            page.current_changed.connect(self._context.update_soon)
            self._context.update_soon()
        return self._page

    @property
    def job(self) -> Job | None:
        """The job that actions are about: the one that is chosen on its page, or the last."""
        if self._page is not None:
            return self._page.job
        jobs = self._context.jobs.jobs
        return jobs[0] if jobs else None

    def looked(self, ident: str) -> None:
        """A page is shown from now on."""
        if ident == ACTIVITY:
            _ = self.page  # somebody looks at it
            if self._strip is not None:
                self._strip.looked()

    def close(self) -> None:
        """The window closes: what is cut off is kept as such."""
        if self._keeper is not None:
            self._keeper.close()

    def _added(self) -> None:
        if self._keeper is not None:
            return
        from torchkeeper.gui.pages.activity.past import Keeper
        from torchkeeper.gui.pages.activity.strip import JobStrip

        context = self._context
        window = context.window
        self._keeper = Keeper(context.jobs, context.engines, window.isVisible, window)
        self._closing.left.connect(self._keeper.tell_soon)
        self._closing.back.connect(self._keeper.tell_soon)
        self._strip = strip = JobStrip(context.jobs, self._status)
        strip.opened.connect(self._show)
        strip.cancelled.connect(context.operations.cancel)
        # It has what the counts leave, before those say more than numbers.
        self._status.addPermanentWidget(strip, 1000)
        strip.refresh()

    def show_log(self, job: Job | None = None) -> None:
        """Go to the log of a job; without one, of the chosen one."""
        if job is not None:
            self.page.choose(job)
        self._context.pages.go(ACTIVITY)
        self.page.show_log()

    def _show(self, job: Job) -> None:
        self.page.choose(job)
        self._context.pages.go(ACTIVITY)

    def _failed(self, job: Job) -> None:
        # Its dialog says it, if that is still open.
        if job.error is not None and not self._results().followed(job):
            # Its log is a button away.
            self.page.choose(job)
            self._context.update_now()
            self._context.tell(job.error)

    def _done(self, job: Job) -> None:
        bar, of = self._context.undo_bar, job.traits
        if of.trashes and job.place and job.result.get("receipt"):
            purged = say.held_of(job.result)
            text = self.tr("{} moved to the trash").format(purged)
            bar.offer(job.place, text, undoes=self.tr("Undo purge of {}").format(purged))
        elif of.untrashes and job.place == bar.place:
            bar.hide()
        if of.untrashes:
            self._results().select_back(job)
        elif of.proves:
            self._context.verifications.keep(job)
