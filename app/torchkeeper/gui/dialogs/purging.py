"""What is about to go, exactly, and whether to the trash: of a purge, and of the doctor's fixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QPushButton, QWidget

from torchkeeper.client.overviewing import added
from torchkeeper.client.words import dead, say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable, unseen_users, user_of_place
from torchkeeper.client.words.tongue import several
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog, confirm
from torchkeeper.gui.pages.doctor.diagnosis import Plan
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import COMPILE, DEVICE, FILES, KEY, MTIME, TORCH, VERDICT
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.dead import PlanPurgeParams, PlanPurgeResult, Unknown
    from torchkeeper.stores.shapes import Users

_tr = partial(QCoreApplication.translate, "PurgeDialog")

#: Entries of a server from which on their number is to be typed before they go.
_MANY = 1000
#: Processes that are named before the rest is only counted.
_NAMED = 4


def _what_goes(model: EntriesModel, name: str) -> EntryTable:
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
        in_use: bool = False,
        names: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        """engine_of: the ticket of an earlier request, whose engine makes the plan and stays: what
        goes is only shown then, and whether that is also what is ``in_use`` was decided before.
        names: of entries by their identities, as a plan reads none of a server.
        """
        super().__init__(parent, 720, "trash")
        self.setWindowTitle(self.tr("Purge") if engine_of is None else self.tr("What goes"))
        self.resize_within(760, 520)
        self._engines, self._place = engines, place
        self._has_trash = scheme_of(place).has_trash
        self._select, self._hold, self._engine_of = select, hold, engine_of
        self._decided, self._names = False, names or {}
        self.ticket: int | None = None
        self.plan: PlanPurgeResult | None = None
        self.model = EntriesModel(self)
        self.table = _what_goes(self.model, self.tr("What goes"))
        self.waiting = forms.label(self.tr("Reading…"), "muted")
        self.waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.table.viewport().setLayout(forms.column(self.waiting))
        self.title = forms.label(self.tr("Reading the entries…"), "title", wrap=True)
        self.text = forms.label(printable(place), "muted", wrap=True)
        self.users, self.strange = _Users(), _Strange()
        self.users.also.setChecked(in_use)
        self.users.also.setEnabled(engine_of is None)
        self.users.also.toggled.connect(self._ask)
        self.strange.also.toggled.connect(self._ask)
        self.of_others = forms.label("", "warning", wrap=True)
        self.of_others.hide()
        self.unseen = forms.label("", "muted", wrap=True)
        self.unseen.hide()
        self.at_once = QCheckBox(self.tr("Remove &at once, without the trash"))
        self.at_once.setAccessibleDescription(self.tr("This cannot be undone."))
        explain(self.at_once, "trash")
        self.at_once.toggled.connect(self._say)
        self.hint = forms.label("", "muted", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"), self.reject)
        self.go = forms.button(self.tr("&Move to trash"), self._go, primary=True)
        self.go.setEnabled(False)
        forms.add(self.body, self.title, self.text, self.users, self.strange, (self.table, 1))
        forms.add(self.body, self.of_others, self.at_once, self.hint, self.unseen)
        self.go.hold(self.tr("&Remove at once…"))
        self.buttons(self.cancel, self.go)
        if not self._has_trash:
            self.table.setColumnHidden(MTIME, True)
            # It has no trash, and nobody sees which processes use it.
            self.at_once.setChecked(True)
            self.at_once.hide()
        if engine_of is not None:
            for widget in (self.at_once, self.hint, self.go):
                widget.hide()
            self.cancel.setText(self.tr("Close"))
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
        heard = Listener(rows=self._add, result=self._planned, failed=self._failed)
        hold, of = self._hold, self._engine_of
        self.ticket = self._engines.ask(
            protocol.PLAN_PURGE, params, heard, keep=True, hold=hold, engine_of=of
        )

    def _add(self, rows: list[Entry]) -> None:
        known = self._names
        self.model.add([one._replace(name=known.get(one.identity) or one.name) for one in rows])

    def _leave(self) -> None:
        if self._engine_of is None:
            self._engines.forget(self.ticket)
        elif self.ticket is not None:
            self._engines.leave(self.ticket)

    def done(self, result: int) -> None:
        if not self._decided:
            self._leave()
        super().done(result)

    def _planned(self, plan: PlanPurgeResult) -> None:
        self.model.end()
        self.plan = plan
        in_use, unknown = plan["in_use"], plan["unknown"]
        self.users.tell(in_use)
        forms.tell(self.unseen, unseen_users(in_use))
        forms.tell(self.of_others, dead.of_others(self._place, plan) if plan["files"] else "")
        chosen = not self._select.get("everything")
        self.strange.tell(unknown, chosen and ("items" in self._select or bool(self._hold)))
        if not plan["files"] and (in_use["left"] or unknown["stays"]):
            strange = self.tr("All of these are unknown files")
            self.title.setText(self.tr("All of this is in use") if in_use["left"] else strange)
            self.text.setText(printable(self._place))
            self.waiting.setText(self.tr("Nothing goes"))
            self.cancel.setDefault(True)
            self.cancel.setFocus()
            return
        files, place = plan["files"], printable(self._place)
        forms.tell(self.waiting, "" if files else self.tr("Nothing goes"))
        if not files:
            self.title.setText(self.tr("There is nothing to purge"))
            self.text.setText(self.tr("The selected entries are no longer in {}.").format(place))
            self._end()
            return
        held = say.held_of(plan)
        self.title.setText(self.tr("Purge {}?").format(held) if self._engine_of is None else held)
        self.table.name.fit()
        text = self.tr("{} in {}.").format(say.count(files, "file", "files"), place)
        if not scheme_of(self._place).is_files:
            text = self.tr("{} on {}.").format(say.count(files, "key", "keys"), place)
        if reasons := dead.totals(plan):
            text = f"{text} {'; '.join(reasons)}."
        self.text.setText(text)
        self.go.setEnabled(True)
        if not (self.users.also.hasFocus() or self.strange.also.hasFocus()):
            self._way_out_or_on().setFocus()

    def _failed(self, error: UserError) -> None:
        self.model.end()
        self.title.setText(error.what.removesuffix("."))
        self.text.setText("\n".join(filter(None, (error.why, error.remedy))))
        self._end()

    def _end(self) -> None:
        """There is nothing to decide: only what is said is left, and a way out."""
        notes = self.users, self.strange, self.of_others, self.unseen
        for widget in (*notes, self.at_once, self.hint):
            widget.hide()
        self.waiting.setText(self.tr("Nothing goes"))
        self.cancel.setText(self.tr("Close"))
        self.cancel.setAccessibleName(self.tr("Close"))
        self.cancel.setDefault(True)
        self.cancel.setFocus()

    def _way_out_or_on(self) -> QPushButton:
        """What Enter presses: what can be undone, else the way out."""
        default = self.cancel if self.at_once.isChecked() else self.go
        default.setDefault(True)
        return default

    def _say(self) -> None:
        at_once = self.at_once.isChecked()
        forms.weigh(self.go, danger=at_once)
        self._way_out_or_on()
        self.go.setText(self.tr("&Remove at once…") if at_once else self.tr("&Move to trash"))
        hint = self.tr("You can undo this. The space is free again when the trash is emptied.")
        if not self._has_trash:
            hint = self.tr(
                "A server has no trash: this cannot be undone. All users of the server have to "
                "compile these entries again."
            )
        elif at_once:
            hint = self.tr("The space is free again at once. This cannot be undone.")
        self.hint.setText(hint)

    def _go(self) -> None:
        if self.plan is None:
            return
        if not self.at_once.isChecked():
            self._decide()
            return
        confirm_for_good(self, [(self._place, self.plan)], self._decide)

    def _decide(self) -> None:
        assert self.plan is not None
        assert self.ticket is not None
        self._decided = True
        self.decided.emit(self.ticket, self.plan["plan"], self.at_once.isChecked())
        self.accept()


def confirm_for_good(
    parent: QWidget, plans: Sequence[tuple[str, PlanPurgeResult]], then: Callable[[], object]
) -> None:
    """Ask before what goes past the trash, and call ``then`` if it is to."""
    lines, shared = [], 0
    for place, plan in plans:
        about = {"size": say.measured(plan), "place": printable(place)}
        if scheme_of(place).is_files:
            lines.append(_tr("{size} in {place} are deleted.").format_map(about))
            continue
        shared += plan["entries"]
        lines.append(
            several(
                plan["files"],
                "{n} key ({size}) on {place} is deleted, for everybody who uses it.",
                "{n} keys ({size}) on {place} are deleted, for everybody who uses it.",
                **about,
            )
        )
    confirm(
        parent,
        _tr("Remove at once"),
        _tr("Remove {} for good?").format(say.held(added([dead.going(x) for _, x in plans]))),
        "\n".join([*lines, _tr("This cannot be undone.")]),
        _tr("&Remove for good"),
        then,
        # Of what others use, so much is not removed by two clicks.
        typed=shared if shared >= _MANY else 0,
    )


class _Hint(QFrame):
    """Something to know before the decision, and a box that has more go."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("hint")
        self.what = forms.label("", "heading", wrap=True)
        self.who = forms.label("", wrap=True)
        forms.selectable(self.who)
        self.also = QCheckBox()
        texts = forms.column(self.what, self.who, self.also, gap=4)
        mark = forms.picture("warning", 20, "warning"), forms.TOP
        self.setLayout(forms.row(mark, (texts, 1), gap=12, margin=12))
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
        self.also.setAccessibleDescription(self.tr("Tick only files that you know to be useless."))

    def tell(self, unknown: Unknown, chosen: bool) -> None:
        """Show what a plan says of them. chosen: whether their rows were, so that they may go."""
        goes, stays = unknown["goes"], unknown["stays"]
        self.what.setText(
            several(
                goes,
                "{n} unknown file goes, too",
                "{n} unknown files go, too",
            )
            if goes
            else several(
                stays,
                "{n} unknown file stays",
                "{n} unknown files stay",
            )
        )
        who = self.tr(
            "PyTorch, Triton and vLLM do not write files of such names. They may be your own."
        )
        self.who.setText(who)
        self.also.setVisible(chosen)
        self._told(bool(goes or stays))


