"""The verify dialog: who runs what, which runs are compared, how far it is, and the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client.words import verifying
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import PlaceChoice
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.pages import TrustNotice
from torchkeeper.gui.dialogs.preparing import CompileOptions, DeviceChoice, RecipeChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.laps import title
from torchkeeper.gui.jobs.model import Asked, Job
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.environments import Environment, Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.warm.options import NO_MEGA, RUNS

#: What is verified, who runs it, which runs, and recipes, device, threads and portable.
Start = Callable[[str, Environment, list[str], Asked], Job]


#: What is known of a place: the last verification, in words; what a bundle says of its origin
#: (``made_in``, stores/bundles/parts.py); and whether nobody but the user writes into it.
Known = Callable[[str], tuple[str, Mapping[str, Any], bool]]


class VerifyDialog(WorkDialog):
    """Nothing is run before Verify is pressed: it runs the code that is verified."""

    fits = True

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        environments: Environments,
        places: Sequence[Place],
        place: str,
        start: Start,
        known: Known,
        recipes: Sequence[str] = (),
        runs: Sequence[str] = (),
    ) -> None:
        """recipes: files and folders to begin with. runs: those to be ticked besides "warm"."""
        super().__init__(parent, 800, "verification", "header")
        self.setWindowTitle(self.tr("Verify"))
        self._start, self._known, self._machine = start, known, environments.machine
        self.place = PlaceChoice(places, place, reads=True)
        self.environment = EnvironmentChoice(environments, "verify")
        self.recipe = RecipeChoice(engines, recipes, rows=2, into=place)
        self.recipe.changed.connect(self._say)
        self.device = DeviceChoice()
        self.runs = {name: QCheckBox(title(name)) for name in RUNS}
        self._abouts = {name: forms.label("", "muted", wrap=True) for name in RUNS}
        self.options = CompileOptions(
            self.tr("By default, the number that the cache was made for."),
            self.tr("Ticked by default if the cache is portable. Other entries then miss."),
        )
        self._lay_out(runs)
        self.options.changed.connect(self._suit)
        explain(self.runs["mega"], "mega-cache")
        self.runs["cold"].toggled.connect(self._suit)
        self.environment.changed.connect(self._say)
        self.place.changed.connect(self._look_at)
        self._look_at()

    def _lay_out(self, runs: Sequence[str]) -> None:
        self.title = forms.label("", "title", wrap=True)
        intro = forms.label(
            self.tr("Runs the recipe in fresh processes, on a copy of the cache, and counts what "
                    "PyTorch finds. The cache stays as it is."), "muted", wrap=True,
        )  # fmt: skip
        self.last = forms.label("", "muted", wrap=True)
        body = forms.column(self.title, intro, self.last, 4)
        forms.field(body, self.tr("Cac&he"), self.place)
        forms.field(body, self.tr("&Environment"), self.environment)
        left, right = forms.column(), forms.column(gap=4)
        forms.field(left, self.tr("&Recipe"), self.recipe)
        forms.add(left, forms.GAP, self.options, forms.REST)
        forms.add(right, forms.label(self.tr("Runs"), "heading"), 2)
        for (name, box), letter in zip(self.runs.items(), "CmAP", strict=True):
            box.setText(forms.lettered(box.text(), letter))
            box.setChecked(name == "warm" or name in runs)
            self._abouts[name].setContentsMargins(forms.CHECK, 0, 0, 4)
            forms.add(right, box, self._abouts[name])
            self._say_run(name)
        device = forms.column()
        forms.field(device, self.tr("&Device"), self.device)
        forms.add(right, 4, device, forms.REST)
        # It is what the verification is about.
        self.runs["warm"].setEnabled(False)
        self.runs["warm"].setToolTip(
            self.tr("This run always takes place: the others are compared with it")
        )
        self.notice = TrustNotice(
            self.tr("Verifying runs the code of this place."),
            self.tr("PyTorch unpickles and loads what it finds. Verify only what comes from "
                    "people you trust."),
        )  # fmt: skip
        forms.add(body, 4, forms.row((left, 1), (right, 1), gap=24), forms.REST)
        self.go = forms.button(self.tr("&Verify"), self._go, primary=True)
        page = self.add_choice(body, self.go, enter=False)
        page.pin(self.notice)
        self.recipe.setFocus()
        self.grow_to(self._needed(page))

    def _look_at(self, *_: object) -> None:
        """Say and suggest what is known of the chosen place."""
        place = self.place.path or ""
        name = printable(Place(place).title, 60) if place else self.tr("this cache")
        self.title.setText(self.tr("Does {} still hit?").format(name))
        last, about, own = self._known(place)
        forms.tell(self.last, last)
        made_in = about.get("made_in")
        threads = made_in.get("threads") if isinstance(made_in, dict) else None
        portable = bool(about.get("portable")) and not about.get("unportable")
        self.options.suggest(threads if isinstance(threads, int) else None, portable)
        self.notice.weigh(mild=own)
        # The default for what is the user's own: what comes from others is run on purpose only.
        self._goes_on = self.go if own else None
        self.go.setAutoDefault(own)
        self.go.setDefault(own)
        self.recipe.into(place)
        self._say()

    def begin_with(self, python: str, options: Asked) -> None:
        """Begin with what it was warmed with: the interpreter, device, threads and portable."""
        if python:
            self.environment.choose(python)
        self.device.suggest(options.get("device") or "")
        threads = options.get("threads")
        if threads or options.get("portable"):
            self.options.suggest(threads, options.get("portable", False))
            self._say()

    @property
    def chosen(self) -> list[str]:
        """The runs that are to be compared, in their order."""
        return [name for name, box in self.runs.items() if box.isChecked()]

    def _suit(self) -> None:
        variants = self.recipe.made.variants if self.recipe.made is not None else ()
        sources = {source for *_, source in variants}
        # Only where no variant can be in a mega-cache, the run is left out.
        unlike = sorted({NO_MEGA.get(source, "") for source in sources})
        mega = verifying.skipped(unlike[-1]) if unlike and unlike[0] else ""
        if not mega and not self.runs["cold"].isChecked():
            mega = self.tr("The cold run makes it")
        prepared = ""
        # For several variants a header is prepared anyway, before all runs.
        if len(variants) > 1:
            prepared = self.tr("With several variants, every run finds the header")
        elif unlike == ["no-graphs"]:
            prepared = verifying.skipped("no-header")
        elif self.options.box.isChecked():
            prepared = self.tr("A portable cache needs no header")
        for name, why in (("mega", mega), ("prepared", prepared)):
            self.runs[name].setChecked(self.runs[name].isChecked() and not why)
            self.runs[name].setEnabled(not why)
            self._say_run(name, why)

    def _say_run(self, name: str, why: str = "") -> None:
        """What a run finds, or why there is none."""
        said = why or verifying.about(name)
        self._abouts[name].setText(said[:1].upper() + said[1:])
        self.runs[name].setToolTip(tip(self._abouts[name].text() if why else ""))
        self.runs[name].setAccessibleDescription(said)

    def _say(self) -> None:
        facts = self.environment.facts
        self.options.say(facts)
        self.device.say(facts)
        self._suit()
        there = self.place.path is not None and self.recipe.made is not None
        self.go.setEnabled(facts is not None and there)
        self.go.setToolTip(tip("" if facts is not None else self.environment.about.text()))

    def _go(self) -> None:
        place, env = self.place.path, self.environment.one
        if place is not None and env is not None and env.torch:
            told: Asked = {"recipes": self.recipe.names, **self.options.params}
            if device := self.device.device:
                told["device"] = device
            begin = partial(self._start, place, env, self.chosen, told)
            self.recipe.trusted(self._machine, self.tr("&Run it"), lambda: self.follow(begin()))
