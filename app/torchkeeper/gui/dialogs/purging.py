"""What is about to go: the purge dialog, and that of the doctor's fixes. Exactly what goes, and
whether it goes to the trash or at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QPushButton, QWidget

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.words import dead, say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable, unseen_users, user_of_place
from torchkeeper.client.words.tongue import several
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog, confirm
from torchkeeper.gui.pages.doctor.mender import Plan
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.table.cells import COMPILE, DEVICE, FILES, KEY, MTIME, TORCH, VERDICT
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.dead import PlanPurgeParams, PlanPurgeResult, Unknown
    from torchkeeper.engine.messages.selecting import Select
    from torchkeeper.stores.shapes import Users


#: Entries of a server from which on their number is to be typed before they go.
_MANY = 1000
#: Processes that are named before the rest is only counted.
_NAMED = 4


def _what_goes(model: EntriesModel, name: str) -> EntryTable:
    """The table of what a dialog is about to take, with its accessible name."""
    model.show_apart(True)  # all that goes is seen
    table = EntryTable(model)
    table.setObjectName("plan")
    table.setFrameShape(QFrame.Shape.StyledPanel)
    table.setAccessibleName(name)
    for column in (KEY, FILES, TORCH, DEVICE, COMPILE, VERDICT):
        table.setColumnHidden(column, True)
    table.setColumnWidth(MTIME, 120)
    return table


class PurgeDialog(Dialog):
    """Shows the plan an engine made; the same engine carries exactly this plan out."""

    #: The plan is to be carried out: the ticket of the plan, its number, whether at once.
    decided = Signal(int, int, bool)

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        place: str,
        select: Select,
        hold: Sequence[tuple[str, str]] = (),
        engine_of: int | None = None,
    ) -> None:
        """engine_of: the ticket of an earlier request, whose engine makes the plan and stays."""
        super().__init__(parent, "", 720)
        self.setWindowTitle(self.tr("Purge"))
        explain(self, "trash")
        room = self.screen().availableSize()
        self._height = min(520, room.height() - 80)
        self.resize(min(760, room.width() - 40), self._height)
        self._plan_shown = True
        self._engines = engines
        self._place = place
        self._has_trash = scheme_of(place).has_trash
        self._select = select
        self._hold = hold
        self._engine_of = engine_of
        self._decided = False
        self.ticket: int | None = None
        self.plan: PlanPurgeResult | None = None
        self.model = EntriesModel(self)
        self.table = _what_goes(self.model, self.tr("What goes"))
        self.waiting = forms.label(self.tr("Reading…"), "muted")
        self.waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        over = forms.column()
        over.addWidget(self.waiting)
        self.table.viewport().setLayout(over)
        self.title = forms.label(self.tr("Working out what goes…"), "title", wrap=True)
        self.text = forms.label(printable(place), "muted", wrap=True)
        self.users = _Users()
        self.users.also.toggled.connect(self._ask)
        self.strange = _Strange()
        self.strange.also.toggled.connect(self._ask)
        self.unseen = forms.label("", "muted", wrap=True)
        self.unseen.hide()
        self.at_once = QCheckBox(self.tr("Remove at once, without the trash"))
        self.at_once.setAccessibleDescription(self.tr("This cannot be undone."))
        explain(self.at_once, "trash")
        self.at_once.toggled.connect(self._say)
        self.hint = forms.label("", "muted", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Move to trash"), primary=True)
        self.go.setEnabled(False)
        self.go.clicked.connect(self._go)
        self.body.addWidget(self.title)
        self.body.addWidget(self.text)
        self.body.addWidget(self.users)
        self.body.addWidget(self.strange)
        self.body.addWidget(self.table, 1)
        self.body.addWidget(self.at_once)
        self.body.addWidget(self.hint)
        self.body.addWidget(self.unseen)
        self.buttons(self.cancel, self.go)
        if not self._has_trash:
            self.table.setColumnHidden(MTIME, True)
            # It has no trash, and nobody sees which processes use it.
            self.at_once.setChecked(True)
            self.at_once.hide()
        self._say()
        self._ask()

    def _ask(self) -> None:
        """Have a plan made: another one whenever the user changes their mind about what is used."""
        self._leave()
        self.plan = None
        self.go.setEnabled(False)
        self.model.begin()
        params: PlanPurgeParams = {
            "place": self._place,
            "select": {**self._select, "unknown": self.strange.also.isChecked()},
            "in_use": self.users.also.isChecked(),
        }
        self.ticket = self._engines.ask(
            protocol.PLAN_PURGE,
            params,
            Listener(rows=self._rows, result=self._planned, failed=self._failed),
            keep=True,
            hold=self._hold,
            engine_of=self._engine_of,
        )

    def _leave(self) -> None:
        """Ask no more for the plan that was asked for last."""
        if self._engine_of is None:
            self._engines.forget(self.ticket)
        elif self.ticket is not None:
            self._engines.leave(self.ticket)

    def done(self, result: int) -> None:
        if not self._decided:
            self._leave()
        super().done(result)

    def _rows(self, entries: list[Entry]) -> None:
        self.model.add(entries)

    def _planned(self, plan: PlanPurgeResult) -> None:
        self.model.end()
        self.plan = plan
        some, in_use, unknown = bool(plan["files"]), plan["in_use"], plan["unknown"]
        self.users.tell(in_use)
        self.unseen.setText(unseen_users(in_use))
        self.unseen.setVisible(bool(self.unseen.text()))
        chosen = not self._select.get("everything")
        self.strange.tell(unknown, chosen and ("items" in self._select or bool(self._hold)))
        if not some and (in_use["left"] or unknown["stays"]):
            self.title.setText(
                self.tr("All of this is in use")
                if in_use["left"]
                else self.tr("No known writer wrote any of this")
            )
            self.text.setText(printable(self._place))
            self._show_plan(False)
            self.cancel.setDefault(True)
            self.cancel.setFocus()
            return
        self._show_plan(True)
        self.waiting.hide()
        if some:
            self.title.setText(self.tr("Purge {}?").format(say.held_of(plan)))
        else:
            self.title.setText(self.tr("There is nothing to purge"))
            self.text.setText(
                self.tr("What was selected is not in {} any more.").format(printable(self._place))
            )
            self._end()
            return
        self.table.name.fit()
        files = plan["files"]
        if not scheme_of(self._place).local:
            keys = say.count(files, "key", "keys")
            self.text.setText(self.tr("{} on {}.").format(keys, printable(self._place)))
        else:
            self.text.setText(
                self.tr("{} in {}.").format(
                    say.count(files, "file", "files"), printable(self._place)
                )
            )
        if reasons := dead.totals(plan):
            self.text.setText(f"{self.text.text()} {'; '.join(reasons)}.")
        self.go.setEnabled(True)
        if not (self.users.also.hasFocus() or self.strange.also.hasFocus()):
            self._way_out_or_on().setFocus()

    def _failed(self, error: UserError) -> None:
        self.model.end()
        self.title.setText(say.title(error.what))
        self.text.setText("\n".join(part for part in (error.why, error.remedy) if part))
        self._end()

    def _show_plan(self, shown: bool) -> None:
        """What goes, and how; without it the dialog is as low as what it says."""
        if shown == self._plan_shown:
            return
        self._plan_shown = shown
        for widget in (self.table, self.at_once, self.hint):
            widget.setVisible(shown and not (widget is self.at_once and not self._has_trash))
        self.body.setStretchFactor(self.table, int(shown))
        self.body.activate()
        height = self._height if shown else self.body.totalHeightForWidth(self.width())
        self.resize(self.width(), height)

    def _end(self) -> None:
        """There is nothing to decide: only what is said is left, and a way out."""
        for widget in (
            self.users,
            self.strange,
            self.unseen,
            self.table,
            self.at_once,
            self.hint,
            self.go,
        ):
            widget.hide()
        self.body.setStretchFactor(self.table, 0)
        self.cancel.setText(self.tr("Close"))
        self.cancel.setAccessibleName(self.tr("Close"))
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        self.body.activate()
        self.resize(self.width(), self.body.totalHeightForWidth(self.width()))

    def _way_out_or_on(self) -> QPushButton:
        """What Enter presses: what can be undone, else the way out."""
        default = self.cancel if self.at_once.isChecked() else self.go
        default.setDefault(True)
        return default

    def _say(self) -> None:
        at_once = self.at_once.isChecked()
        forms.weigh(self.go, danger=at_once)
        self._way_out_or_on()
        self.go.setText(self.tr("Remove at once…") if at_once else self.tr("Move to trash"))
        self.hint.setText(
            self.tr(
                "A server has no trash: this cannot be undone. Everybody who uses the server "
                "compiles these again."
            )
            if not self._has_trash
            else self.tr("The space is free again at once. This cannot be undone.")
            if at_once
            else self.tr("You can undo this. The space is free again when the trash is emptied.")
        )

    def _go(self) -> None:
        if self.plan is None:
            return
        if not self.at_once.isChecked():
            self._decide()
            return
        count, server = self.plan["entries"], not scheme_of(self._place).local
        size, place = say.measured(self.plan), printable(self._place)
        if server:
            text = several(
                self.plan["files"],
                "{n} key ({size}) on {place} is deleted, for everybody who uses it. This cannot be "
                "undone.",
                "{n} keys ({size}) on {place} are deleted, for everybody who uses it. This cannot "
                "be undone.",
                size=size,
                place=place,
            )
        else:
            text = self.tr("{} in {} are deleted. This cannot be undone.").format(size, place)
        confirm(
            self,
            self.tr("Remove at once"),
            self.tr("Remove {} for good?").format(say.held(self.plan)),
            text,
            self.tr("Remove for good"),
            self._decide,
            # Of what others use, so much is not removed by two clicks.
            typed=count if server and count >= _MANY else None,
        )

    def _decide(self) -> None:
        assert self.plan is not None
        assert self.ticket is not None
        self._decided = True
        self.decided.emit(self.ticket, self.plan["plan"], self.at_once.isChecked())
        self.accept()


class _Hint(QFrame):
    """Something to know before the decision, and a box that has more go."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("hint")
        self.what = forms.label("", "heading", wrap=True)
        self.who = forms.label("", wrap=True)
        self.who.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.also = QCheckBox()
        texts = forms.column(gap=4)
        for widget in (self.what, self.who, self.also):
            texts.addWidget(widget)
        line = forms.row(gap=12, margin=12)
        line.addWidget(forms.picture("warning", 20, "warning"), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        self.setLayout(line)
        self.hide()

    def _told(self, shown: bool) -> None:
        self.setAccessibleName(self.what.text())
        self.setAccessibleDescription(self.who.text())
        self.setVisible(shown)


class _Strange(_Hint):
    """How much of what was chosen no known writer wrote, and whether that goes too."""

    def __init__(self) -> None:
        super().__init__()
        self.also.setText(self.tr("Also these"))
        self.also.setAccessibleDescription(self.tr("Only what you know to be of no use."))

    def tell(self, unknown: Unknown, chosen: bool) -> None:
        """Show what a plan says of them. chosen: whether their rows were, so that they may go."""
        goes, stays = unknown["goes"], unknown["stays"]
        self.what.setText(
            several(
                goes,
                "{n} file goes that no known writer wrote",
                "{n} files go that no known writer wrote",
            )
            if goes
            else several(
                stays,
                "{n} file stays that no known writer wrote",
                "{n} files stay that no known writer wrote",
            )
        )
        self.who.setText(
            self.tr("Neither PyTorch nor Triton nor vLLM names a file so. It may be your own.")
        )
        self.also.setVisible(chosen)
        self._told(bool(goes or stays))


class _Users(_Hint):
    """The processes that use the folder, and whether what they use goes too."""

    def __init__(self) -> None:
        super().__init__()
        self.also.setText(self.tr("Also what is in use"))
        self.also.setAccessibleDescription(
            self.tr("A process that needs it next has to compile it again.")
        )

    def tell(self, in_use: Users) -> None:
        """Show what a plan says of them; nothing where there are none."""
        processes, left = in_use["processes"], in_use["left"]
        lines = [user_of_place(user) for user in processes[:_NAMED]]
        if (more := in_use["count"] - len(lines)) > 0:
            lines.append(say.count(more, "more process", "more processes"))
        self.who.setText("\n".join(lines))
        if self.also.isChecked():
            self.what.setText(self.tr("What is in use goes too"))
        elif in_use["all"]:
            self.what.setText(self.tr("This folder is in use, so nothing of it goes"))
        elif left:
            held = say.held(in_use["stays"])
            self.what.setText(self.tr("{} left out, being in use").format(held))
        else:
            self.what.setText(self.tr("Some processes use this folder, but nothing that goes"))
        self.also.setVisible(bool(left) or self.also.isChecked())
        self._told(bool(processes) or self.also.isChecked())


# What the doctor is about to do: each fix in a sentence, and the entries that go.


class MendDialog(Dialog):
    """Shows exactly what was planned; it is done when that is agreed to."""

    #: It is to be done.
    decided = Signal()

    def __init__(self, parent: QWidget | None, plans: Sequence[Plan]) -> None:
        super().__init__(parent, "", 620)
        self.setWindowTitle(self.tr("Fix"))
        explain(self, "trash")
        doing = [plan for plan in plans if plan.does]
        self.title = forms.label(self._entitled(plans, doing), "title", wrap=True)
        self.body.addWidget(self.title)
        self.rows: list[QWidget] = []
        for plan in plans:
            self._tell(plan)
        self.model = EntriesModel(self)
        self.table = _what_goes(self.model, self.tr("What goes"))
        self.model.begin()
        for plan in doing:
            self.model.add(plan.entries)
        self.model.end()
        self.table.setVisible(bool(self.model.count))
        self.body.addWidget(self.table, 1)
        self.hint = forms.label(self._hint(doing), "muted", wrap=True)
        self.hint.setVisible(bool(self.hint.text()))
        self.body.addWidget(self.hint)
        # Without a list the rest stays at the top.
        self.body.addStretch(0)
        self.cancel = forms.button(self.tr("Cancel") if doing else self.tr("Close"))
        self.cancel.clicked.connect(self.reject)
        all_go = all(plan.trashes for plan in doing)
        self.go = forms.button(self.tr("Move to trash") if all_go else self.tr("Fix"))
        forms.weigh(self.go, danger=not all_go)
        self.go.clicked.connect(self._go)
        self.go.setVisible(bool(doing))
        self.buttons(self.cancel, self.go)
        # Enter is enough for what can be undone.
        (self.go if doing and all_go else self.cancel).setDefault(True)
        if self.table.isVisibleTo(self):
            self.resize(self.width(), min(520, self.screen().availableSize().height() - 80))

    def _entitled(self, plans: Sequence[Plan], doing: Sequence[Plan]) -> str:
        if not doing:
            return self.tr("Nothing of it can be done")
        if len(plans) == 1:
            return say.title(said(plans[0].told.finding).what)
        return self.tr("Fix {}").format(say.count(len(doing), "finding", "findings"))

    def _tell(self, plan: Plan) -> None:
        """What one fix does, or why it does nothing."""
        icon = "info" if not plan.does else "purge" if plan.trashes else "doctor"
        texts = forms.column(gap=2)
        what = plan.will if plan.does else said(plan.told.finding).what
        texts.addWidget(forms.label(printable(what, 600), wrap=True))
        if plan.error is not None:
            why = " ".join(x for x in (plan.error.what, plan.error.why, plan.error.remedy) if x)
        elif not plan.does:
            why = self.tr("It is in use, or gone.")
        else:
            why = self._kept(plan)
        if why:
            texts.addWidget(forms.label(printable(why, 1000), "muted", wrap=True))
        line = forms.row(gap=8)
        line.addWidget(forms.picture(icon, 16), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        whole = QWidget()
        whole.setLayout(line)
        self.rows.append(whole)
        self.body.addWidget(whole)

    def _kept(self, plan: Plan) -> str:
        in_use = (plan.answer or {}).get("in_use")
        if not in_use:
            return ""
        left = in_use["left"]
        kept = several(left, "{n} entry in use stays.", "{n} entries in use stay.") if left else ""
        return " ".join(x for x in (kept, unseen_users(in_use)) if x)

    def _hint(self, doing: Sequence[Plan]) -> str:
        if any(plan.trashes for plan in doing):
            return self.tr("What goes to the trash can be put back with Undo.")
        return ""

    def _go(self) -> None:
        self.decided.emit()
        self.accept()
