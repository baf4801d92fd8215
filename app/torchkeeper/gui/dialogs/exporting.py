"""The export dialog: what is chosen and how big, where it goes, and what is there already."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QDir, QSettings
from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client import carrying
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.bundlefile import BundleFile
from torchkeeper.gui.dialogs.leaving import KeyChoice, SecretChoice
from torchkeeper.gui.dialogs.otherplaces import OtherPlaces
from torchkeeper.gui.dialogs.pages import KindTable
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Job, Selection
from torchkeeper.gui.places.model import EXPORTED_TO, Place
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.engine.messages import bundles as messages
    from torchkeeper.verdict.probed import Env

#: Torch versions and devices that are named one by one; and rows of places that are seen at once.
_NAMED = 4
#: What a bundle of several places is called at first.
_SEVERAL = "server.torchcache"

#: The entries, whether with what they need, the file, whether it may be replaced, how an
#: environment builds native objects, what becomes of secrets, and the key to sign with.
Start = Callable[
    [Selection, bool, str, bool, "messages.Builders | None", "Secrets | None", str], Job
]


class ExportDialog(WorkDialog):
    """Nothing is written before Export is pressed, and nothing is replaced unasked."""

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        settings: QSettings,
        place: str,
        selection: Selection,
        counts: tuple[int, int],
        name: str,
        start: Start,
        environments: Environments,
        others: Sequence[Place] = (),
    ) -> None:
        """counts: the chosen entries, and all. environments: one may have built native objects.
        others: places on the same machine, whose entries can go into the same file.
        """
        super().__init__(parent, 640, "bundle")
        self.setWindowTitle(self.tr("Export"))
        self._engines, self._settings, self._place = engines, settings, place
        self._name, self._from = printable(Place(place).title, 60), printable(place, 4096)
        self._chosen, self._counts, self._start = selection, counts, start
        self._environments = environments
        self._maker = maker_of(environments)
        environments.changed.connect(self._more_known)
        self.plan: messages.PlanExportResult | None = None
        self.error: UserError | None = None
        self._plan_of = Latest(engines, self)
        self._file, self.others = name, OtherPlaces(engines, place, others)
        folder = str(settings.value(EXPORTED_TO) or "") or QDir.homePath()
        file, browse = os.path.join(folder, name), self.tr("&Browse…")
        self.target = BundleFile(engines, file, self.tr("Export to"), browse)
        self._make()
        self.target.changed.connect(self._say)
        self._ask()
        more = self.others.sizeHint().height() if self.others.items() else 0
        self.resize_within(680, 680 + more)
        self.target.setFocus()

    def _make(self) -> None:
        self.title = forms.label("", "title", wrap=True)
        self.source = forms.label(self._from, "muted", wrap=True)
        self.table = KindTable(self.tr("Entries of the bundle, by kind"), 1)
        self.origin = forms.label("", "muted", wrap=True)
        self.objects = forms.label("", "muted", wrap=True)
        self.out = forms.label("", "muted", wrap=True)
        self.needed = QCheckBox(needed_text(0))
        self.needed.setChecked(True)
        every = say.count(self._counts[1], "entry", "entries")
        self.whole = QCheckBox(self.tr("&All {} of the place").format(every))
        # With everything goes what it needs.
        for box in (self.needed, self.whole):
            box.setVisible(bool(self._chosen.select))
            box.toggled.connect(lambda *_: self._ask())
        self.others.changed.connect(self._turn)
        self.others.server.clicked.connect(self._take_whole)
        self.lacking = forms.label("", "warning", wrap=True)
        self.secrets = SecretChoice()
        self.secrets.changed.connect(self._say)
        self.key = KeyChoice(self._engines, self._settings)
        self.key.changed.connect(self._say)
        self.go = forms.button(self.tr("E&xport"), self._go, primary=True)
        layout = forms.column(self.title, self.source, self.whole, self.needed, self.lacking, 4)
        forms.add(layout, self.others)
        forms.add(layout, (self.table, 1), self.origin, self.objects, self.out, 4)
        forms.field(layout, self.tr("Bundle &file"), self.target)
        layout.addSpacing(4)
        forms.field(layout, self.tr("S&ign with"), self.key)
        for label in (self.origin, self.objects, self.target.check):
            forms.keep_room(label, 1)
        self.go.hold(self._counted(99_999))
        self.add_choice(layout, self.go).pin(self.secrets, self.target.replace)

    @property
    def _selection(self) -> Selection:
        chosen = Selection() if self.whole.isChecked() else self._chosen
        return chosen._replace(also=self.others.ticked)

    @property
    def _needs(self) -> bool:
        return bool(self._selection.select) and self.needed.isChecked()

    def _take_whole(self, on: bool) -> None:
        """A server needs all of the place that is shown, too."""
        if on and not self.whole.isHidden():
            self.whole.setChecked(True)

    def _turn(self) -> None:
        """What a file of several places is called follows, unless the user has named it."""
        folder, name = os.path.split(self.target.file.text())
        new = _SEVERAL if self.others.ticked else self._file
        if name != new and name in (_SEVERAL, self._file):
            self.target.file.setText(os.path.join(folder, new))
        self._ask()

    def _ask(self) -> None:
        self.plan, self.error = None, None
        self.needed.setEnabled(not self.whole.isChecked())
        self.secrets.clear()
        self.table.fill([])
        params: messages.PlanExportParams = {
            "place": self._place,
            "also": self.others.ticked,
            "select": self._selection.select,
            "needs": self._needs,
            "builders": carrying.builders(self._maker),
        }
        heard = Listener(None, self._reading, self.secrets.take, self._planned, self._failed)
        hold = self._selection.hold
        self._plan_of.ask(protocol.PLAN_EXPORT, params, heard, hold=hold)
        self.target.look(soon=False)

    def _more_known(self) -> None:
        maker = maker_of(self._environments)
        if maker is not self._maker and self.job is None:
            self._maker = maker
            self._ask()

    def _reading(self, done: float, total: float | None, unit: str) -> None:
        if total:
            text = self.tr("Looking for secrets, {} of {} entries searched…")
            if unit == "entries":
                text = self.tr("Reading the entries, {} of {}…")
            self.source.setText(text.format(f"{done:,.0f}", f"{total:,.0f}"))

    def _planned(self, plan: messages.PlanExportResult) -> None:
        self.plan = plan
        size = self.tr("a bundle of {}").format(say.size(plan["size"]))
        self.source.setText(f"{self._from} · {size}" if plan["entries"] else self._from)
        kinds = plan["kinds"]
        self.table.fill([(x["kind"], [f"{x['entries']:,}", say.size(x["bytes"])]) for x in kinds])
        self._say()

    def _failed(self, error: UserError) -> None:
        self.error = error
        self.source.setText("\n".join(filter(None, (error.why, error.remedy))))
        self._say()

    @property
    def ready(self) -> bool:
        """Whether everything there is to know is known."""
        return (self.plan is not None or self.error is not None) and not self.target.busy

    def _say(self) -> None:
        plan = self.plan
        count = plan["entries"] if plan else self._counts[self.whole.isChecked()]
        entries = say.count(count, "entry", "entries")
        needs = count - self._counts[0]
        # Where some cannot be held, or others go along, how many are needed is not known by this.
        alone = not (self.secrets.stays or self.others.ticked)
        if plan and self._needs and needs > 0 and alone:
            self.needed.setText(needed_text(needs))
        more = len(self.others.ticked)
        name = several(more, "{name} and {n} other place", "{name} and {n} other places",
                       name=self._name) if more else self._name  # fmt: skip
        title = self.tr("Export {} from {}").format(entries, name)
        if self.error:
            title = self.error.what.removesuffix(".")
        elif plan and not count:
            title = self.tr("There is nothing to export")
        self.title.setText(title)
        forms.tell(self.lacking, self._lacking())
        forms.tell(self.origin, self._origin())
        forms.tell(self.objects, self._described())
        nothing = self.tr("A bundle can hold none of these entries")
        if self.error:
            nothing = self.tr("The entries to export appear here")
        elif plan is None:
            nothing = self.tr("Reading the entries…")
        self.table.say(nothing)
        out = filter(None, (self.secrets.stays.words(self.tr), say.stays(plan or {})))
        forms.tell(self.out, "\n".join(out))
        self.target.say(plan["room"] if plan else 0)
        left = count - self.secrets.left_out if not self.error else 0
        self.go.setText(self._counted(left) if left > 0 else self.tr("E&xport"))
        forms.allow(self.go, self._why_not())
        # What is written over is gone.
        forms.weigh(self.go, danger=self.target.written_over)

    def _counted(self, count: int) -> str:
        return self.tr("E&xport {}").format(say.count(count, "entry", "entries"))

    def _lacking(self) -> str:
        count = self.plan["lacking"] if self.plan else 0
        text = self.tr("{} of them need FX graphs that are not chosen: they cannot hit.")
        if count == 1:
            text = self.tr("One of them needs FX graphs that are not chosen: it cannot hit.")
        return text.format(f"{count:,}") if count else ""

    def _origin(self) -> str:
        if self.plan is None or not self.plan["entries"]:
            return ""
        made_by = _some([self.tr("torch {}").format(name) for name, _ in self.plan["torches"]])
        made_for = _some([name for name, _ in self.plan["devices"]])
        if made_by and made_for:
            return self.tr("Made by {} for {}").format(made_by, made_for)
        if made_by:
            return self.tr("Made by {}").format(made_by)
        if made_for:
            return self.tr("Made for {}").format(made_for)
        return self.tr("The entries do not say where they were made.")

    def _described(self) -> str:
        """Of how many native objects the bundle will say how they were built."""
        plan = self.plan
        if plan is None or not (objects := plan["objects"]):
            return ""
        described, maker = plan["described"], plan["maker"]
        if maker is None:
            return self.tr(
                "The bundle cannot say how its native objects were built: that takes an "
                "environment with torch and a compiler. Other machines may have to rebuild them."
            )
        told = maker["what"] == "bundle"
        if not described and told:
            return self.tr(
                "The bundle does not say how its native objects were built. Other machines may "
                "have to rebuild them."
            )
        torch = printable(str(maker["torch"]), 40)
        if not described:
            return several(
                objects,
                "torch {torch} did not build the native object. Other machines may have to rebuild "
                "it.",
                "torch {torch} built none of the {n} native objects. Other machines may have to "
                "rebuild them.",
                torch=torch,
            )
        who = self.tr("torch {} built").format(torch)
        if told:
            who = self.tr("The bundle says that torch {} built").format(torch)
        if described == objects:
            return several(
                objects,
                "{who} the native object. The bundle says how, so that other machines can check "
                "whether it fits.",
                "{who} all {n} native objects. The bundle says how, so that other machines can "
                "check whether they fit.",
                who=who,
            )
        text = self.tr("{} {} of {} native objects. The bundle does not say how the others were "
                       "built: other machines may have to rebuild them.")  # fmt: skip
        return text.format(who, f"{described:,}", f"{objects:,}")

    def _why_not(self) -> str:
        if self.error:
            return self.error.what
        if self.plan is None or self.target.busy:
            return self.tr("Torchkeeper is still reading the entries and the path.")
        if not self.plan["entries"]:
            return self.tr("A bundle can hold none of these entries.")
        if why := self.target.why_not:
            return why
        if self.secrets.undecided:
            return self.tr("The entries hold secrets. Choose what to do with them.")
        return self.key.why_not

    def _go(self) -> None:
        if (path := self.target.path) is not None:
            self._settings.setValue(EXPORTED_TO, os.path.dirname(path))
            self.key.keep()
            replace, secrets = self.target.replace.isChecked(), self.secrets.value
            how = replace, carrying.builders(self._maker), secrets, self.key.value
            self.follow(self._start(self._selection, self._needs, path, *how))

    def choose_again(self) -> None:
        self._ask()
        super().choose_again()


def maker_of(environments: Environments) -> Env | None:
    """What the verdicts' environment says of itself; without verdicts, the first with a torch."""
    chosen = environments.chosen
    ones = environments.every if chosen is None else [chosen]
    return next((one.facts for one in ones if one.torch), None)


def _some(names: list[str]) -> str:
    return say.together([printable(name, 60) for name in names], _NAMED)


def needed_text(count: int) -> str:
    """The choice of what the chosen entries need, and how many those are, where that is known."""
    tr = QCoreApplication.translate
    if not count:
        return tr("ExportDialog", "&With what they need: graphs, code and kernels")
    text = tr("ExportDialog", "&With {} that they need: graphs, code and kernels")
    return text.format(say.count(count, "entry", "entries"))
