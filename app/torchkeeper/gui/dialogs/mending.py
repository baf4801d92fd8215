"""What the doctor is about to do: each fix in a sentence, and the entries that go."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import printable, unseen_users
from torchkeeper.client.words.tongue import several
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.pages.doctor.mender import Plan
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.table.cells import COMPILE, DEVICE, FILES, KEY, MTIME, TORCH, VERDICT
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.widgets import forms


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
        self.model.show_apart(True)  # all that goes is seen
        self.table = EntryTable(self.model)
        self.table.setObjectName("plan")
        self.table.setFrameShape(QFrame.Shape.StyledPanel)
        self.table.setAccessibleName(self.tr("What goes"))
        for column in (KEY, FILES, TORCH, DEVICE, COMPILE, VERDICT):
            self.table.setColumnHidden(column, True)
        self.table.setColumnWidth(MTIME, 120)
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
