"""The dialog that suggests what could go: what is dead in a place, each reason with its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.artifacts.entry import COUNTS
from torchkeeper.client.words import dead, say, tongue
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.pages.ideas import explain
from torchkeeper.gui.verdicts.asking import Suggestions
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice, Number
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.dead import Reason, SuggestResult

#: Where the numbers are remembered.
_DAYS, _BUDGET, _UNIT = "cleaning/days", "cleaning/budget", "cleaning/unit"
#: And the interpreters that do not count where they cannot be asked, one a line.
_WITHOUT = "cleaning/without"
#: Environments that are named before the rest is only counted.
_NAMED = 4
_UNITS = (("MB", 10**6), ("GB", 10**9), ("TB", 10**12))


class Suggested(QFrame):
    """One reason: what it means, how much goes for it, and the button that shows exactly that."""

    asked = Signal(str)

    def __init__(self, reason: str, title: str, text: str, verb: str, *fields: QWidget) -> None:
        """fields: what the user can change about the reason, after its title."""
        super().__init__()
        self.setObjectName("hint")
        self.reason = reason
        self.title = forms.label(title, "heading")
        self.text = forms.label(text, "muted", wrap=True)
        self.bytes = forms.label("", "heading")
        self.count = forms.label("", "muted")
        for label in (self.bytes, self.count):
            label.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.go = forms.button(verb, lambda: self.asked.emit(self.reason), enter=False)
        self._fields = fields
        self.go.setAccessibleName(f"{title}: {verb}".replace("…", ""))
        texts = forms.column(forms.row(self.title, *fields, forms.REST), self.text, gap=4)
        numbers = forms.column(forms.REST, self.bytes, self.count, forms.REST, gap=0)
        go = self.go, Qt.AlignmentFlag.AlignVCenter
        self.setLayout(forms.row((texts, 1), numbers, go, gap=16, margin=12))
        self._text = text
        self.wait(self.tr("Looking…"))

    def wait(self, text: str) -> None:
        """Nothing is known yet; why."""
        self._show("", text, False)

    def fail(self, said: str) -> None:
        """Nobody can say; why."""
        self._show("", self.tr("Not known"), False, said)
        for field in self._fields:
            field.setEnabled(False)

    def tell(self, told: Reason, may: bool) -> None:
        """How much there is; ``may``: whether it may be removed."""
        for field in self._fields:
            field.setEnabled(True)
        if any(told[name] for name in COUNTS):
            self._show(say.measured(told), say.held(told), may)
        else:
            self._show("", self.tr("Nothing"), False)

    def _show(self, size: str, count: str, able: bool, said: str = "") -> None:
        forms.tell(self.bytes, size)
        self.count.setText(count)
        self.text.setText(said or self._text)
        self.go.setEnabled(able)
        self.setAccessibleName(f"{self.title.text()}: {size} {count}")
        self.setAccessibleDescription(self.text.text())


class CleanDialog(Dialog):
    """What is dead in a place; what goes is shown once more before it does."""

    #: The plan is to be carried out: the ticket of the plan, its number, whether at once.
    decided = Signal(int, int, bool)

    def __init__(
        self, parent: QWidget, engines: Engines, settings: QSettings, place: str, read_only: bool
    ) -> None:
        super().__init__(parent, 680, "trash")
        self.setWindowTitle(self.tr("Clean up"))
        self._engines, self._settings, self._place = engines, settings, place
        self._read_only = read_only
        self.preview: PurgeDialog | None = None
        self.title = forms.label("", "title", wrap=True)
        self.where = forms.label(printable(place), "muted", wrap=True)
        self.bar = forms.progress_bar(self.tr("How far the looking is"))
        self.notice = Notice()
        self.notice.again.connect(self._begin)
        self.days = Number(1, 3650, self.tr("Days without a use"))
        one, some = self.tr(" day"), self.tr(" days")
        self.days.setSuffix(some)
        self.days.valueChanged.connect(lambda n: self.days.setSuffix(one if n == 1 else some))
        self.budget = Number(0, 999_999, self.tr("What the rest may take"))
        self.unit = Choice()
        self.unit.addItems([name for name, _ in _UNITS])
        self.unit.setAccessibleName(self.tr("Unit"))
        for number in (self.days, self.budget):
            number.setGroupSeparatorShown(True)
            number.setMinimumWidth(104)
            number.setFixedHeight(self.unit.sizeHint().height())
        self.days.setValue(_kept(settings, _DAYS, dead.DAYS))
        self.budget.setValue(_kept(settings, _BUDGET, 10))
        self.unit.setCurrentIndex(min(_kept(settings, _UNIT, 1), len(_UNITS) - 1))
        self.rows = {row.reason: row for row in self._make_rows()}
        without = str(settings.value(_WITHOUT) or "").splitlines()
        self.found = Suggestions(engines, place, *self._limits(), without, self)
        self.finished.connect(self.found.close)
        self.sick = _Sick()
        self.sick.asked.connect(self._count_without)
        self.envs = forms.label("", "muted", wrap=True)
        self.rests = forms.label("", "muted", wrap=True)
        self.shared = forms.label(tongue.tr(dead.SHARED), "muted", wrap=True)
        self.shared.setVisible(scheme_of(place).shared)
        self.again = forms.button(self.tr("Look again"), self._begin, enter=False)
        self.close_button = forms.button(self.tr("Close"), self.reject)
        self.close_button.setDefault(True)
        self.held = Notice(mild=True)
        if read_only:
            self.held.tell(user_error("place-protected", {"place": place}))
        forms.add(self.body, self.title, self.where, self.bar, self.notice, self.held)
        below = self.sick, self.envs, self.rests, self.shared
        self.add_scrolled(forms.column(*self.rows.values(), *below, forms.REST))
        self.buttons(self.again, self.close_button)
        self.found.changed.connect(self._say)
        self.days.valueChanged.connect(self._changed)
        self.budget.valueChanged.connect(self._changed)
        self.unit.currentIndexChanged.connect(self._changed)
        self._begin()
        self.close_button.setFocus()

    def _make_rows(self) -> list[Suggested]:
        server = not scheme_of(self._place).has_trash
        verb = self.tr("Remove…") if server else self.tr("Move to trash…")
        rows = [
            Suggested("stale", self.tr("Stale everywhere"),
                      self.tr("Made by another torch, Triton or GPU than there is here: no "
                              "program on this machine finds them."), verb),
            Suggested("broken", self.tr("Broken"),
                      self.tr("They cannot be read, or something they need is gone: PyTorch "
                              "passes them over."), verb),
            Suggested("orphan", self.tr("Orphaned"),
                      self.tr("What needed them was removed, and nothing else does."), verb),
            Suggested("unused", self.tr("Not used for"),
                      self.tr("Neither they nor anything that needs them was used since."),
                      verb, self.days),
            Suggested("budget", self.tr("More than"),
                      self.tr("Those used longest ago go, until the rest takes no more."),
                      verb, self.budget, self.unit),
        ]  # fmt: skip
        for row in rows:
            row.asked.connect(self._preview)
            if row.reason in ("stale", "broken", "orphan"):
                explain(row, row.reason)
        return rows

    def _limits(self) -> tuple[float, int]:
        _, unit = _UNITS[self.unit.currentIndex()]
        return self.days.value() * dead.DAY, self.budget.value() * unit

    def _changed(self) -> None:
        self._settings.setValue(_DAYS, self.days.value())
        self._settings.setValue(_BUDGET, self.budget.value())
        self._settings.setValue(_UNIT, self.unit.currentIndex())
        for reason in ("unused", "budget"):
            self.rows[reason].wait(self.tr("Counting…"))
        self.found.set_limits(*self._limits())

    def _count_without(self, python: str) -> None:
        self.found.count_without(python)
        self._settings.setValue(_WITHOUT, "\n".join(sorted(self.found.without)))

    def _begin(self) -> None:
        self.found.older, self.found.keep = self._limits()
        self.found.begin()

    def _say(self) -> None:
        found, result = self.found, self.found.result
        self.notice.tell(found.error, again=True)
        looking = found.error is None and result is None
        self.bar.setVisible(looking)
        self.again.setEnabled(not looking)
        # What went wrong has a button of its own to try again.
        for widget in (self.again, *self.rows.values()):
            widget.setVisible(found.error is None)
        if found.error is not None:
            self.title.setText(self.tr("What is dead is not known"))
            self.where.setText(printable(self._place))
        elif looking:
            self.title.setText(self.tr("Looking for what is dead…"))
            done, total, unit = found.progress or (0, None, "")
            self.bar.setRange(0, int(total or 0))
            self.bar.setValue(int(done))
            of = self.tr("{} of {} entries").format(f"{done:,}", f"{total or 0:,}")
            self.where.setText(of if unit == "entries" and total else printable(self._place))
        self._tell_environments()
        if result is None:
            for row in self.rows.values():
                row.wait(self.tr("Looking…"))
            self.rests.hide()
            if found.error is not None:
                # Rows that are hidden still take their room until the event loop has laid it out.
                QTimer.singleShot(0, self, self.be_low)
            return
        self._tell_rows(result["reasons"])
        known = [one for one in result["reasons"].values() if one["why"] is None]
        both = dead.together(known, result["together"]), dead.rests(result["rests"])
        forms.tell(self.rests, " ".join(filter(None, both)))
        self._entitle(result)

    def _entitle(self, result: SuggestResult) -> None:
        if any(row.go.isEnabled() or row.bytes.text() for row in self.rows.values()):
            self.title.setText(self.tr("What could go"))
        elif self.found.asking:
            self.title.setText(self.tr("Looking for what is dead…"))
        else:
            self.title.setText(self.tr("Nothing here is dead"))
        held = self.tr("{} in {}").format(say.held(result), printable(self._place))
        self.where.setText(f"{held}, {say.measured(result)}")

    def _tell_rows(self, reasons: dict[str, Reason]) -> None:
        for name, row in self.rows.items():
            one = reasons.get(name)
            if one is None and (refusal := self.found.refusal()) is not None:
                # What is wrong with which interpreter is said below.
                row.fail(refusal.what if self.found.envs.failed else str(refusal))
            elif one is None:
                row.wait(self.tr("Asking…"))
            elif (why := one["why"]) is not None:
                error = user_error(why["code"], why["params"])
                row.fail(" ".join((error.what, error.why)))
            else:
                row.tell(one, not self._read_only)

    def _tell_environments(self) -> None:
        found = self.found
        self.sick.tell([] if found.error else found.envs.failed)
        text = without = ""
        if found.total is None:
            text = self.tr("Looking for environments…")
        elif found.answered < found.total:
            text = self.tr("Asking environment {} of {}…").format(found.answered + 1, found.total)
        elif found.envs.envs:
            text = self.tr("Environments: {}.").format(dead.environments(found.envs, _NAMED))
        if found.left_out:
            names = printable(say.together(found.left_out), 1000)
            without = self.tr("Not asked and not counted: {}.").format(names)
        told = " ".join(filter(None, (text, without)))
        forms.tell(self.envs, told if found.error is None else "")
        every = dead.environments(found.envs).replace("; torch", "\ntorch")
        self.envs.setToolTip(tip(every) if len(found.envs.envs) > _NAMED else "")

    def _preview(self, reason: str) -> None:
        select, engine = self.found.select(reason), self.found.engine
        self.preview = PurgeDialog(self, self._engines, self._place, select, engine_of=engine)
        self.preview.decided.connect(self._decide)
        self.preview.rejected.connect(self._back)
        self.preview.open()

    def _back(self) -> None:
        self.preview = None

    def _decide(self, ticket: int, plan: int, at_once: bool) -> None:
        self.found.hand_over()
        self.decided.emit(ticket, plan, at_once)
        self.accept()


class _Sick(QFrame):
    """The interpreters that could not be asked, each with a way to go on without it."""

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("hint")
        self._rows = forms.column()
        mark = forms.picture("warning", 20, "warning"), forms.TOP
        self.setLayout(forms.row(mark, (self._rows, 1), gap=12, margin=12))
        self._shown: list[tuple[str, UserError]] = []
        self.buttons: list[QWidget] = []
        self.hide()

    def tell(self, failed: list[tuple[str, UserError]]) -> None:
        if failed == self._shown:
            return
        self._shown = list(failed)
        self.buttons.clear()
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for python, error in failed:
            said = " ".join(filter(None, (error.what, error.why)))
            text = forms.label(printable(said, 1000), wrap=True)
            go = forms.button(self.tr("Count without it"), enter=False)
            go.clicked.connect(lambda _=False, python=python: self.asked.emit(python))
            go.setVisible(bool(python))  # else it is of no interpreter
            self._rows.addWidget(forms.page(forms.row((text, 1), (go, forms.TOP), gap=12)))
            self.buttons.append(go)
        self.setVisible(bool(failed))


def _kept(settings: QSettings, name: str, otherwise: int) -> int:
    try:
        return max(0, int(str(settings.value(name, otherwise))))
    except ValueError:
        return otherwise
