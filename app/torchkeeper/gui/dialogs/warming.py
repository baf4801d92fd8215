"""The warm dialog: what compiles what, into which place, and where that goes then."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client.profiles import profile as applying
from torchkeeper.client.words import say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import PlaceChoice
from torchkeeper.gui.dialogs.bundlefile import BundleFile
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.preparing import CompileOptions, DeviceChoice, RecipeChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Asked, Job, Then
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.finding import About, about_of
from torchkeeper.settings.rules import check
from torchkeeper.settings.texts import UNQUOTED
from torchkeeper.warm.recipes.recipe import MOST_SECONDS

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import VariantsParams, VariantsRow
    from torchkeeper.verdict.probed import Env
    from torchkeeper.warm.shapes import SentRecipe

#: Reasons that are told.
_MOST = 3
#: Those of the place and not of a recipe, whose remedy is at hand in the dialog.
_MENDED = frozenset({"place-blank"})
#: Minutes that a variant may take at most.
MOST_LIMIT = MOST_SECONDS // 60

#: The interpreter, the recipes, the place; device, threads, portable, profile, limit_s and jobs
#: where not as usual; and where it goes then.
Start = Callable[[str, list[str], str, Asked, Then], Job]


class ThenChoice(QWidget):
    """A bundle to be written, and a server to copy to, after a warm-up."""

    changed = Signal()

    def __init__(self, engines: Engines, places: Sequence[Place], name: str) -> None:
        """name: the bundle to begin with, an absolute path."""
        super().__init__()
        self.bundle = QCheckBox(self.tr("Write a &bundle"))
        browse = self.tr("Bro&wse…")
        self.target = BundleFile(engines, name, self.tr("Write a bundle"), browse)
        self.target.setAccessibleName(self.tr("Bundle file"))
        self.publish = QCheckBox(self.tr("P&ublish to a server"))
        self.server = forms.Choice(16)
        self.server.setAccessibleName(self.tr("Server"))
        for place in places:
            if place.server and not place.read_only:
                self.server.addItem(printable(place.title, 80), place.path)
        none = not self.server.count()
        self.publish.setEnabled(not none)
        add = self.tr("There is no server among the places; add one first")
        self.publish.setToolTip(tip(add if none else ""))
        inset = forms.CHECK, 0, 0, 0
        self._file = forms.page(forms.column(self.target, self.target.replace, gap=4, margin=inset))
        below = forms.row(self.server, margin=inset)
        self.setLayout(forms.column(self.bundle, self._file, 4, self.publish, below, gap=4))
        self.bundle.toggled.connect(lambda on: self.target.look() if on else self._say())
        self.target.changed.connect(self._say)
        self.publish.toggled.connect(self._say)
        self._say()

    @property
    def then(self) -> Then | None:
        """What is asked for; None while the file is not one that can be written."""
        server = str(self.server.currentData() or "") if self.publish.isChecked() else ""
        if not self.bundle.isChecked():
            return Then("", server)
        path = self.target.path
        return Then(path, server) if path is not None and not self.target.why_not else None

    def publish_to(self, server: str | None) -> None:
        """Begin with this server, where it is one."""
        if (row := self.server.findData(server)) >= 0:
            self.server.setCurrentIndex(row)
            self.publish.setChecked(True)

    def _say(self, *_: object) -> None:
        self._file.setVisible(self.bundle.isChecked())
        self.server.setVisible(self.publish.isChecked())
        # How much room it takes is not known before it is warmed.
        self.target.say(None)
        self.changed.emit()


class ProfileChoice(forms.Compound):
    """Reads the profiles in the worker's thread; says below what is wrong with the chosen one."""

    #: Another was chosen, or more is known of it.
    changed = Signal()

    def __init__(self, engines: Engines, first: str = "") -> None:
        """first: the name of the one to begin with; "" for the session's."""
        super().__init__()
        self._first = first
        self._facts: Env | None = None
        self._into = ""
        self._profiles: dict[str, applying.Profile] = {}
        #: Whether what there is was read: before, nothing is known of the one to begin with.
        self.read = False
        self.combo = forms.Choice()
        self.combo.offer([(self.tr("As in my session"), "")])
        self.about = forms.label("", "muted", wrap=True)
        self.moved = forms.label("", "muted", wrap=True)
        self.moved.hide()
        self.setLayout(forms.column(self.combo, self.about, self.moved, gap=4))
        self.setFocusProxy(self.combo)
        self.about.hide()
        self.combo.currentIndexChanged.connect(self._say)
        heard = Listener(result=self._fill, failed=self._failed)
        Latest(engines, self).call(heard, known_profiles.listed)

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

    def use(self, facts: Env | None, into: str) -> None:
        """In which environment, and into which place what is compiled goes."""
        if (facts, into) != (self._facts, self._into):
            self._facts, self._into = facts, into
            self._tell()

    def _fill(self, every: Sequence[known_profiles.Kept]) -> None:
        self.read = True
        self._profiles = {one.name: one.profile for one in every if one.profile is not None}
        text = self.tr("Profile {}")
        kept = [(text.format(printable(name, 64)), name) for name in self._profiles]
        self.combo.offer([(self.combo.itemText(0), ""), *kept], self._first)
        self._say()

    def _failed(self, error: UserError) -> None:
        self.read = True
        forms.tell(self.about, f"{error.what} {error.why}")
        forms.set_role(self.about, "error")
        self.changed.emit()

    def _found(self) -> Sequence[Any]:
        if (profile := self._profiles.get(self.name)) is None:
            return ()
        return check(profile.values, about_of(self._facts) if self._facts else About())

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
        text, role = profile.about, "muted"
        if bad := [one for one in self._found() if one.severity != "advice"]:
            text, role = f"{words.counted(bad)}: {said(bad[0]).what}", "warning"
        if not self.good:
            text += " " + self.tr("Correct it under Go > Profiles, or choose another.")
            role = "error"
        forms.tell(self.about, text)
        forms.set_role(self.about, role)
        moved = applying.moved(profile, self._into) if self._into and self.good else []
        forms.tell(self.moved, "\n".join(moved))


