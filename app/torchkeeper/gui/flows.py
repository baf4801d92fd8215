"""From an action to a job: the dialogs in between, each loaded when it is first opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QDir, QObject

from torchkeeper.artifacts.entry import COUNTED_APART, Entry
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.comparing.flow import CompareFlows
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.jobs.operations import Selection
from torchkeeper.gui.jobs.results import Results
from torchkeeper.gui.places.model import EXPORTED_TO, Place
from torchkeeper.gui.recipeflows import RecipeFlows
from torchkeeper.gui.recipes import known as known_recipes
from torchkeeper.gui.recipes.ofjob import counted
from torchkeeper.gui.signingflows import SigningFlows
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable

if TYPE_CHECKING:
    from torchkeeper.gui.dialogs.cleaning import CleanDialog
    from torchkeeper.gui.dialogs.copying import CopyDialog
    from torchkeeper.gui.dialogs.exporting import ExportDialog
    from torchkeeper.gui.dialogs.importing import ImportDialog
    from torchkeeper.gui.dialogs.preparing import PrepareDialog
    from torchkeeper.gui.dialogs.thenchoice import Then
    from torchkeeper.gui.dialogs.verifying import VerifyDialog
    from torchkeeper.gui.dialogs.warming import WarmDialog
    from torchkeeper.gui.dialogs.working import WorkDialog
    from torchkeeper.gui.window import Window


#: Where the folder of the last import is remembered.
_IMPORTED_FROM = "import/folder"
#: Where the profile of the last warm-up is remembered; "" for the settings of the session.
_PROFILE = "warm/profile"


class Flows(QObject):
    """Warm, export, import, copy, purge, undo, emptying the trash: each from asking to starting."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self.results = Results(window)
        self.recipes = RecipeFlows(window)
        self.recipes.warm.connect(self.warm)
        self.signing = SigningFlows(window, self._open)
        self.comparing = CompareFlows(window)
        window.operations.succeeded.connect(self._filled)

    def warm(self, recipes: Sequence[str] = (), into: str | None = None) -> WarmDialog:
        """Ask what to compile, then do.

        recipes: files and folders to begin with; into: the place, by default the one shown.
        """
        from torchkeeper.gui.dialogs.warming import WarmDialog

        window = self._window
        kept = str(window.settings.value(EXPORTED_TO) or "") or QDir.homePath()
        bundle = os.path.join(kept, self._bundle_name(window.place or "cache"))
        dialog = WarmDialog(
            window, window.engines, window.here.environments, window.jobs, window.places.places,
            into or window.place, bundle, self._warm, recipes,
            str(window.settings.value(_PROFILE) or ""),
        )  # fmt: skip
        self._open(dialog)
        return dialog

    def verify(self, recipes: Sequence[str] = ()) -> VerifyDialog | None:
        """Ask how the place that is shown is to be measured, then do; ``recipes``: files and
        folders to begin with.
        """
        window, place = self._window, self._window.place
        bundle = window.listing.what == "file"
        return None if place is None else self._verify(place, bundle, recipes)

    def _verify(
        self, place: str, bundle: bool = False, recipes: Sequence[str] = (), python: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> VerifyDialog:  # fmt: skip
        """recipes, python, options: what it was warmed with, to begin with."""
        from torchkeeper.gui.dialogs.verifying import VerifyDialog

        window = self._window
        beside = window.verifications.of(place)
        dialog = VerifyDialog(
            window, window.engines, window.here.environments, window.jobs, place,
            lambda env, runs, options: window.operations.verify(
                place, env, runs, options, bundle=bundle
            ),
            beside.line if beside is not None else "",
            window.listing.result if place == window.place else None,
            recipes,
            not bundle and place == window.place and window.listing.what == "folder"
            and window.listing.result.get("owners") == [],
        )  # fmt: skip
        dialog.begin_with(python, options or {})
        self._open(dialog)
        return dialog

    def prepare(self, python: str = "") -> PrepareDialog:
        """Ask where headers are to be built, then do; ``python``: for whom, to begin with."""
        from torchkeeper.gui.dialogs.preparing import PrepareDialog

        window = self._window
        dialog = PrepareDialog(
            window, window.here.environments, window.jobs, window.operations.prepare, python
        )
        self._open(dialog)
        return dialog

    def _open(self, dialog: WorkDialog) -> None:
        self.results.attend(dialog)
        dialog.edit.connect(self.recipes.edit_recipe)
        dialog.prepare.connect(self.prepare)
        dialog.open()

    def _warm(
        self, python: str, recipes: list[str], into: str, options: dict[str, Any], then: Then
    ) -> Job:
        self._adopt(into)
        self._window.settings.setValue(_PROFILE, options.get("profile", ""))
        return self._window.operations.warm(python, recipes, into, options, then)

    def verify_warmed(self, job: Job) -> None:
        """What a job has warmed is to be verified, with what it was warmed with."""
        asked = job.asked
        if job.place is not None:
            self._verify(job.place, False, asked.get("recipes") or (), str(asked.get("python")),
                         asked)  # fmt: skip

    def warm_rest(self, job: Job) -> None:
        """Warm the cells of a job that are not, as the recipes make them now."""
        from torchkeeper.gui.dialogs.working import WorkDialog

        asked, window = job.asked, self._window
        names = ("device", "threads", "portable", "profile", "limit_s", "jobs")
        options: dict[str, Any] = {name: asked[name] for name in names if name in asked}
        if job.place is None or not job.cells.bad:
            return
        good = [(cell.recipe, cell.name) for cell in job.cells.rows if cell.good]
        warm = [*(asked.get("warm") or ()), *good]
        again = window.operations.warm(
            str(asked["python"]), asked["recipes"], job.place, options, asked.get("then"), warm
        )
        dialog = WorkDialog(window, window.jobs)
        self._open(dialog)
        dialog.follow(again)

    def _warmed(self, job: Job) -> None:
        """Note which recipes are warm now, and do what was to follow."""
        window, asked = self._window, job.asked
        counts = list(counted(job).values())
        if counts and job.place is not None:
            listener = Listener(result=lambda _: self._warmed_noted())
            window.engines.background(listener, known_recipes.keep_warmed, counts, job.place)
        then = asked.get("then")
        if then is None or job.place is None or job.cells.bad:
            return
        if then.bundle:
            window.operations.export(job.place, Selection(), then.bundle, True, self._builders())
        if then.server:
            window.operations.copy(job.place, Selection(), then.server, False, False)

    def _warmed_noted(self) -> None:
        if (page := self.recipes.page) is not None:
            page.refresh()

    def _builders(self) -> dict[str, Any] | None:
        from torchkeeper.gui.dialogs.exporting import maker_of
        from torchkeeper.link import carrying

        return carrying.builders(maker_of(self._window.here.environments))

    def _adopt(self, path: str) -> None:
        """A folder that something is written into is a place from now on."""
        if self._window.places.row_of(path) < 0:
            self._window.places.add(path)
        if self._window.place != path:
            self._window.places_pane.choose(path)

    def _filled(self, job: Job) -> None:
        """A folder that entries were imported into or copied to is a place from now on."""
        if job.traits.warms:
            self._warmed(job)
            return
        filled = job.traits.fills and not job.made_bundle
        if filled and job.place and self._window.places.row_of(job.place) < 0:
            self._window.places.add(job.place)

    def export(self) -> ExportDialog | None:
        """Write the selection, or all that is shown, into a bundle."""
        from torchkeeper.gui.dialogs.exporting import ExportDialog

        window = self._window
        place = window.place
        chosen = window.table.selected() or window.entries.shown()
        if place is None or not chosen:
            return None
        chosen, selection = self._copied(chosen)
        dialog = ExportDialog(
            window,
            window.engines,
            window.jobs,
            window.settings,
            place,
            selection,
            (len(chosen), window.entries.total),
            self._bundle_name(place),
            lambda what, needs, output, replace, builders, secrets, key: window.operations.export(
                place, what, output, replace, builders, secrets, key, needs
            ),
            window.here.environments,
        )
        self._open(dialog)
        return dialog

    def copy(self, into: str | None = None) -> CopyDialog | None:
        """Copy the selection, or all that is shown, to a place; ``into``: the one to begin with."""
        from torchkeeper.gui.dialogs.copying import Chosen, CopyDialog, TargetChoice

        window = self._window
        place = window.place
        chosen = window.table.selected() or window.entries.shown()
        if place is None or not chosen:
            return None
        chosen, selection = self._copied(chosen)
        size = sum(entry.size for entry in chosen)
        is_bundle = window.listing.what == "file"
        others = [other for other in window.places.places if not other.bundle]
        others = [other for other in others if other.path != place]
        takers = (other.path for other in others if other.takes and other.exists)
        first = into or next(takers, None)
        kept = str(window.settings.value(EXPORTED_TO) or "") or QDir.homePath()
        dialog = CopyDialog(
            window,
            window.engines,
            window.jobs,
            Chosen(place, selection, len(chosen), size, is_bundle, window.listing.result),
            TargetChoice(others, first, os.path.join(kept, self._bundle_name(place))),
            lambda into, replace, alone, builders, named, secrets: window.operations.copy(
                place, selection, into, replace, alone, builders, named, secrets
            ),
            window.here.environments,
        )
        self._open(dialog)
        return dialog

    def _bundle_name(self, place: str) -> str:
        return Place(place).file_name + ".torchcache"

    def drag_out(self) -> None:
        """Let the selected entries be dragged elsewhere, as a bundle."""
        place, chosen = self._window.place, self._window.table.selected()
        if place is not None and chosen:
            name = self._bundle_name(place)
            self._window.dragging.begin(place, chosen, name, self._builders())

    def _copied(self, chosen: list[Entry]) -> tuple[list[Entry], Selection]:
        """What of some rows another place can use, and the selection of it. Of rows that are no
        entries, all: then the dialog says why nothing of them goes.
        """
        entries = [entry for entry in chosen if entry.kind not in COUNTED_APART] or chosen
        whole = len(entries) == self._window.entries.total and entries is not chosen
        return entries, Selection() if whole else Selection.of(entries)

    def import_files(self) -> None:
        """Ask for files, look into them, and import what the user agrees to."""
        from torchkeeper.gui.dialogs.base import choose_files

        window = self._window
        shown = window.places_pane.place
        if shown is not None and shown.bundle:
            first = shown.path
        else:
            kept = (window.settings.value(name) for name in (_IMPORTED_FROM, EXPORTED_TO))
            first = os.path.join(next((str(one) for one in kept if one), QDir.homePath()), "")
        kinds = self.tr("Bundles and mega-caches (*.torchcache *.bin);;All files (*)")
        choose_files(window, self.tr("Import"), first, kinds, self._import_chosen)

    def _import_chosen(self, files: list[str]) -> None:
        self._window.settings.setValue(_IMPORTED_FROM, os.path.dirname(files[0]))
        self.open_import(files)

    def open_import(self, files: Sequence[str], into: str | None = None) -> ImportDialog:
        """Look into files; ``into``: the place to begin with, the one that is shown without."""
        from torchkeeper.gui.dialogs.importing import ImportDialog

        dialog = ImportDialog(
            self._window,
            self._window.engines,
            self._window.jobs,
            files,
            self._window.places.places,
            into or self._window.place,
            self._window.operations.import_files,
            self._window.here.environments,
        )
        dialog.looked.connect(self._window.recent.note)
        self._open(dialog)
        return dialog

    def purge_selected(self) -> None:
        """Show what would go of the selection."""
        self._purge(self._window.table.selected())

    def purge_shown(self) -> None:
        """Show what would go of all that is shown, which is nothing that no known writer wrote."""
        self._purge(self._window.entries.shown(), everything=True)

    def _purge(self, chosen: list[Entry], everything: bool = False) -> None:
        place = self._window.place
        if place is None or not chosen:
            return
        from torchkeeper.gui.dialogs.purging import PurgeDialog

        selection = Selection.of(chosen)
        dialog = PurgeDialog(
            self._window,
            self._window.engines,
            place,
            {**selection.select, "everything": everything},
            selection.hold,
        )
        dialog.decided.connect(
            lambda ticket, plan, at_once: self._window.operations.purge(
                place, ticket, plan, at_once
            )
        )
        dialog.open()

    def clean_up(self) -> CleanDialog | None:
        """Show what is dead in the place that is shown, and how much each reason would free."""
        place = self._window.place
        return None if place is None else self.clean_up_place(place)

    def clean_up_place(self, place: str) -> CleanDialog:
        """Show the same of any place."""
        from torchkeeper.gui.dialogs.cleaning import CleanDialog

        window = self._window
        read_only = window.places.read_only(place)
        dialog = CleanDialog(window, window.engines, window.settings, place, read_only)
        dialog.decided.connect(
            lambda ticket, plan, at_once: window.operations.purge(place, ticket, plan, at_once)
        )
        dialog.open()
        return dialog

    def undo(self) -> None:
        """Put back what the last purge of this place took."""
        if self._window.place is not None:
            self._window.undo_bar.hide()
            self._window.operations.undo(self._window.place)

    def empty_trash(self) -> None:
        """Ask, then delete for good what was purged from the place that is shown."""
        place, trash = self._window.place, self._window.listing.trash
        if place is not None:
            self.empty_trash_of(place, trash)

    def empty_trash_of(self, place: str, trash: dict[str, int]) -> None:
        """The same of any place, in whose trash there is so much."""
        from torchkeeper.gui.dialogs.base import confirm

        confirm(
            self._window,
            self.tr("Empty trash"),
            self.tr("Delete {} for good?").format(say.held(trash)),
            self.tr("{} in the trash of {} are deleted. This cannot be undone.").format(
                say.on_disk(trash.get("bytes", 0)), printable(place)
            ),
            self.tr("Empty trash"),
            lambda: self._window.operations.empty_trash(place),
        )

    def tell_cut_off(self, told: Mapping[str, object]) -> None:
        """Say what was cut off in a place, and offer to bring it to its end; told: a
        ``recovering.Recovered`` by the names of its fields.
        """
        from torchkeeper.link.words import cutoff

        place, tell = str(told.get("place")), self._window.note_bar.tell
        said, operations = cutoff.ended(told), self._window.operations
        if told.get("outcome") == "waiting":
            tell(said, self.tr("Complete it"), lambda: operations.recover(place))
        elif told.get("outcome") == "not-believed":
            tell(said, self.tr("Deal with it…"), lambda: self._insist(told))
        else:
            tell(said)

    def _insist(self, told: Mapping[str, object]) -> None:
        """Ask what is to become of what nothing shows to have been begun here."""
        from torchkeeper.gui.dialogs.base import ConfirmDialog
        from torchkeeper.gui.widgets import forms
        from torchkeeper.link.words import cutoff

        place, operations = str(told.get("place")), self._window.operations
        dialog = ConfirmDialog(
            self._window,
            self.tr("Something was cut off"),
            cutoff.begun(told),
            self.tr(
                "{} To carry it out changes files in this folder as it says. To forget it removes "
                "that one file, and leaves what may be a half as it is. Neither can be undone."
            ).format(cutoff.ended(told)),
            self.tr("Carry it out"),
        )
        dialog.accepted.connect(lambda: operations.recover(place, "believe"))
        forget = forms.button(self.tr("Forget it"), danger=True)
        forget.clicked.connect(dialog.reject)
        forget.clicked.connect(lambda: operations.recover(place, "forget"))
        dialog.add_way(forget)
        dialog.open()
