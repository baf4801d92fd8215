"""From an action to a job: the dialogs in between, each loaded when it is first opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QDir, QObject, Signal, Slot

from torchkeeper.artifacts.entry import COUNTED_APART, Entry
from torchkeeper.client.overviewing import added
from torchkeeper.client.words import say
from torchkeeper.client.words.found import become_of, begun
from torchkeeper.client.words.problems import printable
from torchkeeper.engine.protocol import FLEET, IMPORT
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Asked, Job, Selection, Then
from torchkeeper.gui.jobs.results import Results
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.pages.comparing.flow import CompareFlows
from torchkeeper.gui.pages.fleet.flow import FleetFlows
from torchkeeper.gui.pages.recipes import known as known_recipes
from torchkeeper.gui.pages.recipes.known import FORM, counted
from torchkeeper.gui.places.model import EXPORTED_TO, Place
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.client.engines.questions import Question
    from torchkeeper.client.programs import Ended
    from torchkeeper.engine.messages.bundles import Builders
    from torchkeeper.gui.background.lookups import At
    from torchkeeper.gui.chrome.bars import NoteBar
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.desktop.dragging import DragOut
    from torchkeeper.gui.dialogs.cleaning import CleanDialog
    from torchkeeper.gui.dialogs.copying import CopyDialog
    from torchkeeper.gui.dialogs.exporting import ExportDialog
    from torchkeeper.gui.dialogs.importing import ImportDialog
    from torchkeeper.gui.dialogs.preparing import PrepareDialog
    from torchkeeper.gui.dialogs.programs import ProgramDialog
    from torchkeeper.gui.dialogs.recipeedit import RecipeEditor
    from torchkeeper.gui.dialogs.signers import SignDialog, SignersDialog
    from torchkeeper.gui.dialogs.verifying import VerifyDialog
    from torchkeeper.gui.dialogs.warming import WarmDialog
    from torchkeeper.gui.dialogs.working import WorkDialog
    from torchkeeper.gui.pages.recipes.page import RecipesPage
    from torchkeeper.gui.verdicts.environments import Environment
    from torchkeeper.stores.shapes import CutOff


_Dialog = TypeVar("_Dialog", bound="WorkDialog")


def _folder(context: Context, *names: str) -> str:
    """The first folder that is remembered by one of these names; without any, the user's own."""
    kept = (str(context.settings.value(name) or "") for name in names)
    return next(filter(None, kept), QDir.homePath())


def _bundle_name(place: str) -> str:
    return Place(place).file_name + ".torchcache"


#: Where the folders of the last recipe and the last import are remembered, the profile of the last
#: warm-up, "" for the settings of the session, and the runs of the last verification.
_RECIPES_IN, _IMPORTED_FROM, _PROFILE = "recipes/folder", "import/folder", "warm/profile"
_RUNS = "verify/runs"
#: Places that a question names before the rest is only counted.
_NAMED = 4


