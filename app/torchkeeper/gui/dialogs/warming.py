"""The warm dialog: which interpreter compiles what into which place, for which programs, and where
that goes then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QSpinBox, QWidget

from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import PlaceChoice
from torchkeeper.gui.dialogs.compileoptions import CompileOptions
from torchkeeper.gui.dialogs.devicechoice import DeviceChoice
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.foreseeing import Foreseen
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.dialogs.profilechoice import ProfileChoice
from torchkeeper.gui.dialogs.recipechoice import RecipeChoice
from torchkeeper.gui.dialogs.thenchoice import ThenChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.asked import Asked, Then
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.choices import Number
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.checks.folders import UNQUOTED
from torchkeeper.warm.recipes.sections import MOST_SECONDS

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import CellsParams

#: Minutes that a cell may take at most.
MOST_LIMIT = MOST_SECONDS // 60

#: The interpreter, the recipes, the place; device, threads, portable, profile, limit_s and jobs
#: where not as usual; and where it goes then.
Start = Callable[[str, list[str], str, Asked, Then], Job]


def cores() -> int:
    """The cores that this machine has for us."""
    return max(1, len(os.sched_getaffinity(0)))


def _spin(least: int, most: int) -> QSpinBox:
    made = Number()
    made.setRange(least, most)
    made.setFixedHeight(forms.field_height())
    # A style sheet's padding does not reach the field in it.
    made.lineEdit().setTextMargins(6, 0, 0, 0)
    return made


class WarmDialog(WorkDialog):
    """Asks the interpreter that is chosen what it is, then shows how far the compile is."""

    fits = True

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        environments: Environments,
        jobs: JobsModel,
        places: Sequence[Place],
        current: str | None,
        bundle: str,
        start: Start,
        recipes: Sequence[str] = (),
        profile: str = "",
    ) -> None:
        """bundle: a name for one, should one be wanted. recipes, profile: those to begin with."""
        super().__init__(parent, jobs, 880)
        self.setWindowTitle(self.tr("Warm a cache"))
        explain(self, "recipe", "profile")
        self._start = start
        self.choice_of = EnvironmentChoice(environments)
        self.interpreter, self.environment = self.choice_of.combo, self.choice_of.about
        self.recipe = RecipeChoice(engines, recipes)
        self.target = PlaceChoice(places, current)
        self.profile = ProfileChoice(engines, profile)
        self.target.combo.setMinimumContentsLength(20)
        self.options = CompileOptions(
            self.tr("Entries are found only by programs with as many (OMP_NUM_THREADS). Choose "
                    "that of the machine that will use them."),
            self.tr("A fresh machine then need not build a header of 149 MB first. It is a key "
                    "factor: programs find the entries only where they set it, too."),
        )  # fmt: skip
        self.device = DeviceChoice()
        self.jobs_at_once = _spin(1, cores())
        self.limit = _spin(0, MOST_LIMIT)
        self.limit.setSpecialValueText(self.tr("No limit"))
        self.limit.setSuffix(self.tr(" min"))
        self.foreseen = Foreseen(engines)
        self.then = ThenChoice(engines, places, bundle)
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Start"), primary=True)
        self.go.clicked.connect(self._go)
        self.wrong = forms.label("", "error", wrap=True)
        self._lay_out()
        for choice in (self.target, self.choice_of, self.recipe, self.profile, self.then):
            choice.changed.connect(self._say)
        self.device.currentIndexChanged.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        intro = self.tr(
            "Compiles ahead of time, so that programs find the results in the cache. "
            "The compile runs in processes of its own; you can cancel it at any time."
        )
        left, right = forms.column(), forms.column()
        forms.field(left, self.tr("&Recipe"), self.recipe)
        left.addWidget(self.foreseen)
        left.addSpacing(forms.GAP)
        forms.field(left, self.tr("Into the &place"), self.target)
        left.addWidget(self.wrong)
        left.addSpacing(forms.GAP)
        left.addWidget(forms.label(self.tr("And then"), "heading"))
        left.addWidget(self.then)
        left.addStretch(1)
        forms.field(right, self.tr("&Device"), self.device)
        right.addSpacing(forms.GAP)
        right.addWidget(self.options)
        right.addSpacing(forms.GAP)
        several = forms.row(gap=16)
        for text, spin, hint in (
            (self.tr("Cells at a ti&me"), self.jobs_at_once,
             self.tr("Each is a process with a torch of its own, which takes memory; they share "
                     "the cores")),
            (self.tr("A ce&ll may take"), self.limit,
             self.tr("Where its recipe has no limit: it alone fails then")),
        ):  # fmt: skip
            one = forms.column()
            forms.field(one, text, spin)
            spin.setToolTip(tip(hint))
            spin.setAccessibleDescription(hint)
            several.addLayout(one, 1)
        right.addLayout(several)
        right.addSpacing(forms.GAP)
        forms.field(right, self.tr("&Settings"), self.profile)
        right.addStretch(1)
        both = forms.row(gap=32)
        both.addLayout(left, 5)
        both.addLayout(right, 4)
        body = forms.column()
        body.addWidget(forms.label(intro, "muted", wrap=True))
        body.addSpacing(forms.GAP)
        forms.field(body, self.tr("Python &interpreter"), self.choice_of)
        body.addSpacing(forms.GAP)
        body.addLayout(both)
        body.addSpacing(forms.GAP)
        body.addStretch(1)
        self.add_choice(ChoicePage(body, self.cancel, self.go), self.go)

    @property
    def python(self) -> str:
        """The chosen interpreter."""
        return self.choice_of.python

    def _say(self, *_: object) -> None:
        facts = self.choice_of.facts
        self.options.say(facts)
        self.device.say(facts)
        made = self.recipe.made
        asked: CellsParams = {"device": self.device.device} if self.device.device else {}
        if UNQUOTED.search(path := self.target.path or ""):
            asked["into"] = path
        self.foreseen.look(
            self.python if facts is not None else "", None if made is None else made.wire, asked
        )
        there = self.target.path is not None
        self.wrong.setText("" if there else self.target.wrong)
        self.wrong.setVisible(not there)
        several = self.recipe.made is not None and len(self.recipe.made.cells) > 1
        self.jobs_at_once.setEnabled(several and self.jobs_at_once.maximum() > 1)
        self.profile.use(facts, self.target.path or "")
        good = self.recipe.made is not None and self.then.then is not None and self.profile.good
        self.go.setEnabled(facts is not None and there and good)

    def _go(self) -> None:
        into, then = self.target.path, self.then.then
        if into is not None and then is not None:
            options = self.options.params
            if device := self.device.device:
                options["device"] = device
            if self.profile.name:
                options["profile"] = self.profile.name
            if self.limit.value():
                options["limit_s"] = self.limit.value() * 60
            if self.jobs_at_once.isEnabled() and self.jobs_at_once.value() > 1:
                options["jobs"] = self.jobs_at_once.value()
            self.follow(self._start(self.python, self.recipe.names, into, options, then))

    def done(self, result: int) -> None:
        self.recipe.let_go()
        self.foreseen.let_go()
        self.profile.let_go()
        self.then.let_go()
        super().done(result)

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Warm a cache"))
        self.go.setFocus()
