"""What can be done with what came of a job: show it in its folder, open it, look at it again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.pages.table import ENTRIES
from torchkeeper.link.words.problems import UserError, printable
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.dialogs.working import WorkDialog
    from torchkeeper.gui.window import Window


class Results(QObject):
    """The actions of the chosen job, and of the dialogs that follow one."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self._dialogs: list[WorkDialog] = []
        self._wanted: tuple[str, set[tuple[str, str]]] | None = None
        #: What was put back into the place that is shown.
        self._back: tuple[str, set[tuple[str, str]]] | None = None
        window.listing.over.connect(lambda *_: self._select_soon())

    def attend(self, dialog: WorkDialog) -> None:
        """Do what a dialog asks for."""
        dialog.reveal.connect(self._reveal)
        dialog.opened.connect(self._open)
        dialog.cancelled.connect(self._window.operations.cancel)
        dialog.log.connect(self._show_log)
        dialog.verify.connect(self._window.flows.verify_warmed)
        dialog.rewarm.connect(self._window.flows.warm_rest)
        self._dialogs.append(dialog)
        dialog.finished.connect(lambda *_: self._dialogs.remove(dialog))

    def followed(self, job: Job) -> bool:
        """Whether a dialog is open that says how a job ends."""
        return any(dialog.job is job for dialog in self._dialogs)

    def show_in_folder(self) -> None:
        """Show what came of the chosen job in the file manager."""
        self._reveal(self._window.following.job)

    def open_result(self) -> None:
        """Open what the chosen job wrote, with the entries that it put there selected."""
        self._open(self._window.following.job)

    def show_result(self) -> WorkDialog | None:
        """How far the chosen job is, or what came of it, in a dialog."""
        job = self._window.following.job
        if job is None or not job.has_dialog:
            return None
        from torchkeeper.gui.dialogs.working import WorkDialog

        dialog = WorkDialog(self._window, self._window.jobs)
        dialog.resize(640, 224)
        self.attend(dialog)
        dialog.prepare.connect(self._window.flows.prepare)
        dialog.edit.connect(self._window.flows.recipes.edit_recipe)
        dialog.follow(job)
        dialog.open()
        return dialog

    def _show_log(self, job: Job) -> None:
        self._window.following.page.choose(job)
        self._window.show_log()

    # Show in folder.

    def _reveal(self, job: Job | None) -> None:
        self.reveal_path(job.fruit if job else None)

    def reveal_place(self) -> None:
        """Show the place that is shown in the file manager."""
        self.reveal_path(self._window.place)

    def reveal_path(self, path: str | None) -> None:
        """Show a path in the file manager."""
        if path and scheme_of(path).local:
            self._window.engines.reveal(
                path, Listener(result=lambda found: self._revealed(path, found))
            )

    def _revealed(self, path: str, found: dict[str, Any]) -> None:
        if found["shown"]:
            return
        name = printable(path)
        if found["what"] == "missing":
            self._window.tell(
                UserError(
                    self.tr("There is no {} any more.").format(name),
                    self.tr("It was moved or removed."),
                    code="missing",
                )
            )
            return
        folder = path if found["what"] == "folder" else os.path.dirname(path)
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(folder)):
            self._window.tell(
                UserError(
                    self.tr("The folder {} could not be shown.").format(printable(folder)),
                    self.tr("No file manager answered."),
                    self.tr("Open it yourself; the path is above."),
                    code="no-file-manager",
                )
            )

    # Open.

    def _open(self, job: Job | None) -> None:
        path = job.fruit if job else None
        if job is None or path is None:
            return
        self.open_path(path, bundle=job.made_bundle)
        self._wanted = (path, set(job.placed)) if job.placed else None
        self._select_soon()

    def open_path(self, path: str, *, bundle: bool) -> None:
        """Show a place, or a ``bundle`` as one."""
        window = self._window
        window.places.add(path, bundle=bundle)
        window.show_page(ENTRIES)
        if window.place != path:
            window.places_pane.choose(path)
        else:
            # Nobody looks by itself whether a bundle is still the same.
            window.listing.refresh()

    def go_to(self, place: str, kind: str, path: str) -> None:
        """Show an entry, in whichever place it is."""
        window = self._window
        window.show_page(ENTRIES)
        if window.place != place:
            window.places_pane.choose(place)
        self._wanted = (place, {(kind, path)})
        self._select_soon()

    def select_back(self, job: Job) -> None:
        """Select what an undo has put back, once the place that is shown lists it."""
        if job.placed and job.place is not None and job.place == self._window.place:
            self._back = job.place, set(job.placed)
            self._select_soon()

    def _select_soon(self) -> None:
        # A reading that is over may be followed by another at once.
        QTimer.singleShot(0, self, self._select)

    def _select(self) -> None:
        window = self._window
        if window.listing.loading:
            return
        if self._back is not None:
            (place, identities), self._back = self._back, None
            if window.place == place:
                window.going.select_shown(identities)
        if self._wanted is None:
            return
        (place, identities), self._wanted = self._wanted, None
        if window.place != place:
            return
        if window.going.show_entries(identities):
            window.table.setFocus()