class RecipeFlows(QObject):
    """Edits recipes and begins new ones."""

    #: Recipes, by their files and folders, are to be warmed: into a place, None for no certain one.
    warm = Signal(list, object)

    def __init__(self, context: Context) -> None:
        super().__init__(context.window)
        self._context = context

    @property
    def page(self) -> RecipesPage | None:
        """The page with the list, where somebody has looked at it."""
        from torchkeeper.gui.pages.recipes.page import RecipesPage

        return next((x for x in self._context.pages.made() if isinstance(x, RecipesPage)), None)

    def edit_recipe(self, path: str, line: int = 1, *, form: bool = False) -> RecipeEditor:
        """Edit the text of a recipe, and its form; what is being edited already is shown."""
        from torchkeeper.gui.dialogs.recipeedit import RecipeEditor

        window, engines = self._context.window, self._context.engines
        editors = window.findChildren(RecipeEditor)
        editor = next((one for one in editors if one.isVisible() and one.path == path), None)
        if editor is None:
            return self._edit(RecipeEditor(window, engines, path, line=line, form=form))
        editor.go_to_line(line)
        if form:
            editor.fill_in()
        editor.activateWindow()
        return editor

    def new_recipe(self, source: str) -> None:
        """Write a recipe of a source, beginning with its example; ``FORM``: with a form."""
        from torchkeeper.gui.dialogs.recipeedit import RecipeForm

        context = self._context
        if source == FORM:
            written = partial(self._begin_recipe, written=True)
            RecipeForm(context.window, written, folder=_folder(context, _RECIPES_IN)).open()
            return
        begin = partial(self._begin_recipe, example=source)
        listener = Listener(result=begin, failed=context.tell)
        context.engines.background(listener, known_recipes.example, source)

    def new_recipe_for(self, programs: Sequence[str]) -> None:
        """Begin a recipe for exported programs, beside the first of them."""
        from torchkeeper.gui.pages.recipes.forming import text_for

        folder = os.path.dirname(os.path.abspath(programs[0]))
        self._begin_recipe(text_for(programs, folder), folder)

    def _begin_recipe(
        self, text: str, folder: str = "", *, written: bool = False, example: str = ""
    ) -> None:
        """Edit a new recipe. folder: where it is to be; "" for where the last one was. written:
        whether somebody would miss the text. example: the source that it is an example of.
        """
        from torchkeeper.gui.dialogs.recipeedit import RecipeEditor

        window, engines = self._context.window, self._context.engines
        folder = folder or _folder(self._context, _RECIPES_IN)
        editor = RecipeEditor(window, engines, text=text, folder=folder, example=example)
        editor.text.document().setModified(written)
        self._edit(editor)

    def _edit(self, editor: RecipeEditor) -> RecipeEditor:
        editor.saved.connect(self._recipe_saved)
        editor.warm.connect(lambda path: self.warm.emit([path], None))
        editor.show()
        return editor

    def _recipe_saved(self, path: str) -> None:
        context = self._context
        context.settings.setValue(_RECIPES_IN, os.path.dirname(path))
        if (page := self.page) is not None:
            page.saved(path)
        else:
            listener = Listener(failed=context.tell)
            context.engines.background(listener, known_recipes.listed, [path], unless=True)

    def save_run(self, run: Ended, warm: bool = False) -> None:
        """Ask for a file, and write what a program compiled into it as a recipe. warm: whether that
        is to be warmed then.
        """
        from torchkeeper.client import programs
        from torchkeeper.gui.dialogs.base import choose_target

        context, away = self._context, scheme_of(run.place).elsewhere

        def write(file: str) -> None:
            context.settings.setValue(_RECIPES_IN, os.path.dirname(file))
            listener = Listener(result=written, failed=context.tell)
            context.engines.background(listener, programs.save_recipe, file, run)

        def written(file: str) -> None:
            def listed(_: object) -> None:
                if warm:
                    self.warm.emit([file], run.place if away else None)
                else:
                    self.open_recipes([file])

            # It is on the list from now on, whatever becomes of it.
            listener = Listener(result=listed, failed=context.tell)
            context.engines.background(listener, known_recipes.listed, [file], unless=True)

        scripts = (os.path.basename(word) for word in run.words if word.endswith(".py"))
        name = os.path.splitext(next(scripts, "run"))[0] + ".toml"
        kept = str(context.settings.value(_RECIPES_IN) or "")
        first = os.path.join(kept or (QDir.homePath() if away else run.folder), name)
        title, kinds = self.tr("Save as recipe"), self.tr("Recipes (*.toml)")
        if warm:
            title = self.tr("Save as recipe, then warm it")
        choose_target(context.window, title, first, kinds, write, "toml")

    def open_recipes(self, paths: Sequence[str]) -> None:
        """Put recipes on the list, and show it."""
        self._context.pages.go("recipes")
        if (page := self.page) is not None:
            page.add(paths)


