"""The warm dialog: which interpreter compiles what into which place, for which programs, and where
that goes then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QSpinBox, QWidget

from torchkeeper.client.profiles import profile as applying
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words import say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Latest, PlaceChoice, choose_target, file_text, replace_text
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.dialogs.preparing import CompileOptions, DeviceChoice
from torchkeeper.gui.dialogs.recipechoice import RecipeChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.asked import Asked, Then
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.drafts import Kept
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice, Number
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.checks.folders import UNQUOTED
from torchkeeper.settings.rules import About, about_of, check
from torchkeeper.warm.recipes.sections import MOST_SECONDS

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import TargetParams, TargetResult
    from torchkeeper.engine.messages.compiling import CellsParams, CellsRow
    from torchkeeper.verdict.probed import Env
    from torchkeeper.warm.shapes import SentRecipe


# Where what was warmed goes afterwards: a new bundle, and a server.


class ThenChoice(QWidget):
    """A bundle to be written, and a server to copy to, after a warm-up."""

    changed = Signal()

    def __init__(self, engines: Engines, places: Sequence[Place], name: str) -> None:
        """name: the bundle to begin with, an absolute path."""
        super().__init__()
        self._look = Latest(engines, self)
        #: What is at the file's path (operation ``target``); None while nobody knows.
        self._there: TargetResult | None = None
        self.bundle = QCheckBox(self.tr("Write a &bundle"))
        self.file = QLineEdit(name)
        self.file.setAccessibleName(self.tr("Bundle file"))
        self.browse = forms.button(self.tr("Bro&wse…"), enter=False)
        self.browse.clicked.connect(self._browse)
        self.check = forms.label("", wrap=True)
        self.check.setContentsMargins(forms.CHECK, 0, 0, 0)
        self.replace = QCheckBox()
        self.publish = QCheckBox(self.tr("P&ublish to a server"))
        self.server = Choice()
        self.server.setAccessibleName(self.tr("Server"))
        self.server.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.server.setMinimumContentsLength(16)
        for place in places:
            if place.server and not place.read_only:
                self.server.addItem(printable(place.title, 80), place.path)
        none = not self.server.count()
        self.publish.setEnabled(not none)
        self.publish.setToolTip(
            self.tr("There is no server among the places; add one first") if none else ""
        )
        self._lay_out()
        self.bundle.toggled.connect(self._changed)
        self.file.textChanged.connect(self._changed)
        self.publish.toggled.connect(self._say)
        self.replace.toggled.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        line = forms.row()
        line.setContentsMargins(forms.CHECK, 0, 0, 0)
        line.addWidget(self.file, 1)
        line.addWidget(self.browse)
        replace = forms.row()
        replace.setContentsMargins(forms.CHECK, 0, 0, 0)
        replace.addWidget(self.replace)
        below = forms.row()
        below.setContentsMargins(forms.CHECK, 0, 0, 0)
        below.addWidget(self.server)
        whole = forms.column(gap=4)
        whole.addWidget(self.bundle)
        whole.addLayout(line)
        whole.addWidget(self.check)
        whole.addLayout(replace)
        whole.addSpacing(4)
        whole.addWidget(self.publish)
        whole.addLayout(below)
        self.setLayout(whole)

    @property
    def then(self) -> Then | None:
        """What is asked for; None while the file is not one that can be written."""
        server = str(self.server.currentData() or "") if self.publish.isChecked() else ""
        if not self.bundle.isChecked():
            return Then("", server)
        if self._path is None or self._there is None or self._wrong()[1] == "error":
            return None
        if self._there["what"] == "file" and not self.replace.isChecked():
            return None
        return Then(self._path, server)

    def let_go(self) -> None:
        """Hear no more: the dialog closes."""
        self._look.forget()

    @property
    def _path(self) -> str | None:
        file = os.path.expanduser(self.file.text().strip())
        return file if os.path.isabs(file) and not file.endswith("/") else None

    def _changed(self, *_: object) -> None:
        self._there = None
        self.replace.setChecked(False)
        self._look.forget()
        if self.bundle.isChecked() and self._path is not None:
            params: TargetParams = {"path": self._path}
            self._look.ask(protocol.TARGET, params, self._told, self._unknown)
        self._say()

    def _told(self, there: TargetResult) -> None:
        self._there = there
        if there["what"] == "file":
            self.replace.setText(replace_text(there, self.tr))
        self._say()

    def _unknown(self, error: UserError) -> None:
        self._say()
        self.check.setText(error.what)
        self.check.show()

    def _wrong(self) -> tuple[str, str]:
        """What is to be said of the file, and the role of that."""
        if self._path is None:
            return self.tr("Give the whole path of the bundle, or choose one."), "error"
        if self._there is None:
            return "", ""
        said, role = file_text(self._path, 0, self._there, self.tr)
        # How much room it takes is not known before it is warmed.
        return (said, role) if role == "error" else ("", "")

    def _say(self, *_: object) -> None:
        asked = self.bundle.isChecked()
        for widget in (self.file, self.browse):
            widget.setVisible(asked)
        self.server.setVisible(self.publish.isChecked())
        said, role = self._wrong() if asked else ("", "")
        forms.set_role(self.check, role)
        self.check.setText(said)
        self.check.setVisible(bool(said))
        there = asked and self._there is not None and self._there["what"] == "file"
        self.replace.setVisible(there and not said)
        self.changed.emit()

    def _browse(self) -> None:
        kinds = self.tr("Bundles (*.torchcache)")
        title = self.tr("Write a bundle")
        choose_target(self, title, self.file.text(), kinds, self.file.setText)


# The choice of a profile in a dialog: the settings of the session, or exactly those of one.


class ProfileChoice(QWidget):
    """Reads the profiles in the worker's thread, and says below what is wrong with the chosen one;
    one that is not there any more is the session's instead.
    """

    #: Another was chosen, or more is known of it.
    changed = Signal()

    def __init__(self, engines: Engines, first: str = "") -> None:
        """first: the name of the one to begin with; "" for the session's."""
        super().__init__()
        self._engines = engines
        self._first = first
        self._facts: Env | None = None
        self._into = ""
        self._profiles: dict[str, Profile] = {}
        #: Whether what there is was read: before, nothing is known of the one to begin with.
        self.read = False
        self.combo = Choice()
        self.combo.addItem(self.tr("As in my session"), "")
        self.about = forms.label("", "muted", wrap=True)
        self.moved = forms.label("", "muted", wrap=True)
        self.moved.hide()
        whole = forms.column(gap=4)
        whole.addWidget(self.combo)
        whole.addWidget(self.about)
        whole.addWidget(self.moved)
        self.setLayout(whole)
        self.setFocusProxy(self.combo)
        self.about.hide()
        self.combo.currentIndexChanged.connect(self._say)
        listener = Listener(result=self._fill, failed=self._failed)
        self._ticket = engines.background(listener, known_profiles.listed)

    @property
    def name(self) -> str:
        """The profile that is chosen; "" for the session's."""
        return str(self.combo.currentData() or "")

    @property
    def good(self) -> bool:
        """Whether it can be used, as far as is known."""
        if not self.read:
            return not self._first
        return not self.name or not any(one.severity == "error" for one in self._found())

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.combo.setAccessibleName(name)

    def use(self, facts: Env | None, into: str) -> None:
        """In which environment, and into which place what is compiled goes."""
        if (facts, into) != (self._facts, self._into):
            self._facts, self._into = facts, into
            self._tell()

    def let_go(self) -> None:
        """Nobody waits for the answer any more."""
        self._engines.forget(self._ticket)

    def _fill(self, every: Sequence[Kept]) -> None:
        self.read = True
        self._profiles = {one.name: one.profile for one in every if one.profile is not None}
        self.combo.blockSignals(True)
        for name in self._profiles:
            self.combo.addItem(self.tr("Profile {}").format(printable(name, 64)), name)
        self.combo.setCurrentIndex(max(0, self.combo.findData(self._first)))
        self.combo.blockSignals(False)
        self._say()

    def _failed(self, error: UserError) -> None:
        self.read = True
        self.about.setText(f"{error.what} {error.why}")
        forms.set_role(self.about, "error")
        self.about.show()
        self.changed.emit()

    def _found(self) -> Sequence[Any]:
        about = about_of(self._facts) if self._facts else About()
        profile = self._profiles.get(self.name)
        return check(profile.values, about) if profile is not None else ()

    def _say(self, *_: object) -> None:
        self._tell()
        self.changed.emit()

    def _tell(self) -> None:
        profile = self._profiles.get(self.name)
        if profile is None:
            if self.read:
                self.about.hide()
            self.moved.hide()
            return
        found = self._found()
        bad = [one for one in found if one.severity != "advice"]
        text, role = profile.about, "muted"
        if bad:
            text = f"{words.counted(bad)}: {said(bad[0]).what}"
            role = "warning"
        if not self.good:
            text += " " + self.tr("Correct it under Go > Settings, or choose another.")
            role = "error"
        self.about.setText(text)
        forms.set_role(self.about, role)
        moved = applying.moved(profile, self._into) if self._into and self.good else []
        self.moved.setText("\n".join(moved))
        self.moved.setVisible(bool(moved))
        self.about.setVisible(bool(self.about.text()))


