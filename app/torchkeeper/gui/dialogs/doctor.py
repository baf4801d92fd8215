"""The doctor: what is wrong with the caches of this machine, why, and mending it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QGuiApplication
from PySide6.QtWidgets import QComboBox, QProgressBar, QStackedWidget, QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.blank import Blank, Notice
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.mending import MendDialog
from torchkeeper.gui.doctor import report
from torchkeeper.gui.doctor.cards import Cards
from torchkeeper.gui.doctor.diagnosis import Asked, Diagnosis
from torchkeeper.gui.doctor.mender import Mended, Mender, Plan
from torchkeeper.gui.engines import Engines
from torchkeeper.gui.environments import Environments
from torchkeeper.gui.jobs import JobsModel
from torchkeeper.gui.operations import Operations
from torchkeeper.gui.places import Place
from torchkeeper.link import checkwords, diagnosing
from torchkeeper.link.diagnosing import Told
from torchkeeper.link.process import clean_environment
from torchkeeper.link.words import printable


class DoctorDialog(Dialog):
    """Looks when it is opened, and whenever something else is to be looked at; the window stays
    usable beside it.
    """

    grows = False

    def __init__(
        self, parent: QWidget | None, engines: Engines, environments: Environments,
        operations: Operations, jobs: JobsModel, places: Sequence[Place], shown: str | None,
    ) -> None:  # fmt: skip
        super().__init__(parent, "", 760)
        self.setWindowTitle(self.tr("Doctor"))
        self.setWindowModality(Qt.WindowModality.NonModal)
        self._environments = environments
        self._place = shown
        self.diagnosis = Diagnosis(engines, self)
        self.mender = Mender(engines, environments, operations, jobs, self.diagnosis, self)
        self.preview: MendDialog | None = None
        self.choice_of = EnvironmentChoice(environments, self.tr("No environment"))
        self.scope = QComboBox()
        self._lay_out()
        self._fill(places)
        self.diagnosis.changed.connect(self._say)
        self.mender.changed.connect(self._say)
        self.mender.planned.connect(self._show_plans)
        self.choice_of.changed.connect(self._use)
        self.scope.currentIndexChanged.connect(lambda *_: self._use())
        self._use()
        self._say()
        room = self.screen().availableSize()
        self.resize(min(860, room.width() - 40), min(720, room.height() - 80))

    def _lay_out(self) -> None:
        for text, control in (
            (self.tr("En&vironment"), self.choice_of), (self.tr("&Look at"), self.scope)
        ):  # fmt: skip
            line = forms.row(gap=12)
            name = forms.label(text, "heading")
            name.setBuddy(control)
            name.setFixedWidth(96)
            name.setContentsMargins(0, 7, 0, 0)
            control.setAccessibleName(text.replace("&", ""))
            line.addWidget(name, 0, Qt.AlignmentFlag.AlignTop)
            line.addWidget(control, 1)
            self.body.addLayout(line)
        self.scope.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.scope.setMinimumContentsLength(40)
        self.title = forms.label("", "title", wrap=True)
        self.where = forms.label("", "muted", wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("How far the looking is"))
        self.notice = Notice()
        self.notice.again.connect(self.run)
        self.body.addSpacing(4)
        for widget in (self.title, self.where, self.bar, self.notice):
            self.body.addWidget(widget)
        self.cards = Cards(self.tr("What was found"))
        self.cards.fix.connect(lambda one: self.mender.plan([one]))
        self.cards.undo.connect(self.mender.undo)
        self.healthy = Blank("done", 520)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.cards)
        self.stack.addWidget(self.healthy)
        self.body.addWidget(self.stack, 1)
        self.copy = forms.button(self.tr("&Copy report"))
        self.copy.clicked.connect(self._copy)
        self.all = forms.button(self.tr("&Fix all that can be fixed…"))
        self.all.clicked.connect(lambda: self.mender.plan(self.fixable))
        self.again = forms.button(self.tr("&Run again"))
        self.again.clicked.connect(self.run)
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.clicked.connect(self._cancel)
        self.close_button = forms.button(self.tr("Close"))
        self.close_button.clicked.connect(self.reject)
        for button in (self.copy, self.all, self.again, self.cancel):
            button.setAutoDefault(False)
        self.close_button.setDefault(True)
        line = forms.row()
        line.setContentsMargins(0, forms.GAP, 0, 0)
        line.addWidget(self.copy)
        line.addStretch(1)
        for button in (self.all, self.again, self.cancel, self.close_button):
            line.addWidget(button)
        self.body.addLayout(line)

    # What is looked at.

    def turn_to(self, places: Sequence[Place], shown: str | None) -> None:
        """Another place is shown in the window by now: look at that."""
        if shown != self._place:
            self._place = shown
            self._fill(places)
            self._use()

    def _fill(self, places: Sequence[Place]) -> None:
        self.scope.blockSignals(True)
        self.scope.clear()
        all_of_it = self.tr("What the environment uses, and this user’s other caches")
        if self._place:
            shown = next((x.title for x in places if x.path == self._place), self._place)
            all_of_it = self.tr("What the environment uses, “{}”, and this user’s other caches")
            all_of_it = all_of_it.format(printable(shown, 60))
        self.scope.addItem(all_of_it, None)
        for place in places:
            if not place.bundle:
                self.scope.addItem(printable(place.path, 400), place.path)
        self.scope.blockSignals(False)

    def _asked(self) -> Asked:
        facts = self.choice_of.facts or {}
        env = clean_environment()
        values = diagnosing.values_of(env)
        chosen = self.scope.currentData()
        if chosen is not None:
            places = [str(chosen)]
        else:
            places = [*diagnosing.places_of(facts, values), *([self._place] if self._place else [])]
        reads = (one.facts.get("cache_dir") for one in self._environments.every if one.facts)
        return Asked(
            self.choice_of.python, facts, values, tuple(dict.fromkeys(places)), chosen is None,
            tuple(x for x in reads if isinstance(x, str)), tuple(env),
        )  # fmt: skip

    def _use(self) -> None:
        """Look, once it is known what the environment is, unless that is what was looked at."""
        if self.choice_of.waiting:
            self._say()
            return
        asked, last = self._asked(), self.diagnosis.asked
        if last is None or asked._replace(reads=()) != last._replace(reads=()):
            self.run()

    def run(self) -> None:
        """Look at all of it, whatever was found before."""
        if not self.mender.busy:
            self.mender.clear()
            self.mender.error = None
            self.diagnosis.begin(self._asked())

    def _cancel(self) -> None:
        self.mender.drop()
        self.diagnosis.cancel()

    # What was found.

    @property
    def fixable(self) -> list[Told]:
        """What a program can mend."""
        return [one for one in self.diagnosis.found if diagnosing.mends(one.finding)]

    def _say(self) -> None:
        found, mender = self.diagnosis, self.mender
        over = found.result is not None
        asking = found.asked is None
        before = self.title.text()
        self.title.setText(self._entitled())
        self.where.setText(self._at() if found.running or asking else self._made())
        self.where.setVisible(bool(self.where.text()))
        self.bar.setVisible(found.running or asking or mender.busy)
        done, total = found.progress or (0, 0)
        self.bar.setRange(0, total if found.running else 0)
        self.bar.setValue(done)
        self.notice.tell(found.error or mender.error, again=found.error is not None)
        idle = not (found.running or mender.busy or asking)
        self.again.setVisible(not found.running and not mender.planning)
        self.cancel.setVisible(found.running or mender.planning)
        self.again.setEnabled(idle)
        self.copy.setEnabled(over and idle)
        self.all.setVisible(bool(self.fixable))
        self.all.setEnabled(idle)
        for control in (self.choice_of, self.scope):
            control.setEnabled(not mender.busy)
        left = diagnosing.left_of(found.result or {})
        if found.untried is not None:
            left.append(("toolchain", "", found.untried))
        mended = [(one, mender.can_undo(one)) for one in mender.mended]
        self.cards.show_all(found.found, mended, left, able=idle)
        well = over and not found.found and not mended and not left
        self.stack.setCurrentWidget(self.healthy if well else self.cards)
        self.title.setVisible(not well)
        self.where.setVisible(not well and bool(self.where.text()))
        if well:
            self._say_healthy()
        if over and self.title.text() != before:
            self.title.setAccessibleName(self.title.text())
            event = QAccessibleEvent(self.title, QAccessible.Event.Alert)
            QAccessible.updateAccessibility(event)

    def _entitled(self) -> str:
        found = self.diagnosis
        if self.mender.planning:
            return self.tr("Working out what would be done…")
        if self.mender.busy:
            return self.tr("Mending…")
        if found.asked is None or found.running:
            return self.tr("Looking for what is wrong…")
        if found.result is not None:
            return diagnosing.summary(found.found, found.result).partition("; ")[0]
        if found.cancelled:
            return self.tr("Cancelled: not all was looked at")
        return self.tr("What is wrong is not known")

    def _at(self) -> str:
        """What is being looked at."""
        found = self.diagnosis
        if found.asked is None:
            return self.tr("Waiting for the environment…")
        if found.progress is None:
            if found.asked.facts.get("torch"):
                return self.tr("Trying the compiler, Triton and the GPU of the environment…")
            return self.tr("Reading…")
        done, total = found.progress
        steps = checkwords.steps(found.asked.places)
        check, place = steps[done] if done < len(steps) else ("", "")
        name = checkwords.name(check)
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
        asked, result = self.diagnosis.asked, self.diagnosis.result or {}
        places = [printable(place, 200) for place in (asked.places if asked else ())]
        checks = checkwords.listed(map(str, result.get("checks") or ()))
        self.healthy.say(
            diagnosing.summary([], result),
            "\n\n".join(
                x for x in (
                    "\n".join(places), f"{self.tr('Checked')}: {checks}." if checks else "",
                ) if x
            ),
        )  # fmt: skip

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(report.text(self.diagnosis))

    # Mending.

    def _show_plans(self, plans: list[Plan]) -> None:
        self.preview = preview = MendDialog(self, plans)
        preview.decided.connect(self.mender.carry_out)
        preview.rejected.connect(self.mender.drop)
        preview.finished.connect(self._no_preview)
        preview.open()

    def _no_preview(self) -> None:
        self.preview = None

    def mended(self, code: str) -> Mended | None:
        """What was mended of a code; None where nothing was."""
        found = (one for one in self.mender.mended if one.told.finding.code == code)
        return next(found, None)

    def done(self, result: int) -> None:
        self.mender.drop()
        if self.mender.busy:
            # What was agreed to is done, one after the other, although nobody looks on.
            self.mender.outlive(self.parentWidget())
        else:
            self.diagnosis.close()
        super().done(result)
