"""The warm dialog: which interpreter compiles what into which place, and for which programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtWidgets import QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.dialogs.base import PlaceChoice
from torchkeeper.gui.dialogs.compileoptions import CompileOptions
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.recipechoice import help_text, recipes
from torchkeeper.gui.dialogs.working import WorkDialog, button_row, page_of
from torchkeeper.gui.environments import Environments
from torchkeeper.gui.jobs import Job, JobsModel
from torchkeeper.gui.places import Place

#: The interpreter, the recipes, the place, and threads and portable where not as usual.
Start = Callable[[str, list[str], str, dict[str, Any]], Job]


class WarmDialog(WorkDialog):
    """Asks the interpreter that is chosen what it is, then shows how far the compile is."""

    fits = True

    def __init__(
        self,
        parent: QWidget | None,
        environments: Environments,
        jobs: JobsModel,
        places: Sequence[Place],
        current: str | None,
        start: Start,
    ) -> None:
        super().__init__(parent, jobs, 640)
        self.setWindowTitle(self.tr("Warm a cache"))
        self._start = start
        self.choice_of = EnvironmentChoice(environments)
        self.interpreter, self.environment = self.choice_of.combo, self.choice_of.about
        self.recipe = recipes()
        self.target = PlaceChoice(places, current)
        self.options = CompileOptions(
            self.tr("Entries are found only by programs with as many (OMP_NUM_THREADS). Choose "
                    "that of the machine that will use them."),
            self.tr("A fresh machine then needs not build a header of 149 MB first. It is a key "
                    "factor: programs find the entries only where they set it, too."),
        )  # fmt: skip
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Start"), primary=True)
        self.go.clicked.connect(self._go)
        self.wrong = forms.label("", "error", wrap=True)
        self._lay_out()
        self.target.changed.connect(self._say)
        self.choice_of.changed.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        intro = self.tr(
            "Compiles ahead of time, so that programs find the results in the cache. "
            "The compile runs in a process of its own; you can cancel it at any time."
        )
        body = forms.column()
        body.addWidget(forms.label(intro, "muted", wrap=True))
        body.addSpacing(forms.GAP)
        forms.field(body, self.tr("Python &interpreter"), self.choice_of)
        body.addSpacing(forms.GAP)
        forms.field(body, self.tr("&Recipe"), self.recipe, help_text())
        body.addSpacing(forms.GAP)
        forms.field(body, self.tr("Into the &place"), self.target)
        body.addWidget(self.wrong)
        body.addSpacing(forms.GAP)
        body.addWidget(self.options)
        body.addStretch(1)
        body.addLayout(button_row(self.cancel, self.go))
        self.add_choice(page_of(body), self.go)

    @property
    def python(self) -> str:
        """The chosen interpreter."""
        return self.choice_of.python

    def _say(self) -> None:
        facts = self.choice_of.facts
        self.options.say(facts)
        there = self.target.path is not None
        self.wrong.setText("" if there else self.target.wrong)
        self.wrong.setVisible(not there)
        self.go.setEnabled(facts is not None and there)

    def _go(self) -> None:
        into = self.target.path
        if into is not None:
            names = [str(self.recipe.currentData())]
            self.follow(self._start(self.python, names, into, self.options.params))

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Warm a cache"))
        self.go.setFocus()
