"""The doctor's page: what is wrong with the caches of this machine, why, and mending it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from torchkeeper.client import diagnosing
from torchkeeper.client.engines.process import clean_environment
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import taborder
from torchkeeper.gui.context import Context
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.purging import MendDialog
from torchkeeper.gui.idle import once
from torchkeeper.gui.pages.doctor.cards import Cards, is_bug
from torchkeeper.gui.pages.doctor.diagnosis import Asked, Diagnosis, Mended, Mender, Plan, report
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.pages.profiles.words import counted
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.settings.masks import taken
from torchkeeper.settings.servers import places_of

#: Milliseconds after a change before what was found is looked at again: changes come together.
_SOON_MS = 1_500
#: What is shown is looked at again after so many seconds, and so many times as long as it takes.
_OLD, _SHARE = 60.0, 30.0


class DoctorPage(Page):
    """Looks when it is first shown, when something else is to be looked at, and when asked."""

    def __init__(self, context: Context) -> None:
        super().__init__(QCoreApplication.translate("DoctorPage", "Health"))
        self._context = context
        #: The place that the window shows, as far as the choice has it.
        self._place: str | None = None
        self._offered: list[str] = []
        self._here = False
        #: What was chosen when it was last looked.
        self._chosen: tuple[object, ...] = ()
        #: Whether what was looked at was changed since.
        self._touched = False
        #: Whether nothing that was found was shown yet.
        self._fresh = True
        self.diagnosis = Diagnosis(context.engines, self)
        self.mender = Mender(context, self.diagnosis, self)
        self.preview: MendDialog | None = None
        #: What is being mended, or put back: its card has the keyboard again after that.
        self._mends: diagnosing.Told | None = None
        self.choice_of = EnvironmentChoice(context.machines, none=self.tr("No environment"))
        self.scope = forms.Choice(characters=40)
        lists.keep_up(self, self._grow_old)
        self._soon = once(self, self._look_anew, _SOON_MS)
        self._lay_out()
        self.diagnosis.changed.connect(self._say)
        self.diagnosis.changed.connect(self.marked)
        self.mender.changed.connect(self._say)
        self.mender.planned.connect(self._show_plans)
        self.choice_of.changed.connect(self._use)
        self.scope.currentIndexChanged.connect(lambda *_: self._use())
        context.operations.changed.connect(self._place_changed)
        #: The place that is shown, and what its last listing was told by.
        self._marked: tuple[str | None, str] = None, ""
        context.listing.changed.connect(self._listed)

    def _lay_out(self) -> None:
        self.copy = forms.button(self.tr("Co&py report"), self._copy)
        fix = self.tr("Fix &all that can be fixed…")
        self.all = forms.button(fix, lambda: self.mender.plan(self.fixable))
        hint = self.tr("Run all checks again (F5)")
        self.again = forms.button(self.tr("&Run again"), self.run, hint)
        self.cancel = forms.button(self.tr("Cancel"), self._cancel, self.tr("Stop the checks"))
        forms.add(self.tools, self.copy, self.all, self.again, self.cancel)
        for text, control in (
            (self.tr("Environment"), self.choice_of), (self.tr("Loo&k at"), self.scope)
        ):  # fmt: skip
            name = forms.name_of(control, text)
            name.setFixedWidth(96)
            name.setContentsMargins(0, 7 if control is self.scope else 0, 0, 0)
            self.body.addLayout(forms.row((name, forms.TOP), (control, 1), gap=12))
        self.summary = forms.label("", "heading", wrap=True)
        self.where = forms.label("", "muted", wrap=True)
        self.when = forms.label("", "muted", wrap=True)
        self.bar = forms.progress_bar(self.tr("Progress of the search"))
        self.notice = Notice()
        self.notice.log.connect(self._show_log)
        forms.add(self.body, 4, self.summary, self.where, self.when, self.bar, self.notice)
        self.cards = Cards(self.tr("What was found"), margin=8)
        self.cards.fix.connect(self._fix)
        self.cards.undo.connect(self._undo)
        self.cards.setting.connect(self._show_setting)
        self.cards.log.connect(self._show_log)
        self.cards.place.connect(lambda path: self._context.open_paths([path]))
        self.blank = EmptyState("doctor")
        self.stack = forms.stack(self.cards, self.blank)
        self.body.addWidget(self.stack, 1)

    def entered(self) -> None:
        context = self._context
        self._here = True
        shown = None if context.listing.what == "file" else context.place
        self._turn_to(context.places.beside(context.place), shown)
        asked = self.diagnosis.asked
        if asked is None or asked.at != self._context.machines.shown.machine:
            self._use()
        self._say()
        if self._touched:
            self._soon.start()

    def left(self) -> None:
        self._here = False

    @property
    def first(self) -> QWidget | None:
        # While nothing is found yet: what stops it, or begins; itself until one of them can.
        ways = (way for way in (self.again, self.cancel) if way.isVisible() and way.isEnabled())
        return next(taborder.stops(self.stack), None) or next(ways, self)

    def _go_to_found(self) -> None:
        """Whoever came here before there was anything is taken to it."""
        if self._here and self.window().focusWidget() in (self, self.again):
            (self.first or self).setFocus(Qt.FocusReason.OtherFocusReason)

    def refresh(self) -> None:
        if self.again.isEnabled() and not self.diagnosis.running:
            self.run()

    def _show_setting(self, name: str) -> None:
        from torchkeeper.gui.pages.profiles.page import SettingsPage

        page = self._context.pages.go("settings")
        assert isinstance(page, SettingsPage)
        page.show_setting(name, origin=self.choice_of.facts is not None)

    def _show_log(self) -> None:
        from torchkeeper.gui.dialogs.about import BugDialog

        BugDialog(self, "\n".join(self.diagnosis.log), kept=True).open()

    def _place_changed(self, path: str) -> None:
        """A job that is not one of its own has changed a place."""
        asked = self.diagnosis.asked
        if asked is not None and path in asked.places and not self.mender.busy:
            self._touched = True
            self._say_when()
            self._soon.start()

    def _listed(self) -> None:
        """The place that is shown was listed: of a folder that says when it has become another."""
        listing = self._context.listing
        (place, mark), (other, before) = (listing.place, listing.mark), self._marked
        self._marked = place, mark
        if place is not None and place == other and mark and before and mark != before:
            self._place_changed(place)

    def _look_anew(self) -> None:
        """What was looked at has changed: see whether what was found is so still."""
        found = self.diagnosis
        if self._here and found.result is not None:
            if found.busy or self.mender.busy:
                self._soon.start()
            else:
                self._touched = False
                found.look_anew()
                self._say_when()

    def _grow_old(self) -> None:
        """Look again at what nobody tells of: folders that are not shown, and processes."""
        found = self.diagnosis
        self._say_when()
        if found.found and time.time() - found.at > max(_OLD, _SHARE * found.took):
            self._look_anew()

    def _turn_to(self, places: Sequence[Place], shown: str | None) -> None:
        """The places to choose from, and the one that the window shows: what is chosen stays."""
        paths = [place.path for place in places if not place.bundle]
        if shown != self._place or paths != self._offered:
            self._place, self._offered = shown, paths
            all_of_it = self.tr("What the environment uses, and this user’s other caches")
            if shown:
                title = next((x.title for x in places if x.path == shown), shown)
                all_of_it = self.tr("What the environment uses, “{}”, and this user’s other caches")
                all_of_it = all_of_it.format(printable(title, 60))
            named = ((printable(path, 400), path) for path in paths)
            self.scope.offer([(all_of_it, None), *named], self.scope.currentData())

    def _asked(self) -> Asked:
        facts, known = self.choice_of.facts or {}, self._context.machines.shown
        env = {} if known.machine else clean_environment()
        values = None if known.machine else taken(env)
        chosen = self.scope.currentData()
        places = [str(chosen)]
        if chosen is None:
            places = [] if values is None else places_of(facts, values)
            places += filter(None, [self._place])
        reads = (one.facts.get("cache_dir") for one in known.every if one.facts)
        return Asked(
            self.choice_of.python, facts, values, tuple(dict.fromkeys(places)), chosen is None,
            tuple(x for x in reads if isinstance(x, str)), tuple(env), known.machine,
        )  # fmt: skip

    @property
    def _stale(self) -> bool:
        """Whether what was looked at is not what there is to look at by now."""
        last = self.diagnosis.asked
        if last is None or self.choice_of.waiting:
            return False
        return self._touched or self._asked()._replace(reads=()) != last._replace(reads=())

    def _use(self) -> None:
        """Look, once it is known what the environment is, unless that is what was looked at."""
        first = self.diagnosis.asked is None
        if self.choice_of.waiting or not (first or self._here):
            self._say()
        elif first or self._choice() != self._chosen:
            self.run()

    def _choice(self) -> tuple[object, ...]:
        machine = self._context.machines.shown.machine
        return machine, self.choice_of.python, self.choice_of.facts, self.scope.currentData()

    def run(self) -> None:
        """Look at all of it, whatever was found before."""
        if not self.mender.busy:
            self.mender.clear()
            self.mender.error = None
            self._touched = False
            self._soon.stop()
            self._chosen = self._choice()
            self.diagnosis.begin(self._asked())

    def _cancel(self) -> None:
        self.mender.drop()
        self.diagnosis.cancel()

    @property
    def warning(self) -> str:
        """How much of what was found is wrong, or may be."""
        found = (one.finding for one in self.diagnosis.found)
        return counted([one for one in found if one.severity != "advice"])

    @property
    def fixable(self) -> list[diagnosing.Told]:
        """What a program can mend."""
        return [one for one in self.diagnosis.found if diagnosing.mends(one.finding)]

    def _say(self) -> None:
        found, mender = self.diagnosis, self.mender
        over = found.result is not None
        asking = found.asked is None
        before = self.summary.text()
        self.summary.setText(self._entitled())
        self.where.setText(self._at() if found.running or asking else self._made())
        self.bar.setVisible(found.running or asking or mender.busy)
        done, total = found.progress or (0, 0)
        self.bar.setRange(0, total if found.running else 0)
        self.bar.setValue(done)
        ours = found.error is not None and is_bug(found.error)
        self.notice.tell(found.error or mender.error, log=ours, beside="refresh")
        idle = not (found.running or mender.busy or asking)
        # One stands where the other stood, and has the keyboard from it.
        at = self.window().focusWidget()
        held = at in (self.again, self.cancel) or (at is self and not asking)
        self.again.setEnabled(idle)
        self.again.setVisible(not found.running and not mender.planning)
        self.cancel.setVisible(found.running or mender.planning)
        if held:
            (self.again if idle else self.cancel).setFocus()
        self.copy.setEnabled(over and idle)
        self.all.setVisible(bool(self.fixable))
        self.all.setEnabled(idle)
        for control in (self.choice_of, self.scope):
            control.setEnabled(not mender.busy)
        left = diagnosing.left_of(found.result or diagnosing.NOTHING)
        if found.untried is not None:
            left.append(("toolchain", "", found.untried))
        mended = [(one, mender.can_undo(one)) for one in mender.mended]
        self.cards.show_all(found.found, mended, left, able=idle)
        if idle:
            self._come_back()
        nothing = idle and not found.found and not mended and not left
        well = over and nothing
        self.stack.setCurrentWidget(self.blank if nothing else self.cards)
        if idle and self._fresh:
            self._fresh = False
            # What was made now can be gone to once it is laid out.
            QTimer.singleShot(0, self, self._go_to_found)
        # What is in the middle says that it was cancelled.
        self.summary.setVisible(not (well or (nothing and found.cancelled)))
        self.where.setVisible(not well and bool(self.where.text()))
        if well:
            self._say_healthy()
        elif nothing:
            self._say_for_what()
        self._say_when()
        if over and self.summary.text() != before:
            self.summary.setAccessibleName(self.summary.text())
            forms.alert(self.summary)

    def _say_when(self) -> None:
        """How old is what is shown, and whether it is still what there is to see."""
        found = self.diagnosis
        over = found.result is not None and not found.running and not self.mender.busy
        text = self.tr("Looked {}").format(say.ago(found.at)) if over else ""
        stale = over and self._stale
        if stale:
            text += self.tr(" · Something has changed since then: run the checks again.")
        forms.set_role(self.when, "warning" if stale else "muted")
        forms.tell(self.when, text)
        if over:
            self.cards.tell_times(found.seen)

    def _entitled(self) -> str:
        found = self.diagnosis
        if self.mender.planning:
            return self.tr("Preparing the fixes…")
        if self.mender.busy:
            return self.tr("Mending…")
        if found.asked is None or found.running:
            return self.tr("Running the checks…")
        if found.result is not None:
            return diagnosing.summary(found.found, found.result).partition("; ")[0]
        if found.cancelled:
            return self.tr("Cancelled before all checks were done")
        return self.tr("The checks could not run")

    def _at(self) -> str:
        found = self.diagnosis
        if found.asked is None:
            return self.tr("Waiting for the environment…")
        if found.progress is None:
            if found.asked.facts.get("torch"):
                return self.tr("Trying the compiler, Triton and the GPU of the environment…")
            return self.tr("Reading…")
        done, total = found.progress
        # The places of another machine are not known here.
        steps = [] if found.asked.at else diagnosing.steps(found.asked.places)
        check, place = steps[done] if done < len(steps) else ("", "")
        name = diagnosing.check_name(check)
        of = self.tr("{} of {}").format(name, printable(place, 200)) if place else name
        count = self.tr("Check {} of {}").format(min(done + 1, total), total)
        return f"{count}: {of}" if name else count

    def _made(self) -> str:
        """How many checks were made, and could not be."""
        found = self.diagnosis
        if found.result is None or self.mender.busy:
            return ""
        text = diagnosing.summary(found.found, found.result).partition("; ")[2]
        return text[:1].upper() + text[1:]

    def _say_healthy(self) -> None:
        asked, result = self.diagnosis.asked, self.diagnosis.result or diagnosing.NOTHING
        places = [printable(place, 200) for place in (asked.places if asked else ())]
        checks = diagnosing.check_names(result["checks"])
        checked = f"{self.tr('Checked')}: {checks}." if checks else ""
        text = "\n\n".join(filter(None, ("\n".join(places), checked)))
        self.blank.say(diagnosing.summary([], result), text, "done")

    def _say_for_what(self) -> None:
        title = self.tr("Not checked yet")
        if self.diagnosis.cancelled:
            title = self.tr("Cancelled before anything was found")
        text = self.tr("The doctor checks the folders and servers of caches, the compilers and the "
                       "settings. It says what is wrong, why, and how to fix it. Checks change "
                       "nothing.")  # fmt: skip
        self.blank.say(title, text, "doctor")

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(report(self.diagnosis))

    def _fix(self, one: diagnosing.Told) -> None:
        self.mender.plan([one])
        self._mends = one

    def _undo(self, one: Mended) -> None:
        self.mender.undo(one)
        self._mends = one.told

    def _come_back(self) -> None:
        """The button that was pressed was off meanwhile, and another has the keyboard."""
        one, self._mends = self._mends, None
        at = self.window().focusWidget()
        if one is None or not (self._here and (at is None or self.isAncestorOf(at))):
            return
        about = one.finding.code, one.finding.place
        every: list[Mended | diagnosing.Told] = [*self.mender.mended, *self.diagnosis.found]
        for other in every:
            finding = (other.told if isinstance(other, Mended) else other).finding
            card = self.cards.of(other)
            if (finding.code, finding.place) == about and card and card.button:
                card.button.setFocus(Qt.FocusReason.OtherFocusReason)
                return

    def _show_plans(self, plans: list[Plan]) -> None:
        self.preview = preview = MendDialog(self, plans)
        preview.decided.connect(self.mender.carry_out)
        preview.rejected.connect(self.mender.drop)
        preview.finished.connect(self._no_preview)
        preview.open()

    def _no_preview(self) -> None:
        self.preview = None
