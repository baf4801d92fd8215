"""What can be done with what came of a job: show it in its folder, open it, look at it again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from torchkeeper.client.kept.history import Past
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine.protocol import FLEET, RUN
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.working import WorkDialog


class Results(QObject):
    """The actions of the chosen job; and the dialogs that have asked for one."""

    #: A dialog has asked for a job, which has begun.
    begun = Signal(object)

    def __init__(self, context: Context) -> None:
        super().__init__(context.window)
        self._context = context
        #: Those that may ask once more, by the jobs that they have begun.
        self._dialogs: dict[Job, WorkDialog] = {}
        self._wanted: tuple[str, set[tuple[str, str]]] | None = None
        #: A place that is being read, keys in it, who takes their entries, and what is shown then.
        self._keyed: tuple[str, Sequence[str], Callable[[list[Entry]], object], str] | None = None
        #: What was put back into the place that is shown.
        self._back: tuple[str, set[tuple[str, str]]] | None = None
        context.listing.over.connect(lambda *_: self._select_soon())
        for change in (context.jobs.finished, context.jobs.rowsRemoved):
            change.connect(self._let_go)

    def attend(self, dialog: WorkDialog) -> None:
        """Keep a dialog as long as it may ask once more."""

        def begun(job: Job) -> None:
            self._dialogs[job] = dialog
            if job.kind != FLEET:  # it has a page, which the drawer would cover
                self.begun.emit(job)
            self._let_go()

        dialog.begun.connect(begun)

    def may_ask(self, job: Job) -> bool:
        """Whether the dialog is still there that has asked for a job."""
        return job in self._dialogs and not job.good

    def ask_again(self, job: Job) -> None:
        """Ask for a job once more, with what was said the last time."""
        if (dialog := self._dialogs.pop(job, None)) is not None:
            dialog.choose_again()

    def _let_go(self, *_: object) -> None:
        jobs = self._context.jobs.jobs
        for job in [one for one in self._dialogs if one.good or one not in jobs]:
            self._dialogs.pop(job).reject()

    def reveal(self, job: Job | Past | None) -> None:
        """Show what came of a job in the file manager."""
        self.reveal_path(job.fruit if job else None)

    def reveal_path(self, path: str | None) -> None:
        """Show a path in the file manager."""
        if path and scheme_of(path).local:
            shown = Listener(result=lambda found: self._revealed(path, found))
            self._context.engines.background(shown, lookups.revealed, path)

    def _revealed(self, path: str, found: lookups.Revealed) -> None:
        if found.shown:
            return
        name = printable(path)
        if found.what == "missing":
            gone = self.tr("{} no longer exists.").format(name)
            self._context.tell(UserError(gone, self.tr("It was moved or removed."), code="missing"))
            return
        folder = path if found.what == "folder" else os.path.dirname(path)
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(folder)):
            what = self.tr("The folder {} could not be shown.").format(printable(folder))
            why = self.tr("No file manager answered.")
            remedy = self.tr("Open it yourself; the path is above.")
            self._context.tell(UserError(what, why, remedy, code="no-file-manager"))

    def open(self, job: Job | Past | None) -> None:
        """Open what a job wrote, with the entries that it put there selected."""
        if isinstance(job, Job) and job.kind == RUN:
            from torchkeeper.gui.pages.runs import RunsPage

            page = self._context.pages.go("runs")
            assert isinstance(page, RunsPage)
            page.look_at(job)
            return
        if isinstance(job, Job) and job.kind == FLEET:
            from torchkeeper.gui.pages.fleet.page import FleetPage

            fleets = self._context.pages.go("fleet")
            assert isinstance(fleets, FleetPage)
            fleets.show_job(job)
            return
        if job is None or (path := job.fruit) is None:
            return
        if isinstance(job, Past):
            self.open_path(path, bundle=job.bundle)
            return
        self.open_path(path, bundle=job.made_bundle)
        self._wanted = (path, set(job.placed)) if job.placed else None
        self._select_soon()

    def open_path(self, path: str, *, bundle: bool) -> None:
        """Show a place, or a ``bundle`` as one."""
        context = self._context
        context.places.add(path, bundle=bundle)
        context.pages.go(ENTRIES)
        if context.place != path:
            context.places_pane.choose(path)
        else:
            # Nobody looks by itself whether a bundle is still the same.
            context.listing.refresh()

    def go_to(self, place: str, kind: str, path: str) -> None:
        """Show an entry, in whichever place it is."""
        context = self._context
        context.pages.go(ENTRIES)
        if context.place != place:
            context.places_pane.choose(place)
        self._wanted = (place, {(kind, path)})
        self._select_soon()

    def go_to_key(self, place: str, key: str) -> None:
        """Show the entry of a key, which may be what AOTAutograd made of a graph."""

        def show(found: list[Entry]) -> None:
            if self._context.show_entries({entry.identity for entry in found}):
                self._context.table.setFocus()

        self._context.pages.go(ENTRIES)
        self.with_keys(place, [key], show)

    def with_keys(
        self, place: str, keys: Sequence[str], then: Callable[[list[Entry]], object],
        back: str = "",
    ) -> None:  # fmt: skip
        """Show a place, hand on the entries of keys or say that one is gone, then show ``back``."""
        if place != self._context.place:
            self._context.places.add(place)
            self._context.places_pane.choose(place)
        self._keyed = place, keys, then, back
        self._select_soon()

    def _hand_on(self) -> None:
        if self._keyed is None:
            return
        (place, keys, then, back), self._keyed = self._keyed, None
        if place != self._context.place:
            return
        wanted = [(kind, key) for key in keys for kind in ("fxgraph", "aotautograd")]
        found = self._context.entries.of_keys(set(wanted))
        entries = [one for which in wanted for one in found.get(which, [])[:1]]
        whole = len(entries) == len(keys)
        if whole:
            then(entries)
        if back:
            self._context.places_pane.choose(back)
        if not whole:
            gone = self.tr("The entry is no longer in {}.").format(printable(place))
            self._context.tell(UserError(gone, self.tr("It was removed since."), code="missing"))

    def select_back(self, job: Job) -> None:
        """Select what an undo has put back, once the place that is shown lists it."""
        if job.placed and job.place is not None and job.place == self._context.place:
            self._back = job.place, set(job.placed)
            self._select_soon()

    def _select_soon(self) -> None:
        # A reading that is over may be followed by another at once.
        QTimer.singleShot(0, self, self._select)

    def _select(self) -> None:
        context = self._context
        if context.listing.loading:
            return
        self._hand_on()
        if self._back is not None:
            (place, identities), self._back = self._back, None
            if context.place == place:
                context.select_shown(identities)
        if self._wanted is None:
            return
        (place, identities), self._wanted = self._wanted, None
        if context.place == place and context.show_entries(identities):
            if len(identities) == context.entries.count > 1:
                # To select all tells nothing apart, and has the next key be about all.
                context.table.select_rows([context.table.currentIndex().row()])
            context.table.setFocus()
