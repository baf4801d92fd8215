"""What the window does about jobs: the strip, the page, the history, and what they end with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.gui.jobs.model import Job
from torchkeeper.link.words import say

if TYPE_CHECKING:
    from torchkeeper.gui.activity.keeping import Keeper
    from torchkeeper.gui.activity.page import ActivityPage
    from torchkeeper.gui.activity.strip import JobStrip
    from torchkeeper.gui.jobs.operations import Operations
    from torchkeeper.gui.window import Window

#: The id of the page.
ACTIVITY = "activity"


class Following(QObject):
    """Follows the jobs of a window; what shows them is made for the first one."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self._page: ActivityPage | None = None
        self._keeper: Keeper | None = None
        self._strip: JobStrip | None = None
        window.jobs.rowsInserted.connect(lambda *_: self._added())

    def attend(self, operations: Operations) -> None:
        """Hear what becomes of the jobs that these start."""
        operations.succeeded.connect(self._done)
        operations.failed.connect(self._failed)

    @property
    def page(self) -> ActivityPage:
        """The page of the jobs; made when it is first asked for."""
        from torchkeeper.gui.activity.page import ActivityPage

        if self._page is None:
            page = self._window.pages.of(ACTIVITY)
            assert isinstance(page, ActivityPage)
            self._page = page
            page.current_changed.connect(self._window.update_soon)
            self._window.update_soon()
        return self._page

    @property
    def job(self) -> Job | None:
        """The job that actions are about: the one that is chosen on its page, or the last."""
        if self._page is not None:
            return self._page.job
        jobs = self._window.jobs.jobs
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
        from torchkeeper.gui.activity.keeping import Keeper
        from torchkeeper.gui.activity.strip import JobStrip

        window = self._window
        self._keeper = Keeper(window.jobs, window.engines, window.isVisible, window)
        window.closing.left.connect(self._keeper.tell_soon)
        window.closing.back.connect(self._keeper.tell_soon)
        self._strip = strip = JobStrip(window.jobs, window.statusBar())
        strip.opened.connect(self._show)
        strip.cancelled.connect(window.operations.cancel)
        # It has what the counts leave, before those say more than numbers.
        window.statusBar().addPermanentWidget(strip, 1000)
        strip.refresh()

    def _show(self, job: Job) -> None:
        self.page.choose(job)
        self._window.show_page(ACTIVITY)

    def _failed(self, job: Job) -> None:
        # Its dialog says it, if that is still open.
        if job.error is not None and not self._window.flows.results.followed(job):
            # Its log is a button away.
            self.page.choose(job)
            self._window.update_now()
            self._window.tell(job.error)

    def _done(self, job: Job) -> None:
        bar, of = self._window.undo_bar, job.traits
        if of.trashes and job.place and job.result.get("receipt"):
            purged = say.held_of(job.result)
            text = self.tr("{} moved to the trash").format(purged)
            bar.offer(job.place, text, undoes=self.tr("Undo purge of {}").format(purged))
        elif of.untrashes and job.place == bar.place:
            bar.hide()
        if of.untrashes:
            self._window.flows.results.select_back(job)
        elif of.proves:
            self._window.verifications.keep(job)