class _Users(_Hint):
    """The processes that use the folder, and whether what they use goes too."""

    def __init__(self) -> None:
        super().__init__()
        self.also.setText(self.tr("&Include entries in use"))
        what_then = self.tr("A running process may have to compile them again.")
        self.also.setAccessibleDescription(what_then)

    def tell(self, in_use: Users) -> None:
        """Show what a plan says of them; nothing where there are none."""
        processes, left = in_use["processes"], in_use["left"]
        lines = [user_of_place(user) for user in processes[:_NAMED]]
        if (more := in_use["count"] - len(lines)) > 0:
            lines.append(say.count(more, "more process", "more processes"))
        self.who.setText("\n".join(lines))
        also = self.also.isChecked()
        if also:
            what = self.tr("Entries in use go, too")
        elif in_use["all"]:
            what = self.tr("This folder is in use, so all its entries stay")
        elif left:
            what = self.tr("{} left out, because they are in use").format(say.held(in_use["stays"]))
        else:
            what = self.tr("Some processes use this folder, but none of these entries")
        self.what.setText(what)
        self.also.setVisible(bool(left) or also)
        self._told(bool(processes) or also)


class MendDialog(Dialog):
    """Shows exactly what was planned; it is done when that is agreed to."""

    #: It is to be done.
    decided = Signal()

    def __init__(self, parent: QWidget | None, plans: Sequence[Plan]) -> None:
        super().__init__(parent, 620, "trash")
        self.setWindowTitle(self.tr("Fix"))
        doing = [plan for plan in plans if plan.does]
        title = self.tr("Fix {}").format(say.count(len(doing), "finding", "findings"))
        if not doing:
            title = self.tr("Nothing can be fixed")
        elif len(plans) == 1:
            title = said(plans[0].told.finding).what.removesuffix(".")
        self.title = forms.label(title, "title", wrap=True)
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
        undo = self.tr("Undo puts back what goes to the trash.")
        self.hint = forms.label("", "muted", wrap=True)
        forms.tell(self.hint, undo if any(plan.trashes for plan in doing) else "")
        forms.add(self.body, (self.table, 1), self.hint)
        # Without a list the rest stays at the top.
        self.body.addStretch(0)
        self.cancel = forms.button(self.tr("Cancel") if doing else self.tr("Close"), self.reject)
        all_go = all(plan.trashes for plan in doing)
        self.go = forms.button(self.tr("&Move to trash") if all_go else self.tr("&Fix"), self._go)
        forms.weigh(self.go, danger=not all_go)
        self.go.setVisible(bool(doing))
        self.buttons(self.cancel, self.go)
        # Enter is enough for what can be undone.
        (self.go if doing and all_go else self.cancel).setDefault(True)
        if self.table.isVisibleTo(self):
            self.resize(self.width(), min(520, self.screen().availableSize().height() - 80))

    def _tell(self, plan: Plan) -> None:
        icon = "info" if not plan.does else "purge" if plan.trashes else "doctor"
        what = plan.will if plan.does else said(plan.told.finding).what
        texts = forms.column(forms.label(printable(what, 600), wrap=True), gap=2)
        if plan.error is not None:
            why = " ".join(filter(None, (plan.error.what, plan.error.why, plan.error.remedy)))
        elif not plan.does:
            why = self.tr("It is in use, or gone.")
        else:
            why = self._kept(plan)
        if why:
            texts.addWidget(forms.label(printable(why, 1000), "muted", wrap=True))
        whole = forms.page(forms.row((forms.picture(icon, 16), forms.TOP), (texts, 1), gap=8))
        self.rows.append(whole)
        self.body.addWidget(whole)

    def _kept(self, plan: Plan) -> str:
        if not (in_use := (plan.answer or {}).get("in_use")):
            return ""
        left = in_use["left"]
        kept = several(left, "{n} entry in use stays.", "{n} entries in use stay.") if left else ""
        return " ".join(filter(None, (kept, unseen_users(in_use))))

    def _go(self) -> None:
        self.decided.emit()
        self.accept()