class Foreseen(QWidget):
    """Asks an engine of the interpreter that compiles (``variants``), which imports no torch."""

    changed = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._look = Latest(engines, self)
        self._asked: object = None
        self._problems: dict[str, int] = {}
        self.said = forms.label("", "warning", wrap=True)
        self.said.setAccessibleName(self.tr("What will go wrong"))
        self.setLayout(forms.column(self.said))
        self.hide()

    def look(
        self, python: str, recipes: Sequence[str | SentRecipe] | None, options: VariantsParams
    ) -> None:
        """Look at recipes; None: there are none yet. options: the path ``into`` may be no good."""
        asked = (python, repr(recipes), repr(options)) if python and recipes is not None else None
        if asked == self._asked:
            return
        self._asked = asked
        self._look.forget()
        self._problems = {}
        self._say()
        # The built-in one has nothing that could be missing; but the place may be no good.
        whole = "into" not in options and all(isinstance(one, str) for one in recipes or ())
        if asked is None or not recipes or whole:
            return
        listener = Listener(rows=self._rows, result=lambda _: self._say(), failed=self._failed)
        params: VariantsParams = {**options, "recipes": recipes}
        self._look.ask(protocol.VARIANTS, params, listener, python=python)

    def _rows(self, rows: list[VariantsRow]) -> None:
        for row in rows:
            if problem := row["problem"]:
                error = user_error(problem["code"], problem["params"])
                remedy = error.remedy if problem["code"] in _MENDED else ""
                text = printable(" ".join(filter(None, (error.what, error.why, remedy))), 600)
                self._problems[text] = self._problems.get(text, 0) + 1

    def _failed(self, error: UserError) -> None:
        self._problems = {f"{error.what} {error.why}".strip(): 0}
        self._say()

    def _say(self) -> None:
        some = sorted(self._problems.items(), key=lambda one: -one[1])
        variants = sum(self._problems.values())
        lines = [text for text, _ in some[:_MOST]]
        if variants:
            many = say.count(variants, "variant", "variants")
            lines.insert(0, self.tr("{} would fail:").format(many))
        if len(some) > _MOST:
            lines.append(self.tr("and {} reasons more").format(len(some) - _MOST))
        self.said.setText("\n".join(lines))
        self.setVisible(bool(lines))
        self.changed.emit()


def cores() -> int:
    """The cores that this machine has for us."""
    return max(1, len(os.sched_getaffinity(0)))