class SigningFlows(QObject):
    """From an action about signatures to what comes of it; and what ssh-keygen asks meanwhile."""

    def __init__(self, context: Context, show: Callable[[WorkDialog], object]) -> None:
        """show: opens a dialog that asks for a job."""
        super().__init__(context.window)
        self._context, self._show = context, show
        context.operations.asked.connect(self._ask)

    def sign_bundle(self) -> None:
        """Sign the bundle that is shown; where none is, ask for one."""
        from torchkeeper.gui.dialogs.base import choose_file

        context = self._context
        if context.listing.what == "file" and context.place is not None:
            self.sign(context.place)
            return
        kept = os.path.join(_folder(context, EXPORTED_TO), "")
        kinds = self.tr("Torchkeeper bundles (*.torchcache);;All files (*)")
        choose_file(context.window, self.tr("Sign bundle"), kept, kinds, self.sign)

    def sign(self, file: str) -> SignDialog:
        """Ask with which key, then sign a bundle."""
        from torchkeeper.gui.dialogs.signers import SignDialog

        context = self._context
        dialog = SignDialog(
            context.window, context.engines, context.settings, file,
            lambda key, before: context.operations.sign(file, key, before),
        )  # fmt: skip
        self._show(dialog)
        return dialog

    def show_signers(self, above: QWidget | None = None) -> SignersDialog:
        from torchkeeper.gui.dialogs.signers import SignersDialog

        dialog = SignersDialog(above or self._context.window, self._context.engines)
        dialog.open()
        return dialog

    @Slot(object, object)
    def _ask(self, job: Job, question: Question) -> None:
        from torchkeeper.gui.dialogs.machine import ask

        context, touch = self._context, question.kind == "none"
        if touch:
            job.now = self.tr("Touch your key now") if question.text else ""
            context.jobs.log(job, [question.text] if question.text else [])
            context.jobs.touch(job)

        def answer(text: str | None) -> None:
            if text is None:
                context.operations.cancel(job)
            else:
                question.answer(text)

        if not (touch and question.text):
            ask(context.window, question._replace(answer=answer))


