"""The copy dialog: what is chosen, where it goes, and what of it is new there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client import carrying
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several
from torchkeeper.engine.protocol import COPY
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import (
    Latest,
    PlaceChoice,
    choose_target,
    file_text,
    replace_text,
    room_text,
)
from torchkeeper.gui.dialogs.exporting import maker_of, needed_text
from torchkeeper.gui.dialogs.pages import ChoicePage, KindTable
from torchkeeper.gui.dialogs.secretchoice import SecretChoice
from torchkeeper.gui.dialogs.stays import Stays
from torchkeeper.gui.dialogs.trust import trust_notice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.bundles import Names, Naming
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.jobs.operations import Selection
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.engine.messages.bundles import (
        Builders,
        CopyParams,
        CopyResult,
        KindOutcomes,
    )
    from torchkeeper.engine.messages.findings import Finding

#: Begins a copy: to where, whether a bundle that is there is replaced, without what is needed, how
#: an environment builds objects, the names that objects of a bundle have in it, and what becomes of
#: secrets.
Start = Callable[[str, bool, bool, "Builders | None", Naming | None, "Secrets | None"], Job]

#: What becomes of entries that are copied.
_OUTCOMES: tuple[Literal["new", "there", "differs", "left"], ...] = (
    "new",
    "there",
    "differs",
    "left",
)


class Chosen(NamedTuple):
    """What is to be copied: entries of a place, how many and how big (bytes).

    bundle: whether the place is a bundle, which others may have made. claims: what it says of its
    native objects then.
    """

    place: str
    selection: Selection
    entries: int
    size: int
    bundle: bool = False
    claims: Claims | None = None


class TargetChoice(PlaceChoice):
    """A place to copy to, or a bundle that is to be made."""

    def __init__(self, places: Sequence[Place], current: str | None, bundle: str) -> None:
        """bundle: what to call a new bundle, for a start."""
        super().__init__(places, None)
        for place in places:
            if place.server and place.takes and self.combo.findData(place.path) < 0:
                self.combo.addItem(printable(place.path), place.path)
        if current is not None:
            self.choose(current)
        self._bundle = bundle
        self.new = forms.button(self.tr("New bundle…"), enter=False)
        self.new.clicked.connect(self._new)
        line = self.layout()
        if line is not None:
            line.addWidget(self.new)

    def _new(self) -> None:
        kinds = self.tr("Torchkeeper bundles (*.torchcache)")
        choose_target(self, self.tr("Copy to a new bundle"), self._bundle, kinds, self.choose)


class CopyDialog(WorkDialog):
    """Asks an engine what a copy would come to; nothing is written before Copy is pressed."""

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        jobs: JobsModel,
        chosen: Chosen,
        target: TargetChoice,
        start: Start,
        environments: Environments,
    ) -> None:
        """environments: one of them may have built the native objects, or is to load them."""
        super().__init__(parent, jobs, 720)
        self.setWindowTitle(self.tr("Copy to"))
        explain(self, "place", "needs")
        self._environments = environments
        self._facts = maker_of(environments)
        environments.changed.connect(self._more_known)
        self._names = Names(engines, self)
        self._names.changed.connect(lambda: self._ask(soon=False))
        self._chosen = chosen
        self._start = start
        self.plan: CopyResult | None = None
        self.error: UserError | None = None
        self._left = Stays()
        self._plan_of = Latest(engines, self)
        self.target = target
        self._make()
        target.changed.connect(self._ask)
        self._ask(soon=False)
        room = self.screen().availableSize()
        wanted = 730 if chosen.bundle else 630
        self.resize(min(740, room.width() - 40), min(wanted, room.height() - 80))
        target.setFocus()

    def _make(self) -> None:
        self.title = forms.label("", "title", wrap=True)
        source = self.tr("From {}").format(printable(self._chosen.place, 4096))
        self.table = KindTable(
            self.tr("What would be copied, by kind"),
            [self.tr("Kind"), self.tr("Entries"), self.tr("Content"), self.tr("New"),
             self.tr("Already there"), self.tr("Differ")],
        )  # fmt: skip
        self.table.room_for(4)
        self.news = forms.label("", wrap=True)
        self.room = forms.label("", "muted", wrap=True)
        self.out = forms.label("", "muted", wrap=True)
        self.secrets = SecretChoice()
        self.secrets.changed.connect(self._say)
        self.replace = QCheckBox()
        self.replace.hide()
        self.replace.toggled.connect(self._say)
        self.needed = QCheckBox(needed_text(0))
        self.needed.setChecked(True)
        # With everything goes what it needs.
        self.needed.setVisible(bool(self._chosen.selection.select))
        self.needed.toggled.connect(lambda *_: self._ask(soon=False))
        self.trust = trust_notice(
            self.tr("What is copied is code that PyTorch will run."),
            self.tr("Torchkeeper runs none of it, but a program that uses the target will. "
                    "Copy only from bundles of people you trust."),
        )  # fmt: skip
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Copy"), primary=True)
        self.go.clicked.connect(self._go)
        body = forms.column()
        body.addWidget(self.title)
        body.addWidget(forms.label(source, "muted", wrap=True))
        body.addSpacing(4)
        forms.field(body, self.tr("Copy &to"), self.target)
        body.addWidget(self.needed)
        body.addSpacing(4)
        body.addWidget(self.table, 1)
        for widget in (self.news, self.out, self.secrets, self.room, self.replace):
            body.addWidget(widget)
        body.addSpacing(4)
        body.addWidget(self.trust)
        # What others have made is copied on purpose, as it is imported.
        self.go.setAutoDefault(not self._chosen.bundle)
        self._page = page = ChoicePage(body, self.cancel, self.go)
        self.add_choice(page, None if self._chosen.bundle else self.go)

    # What is asked of engines.

    def _ask(self, soon: bool = True) -> None:
        self.plan, self.error = None, None
        self._left.clear()
        self.secrets.clear()
        self.replace.setChecked(False)
        into = self.target.path
        if into is None or self.job is not None or self._asks_for_names():
            self._plan_of.forget()
        else:
            chosen = self._chosen
            alone = not self.needed.isChecked()
            naming = self._names.naming
            params: CopyParams = {
                "place": chosen.place,
                "into": into,
                "dry": True,
                "alone": alone,
                "builders": carrying.builders(self._facts),
                "env": naming.python if naming is not None else None,
                "select": chosen.selection.select,
            }
            self._plan_of.ask(
                COPY,
                params,
                self._planned,
                self._failed,
                soon=soon,
                progress=self._reading,
                findings=self._findings,
                hold=chosen.selection.hold,
                before=() if naming is None else naming.before,
            )
        self._say()

    def _asks_for_names(self) -> bool:
        """Whether an environment has yet to say under which names it looks for objects."""
        chosen = self._chosen
        if chosen.bundle and chosen.claims is not None:
            self._names.ask(self._environments.chosen, {chosen.place: chosen.claims})
        return self._names.busy

    def _more_known(self) -> None:
        """An environment has said what it is: objects may be its own."""
        facts = maker_of(self._environments)
        if facts is not self._facts and self.job is None:
            self._facts = facts
            self._ask()

    def _reading(self, done: float, total: float | None, unit: str) -> None:
        if not total:
            return
        if unit == "bytes":
            text = self.tr("Comparing with what is there, {} of {}…")
            self.news.setText(text.format(say.size(done), say.size(total)))
        else:
            text = self.tr("Reading the entries, {} of {}…")
            self.news.setText(text.format(f"{done:,.0f}", f"{total:,.0f}"))

    def _findings(self, found: list[Finding]) -> None:
        self._left.take(found)
        self.secrets.take(found)

    def _planned(self, plan: CopyResult) -> None:
        self.plan = plan
        self._say()

    def _failed(self, error: UserError) -> None:
        self.error = error
        self._say()

    @property
    def known(self) -> bool:
        """Whether everything there is to know of the target is known."""
        return self.plan is not None or self.error is not None

    # What is said.

    def _say(self) -> None:
        plan = self.plan
        self._say_how_many()
        news, role = self._news()
        forms.set_role(self.news, role)
        self.news.setText(news)
        room, room_role = self._room() if plan else ("", "")
        forms.set_role(self.room, room_role or "muted")
        self.room.setText(room)
        self.room.setVisible(bool(room))
        out = "\n".join(filter(None, (self._left.words(self.tr), say.stays(plan)))) if plan else ""
        self.out.setText(out)
        self.out.setVisible(bool(out))
        there = plan.get("there") if plan else None
        is_bundle = plan is not None and plan["what"] == "bundle"
        self.replace.setVisible(bool(is_bundle and there and there["what"] == "file"))
        if self.replace.isVisibleTo(self) and there:
            self.replace.setText(replace_text(there, self.tr))
        # Nothing runs what lies in a bundle.
        self.trust.setVisible(self._chosen.bundle and not is_bundle)
        self.table.say(self._nothing())
        self.table.fill([_row(kind) for kind in plan.get("kinds", ())] if plan else [])
        why = self._why_not()
        self.go.setEnabled(not why)
        self.go.setToolTip(tip(why))
        # What is written over is gone.
        written_over = self.replace.isVisibleTo(self) and self.replace.isChecked()
        forms.weigh(self.go, danger=written_over)
        if not written_over:
            self.go.setAutoDefault(not self._chosen.bundle)
        self._page.say_why(why if plan is not None else "")
        able = plan is not None and plan["entries"]
        count = say.count(plan["entries"], "entry", "entries") if plan else ""
        self.go.setText(self.tr("Copy {}").format(count) if able else self.tr("Copy"))

    def _say_how_many(self) -> None:
        """How many entries are copied, those among them that the chosen ones need."""
        chosen = self._chosen
        count, size = chosen.entries, chosen.size
        kinds = self.plan.get("kinds") if self.plan else None
        if kinds and self.needed.isChecked():
            outcomes = [kind[name] for kind in kinds for name in _OUTCOMES]
            count = max(count, sum(one["entries"] for one in outcomes))
            if count > chosen.entries:
                size = sum(one["bytes"] for one in outcomes)
                self.needed.setText(needed_text(count - chosen.entries))
        entries = say.count(count, "entry", "entries")
        going = self.plan["entries"] if self.plan else count
        if self.plan and 0 < going != count:
            entries = self.tr("{} of {}").format(f"{going:,}", entries)
            size = self.plan["bytes"]
        self.title.setText(self.tr("Copy {}, {}").format(entries, say.content(size)))

    def _news(self) -> tuple[str, str]:
        """What would happen there in one line, and the role of the label."""
        if self.target.path is None:
            return self.target.wrong, "error"
        if self.error is not None:
            parts = (self.error.what, self.error.why, self.error.remedy)
            return " ".join(part for part in parts if part), "error"
        plan = self.plan
        if plan is None:
            return self.tr("Looking at what is there…"), "muted"
        new, there = plan["entries"], plan["exists"]
        if not new and not there:
            return self.tr("The target can take none of these entries."), "warning"
        size = say.content(plan["bytes"])
        if plan["what"] == "bundle":
            said = several(
                new,
                "{n} goes into the bundle ({size})",
                "{n} go into the bundle ({size})",
                size=size,
            )
            return said, ""
        parts_ = [self.tr("Nothing is new there")]
        if new:
            parts_ = [self.tr("{} new ({})").format(f"{new:,}", size)]
        if there:
            parts_.append(self.tr("{} there already").format(f"{there:,}"))
        return " · ".join(parts_), ""

    def _room(self) -> tuple[str, str]:
        """Whether it can be written there, and the role of the label."""
        plan = self.plan
        there = plan.get("there") if plan else None
        if plan is None or there is None or not plan["entries"]:
            return "", ""
        needed = plan.get("needed", 0)
        if plan["what"] == "bundle":
            return file_text(plan["into"], needed, there, self.tr)
        space = there["space"]
        text, role = room_text(needed, space, self.tr)
        if not space["exists"] and not space["why"]:
            text = self.tr("The folder will be made.") + " " + text
        return text, role

    def _nothing(self) -> str:
        """What the table says while it has no rows."""
        if self.plan is not None and self.plan["entries"]:
            return self.tr("The target does not say by kind what is new there")
        if self.plan is not None:
            return self.tr("Nothing of this can be copied there")
        waits = self.target.path is not None and self.error is None
        return self.tr("Reading…") if waits else self.tr("What would be copied is listed here")

    def _why_not(self) -> str:
        """Why it cannot begin; empty where it can."""
        plan = self.plan
        if plan is None:
            return self.news.text()
        if not plan["entries"]:
            return self.news.text()
        if self.secrets.undecided:
            return self.tr("Secrets were found. Say what is to become of them.")
        there = plan.get("there")
        if there is None:
            return ""
        if there["space"]["why"]:
            return self.room.text()
        if plan["what"] == "bundle":
            if there["what"] in ("folder", "other") or not there["space"]["exists"]:
                return self.room.text()
            if there["what"] == "file" and not self.replace.isChecked():
                return self.tr("A file is there already. Say that it is to be replaced.")
        return ""

    # What is done.

    def _go(self) -> None:
        into = self.target.path
        if into is not None:
            self._plan_of.forget()
            alone = not self.needed.isChecked()
            builders = carrying.builders(self._facts)
            naming = self._names.naming
            replace, secrets = self.replace.isChecked(), self.secrets.value
            self.follow(self._start(into, replace, alone, builders, naming, secrets))

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Copy to"))
        self._ask(soon=False)
        (self.cancel if self._chosen.bundle else self.go).setFocus()

    def done(self, result: int) -> None:
        self._plan_of.forget()
        self._names.forget()
        super().done(result)


def _row(kind: KindOutcomes) -> tuple[str, list[str]]:
    outcomes = [kind[name] for name in _OUTCOMES]
    marks = [f"{one['entries']:,}" if one["entries"] else "–" for one in outcomes[:3]]
    count = sum(one["entries"] for one in outcomes)
    size = sum(one["bytes"] for one in outcomes)
    return kind["kind"], [f"{count:,}", say.size(size), *marks]
