"""The verify dialog: who runs what, which runs are compared, how far it is, and the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.verifying import about
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.pages import TrustNotice
from torchkeeper.gui.dialogs.preparing import CompileOptions, DeviceChoice, RecipeChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.laps import title
from torchkeeper.gui.jobs.model import Asked, Job
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.verdicts.environments import Environment, Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.warm.options import RUNS

#: What is verified, who runs it, which runs, and recipes, device, threads and portable.
Start = Callable[[Environment, list[str], Asked], Job]


class VerifyDialog(WorkDialog):
    """Nothing is run before Verify is pressed: it runs the code that is verified."""

    fits = True

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        environments: Environments,
        place: str,
        start: Start,
        last: str = "",
        about: Mapping[str, Any] | None = None,
        recipes: Sequence[str] = (),
        own: bool = False,
    ) -> None:
        """last: what the last verification came to, in words; empty without one. about: where a
        bundle was made, and what it says of its objects (``made_in``, stores/bundles/parts.py).
        recipes: files and folders to begin with. own: whether it is a folder of the user alone.
        """
        super().__init__(parent, 720, "verification", "header")
        self.setWindowTitle(self.tr("Verify"))
        self._place, self._start = place, start
        self.environment = EnvironmentChoice(environments, "verify")
        self.recipe = RecipeChoice(engines, recipes, rows=3, into=place)
        self.recipe.changed.connect(self._say)
        self.finished.connect(self.recipe.let_go)
        self.device = DeviceChoice()
        self.runs = {name: QCheckBox(title(name)) for name in RUNS}
        #: Whether runs were wanted that make no sense at present.
        self._wanted: dict[str, bool] = {}
        self.options = CompileOptions(
            self.tr("By default, the number that the cache was made for."),
            self.tr("Ticked by default if the cache is portable. Other entries then miss."),
        )
        self._lay_out(last, own)
        about = about or {}
        made_in = about.get("made_in")
        threads = made_in.get("threads") if isinstance(made_in, dict) else None
        portable = bool(about.get("portable")) and not about.get("unportable")
        self.options.suggest(threads if isinstance(threads, int) else None, portable)
        self.options.changed.connect(self._suit)
        explain(self.runs["mega"], "mega-cache")
        self.runs["cold"].toggled.connect(self._suit)
        self._suit()
        self.environment.changed.connect(self._say)
        self._say()

    def _lay_out(self, last: str, own: bool) -> None:
        self.title = forms.label(self.tr("How fast does this start?"), "title", wrap=True)
        where = forms.label(printable(self._place, 4096), "muted", wrap=True)
        intro = forms.label(
            self.tr("Runs the recipe in fresh processes and counts what PyTorch finds. Each "
                    "process has a copy of this place and an empty temporary folder. The place "
                    "stays as it is."), wrap=True,
        )  # fmt: skip
        self.last = forms.label(last, "muted", wrap=True)
        self.last.setVisible(bool(last))
        body = forms.column(self.title, where, intro, self.last, 4)
        forms.field(body, self.tr("&Environment"), self.environment)
        left, right = forms.column(), forms.column(gap=4)
        forms.field(left, self.tr("&Recipe"), self.recipe)
        forms.add(left, forms.GAP, self.options, forms.REST)
        forms.add(right, forms.label(self.tr("Runs to compare"), "heading"), 2)
        for (name, box), letter in zip(self.runs.items(), "CmAP", strict=True):
            box.setText(forms.lettered(box.text(), letter))
            box.setChecked(True)
            box.setAccessibleDescription(about(name))
            what = forms.label(about(name)[:1].upper() + about(name)[1:], "muted", wrap=True)
            what.setContentsMargins(forms.CHECK, 0, 0, 4)
            forms.add(right, box, what)
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
            mild=own,
        )  # fmt: skip
        forms.add(body, 4, forms.row((left, 1), (right, 1), gap=24), forms.REST)
        # The default for what is the user's own: what comes from others is run on purpose only.
        self.go = forms.button(self.tr("&Verify"), self._go, primary=True)
        self.go.setAutoDefault(own)
        page = self.add_choice(body, self.go, enter=own)
        page.pin(self.notice)
        self.recipe.setFocus()
        self.grow_to(self._needed(page))

    def begin_with(self, python: str, options: Asked) -> None:
        """Begin with what it was warmed with: the interpreter, device, threads and portable."""
        if python:
            self.environment.choose(python)
        self.device.suggest(options.get("device") or "")
        threads = options.get("threads")
        if threads or options.get("portable"):
            self.options.suggest(threads, options.get("portable", False))
            self._suit()
            self._say()

    @property
    def chosen(self) -> list[str]:
        """The runs that are to be compared, in their order."""
        return [name for name, box in self.runs.items() if box.isChecked()]

    def _suit(self) -> None:
        # For several variants a header is prepared anyway, before all runs.
        several = self.recipe.made is not None and len(self.recipe.made.variants) > 1
        for name, able, why in (
            ("mega", self.runs["cold"].isChecked(), self.tr("The cold run makes it")),
            ("prepared", not self.options.box.isChecked() and not several,
             self.tr("With several variants, every run finds the header") if several
             else self.tr("A portable cache needs no header")),
        ):  # fmt: skip
            box = self.runs[name]
            if not able and box.isEnabled():
                self._wanted[name] = box.isChecked()
                box.setChecked(False)
            elif able and not box.isEnabled():
                box.setChecked(self._wanted.get(name, True))
            box.setEnabled(able)
            box.setToolTip(tip("" if able else why))

    def _say(self) -> None:
        facts = self.environment.facts
        self.options.say(facts)
        self.device.say(facts)
        self._suit()
        able = facts is not None and bool(facts.get("torch"))
        self.go.setEnabled(able and self.recipe.made is not None)
        self.go.setToolTip(tip("" if able else self.environment.about.text()))

    def _go(self) -> None:
        if (env := self.environment.one) is not None and env.torch:
            told: Asked = {"recipes": self.recipe.names, **self.options.params}
            if device := self.device.device:
                told["device"] = device
            self.follow(self._start(env, self.chosen, told))
