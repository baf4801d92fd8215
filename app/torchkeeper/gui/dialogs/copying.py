"""The copy dialog: what is chosen, where it goes, and what of it is new there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client import carrying
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several
from torchkeeper.engine.protocol import COPY
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs import base, bundlefile
from torchkeeper.gui.dialogs.exporting import maker_of, needed_text
from torchkeeper.gui.dialogs.leaving import SecretChoice
from torchkeeper.gui.dialogs.pages import KindTable, TrustNotice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.bundles import Names, Naming
from torchkeeper.gui.jobs.crossing import Ahead
from torchkeeper.gui.jobs.model import Job, Selection
from torchkeeper.gui.places.model import Place, host_of, machine_of
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.names import SUFFIX, scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.engine.messages.bundles import Builders, CopyParams, CopyResult, KindOutcomes

#: Begins a copy: to where, whether a bundle that is there is replaced, without what is needed, how
#: an environment builds objects, the names that objects of a bundle have in it, what becomes of
#: secrets, and whether one machine sends it to the other itself.
Start = Callable[[str, bool, bool, "Builders | None", Naming | None, "Secrets | None", bool], Job]

Outcome = Literal["new", "there", "differs", "twice", "left"]
_OUTCOMES: tuple[Outcome, ...] = ("new", "there", "differs", "twice", "left")


class Chosen(NamedTuple):
    """What is to be copied; size: in bytes. claims: what a bundle says of its native objects."""

    place: str
    selection: Selection
    entries: int
    size: int
    bundle: bool = False
    claims: Claims | None = None


class TargetChoice(base.PlaceChoice):
    """A place to copy to, or a bundle that is to be made."""

    apart = True

    def __init__(self, places: Sequence[Place], current: str | None, bundle: str) -> None:
        """bundle: what to call a new bundle, for a start."""
        super().__init__(places, None)
        for place in places:
            if place.server and place.takes and self.combo.findData(place.path) < 0:
                self.combo.addItem(printable(place.path), place.path)
        if current is not None:
            self.choose(current)
        self._bundle = bundle
        self.new = forms.button(self.tr("New &bundle…"), self._new, enter=False)
        self.line.addWidget(self.new)

    def _new(self) -> None:
        kinds = self.tr("Torchkeeper bundles (*.torchcache)")
        base.choose_target(self, self.tr("Copy to a new bundle"), self._bundle, kinds, self.choose)


class CopyDialog(WorkDialog):
    """Asks an engine what a copy would come to; nothing is written before Copy is pressed."""

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        chosen: Chosen,
        target: TargetChoice,
        start: Start,
        environments: Environments,
    ) -> None:
        """environments: one of them may have built the native objects, or is to load them."""
        super().__init__(parent, 720, "place", "needs")
        self.setWindowTitle(self.tr("Copy to"))
        self._environments = environments
        self._facts = maker_of(environments)
        environments.changed.connect(self._more_known)
        self._names = Names(engines, self)
        self._names.changed.connect(lambda: self._ask(soon=False))
        self._chosen, self._start = chosen, start
        self.plan: CopyResult | None = None
        self.error: UserError | None = None
        self._plan_of = base.Typed(engines, self)
        #: A bundle that is sent to where it is to be compared: to the machine that was agreed to.
        self.ahead, self._agreed = Ahead(engines, self), ""
        self.ahead.changed.connect(lambda: self._ask(soon=False))
        self.ahead.progress.connect(self._sending)
        self.target = target
        self._make()
        target.changed.connect(self._ask)
        self._ask(soon=False)
        self.resize_within(740, 730 if chosen.bundle else 630)
        target.setFocus()

    def _make(self) -> None:
        self.title = forms.label("", "title", wrap=True)
        source = self.tr("From {}").format(printable(self._chosen.place, 4096))
        self.table = KindTable(self.tr("Entries to copy, by kind"), 4, compared=True)
        self.news = forms.label("", wrap=True)
        self.room = forms.label("", "muted", wrap=True)
        self.out = forms.label("", "muted", wrap=True)
        self.secrets = SecretChoice()
        self.secrets.changed.connect(self._say)
        self.replace = QCheckBox()
        self.replace.hide()
        self.replace.toggled.connect(self._say)
        self.direct = QCheckBox()
        self.direct.setToolTip(
            self.tr("It does not pass this machine, and no key of yours goes along")
        )
        self.needed = QCheckBox(needed_text(0))
        self.needed.setChecked(True)
        # With everything goes what it needs.
        self.needed.setVisible(bool(self._chosen.selection.select))
        self.needed.toggled.connect(lambda *_: self._ask(soon=False))
        self.trust = TrustNotice(
            self.tr("You copy code that PyTorch will run."),
            self.tr("Torchkeeper runs none of it, but a program that uses the target will. "
                    "Copy only from bundles of people you trust."),
        )  # fmt: skip
        self.go = forms.button(self.tr("&Copy"), self._go, primary=True)
        self.look = forms.button(self.tr("Com&pare"), self._look_there, enter=False)
        news = forms.row((self.news, 1), self.look, gap=12)
        body = forms.column(self.title, forms.label(source, "muted", wrap=True), 4)
        forms.field(body, self.tr("Copy &to"), self.target)
        forms.add(body, self.direct, self.needed, 4, (self.table, 1), news, self.room, self.out)
        for label in (self.news, self.room):
            forms.keep_room(label, 1)
        self.go.hold(self._counted(99_999))
        # What others have made is copied on purpose, as it is imported.
        self.go.setAutoDefault(not self._chosen.bundle)
        self._page = self.add_choice(body, self.go, enter=not self._chosen.bundle)
        self._page.pin(self.secrets, self.replace, self.trust)

    @property
    def _ends(self) -> tuple[str, ...]:
        """The machines that it goes from and to, where these are two; "" is this one."""
        ends = machine_of(self._chosen.place), machine_of(self.target.path or self._chosen.place)
        return ends if ends[0] != ends[1] else ()

    @property
    def _comparing_at(self) -> str:
        """The machine that a bundle of here can be compared on with what is there; or ""."""
        ends, into = self._ends, self.target.path
        able = into and self._chosen.bundle and ends and not ends[0]
        return ends[1] if able and scheme_of(str(into)).becomes(str(into)) == "folder" else ""

    @property
    def _compared(self) -> bool:
        """Whether what is known is what is new in the target."""
        return not self._ends or bool(self._comparing_at and self.ahead.there)

    def _look_there(self) -> None:
        """Send the bundle, and compare it there; once more, where that has failed."""
        self._agreed = self._comparing_at
        self.ahead.forget()
        self._ask(soon=False)

    def _sending(self, done: float, total: float | None, _unit: str) -> None:
        if total and self.ahead.busy:
            text = self.tr("Sending it to {}, to compare it with what is there, {} of {}…")
            told = host_of(self._agreed), say.size(done), say.size(total)
            self.news.setText(text.format(*told))

    def _ask(self, soon: bool = True) -> None:
        machine = self._comparing_at
        agreed = self.job is None and machine and machine == self._agreed
        self.ahead.send(machine, [self._chosen.place] if agreed else [])
        self.plan, self.error = None, self.ahead.error
        self.secrets.clear()
        self.replace.setChecked(False)
        into = self.target.path
        if into is None or self.job is not None or self._asks_for_names() or self.ahead.busy:
            self._plan_of.forget()
        else:
            chosen, naming = self._chosen, self._names.naming
            params: CopyParams = {
                "place": chosen.place,
                "into": into,
                "dry": True,
                "alone": not self.needed.isChecked(),
                "builders": carrying.builders(self._facts),
                "env": naming.python if naming is not None else None,
                "select": chosen.selection.select,
            }
            if self._ends and self._compared:
                params["place"], params["env"] = self.ahead.there[chosen.place], None
            elif ends := self._ends:  # in a bundle; what is there is compared when it has come
                params["into"] = f"{ends[0]}/{os.urandom(8).hex()}{SUFFIX}"
                # What comes to a folder here is read by nobody else.
                params["secrets"] = None if ends[1] or not scheme_of(into).is_files else "allow"
            failed = partial(self._told, None)
            heard = Listener(None, self._reading, self.secrets.take, self._told, failed)
            hold, before = chosen.selection.hold, () if naming is None else naming.before
            self._plan_of.ask(COPY, params, heard, soon=soon, hold=hold, before=before)
        self._say()

    def _asks_for_names(self) -> bool:
        chosen = self._chosen
        if chosen.bundle and chosen.claims is not None and not machine_of(chosen.place):
            self._names.ask(self._environments.chosen, {chosen.place: chosen.claims})
        return self._names.busy

    def _more_known(self) -> None:
        facts = maker_of(self._environments)
        if facts is not self._facts and self.job is None:
            self._facts = facts
            self._ask()

    def _reading(self, done: float, total: float | None, unit: str) -> None:
        if total and unit == "bytes":
            text = self.tr("Comparing with what is there, {} of {}…")
            self.news.setText(text.format(say.size(done), say.size(total)))
        elif total:
            text = self.tr("Reading the entries, {} of {}…")
            self.news.setText(text.format(f"{done:,.0f}", f"{total:,.0f}"))

    def _told(self, plan: CopyResult | None, error: UserError | None = None) -> None:
        self.plan, self.error = plan, error
        self._say()

    @property
    def known(self) -> bool:
        """Whether everything there is to know of the target is known."""
        return self.plan is not None or self.error is not None

    def _say(self) -> None:
        plan = self.plan
        self._say_how_many()
        news, role = self._news()
        forms.set_role(self.news, role)
        self.news.setText(news)
        room, room_role = self._room() if plan else ("", "")
        forms.set_role(self.room, room_role or "muted")
        forms.tell(self.room, room)
        left = self.secrets.stays.words(self.tr)
        forms.tell(self.out, "\n".join(filter(None, (left, say.stays(plan)))) if plan else "")
        there = plan.get("there") if plan else None
        is_bundle = plan is not None and plan["what"] == "bundle"
        replaces = is_bundle and there is not None and there["what"] == "file"
        self.replace.setVisible(replaces)
        if there and replaces:
            self.replace.setText(bundlefile.replace_text(there))
        waits = self._comparing_at and not (self._compared or self.ahead.busy)
        self.look.setVisible(bool(waits and (plan or self.error)))
        hint = self.tr("Sends it to {}, where it stays as long as this dialog is open")
        self.look.setToolTip(hint.format(host_of(self._comparing_at)))
        ends = [host_of(one) for one in self._ends]
        self.direct.setVisible(bool(ends and all(ends)))
        self.direct.setText(self.tr("&Directly, by the ssh of {}").format(*ends or [""]))
        # Nothing runs what lies in a bundle.
        self.trust.setVisible(self._chosen.bundle and (bool(ends) or not is_bundle))
        self.table.say(self._nothing())
        self.table.fill(
            [_row(kind, self._compared) for kind in plan.get("kinds", ())] if plan else []
        )
        why = self._why_not()
        forms.allow(self.go, why)
        # What is written over is gone.
        written_over = self.replace.isVisibleTo(self) and self.replace.isChecked()
        forms.weigh(self.go, danger=written_over)
        if not written_over:
            self.go.setAutoDefault(not self._chosen.bundle)
        forms.tell(self._page.why, why if plan is not None else "")
        going = plan["entries"] if plan else 0
        self.go.setText(self._counted(going) if going else self.tr("&Copy"))

    def _counted(self, count: int) -> str:
        return self.tr("&Copy {}").format(say.count(count, "entry", "entries"))

    def _say_how_many(self) -> None:
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
            parts = self.error.what, self.error.why, self.error.remedy
            return " ".join(filter(None, parts)), "error"
        plan = self.plan
        if plan is None:
            return self.tr("Reading the target…"), "muted"
        new, there = plan["entries"], plan["exists"]
        if not new and not there:
            return self.tr("The target can take none of these entries."), "warning"
        size = say.content(plan["bytes"])
        if (ends := self._ends) and not self._compared:
            text = self.tr("{} to {} ({}). What is there already stays.")
            into = self.target.path
            here = self.tr("this machine") if scheme_of(into).is_files else printable(into)
            host = host_of(ends[1]) or here
            return text.format(say.count(new, "entry", "entries"), host, size), ""
        if plan["what"] == "bundle":
            said = several(
                new,
                "{n} goes into the bundle ({size})",
                "{n} go into the bundle ({size})",
                size=size,
            )
            return said, ""
        said = self.tr("Nothing is new there")
        if new:
            said = self.tr("{} new ({})").format(f"{new:,}", size)
        if there:
            said += " · " + self.tr("{} there already").format(f"{there:,}")
        if twice := plan["doubles"]:
            said += " · " + self.tr("{} twice in it").format(f"{twice:,}")
        return said, ""

    def _room(self) -> tuple[str, str]:
        """Whether it can be written there, and the role of the label."""
        plan = self.plan
        there = plan.get("there") if plan else None
        if plan is None or there is None or not plan["entries"] or not self._compared:
            return "", ""
        needed = plan.get("needed", 0)
        if plan["what"] == "bundle":
            return bundlefile.file_text(plan["into"], needed, there)
        space = there["space"]
        text, role = base.room_text(needed, space)
        if not space["exists"] and not space["why"]:
            text = self.tr("The folder will be created.") + " " + text
        return text, role

    def _nothing(self) -> str:
        if self.plan is not None and self.plan["entries"]:
            return self.tr("The target does not tell new entries by kind")
        if self.plan is not None:
            return self.tr("None of these entries can be copied there")
        waits = self.target.path is not None and self.error is None
        return self.tr("Reading…") if waits else self.tr("The entries to copy appear here")

    def _why_not(self) -> str:
        plan = self.plan
        if plan is None or not plan["entries"]:
            return self.news.text()
        if self.secrets.undecided:
            return self.tr("The entries hold secrets. Choose what to do with them.")
        there = plan.get("there")
        if there is None:
            return ""
        bundle, what = plan["what"] == "bundle", there["what"]
        no_file = what in ("folder", "other") or not there["space"]["exists"]
        if there["space"]["why"] or (bundle and no_file):
            return self.room.text()
        if bundle and what == "file" and not self.replace.isChecked():
            return self.tr("The file exists. Tick “Replace the existing file”.")
        return ""

    def _go(self) -> None:
        if (into := self.target.path) is not None:
            self._plan_of.forget()
            replace, alone = self.replace.isChecked(), not self.needed.isChecked()
            builders, naming = carrying.builders(self._facts), self._names.naming
            direct = self.direct.isVisibleTo(self) and self.direct.isChecked()
            how = builders, naming, self.secrets.value, direct
            self.follow(self._start(into, replace, alone, *how))

    def choose_again(self) -> None:
        super().choose_again()
        self.ahead.forget()  # it is gone with the job, or with the connection
        self._ask(soon=False)

    def done(self, result: int) -> None:
        self.ahead.forget()
        super().done(result)


def _row(kind: KindOutcomes, compared: bool) -> tuple[str, list[str]]:
    outcomes = [kind[name] for name in _OUTCOMES]
    marks = [f"{one['entries']:,}" if one["entries"] else "–" for one in outcomes[:3]]
    marks = marks if compared else ["?"] * 3
    count = sum(one["entries"] for one in outcomes)
    return kind["kind"], [f"{count:,}", say.size(sum(one["bytes"] for one in outcomes)), *marks]