class Flows(QObject):
    """Warm, export, import, copy, purge, undo, emptying the trash: each from asking to starting."""

    #: A bundle was looked into.
    looked = Signal(str)

    def __init__(self, context: Context, note_bar: NoteBar) -> None:
        super().__init__(context.window)
        self._context, self._note_bar = context, note_bar
        self.results = Results(context)
        self.recipes = RecipeFlows(context)
        self.recipes.warm.connect(self.warm)
        self.signing = SigningFlows(context, self._open)
        self.comparing = CompareFlows(context)
        self.fleet = FleetFlows(context, self._open)
        context.operations.succeeded.connect(self._filled)
        context.jobs.finished.connect(self._over)

    def warm(self, recipes: Sequence[str] = (), into: str | None = None) -> WarmDialog:
        """Ask what to compile, by which recipes at first, and into which place, then do."""
        from torchkeeper.gui.dialogs.warming import WarmDialog

        context = self._context
        place = into or context.place
        dialog = WarmDialog(
            context.window, context.engines, context.machines.of(place),
            context.places.beside(place), place,
            self._new_bundle(context.place or "cache"), self._warm, recipes,
            str(context.settings.value(_PROFILE) or ""),
        )  # fmt: skip
        dialog.then.publish_to(into or context.place)
        dialog.recipe.running.connect(lambda: dialog.leave(self.run_program))
        return self._open(dialog)

    def verify(self, recipes: Sequence[str] = ()) -> VerifyDialog | None:
        """Ask how the place that is shown is to be measured, and with which recipes, then do."""
        place = self._context.place
        return None if place is None else self._verify(place, recipes)

    def _verify(
        self, place: str, recipes: Sequence[str] = (), python: str = "",
        options: Asked | None = None,
    ) -> VerifyDialog:  # fmt: skip
        """recipes, python, options: what it was warmed with, to begin with."""
        from torchkeeper.gui.dialogs.verifying import VerifyDialog

        context = self._context
        listing, places = context.listing, context.places.beside(place)

        def known(place: str) -> tuple[str, Mapping[str, Any], bool]:
            beside, shown = context.verifications.of(place), place == context.place
            own = shown and listing.what == "folder" and listing.owners == []
            return beside.line if beside else "", (shown and listing.result) or {}, own

        def start(place: str, env: Environment, runs: list[str], options: Asked) -> Job:
            context.settings.setValue(_RUNS, " ".join(runs))
            bundle = any(one.bundle and one.path == place for one in places)
            return context.operations.verify(place, env, runs, options, bundle=bundle)

        dialog = VerifyDialog(
            context.window, context.engines, context.machines.of(place),
            [one for one in places if one.exists], place, start, known, recipes,
            str(context.settings.value(_RUNS) or "").split(),
        )  # fmt: skip
        dialog.begin_with(python, options or {})
        dialog.recipe.running.connect(lambda: dialog.leave(self.run_program))
        return self._open(dialog)

    def run_program(self, text: str = "", place: str = "") -> ProgramDialog:
        """Ask for a program to run, with this command line at first, then run it: on the machine
        of a place, of the one that is shown where none is named.
        """
        from torchkeeper.gui.dialogs.programs import ProgramDialog

        context = self._context
        of = context.machines.of(place or context.place)
        dialog = ProgramDialog(context.window, context.engines, of, context.settings, text)
        dialog.decided.connect(partial(self._run, of.machine))
        dialog.open()
        return dialog

    def _run(self, machine: str, text: str, folder: str, python: str, profile: str) -> None:
        self._context.operations.run(text, folder, python, profile, machine)
        self._context.pages.go("runs")

    def compare_keys(self, place: str, *keys: str) -> None:
        """Show what differs between two entries of a place, by their keys."""
        back = self._context.place or ""
        self.results.with_keys(place, keys, self.comparing.compare_entries, back)

    def prepare(self, python: str = "") -> PrepareDialog:
        """Ask where headers are to be built, then do; ``python``: for whom, to begin with."""
        from torchkeeper.gui.dialogs.preparing import PrepareDialog

        context = self._context
        window, do = context.window, context.operations.prepare
        return self._open(PrepareDialog(window, context.machines.shown, do, python))

    def _open(self, dialog: _Dialog) -> _Dialog:
        self.results.attend(dialog)
        dialog.open()
        return dialog

    def _warm(self, python: str, recipes: list[str], into: str, options: Asked, then: Then) -> Job:
        # A folder that something is written into is a place from now on.
        new = self._context.places.row_of(into) < 0
        self._list(into)
        if self._context.place != into:
            self._context.places_pane.choose(into)
        self._context.settings.setValue(_PROFILE, options.get("profile", ""))
        job = self._context.operations.warm(python, recipes, into, options, then)
        job.asked["new"] = new
        return job

    def _over(self, job: Job) -> None:
        """The place of a warm-up that has made no folder goes off the list again."""

        def found(some: Sequence[At]) -> None:
            places = self._context.places
            if some[0].what == "missing" and (row := places.row_of(some[0].path)) >= 0:
                places.remove(row)

        if job.asked.get("new") and not job.good and scheme_of(job.place or "").local:
            heard = Listener(result=found)
            self._context.engines.background(heard, lookups.paths, [str(job.place)])

    def verify_warmed(self, job: Job) -> None:
        """What a job has warmed is to be verified, with what it was warmed with."""
        if job.place is not None:
            recipes, python = job.asked.get("recipes", ()), job.asked.get("python", "")
            self._verify(job.place, recipes, python, job.asked)

    def warm_rest(self, job: Job) -> None:
        """Warm the variants of a job that are not, as the recipes make them now."""
        asked, context = job.asked, self._context
        if job.place is None or not job.variants.bad:
            return
        good = [(variant.recipe, variant.name) for variant in job.variants.rows if variant.good]
        warm = [*(asked.get("warm") or ()), *good]
        then = asked.get("then")
        context.operations.warm(asked["python"], asked["recipes"], job.place, asked, then, warm)

    def _warmed(self, job: Job) -> None:
        context, asked = self._context, job.asked
        counts = list(counted(job).values())
        if counts and job.place is not None:

            def noted(_: object) -> None:
                if (page := self.recipes.page) is not None:
                    page.refresh()

            listener = Listener(result=noted)
            context.engines.background(listener, known_recipes.keep_warmed, counts, job.place)
        then = asked.get("then")
        if then is None or job.place is None or job.variants.bad:
            return
        if then.bundle:
            builders = self._builders(job.place)
            context.operations.export(job.place, Selection(), then.bundle, True, builders)
        if then.server:
            context.operations.copy(job.place, Selection(), then.server, False, False)

    def _builders(self, place: str) -> Builders | None:
        from torchkeeper.client import carrying
        from torchkeeper.gui.dialogs.exporting import maker_of

        return carrying.builders(maker_of(self._context.machines.of(place)))

    def _list(self, path: str) -> None:
        if self._context.places.row_of(path) < 0:
            self._context.places.add(path)

    def _filled(self, job: Job) -> None:
        """A folder that entries were imported into or copied to is a place from now on."""
        if job.kind == FLEET and job.place:
            if self._context.places.row_of(job.place) < 0:
                bundle = scheme_of(job.place).becomes(job.place) == "bundle"
                self._context.places.add(job.place, bundle=bundle)
        elif job.traits.warms:
            self._warmed(job)
        elif job.traits.fills and not job.made_bundle and job.place:
            self._list(job.place)

    def export(self) -> ExportDialog | None:
        """Write the selection, or all that is shown, into a bundle."""
        from torchkeeper.gui.dialogs.exporting import ExportDialog

        context = self._context
        if (carried := self._carried()) is None:
            return None
        place, chosen, selection = carried
        return self._open(ExportDialog(
            context.window, context.engines, context.settings, place, selection,
            (len(chosen), context.entries.total), _bundle_name(place),
            lambda what, needs, output, replace, builders, secrets, key: context.operations.export(
                place, what, output, replace, builders, secrets, key, needs
            ),
            context.machines.of(place),
            [one for one in context.places.beside(place) if one.exists and one.path != place],
        ))  # fmt: skip

    def copy(self, into: str | None = None) -> CopyDialog | None:
        """Copy the selection, or all that is shown, to a place; ``into``: the one to begin with."""
        from torchkeeper.client.carrying import claims_of
        from torchkeeper.gui.dialogs.copying import Chosen, CopyDialog, TargetChoice

        context = self._context
        if (carried := self._carried()) is None:
            return None
        place, chosen, selection = carried
        size, result = sum(entry.size for entry in chosen), context.listing.result
        is_bundle = context.listing.what == "file"
        near = context.places.beside(place)
        others = [one for one in context.places.places if one.path != place and not one.bundle]
        takers = (one.path for one in others if one in near and one.takes and one.exists)
        return self._open(CopyDialog(
            context.window, context.engines,
            Chosen(place, selection, len(chosen), size, is_bundle, result and claims_of(result)),
            TargetChoice(others, into or next(takers, None), self._new_bundle(place)),
            partial(context.operations.copy, place, selection),
            context.machines.of(place),
        ))  # fmt: skip

    def _new_bundle(self, place: str) -> str:
        return os.path.join(_folder(self._context, EXPORTED_TO), _bundle_name(place))

    def drag_out(self, dragging: DragOut) -> None:
        """Let the selected entries be dragged elsewhere, as a bundle."""
        place, chosen = self._context.place, self._context.table.selected()
        if place is not None and chosen:
            dragging.begin(place, chosen, _bundle_name(place), self._builders(place))

    def _carried(self) -> tuple[str, list[Entry], Selection] | None:
        """The place, what of the selection, or of all that is shown, another place can use (all,
        where none is an entry), and its selection; None where there is nothing. Where neither is
        seen, the whole place.
        """
        place, model = self._context.place, self._context.entries
        chosen = [row.entry for row in model.every_row]
        if self._context.pages.current == ENTRIES:
            chosen = self._context.table.selected() or model.shown()
        if place is None or not chosen:
            return None
        entries = [entry for entry in chosen if entry.kind not in COUNTED_APART] or chosen
        whole = len(entries) == model.total and entries is not chosen
        return place, entries, Selection() if whole else Selection.of(entries)

    def import_files(self) -> None:
        """Ask for files, look into them, and import what the user agrees to."""
        from torchkeeper.gui.dialogs.base import choose_files

        context = self._context
        shown = context.places_pane.place
        first = os.path.join(_folder(context, _IMPORTED_FROM, EXPORTED_TO), "")
        if shown is not None and shown.bundle:
            first = shown.path
        kinds = self.tr("Bundles and mega-caches (*.torchcache *.bin);;All files (*)")
        choose_files(context.window, self.tr("Import"), first, kinds, self._import_chosen)

    def _import_chosen(self, files: list[str]) -> None:
        self._context.settings.setValue(_IMPORTED_FROM, os.path.dirname(files[0]))
        self.open_import(files)

    def open_import(self, files: Sequence[str], into: str | None = None) -> ImportDialog:
        """Look into files, to import them ``into`` a place, else the shown or the last one."""
        from torchkeeper.gui.dialogs.importing import ImportDialog

        context = self._context
        takers = {one.path for one in context.places.places if one.takes and not one.server}
        wanted = into, context.place, *(x.place for x in context.jobs.jobs if x.kind == IMPORT)
        into = next((one for one in wanted if one in takers), context.place)
        dialog = ImportDialog(
            context.window, context.engines, files, context.places.places, into,
            context.operations.import_files, context.machines,
        )  # fmt: skip
        dialog.looked.connect(self.looked)
        return self._open(dialog)

    def purge_selected(self) -> None:
        """Show what would go of the selection."""
        self._purge(self._context.table.selected())

    def purge_shown(self) -> None:
        """Show what would go of all that is shown, which is nothing that no known writer wrote."""
        self._purge(self._context.entries.shown(), everything=True)

    def _purge(self, chosen: list[Entry], everything: bool = False) -> None:
        place = self._context.place
        if place is None or not chosen:
            return
        from torchkeeper.gui.dialogs.purging import PurgeDialog

        selection, context = Selection.of(chosen), self._context
        dialog = PurgeDialog(
            context.window, context.engines, place,
            {**selection.select, "everything": everything}, selection.hold,
            names={one.identity: one.name for one in chosen if one.name},
        )  # fmt: skip
        dialog.decided.connect(partial(self._context.operations.purge, place))
        dialog.open()

    def clean_up(self) -> CleanDialog:
        """Show what is dead: of the place whose entries are shown, else of all places."""
        alone = self._context.pages.current == ENTRIES or self._context.actions.over == "places"
        return self.clean_up_places((), self._context.place if alone else None)

    def clean_up_places(self, reasons: Sequence[str], place: str | None) -> CleanDialog:
        """The same for some reasons, where any are given, with only that place ticked, of all on
        its machine.
        """
        from torchkeeper.gui.dialogs.cleaning import CleanDialog
        from torchkeeper.gui.pages.overview.parts import apart

        context = self._context
        places = [one for one in context.places.beside(place) if one.exists and not one.bundle]
        # The titles are unlike those of the other places of the sidebar, too.
        titles = apart([one.path for one in context.places.places], context.places.title)
        dialog = CleanDialog(
            context.window, context.engines, context.machines.of(place), context.settings, places,
            titles, [one.path for one in places if one.path == place], reasons,
        )  # fmt: skip
        dialog.decided.connect(context.operations.purge_all)
        dialog.open()
        return dialog

    def undo(self) -> None:
        """Do what the bar offers; else undo the last purge of this window, or of the place."""
        context = self._context
        if context.undo_bar.offered:
            context.undo_bar.do()
            return
        context.undo_bar.hide()
        if taken := context.taken:
            context.undo(taken)
        elif context.place is not None:
            context.operations.undo(context.place)

    def empty_trash(self) -> None:
        """Ask, then delete for good what was purged from the place that is shown, or from all."""
        place, trash = self._context.place, self._context.listing.trash
        if (every := self._context.trashes) is not None:
            self.empty_trashes(every)
        elif place is not None and trash is not None:
            self.empty_trashes({place: trash})

    def empty_trashes(self, of: Mapping[str, Sized]) -> None:
        """The same of any places, in whose trash there is so much."""
        from torchkeeper.gui.dialogs.base import confirm

        whole, names = added(list(of.values())), say.together([printable(x) for x in of], _NAMED)
        confirm(
            self._context.window,
            self.tr("Empty trash"),
            self.tr("Delete {} for good?").format(say.held(whole)),
            self.tr("{} in the trash of {} are deleted. This cannot be undone.").format(
                say.on_disk(whole["bytes"]), names
            ),
            self.tr("&Empty trash"),
            lambda: [self._context.operations.empty_trash(place) for place in of],
        )

    def tell_cut_off(self, told: CutOff) -> None:
        """Say what was cut off in a place, and offer to bring it to its end."""
        place, tell = told["place"], self._note_bar.tell
        said, operations = become_of(told), self._context.operations
        if told["outcome"] == "waiting":
            tell(said, self.tr("Complete it"), lambda: operations.recover(place))
        elif told["outcome"] == "not-believed":
            tell(said, self.tr("Deal with it…"), lambda: self._insist(told))
        else:
            tell(said)

    def _insist(self, told: CutOff) -> None:
        """Ask what is to become of what nothing shows to have been begun here."""
        from torchkeeper.gui.dialogs.base import ConfirmDialog

        place, operations = told["place"], self._context.operations
        dialog = ConfirmDialog(
            self._context.window,
            self.tr("Something was cut off"),
            begun(told),
            self.tr(
                "{} “Carry it out” changes the files of this folder as the record says. “Forget "
                "it” removes only the record, and leaves the files as they are, maybe half done. "
                "You cannot undo either."
            ).format(become_of(told)),
            self.tr("&Carry it out"),
        )
        dialog.accepted.connect(lambda: operations.recover(place, "believe"))
        forget = forms.button(self.tr("&Forget it"), dialog.reject, danger=True)
        forget.clicked.connect(lambda: operations.recover(place, "forget"))
        dialog.add_way(forget)
        dialog.open()
