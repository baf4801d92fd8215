"""From an action about fleets to a job, and what is done with what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QObject

from torchkeeper.client.kept.targets import Gone, Kept
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Asked, Job
from torchkeeper.gui.places import targets as words
from torchkeeper.gui.places.model import EXPORTED_TO, machine_of
from torchkeeper.gui.places.targets import Targets
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from PySide6.QtCore import QSettings

    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.fleet import FleetDialog
    from torchkeeper.gui.dialogs.working import WorkDialog

#: What the last fleet was asked for, and where the last report went.
_RECIPES, _ON, _INTO, _PROVE = "fleet/recipes", "fleet/on", "fleet/into", "fleet/prove"
_SHARE = "fleet/share"
_PYTHON, _REPORTED_TO = "fleet/python", "fleet/reports"


class FleetFlows(QObject):
    """The dialog, what goes on from a fleet that has ended, and the list of targets."""

    def __init__(self, context: Context, show: Callable[[WorkDialog], object]) -> None:
        """show: opens a dialog that asks for a job."""
        super().__init__(context.window)
        self._context, self._show = context, show
        self.targets = Targets(context.engines, self)
        self.targets.failed.connect(context.tell)
        self.targets.refresh()

    def warm(self, recipes: Sequence[str] = (), on: Sequence[str] = ()) -> FleetDialog:
        """Ask what to warm on which machines, then do. recipes, on: to begin with; without any,
        what the last fleet was asked for.
        """
        from torchkeeper.gui.dialogs.fleet import FleetDialog

        context, kept = self._context, self._context.settings
        into = str(kept.value(_INTO) or "")
        if not into:
            folder = str(kept.value(EXPORTED_TO) or QDir.homePath())
            into = os.path.join(folder, "fleet.torchcache")
        dialog = FleetDialog(
            context.window, context.engines, kept, self.targets, context.places.places,
            self._start,
            recipes=recipes or _texts(kept, _RECIPES), on=on or _texts(kept, _ON), into=into,
            prove=str(kept.value(_PROVE, "true")) == "true",
            share=str(kept.value(_SHARE, "false")) == "true", python=str(kept.value(_PYTHON) or ""),
        )  # fmt: skip
        dialog.begun.connect(lambda _: context.pages.go("fleet"))
        self._show(dialog)
        return dialog

    def warm_here(self) -> FleetDialog:
        """The same, on the machine of the chosen place, where that is another."""
        place = self._context.places_pane.place
        machine = machine_of(place.path) if place is not None else ""
        return self.warm(on=[machine] if machine else ())

    def _start(self, recipes: list[str], on: list[str], into: str, options: Asked) -> Job:
        kept = self._context.settings
        for name, value in ((_RECIPES, recipes), (_ON, on), (_INTO, into)):
            kept.setValue(name, value)
        kept.setValue(_PYTHON, options.get("python", ""))
        kept.setValue(_PROVE, "true" if options.get("prove") else "false")
        kept.setValue(_SHARE, "true" if options.get("share") else "false")
        return self._begin(recipes, on, into, options)

    def _begin(
        self, recipes: Sequence[str], on: Sequence[str], into: str, options: Asked,
        again: bool = False,
    ) -> Job:  # fmt: skip
        return self._context.operations.fleet(recipes, on, into, options, again, self.here())

    def here(self) -> str | None:
        """The interpreter of this machine that the window uses, where that has a torch."""
        chosen = self._context.environments.chosen
        return chosen.python if chosen is not None and chosen.torch else None

    def again(self, job: Job) -> None:
        """Do once more what was not done: the rest is in the place."""
        self._go_on(job, bool(job.asked.get("prove")))

    def prove(self, job: Job) -> None:
        """Prove what is warm."""
        self._go_on(job, True)

    def _go_on(self, job: Job, prove: bool) -> None:
        asked = job.asked
        if job.place is not None and job.is_over:
            options: Asked = {**asked, "prove": prove}
            self._begin(asked.get("recipes", ()), asked.get("on", ()), job.place, options, True)

    def open_place(self, job: Job) -> None:
        """Show the place in which a fleet gathers."""
        if (path := job.place) is not None:
            bundle = scheme_of(path).becomes(path) == "bundle"
            self._context.places.add(path, bundle=bundle)
            self._context.places_pane.choose(path)
            self._context.pages.go("entries")

    def save_report(self, job: Job) -> None:
        """Ask for a file, and write what came of a fleet into it as a page of HTML."""
        from torchkeeper.gui.dialogs.base import choose_target

        context, place = self._context, scheme_of(job.place or "")
        folder = str(context.settings.value(_REPORTED_TO) or "")
        if not folder:
            folder = os.path.dirname(job.place or "") if place.local else QDir.homePath()
        name = os.path.splitext(os.path.basename((job.place or "").rstrip("/")))[0] or "fleet"

        def write(file: str) -> None:
            from torchkeeper.gui.pages.fleet import reporting

            context.settings.setValue(_REPORTED_TO, os.path.dirname(file))
            said = self.tr("Saved: {}").format(printable(file, 400))
            listener = Listener(result=lambda _: context.say(said, 8000), failed=context.tell)
            context.engines.background(listener, reporting.save, file, reporting.told(job))

        title, kinds = self.tr("Save report"), self.tr("Web pages (*.html)")
        choose_target(context.window, title, os.path.join(folder, f"{name}.html"), kinds, write,
                      "html")  # fmt: skip

    def remove_target(self, one: Kept | None) -> None:
        """Take a target off the list, and offer to put it back."""
        if one is None:
            return
        name, context = words.title(one.name), self._context

        def removed(gone: Gone) -> None:
            context.undo_bar.offer(
                context.place or "", self.tr("{} is off the list of targets").format(name),
                lambda: self.targets.put_back(gone), self.tr("Put &back"),
                self.tr("Put {} back on the list").format(name),
            )  # fmt: skip
            context.update_soon()

        self.targets.remove(one.name, removed)


def _texts(kept: QSettings, name: str) -> list[str]:
    """A list of texts that is remembered; one of a single text comes back as that."""
    value = kept.value(name, [])
    some = [value] if isinstance(value, str) else value
    return [str(one) for one in some if one] if isinstance(some, list) else []