class WarmDialog(WorkDialog):
    """Asks the interpreter that is chosen what it is, then shows how far the compile is."""

    fits = True

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        environments: Environments,
        places: Sequence[Place],
        current: str | None,
        bundle: str,
        start: Start,
        recipes: Sequence[str] = (),
        profile: str = "",
    ) -> None:
        """bundle: a name for one, should one be wanted. recipes, profile: those to begin with."""
        super().__init__(parent, 880, "recipe", "profile")
        self.setWindowTitle(self.tr("Warm a cache"))
        self._start, self._machine = start, environments.machine
        self.choice_of = EnvironmentChoice(environments, "warm")
        self.environment = self.choice_of.about
        self.recipe = RecipeChoice(engines, recipes, into=current or "")
        self.target = PlaceChoice(places, current)
        self.profile = ProfileChoice(engines, profile)
        self.target.combo.setMinimumContentsLength(20)
        self.options = CompileOptions(
            self.tr("Only programs with the same number (OMP_NUM_THREADS) find the entries. Choose "
                    "that of the machine that will use them."),
            self.tr("A fresh machine then builds no header of 149 MB. This is a key factor: only "
                    "programs that set it, too, find the entries."),
        )  # fmt: skip
        self.device = DeviceChoice()
        self.jobs_at_once = forms.Number(1, cores())
        self.limit = forms.Number(0, MOST_LIMIT)
        self.limit.setSpecialValueText(self.tr("No limit"))
        self.limit.setSuffix(self.tr(" min"))
        self.foreseen = Foreseen(engines)
        self.then = ThenChoice(engines, places, bundle)
        if self._machine:
            self.then.setDisabled(True)
            self.then.setToolTip(self.tr("Not yet where the place is on another machine"))
        self.go = forms.button(self.tr("&Start"), self._go, primary=True)
        self.wrong = forms.label("", "error", wrap=True)
        self._lay_out()
        for choice in (self.target, self.choice_of, self.recipe, self.profile, self.then):
            choice.changed.connect(self._say)
        self.device.currentIndexChanged.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        intro = self.tr(
            "Compiles ahead of time, so that programs find the results in the cache. You can "
            "cancel at any time. A program of your own becomes a recipe with Cache > Run a program."
        )
        self.title = forms.label("", "title", wrap=True)
        left, right = forms.column(), forms.column()
        forms.field(left, self.tr("&Recipe"), self.recipe)
        forms.add(left, self.foreseen, forms.GAP)
        hint = "" if self._machine else self.tr("For a new folder, type its path: it is created.")
        forms.field(left, self.tr("Into the &place"), self.target, hint)
        forms.add(left, self.wrong, forms.GAP, forms.label(self.tr("And then"), "heading"))
        forms.add(left, self.then, forms.REST)
        forms.field(right, self.tr("&Device"), self.device)
        forms.add(right, forms.GAP, self.options, forms.GAP)
        several = forms.row(gap=16)
        for text, spin, hint in (
            (self.tr("Variants at a ti&me"), self.jobs_at_once,
             self.tr("Each one is a process with its own torch, which takes memory; they share the "
                     "cores")),
            (self.tr("A variant may ta&ke"), self.limit,
             self.tr("Applies if the recipe has no limit; only the slow variant fails")),
        ):  # fmt: skip
            one = forms.column()
            forms.field(one, text, spin)
            spin.setFixedHeight(forms.field_height())
            spin.setToolTip(tip(hint))
            spin.setAccessibleDescription(hint)
            several.addLayout(one, 1)
        forms.add(right, several, forms.GAP)
        forms.field(right, self.tr("Pro&file"), self.profile)
        right.addStretch(1)
        both = forms.row((left, 5), (right, 4), gap=32)
        body = forms.column(self.title, forms.label(intro, "muted", wrap=True), forms.GAP)
        forms.field(body, self.tr("&Environment"), self.choice_of)
        forms.add(body, forms.GAP, both, forms.GAP, forms.REST)
        self.add_choice(body, self.go)
        self.recipe.setFocus()

    def _say(self, *_: object) -> None:
        facts = self.choice_of.facts
        self.options.say(facts)
        self.device.say(facts)
        path = self.target.path or ""
        title = printable(Place(path).title, 60) if path else "…"
        self.title.setText(self.tr("Warm {}").format(title))
        self.recipe.into(path)
        made = self.recipe.made
        asked: VariantsParams = {"device": self.device.device} if self.device.device else {}
        if UNQUOTED.search(path):
            asked["into"] = path
        # Nothing of a recipe is on another machine before it is sent.
        known = facts is not None and not self._machine
        python = self.choice_of.python if known else ""
        self.foreseen.look(python, None if made is None else made.wire, asked)
        forms.tell(self.wrong, "" if path else self.target.wrong)
        several = made is not None and len(made.variants) > 1
        self.jobs_at_once.setEnabled(several and self.jobs_at_once.maximum() > 1)
        self.profile.use(facts, path)
        good = made is not None and self.then.then is not None and self.profile.good
        self.go.setEnabled(facts is not None and bool(path) and good)

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
            given = self.choice_of.python, self.recipe.names, into, options, then
            begin = partial(self._start, *given)
            self.recipe.trusted(self._machine, self.tr("&Warm it"), lambda: self.follow(begin()))