# What is known to go wrong with recipes before anything is compiled, said in a dialog.

#: Reasons that are told.
_MOST = 3
#: Those of the place and not of a recipe, whose remedy is at hand in the dialog.
_MENDED = frozenset({"place-blank"})


class Foreseen(QWidget):
    """Asks an engine of the interpreter that is to compile (operation ``cells``), which imports
    neither torch nor anything of the user's.
    """

    changed = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._ticket: int | None = None
        self._asked: object = None
        self._problems: dict[str, int] = {}
        self.said = forms.label("", "warning", wrap=True)
        self.said.setAccessibleName(self.tr("What will go wrong"))
        whole = forms.column()
        whole.addWidget(self.said)
        self.setLayout(whole)
        self.hide()

    def look(
        self, python: str, recipes: Sequence[str | SentRecipe] | None, options: CellsParams
    ) -> None:
        """Look at recipes, as a request has them; None: there is nothing to look at yet. In the
        options ``into``: a place whose path may be no good.
        """
        asked = (python, repr(recipes), repr(options)) if python and recipes is not None else None
        if asked == self._asked:
            return
        self._asked = asked
        self.let_go()
        self._problems = {}
        self._say()
        # The built-in one has nothing that could be missing; but the place may be no good.
        whole = "into" not in options and all(isinstance(one, str) for one in recipes or ())
        if asked is None or not recipes or whole:
            return
        listener = Listener(rows=self._rows, result=lambda _: self._say(), failed=self._failed)
        params: CellsParams = {**options, "recipes": recipes}
        self._ticket = self._engines.ask(protocol.CELLS, params, listener, python=python)

    def let_go(self) -> None:
        """Hear no more."""
        self._engines.forget(self._ticket)
        self._ticket = None

    def _rows(self, rows: list[CellsRow]) -> None:
        for row in rows:
            if problem := row["problem"]:
                error = user_error(problem["code"], problem["params"])
                remedy = error.remedy if problem["code"] in _MENDED else ""
                parts = (error.what, error.why, remedy)
                text = printable(" ".join(filter(None, parts)), 600)
                self._problems[text] = self._problems.get(text, 0) + 1

    def _failed(self, error: UserError) -> None:
        self._problems = {f"{error.what} {error.why}".strip(): 0}
        self._say()

    def _say(self) -> None:
        some = sorted(self._problems.items(), key=lambda one: -one[1])
        cells = sum(self._problems.values())
        lines = [text for text, _ in some[:_MOST]]
        if cells:
            many = say.count(cells, "cell", "cells")
            lines.insert(0, self.tr("{} would fail:").format(many))
        if len(some) > _MOST:
            lines.append(self.tr("and {} reasons more").format(len(some) - _MOST))
        self.said.setText("\n".join(lines))
        self.setVisible(bool(lines))
        self.changed.emit()


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
