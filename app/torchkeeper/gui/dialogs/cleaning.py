"""The dialog that cleans up: what is dead in places, ticked by reason and place, as one total."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QTreeWidget, QTreeWidgetItem, QWidget
from shiboken6 import isValid

from torchkeeper.client.overviewing import added
from torchkeeper.client.words import dead, say, tongue
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.purging import PurgeDialog, confirm_for_good
from torchkeeper.gui.pages import glossary
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.asking import Suggestions
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import caption, tip
from torchkeeper.stores.dead import REASONS
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.engine.messages.dead import PlanPurgeResult

#: What is ticked where nobody says what.
SAFE = ("stale", "broken", "orphan")
#: Where the numbers are remembered.
_DAYS, _BUDGET, _UNIT = "cleaning/days", "cleaning/budget", "cleaning/unit"
#: And the interpreters that do not count where they cannot be asked, one a line.
_WITHOUT = "cleaning/without"
#: Environments that are named before the rest is only counted.
_NAMED = 4
_UNITS = (("MB", 10**6), ("GB", 10**9), ("TB", 10**12))
_WHAT, _COUNT, _SIZE = range(3)
#: The reason, and the place, that a line is of.
_OF = Qt.ItemDataRole.UserRole
#: Places that are listed under a reason at first.
_FEW = 8
#: Lines that the notes have room for.
_LINES = 4


class _Lines(QTreeWidget):
    """A line for each reason, and under it one for each place; a tick has it go."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """places: what each is called."""
        super().__init__()
        self.setAccessibleName(self.tr("What goes"))
        self.setHeaderLabels([self.tr("What goes"), self.tr("How much"), self.tr("Size")])
        self.setUniformRowHeights(True)
        lists.columns(self, (0, 200, 160), _WHAT)
        lists.right(self, (_SIZE,))
        texts = {
            **{reason: glossary.of(reason).text for reason in SAFE},
            "unused": self.tr("Nothing has used them, or what needs them, since then."),
            "budget": self.tr("Those used longest ago go, until each place fits its budget."),
            "needless": self.tr("Code that only removed entries need. It goes with them."),
        }  # fmt: skip
        self.heads: dict[str, QTreeWidgetItem] = {}
        self.lines: dict[tuple[str, str], QTreeWidgetItem] = {}
        for reason in REASONS:
            self.heads[reason] = head = self._line(self, reason, "", "", texts[reason])
            for place, title in places.items():
                about = printable(place, 400)
                if not scheme_of(place).has_trash:
                    title = self.tr("{} (no trash)").format(title)
                self.lines[reason, place] = line = self._line(head, reason, place, title, about)
                # It is hidden until something is found; a server's is not: ticked, it is asked.
                line.setHidden(scheme_of(place).has_trash)
        self._out: set[str] = set()
        self.headers = lists.line([self.tr("Precompiled headers"), "", ""], numbers=(_SIZE,))
        self.addTopLevelItem(self.headers)
        self.left = lists.line([self.tr("Left out")])
        self.addTopLevelItem(self.left)
        for line in (self.headers, self.left):
            line.setHidden(True)

    def _line(
        self, where: QTreeWidget | QTreeWidgetItem, reason: str, place: str, name: str, about: str
    ) -> QTreeWidgetItem:
        made = lists.line([name, "", ""], numbers=(_SIZE,))
        made.setData(_WHAT, _OF, [reason, place])
        made.setToolTip(_WHAT, tip(about))
        if reason != "needless":
            made.setCheckState(_WHAT, Qt.CheckState.Unchecked)
        if isinstance(where, QTreeWidget):
            where.addTopLevelItem(made)
        else:
            where.addChild(made)
        return made

    def tell(self, line: QTreeWidgetItem, count: str, size: str) -> None:
        """Say how much there is in a line."""
        line.setText(_COUNT, count)
        line.setText(_SIZE, size)
        said = " ".join(filter(None, (size, count)))
        name = line.text(_WHAT) + (f": {said}" if said else "")
        line.setData(_WHAT, Qt.ItemDataRole.AccessibleTextRole, name)

    def tick(self, ticks: Mapping[str, Collection[str]]) -> None:
        """Show the ticks: for which reasons something of each place goes."""
        marks = Qt.CheckState
        for (reason, place), line in self.lines.items():
            if reason != "needless":
                line.setCheckState(
                    _WHAT, marks.Checked if reason in ticks[place] else marks.Unchecked
                )
        for reason in REASONS[:-1]:
            able = self._able(reason)
            whole = bool(able) and all(reason in ticks[place] for place in able)
            mark = marks.Checked if whole else marks.PartiallyChecked
            some = any(reason in of for of in ticks.values())
            self.heads[reason].setCheckState(_WHAT, mark if some else marks.Unchecked)

    def _able(self, reason: str) -> list[str]:
        """The places that the tick of a reason is about: of a server nothing comes back."""
        able = [
            place
            for (of, place), line in self.lines.items()
            if of == reason and not line.isDisabled()
        ]
        return [place for place in able if scheme_of(place).has_trash] or able

    def ticked(self, line: QTreeWidgetItem) -> tuple[str, list[str], bool]:
        """What the user has ticked with a line: the reason, the places, and whether they go."""
        reason, place = line.data(_WHAT, _OF)
        on = line.checkState(_WHAT) is not Qt.CheckState.Unchecked
        if place:
            return reason, [place], on
        able = self._able(reason)
        return reason, able if on else [of for why, of in self.lines if why == reason], on

    def leave_out(self, place: str, title: str, why: UserError) -> None:
        """A place cannot be cleaned up; why."""
        for (_, of), line in self.lines.items():
            if of == place:
                line.setDisabled(True)
        if place not in self._out:
            self._out.add(place)
            line = lists.line([f"{title}: {why.what}"])
            line.setToolTip(_WHAT, tip(str(why)))
            self.left.addChild(line)
            line.setFirstColumnSpanned(True)
            self.left.setHidden(False)
            self.left.setExpanded(True)


class CleanDialog(Dialog):
    """What is dead in places. What goes is what is shown; its entries are a button away."""

    #: The plans are to be carried out: each a place, the ticket of its engine and its number; and
    #: whether at once.
    decided = Signal(list, bool)

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        environments: Environments,
        settings: QSettings,
        places: Sequence[Place],
        titles: Mapping[str, str],
        ticked: Collection[str] = (),
        reasons: Collection[str] = (),
    ) -> None:
        """titles: what places are called; ticked: those of which something goes, all that have a
        trash where there are none; reasons: why, SAFE where there are none.
        """
        super().__init__(parent, 680, "trash")
        self.setWindowTitle(self.tr("Clean up"))
        self.resize_within(820, 640)
        self._engines, self._settings, self._titles = engines, settings, titles
        able = [place.path for place in places if not place.read_only]
        reasons = reasons or SAFE
        #: What is ticked at first; and all that one tick is about.
        self._reasons, self._first = reasons, ticked
        self._all = [place for place in able if scheme_of(place).has_trash]
        able.sort(key=lambda place: place not in ticked)
        ticked = ticked or self._all
        self.preview: PurgeDialog | None = None
        self.said = forms.label("", "muted")
        self.bar = forms.progress_bar(self.tr("Progress of the search"))
        forms.keep_room(self.bar)
        self.lines = _Lines({place: titles[place] for place in able})
        # The other reasons show their sums; this one its places, so that all the total is of shows.
        self.lines.heads["stale"].setExpanded(1 < len(able) <= _FEW)
        glossary.explain(self.lines, *SAFE)
        self._make_limits()
        without = str(settings.value(_WITHOUT) or "").splitlines()
        self.found = Suggestions(engines, environments, able, without, self)
        self.finished.connect(self._let_go)
        self._going: Collection[str] = ()
        for place in self.found.ticks.keys() & set(ticked):
            self.found.ticks[place].update(reasons)
        self.sick = Notice(mild=True)
        self.sick.button.setText(self.tr("Count &without it"))
        self.sick.again.connect(self._count_without)
        self.total = forms.label("", "title", wrap=True)
        self.about = forms.label("", "muted", wrap=True)
        # A tick that brings another sentence moves nothing.
        self.about.setAlignment(Qt.AlignmentFlag.AlignTop)
        forms.keep_room(self.about, _LINES)
        self.in_use = QCheckBox(self.tr("&Include entries in use"))
        what_then = self.tr("A running process may have to compile them again.")
        self.in_use.setAccessibleDescription(what_then)
        self.at_once = QCheckBox(self.tr("Remove &at once, without the trash"))
        self.at_once.setAccessibleDescription(self.tr("This cannot be undone."))
        glossary.explain(self.at_once, "trash")
        self.shows = forms.button(self.tr("&Show entries…"), self._preview, enter=False)
        self.shows.setToolTip(tip(self.tr("Show what goes of the place of the chosen line")))
        self.cancel = forms.button(self.tr("Cancel"), self.reject)
        self.go = forms.button(self.tr("&Move to trash"), self._go, primary=True)
        self.every = QCheckBox(self.tr("All &places"))
        self.every.setToolTip(tip(self.tr("Clean up all places that have a trash")))
        self.every.setVisible(len(self._all) > 1)
        self.every.clicked.connect(self._tick_all)
        boxes = forms.row(self.every, self.in_use, self.at_once, forms.REST, gap=24)
        limits = forms.row(
            forms.name_of(self.days, self.tr("&Unused for"), "muted"), self.days, 24,
            forms.name_of(self.budget, self.tr("&Budget of each place"), "muted"), self.budget,
            self.unit,
            forms.REST,
        )  # fmt: skip
        forms.add(self.body, self.said, self.bar, (self.lines, 1), limits, self.sick)
        self.body.addLayout(boxes)
        self.go.hold(self.tr("&Move to trash…"), self.tr("&Remove at once…"))
        self.buttons(self.cancel, self.go, before=(self.shows,), pinned=(self.total, self.about))
        self.lines.itemChanged.connect(self._ticked)
        self.lines.currentItemChanged.connect(lambda *_: self._say())
        # Not when it is activated: Enter is the button's that goes on.
        self.lines.itemDoubleClicked.connect(lambda *_: self._preview())
        self.in_use.toggled.connect(self._changed)
        self.at_once.toggled.connect(self._say)
        self.found.changed.connect(self._say)
        for place in (place.path for place in places if place.read_only):
            self._leave_out(place, user_error("place-protected", {"place": place}))
        self._changed()
        self.found.go_on()
        self.lines.setCurrentItem(self.lines.heads["stale"])
        self.lines.setFocus()

    def _let_go(self) -> None:
        if self.preview is not None and isValid(self.preview) and self.preview.isVisible():
            self.preview.reject()
        self.found.close(self._going)

    def _make_limits(self) -> None:
        self.days = forms.Number(0, 3650)
        one, some = self.tr(" day"), self.tr(" days")
        self.budget = forms.Number(0, 999_999)
        self.unit = forms.Choice()
        self.unit.addItems([name for name, _ in _UNITS])
        self.unit.setAccessibleName(self.tr("Unit"))
        for number in (self.days, self.budget):
            number.setGroupSeparatorShown(True)
            number.setMinimumWidth(104)
            number.setFixedHeight(self.unit.sizeHint().height())
        self.days.valueChanged.connect(lambda n: self.days.setSuffix(one if n == 1 else some))
        self.days.setSuffix(some)
        self.days.setValue(forms.kept(self._settings, _DAYS, dead.DAYS))
        self.budget.setValue(forms.kept(self._settings, _BUDGET, 10))
        self.unit.setCurrentIndex(min(forms.kept(self._settings, _UNIT, 1), len(_UNITS) - 1))
        self.days.valueChanged.connect(self._changed)
        self.budget.valueChanged.connect(self._changed)
        self.unit.currentIndexChanged.connect(self._changed)

    def _changed(self) -> None:
        self._settings.setValue(_DAYS, self.days.value())
        self._settings.setValue(_BUDGET, self.budget.value())
        self._settings.setValue(_UNIT, self.unit.currentIndex())
        self.found.older = self.days.value() * dead.DAY
        self.found.keep = self.budget.value() * _UNITS[self.unit.currentIndex()][1]
        self.found.in_use = self.in_use.isChecked()
        self.found.count_soon()

    def _count_without(self) -> None:
        self.found.count_without(self.found.envs.failed[0][0])
        self._settings.setValue(_WITHOUT, "\n".join(sorted(self.found.without)))

    def _leave_out(self, place: str, why: UserError) -> None:
        self.lines.leave_out(place, self._titles[place], why)

    def _ticked(self, line: QTreeWidgetItem) -> None:
        reason, places, on = self.lines.ticked(line)
        for place in places:
            (self.found.ticks[place].add if on else self.found.ticks[place].discard)(reason)
        self.found.count_soon()

    def _tick_all(self, on: bool) -> None:
        for place, ticks in self.found.ticks.items():
            if place in self._all if on else place not in self._first:
                (ticks.update if on else ticks.difference_update)(self._reasons)
        self.found.count_soon()

    def _say(self) -> None:
        found, plans = self.found, self.found.plans
        able = (found.ticks[x] for x in self._all if found.looks[x].error is None)
        self.every.setChecked(all(ticks.issuperset(self._reasons) for ticks in able))
        with QSignalBlocker(self.lines):
            for one in found.looks.values():
                if one.error is not None:
                    self._leave_out(one.place, one.error)
            self._tell_lines(plans)
            self.lines.tick(found.ticks)
        looking = [one for one in found.looks.values() if one.looking]
        said = self.tr("Each entry counts once, for the first of its reasons that is ticked.")
        self.bar.setVisible(bool(looking))
        if looking:
            said = self.tr("Looking at {}…").format(self._titles[looking[0].place])
            done, total, _ = looking[0].progress
            self.bar.setRange(0, int(total or 0))
            self.bar.setValue(int(done))
        elif found.asking:
            said = self.tr("Asking environments…")
        elif not self.lines.left.isHidden():
            said = self.tr("{} The last lines show what is left out.").format(said)
        self.said.setText(said)
        for python, error in [] if found.asking else found.envs.failed[:1]:
            if error is not self.sick.error:
                self.sick.tell(error, again=bool(python))  # else it is of no interpreter
        if found.refusal() is None:
            self.sick.tell(None)
        self._tell_total(plans)
        self.shows.setEnabled(bool(self._to_show()))

    def _tell_lines(self, plans: Mapping[str, PlanPurgeResult]) -> None:
        days, budget = self.days.text(), f"{self.budget.text()} {self.unit.currentText()}"
        names = {
            "stale": self.tr("Stale everywhere"), "broken": self.tr("Broken"),
            "orphan": self.tr("Orphaned"), "unused": self.tr("Unused for {}").format(days),
            "budget": self.tr("Over {} in a place").format(budget),
            "needless": self.tr("Needed only by removed entries"),
        }  # fmt: skip
        known = self.found.known_plans
        some = [self.found.looks[place].result for place, x in known.items() if not x["headers"]]
        stay = [one["header_bytes"] for one in some if one is not None]
        self.lines.headers.setHidden(not any(stay))
        self.lines.tell(self.lines.headers, self.tr("Stay for new C++ code"), say.size(sum(stay)))
        for reason, head in self.lines.heads.items():
            parts: list[Sized] = []
            more: list[Sized] = []
            texts = set[str]()
            for place in self.found.looks:
                part, text = self._part(reason, place, plans)
                if part is not None:
                    (parts if reason in self._goes(place) else more).append(part)
                texts.add(text)
                size = say.measured(part) if part is not None else ""
                line = self.lines.lines[reason, place]
                self.lines.tell(line, text, size)
                # A place with nothing to remove takes no line, unless it is the current one.
                if place in known and line is not self.lines.currentItem():
                    line.setHidden(part is None and scheme_of(place).has_trash)
            head.setText(_WHAT, names[reason])
            waiting = texts & {self.tr("Looking…"), self.tr("Counting…")}
            text = next(iter(waiting or texts & {self.tr("Nothing"), self.tr("Not known")}), "")
            if (parts or more) and not waiting:
                whole = added(parts or more)
                held = say.held(whole)
                text = held if parts else self.tr("{} more").format(held)
                self.lines.tell(head, text, say.measured(whole))
            else:
                self.lines.tell(head, text, "")

    def _part(
        self, reason: str, place: str, plans: Mapping[str, PlanPurgeResult]
    ) -> tuple[Sized | None, str]:
        """How much of a place goes, or would go, for a reason, if that is known, and what is said
        of it.
        """
        found, one = self.found, self.found.looks[place]
        if one.error is not None:
            return None, self.tr("Left out")
        if reason not in self._goes(place):
            plan = self.found.known_plans.get(place)
            part = plan.get("more", {}).get(reason) if plan is not None else None
            if part is None or not part["files"]:
                return None, ""
            return part, self.tr("{} more").format(say.held(part))
        if one.result is None:
            return None, self.tr("Looking…")
        if reason in found.why_not(place):
            return None, self.tr("Not known")
        if place not in plans:
            return None, self.tr("Counting…")
        part = plans[place].get("because", {}).get(reason)
        return part, say.held(part) if part is not None else self.tr("Nothing")

    def _goes(self, place: str) -> set[str]:
        """The reasons for which something of a place goes."""
        ticks = self.found.ticks[place]
        return {*ticks, "needless"} if ticks else set()

    def _tell_total(self, plans: Mapping[str, PlanPurgeResult]) -> None:
        some = {place: plan for place, plan in plans.items() if plan["files"]}
        total, waiting = added([dead.going(plan) for plan in some.values()]), self.found.waiting
        held = say.held(total)
        said, others = self.tr("Nothing goes"), self._others()
        if waiting or (not some and self.found.unknown):
            said = self.tr("Counting…")
        elif not some and others:
            said = self.tr("Nothing goes; other places hold {}").format(others)
        elif some:
            where = say.count(len(some), "place", "places")
            for_good = len(self._for_good(some))
            said = self.tr("Removes {}: {} in {}")
            if for_good == len(some):
                said = self.tr("Frees {}: {} in {}")
            elif not for_good:
                said = self.tr("Moves {} to the trash: {} in {}")
            said = said.format(say.measured(total), held, where)
        self.total.setText(said)
        self.about.setText(" ".join(self._notes(plans)))
        self.in_use.setEnabled(
            self.in_use.isChecked() or any(x["in_use"]["left"] for x in plans.values())
        )
        asks = len(self._for_good(some))
        whole = bool(some) and asks == len(some)
        forms.weigh(self.go, danger=whole)
        verb = self.tr("&Move to trash…") if asks else self.tr("&Move to trash")
        self.go.setText(self.tr("&Remove at once…") if whole else verb)
        self.go.setAccessibleName(self.go.text().replace("&", "").rstrip("…"))
        (self.cancel if whole else self.go).setDefault(True)
        self.go.setEnabled(bool(some) and not waiting)

    def _others(self) -> str:
        """What else goes where all places are ticked; empty for nothing."""
        plans = self.found.known_plans
        others = [plans[x] for x in plans.keys() & self._all if not self.found.ticks[x]]
        every = [one.get("more", {}).get(reason) for one in others for reason in self._reasons]
        parts = [one for one in every if one is not None and one["files"]]
        return say.held_of(added(parts)) if parts else ""

    def _notes(self, plans: Mapping[str, PlanPurgeResult]) -> Iterator[str]:
        if (others := self._others()) and any(plan["files"] for plan in plans.values()):
            yield self.tr("Other places hold {}.").format(others)
        if left := sum(plan["in_use"]["left"] for plan in plans.values()):
            kept = say.count(left, "entry", "entries")
            yield self.tr("{} in use stay.").format(kept)
        yield from filter(None, (dead.of_others(*one) for one in plans.items() if one[1]["files"]))
        servers = [place for place in plans if not scheme_of(place).has_trash]
        if not self.at_once.isChecked() and len(servers) < len(plans):
            yield self.tr("You can undo this. The space is free again when the trash is emptied.")
        if servers or self.at_once.isChecked():
            yield self.tr("You cannot undo what is removed at once or from a server.")
        if any(scheme_of(place).shared for place in servers):
            yield tongue.tr(dead.SHARED)
        yield from dict.fromkeys(
            dead.rests(plan["rests"])
            for place, plan in plans.items()
            if {"unused", "budget"} & self.found.ticks[place]
        )
        if (envs := self.found.envs).envs and not self.found.asking:
            yield self.tr("Environments: {}.").format(dead.environments(envs, _NAMED))
        if some := self.found.left_out:
            names = printable(say.together(some), 1000)
            yield self.tr("Not asked and not counted: {}.").format(names)

    def _to_show(self) -> list[str]:
        """The places of which something goes for the reason of the current line."""
        line, plans = self.lines.currentItem(), self.found.plans
        why, place = line.data(_WHAT, _OF) or ("", "") if line is not None else ("", "")
        some = [x for x, plan in plans.items() if why in plan.get("because", {})]
        return [x for x in some if place in ("", x)]

    def _preview(self) -> None:
        places = self._to_show()
        if len(places) == 1:
            self._show_entries(places[0])
        elif places:
            show, titles = self._show_entries, self._titles
            every = [("entries", caption(titles[x]), x, partial(show, x)) for x in places]
            lists.choose(self.shows, every)

    def _show_entries(self, place: str) -> None:
        select, engine = self.found.select(place), self.found.looks[place].engine
        self.preview = PurgeDialog(
            self, self._engines, place, select, engine_of=engine, in_use=self.in_use.isChecked()
        )
        self.preview.finished.connect(lambda _: self.found.plan_anew(place))
        self.preview.open()

    def _for_good(self, some: Mapping[str, PlanPurgeResult]) -> list[tuple[str, PlanPurgeResult]]:
        at_once = self.at_once.isChecked()
        return [one for one in some.items() if at_once or not scheme_of(one[0]).has_trash]

    def _go(self) -> None:
        some = {place: plan for place, plan in self.found.plans.items() if plan["files"]}

        def decide() -> None:
            plans = [(x, self.found.looks[x].engine, plan["plan"]) for x, plan in some.items()]
            self._going = list(some)
            self.decided.emit(plans, self.at_once.isChecked())
            self.accept()

        if for_good := self._for_good(some):
            confirm_for_good(self, for_good, decide)
        else:
            decide()
