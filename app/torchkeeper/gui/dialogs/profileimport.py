"""What a file makes as a profile: what is taken, what is left and why, before anything is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QLineEdit, QTreeWidget, QTreeWidgetItem, QWidget

from torchkeeper.client.profiles.profile import Profile, name_fault, ordered
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.pages.profiles import known as known_profiles
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.drafts import free
from torchkeeper.gui.pages.profiles.known import Offered
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.blank import Notice
from torchkeeper.gui.widgets.choices import Choice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.gui.widgets.trees import columns

#: Lines of what is left.
_MOST = 500
#: How high it is with what there is to list.
_HIGH = 640


class ProfileImport(Dialog):
    """Reads the file in the worker, and shows it; ``take`` is called with what is to be kept."""

    grows = False

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        path: str,
        names: Sequence[str],
        take: Callable[[Profile], object],
    ) -> None:
        """names: of the profiles that there are."""
        super().__init__(parent, "", 640)
        self.setWindowTitle(self.tr("Import {}").format(printable(os.path.basename(path), 80)))
        explain(self, "profile")
        self._engines, self._names, self._taking = engines, list(names), take
        self._path = path
        self._ticket: int | None = None
        self.offered: Offered | None = None
        self.where = forms.label(printable(path, 4096), "muted", wrap=True)
        self.notice = Notice()
        self.format = Choice()
        self.format.addItem(self.tr("What it looks like"), "")
        for text, data in words.formats():
            self.format.addItem(text, data)
        self.container = Choice()
        self.name = QLineEdit()
        self.wrong = forms.label("", "error", wrap=True)
        self.taken = _tree(self.tr("What is taken"), [self.tr("Setting"), self.tr("Value")])
        self.left = _tree(self.tr("What is left"), [self.tr("Variable"), self.tr("Why")])
        self.taken_title = forms.label(self.tr("Reading…"), "heading")
        self.left_title = forms.label("", "heading")
        self.cancel = forms.button(self.tr("Cancel"))
        self.go = forms.button(self.tr("&Keep as profile"), primary=True)
        self.body.addWidget(self.where)
        self.body.addWidget(self.notice)
        line = forms.row(gap=16)
        self._of_several = QWidget()
        chosen = forms.column()
        forms.field(chosen, self.tr("C&ontainer"), self.container)
        self._of_several.setLayout(chosen)
        self._of_several.hide()
        read = forms.column()
        forms.field(read, self.tr("&Read as"), self.format)
        line.addLayout(read, 1)
        line.addWidget(self._of_several, 1)
        self.body.addLayout(line)
        self._asked = QWidget()
        named = forms.column()
        forms.field(named, self.tr("&Name of the profile"), self.name)
        named.addWidget(self.wrong)
        self._asked.setLayout(named)
        self.body.addWidget(self._asked)
        self.body.addSpacing(4)
        for title, tree in ((self.taken_title, self.taken), (self.left_title, self.left)):
            self.body.addWidget(title)
            self.body.addWidget(tree, 1)
        for widget in (self._asked, self.taken, self.left, self.left_title, self.wrong):
            widget.hide()
        self.cancel.setAutoDefault(False)
        # Where there is nothing to list, the rest stays at the top.
        self.body.addStretch(0)
        self.buttons(self.cancel, self.go)
        self.go.setEnabled(False)
        self.go.setDefault(True)
        self.name.textChanged.connect(self._say)
        self.cancel.clicked.connect(self.reject)
        self.go.clicked.connect(self._go)
        self.resize(1000, _HIGH)
        self.format.currentIndexChanged.connect(self._read)
        self.container.activated.connect(self._read)
        self._read()

    def _read(self, *_: object) -> None:
        self._engines.forget(self._ticket)
        self.offered = None
        self.go.setEnabled(False)
        listener = Listener(result=self._show, failed=self._failed)
        self._ticket = self._engines.background(
            listener,
            known_profiles.offered,
            self._path,
            str(self.format.currentData() or ""),
            str(self.container.currentData() or ""),
        )

    def _failed(self, error: UserError) -> None:
        for widget in (self._asked, self.taken, self.left, self.left_title, self.taken_title):
            widget.hide()
        if error.code == "profile-container-which":
            self.container.clear()
            self.container.addItem(self.tr("Choose one"), "")
            for name in str(error.params.get("names") or "").split(", "):
                self.container.addItem(printable(name, 200), name)
            self._of_several.show()
            self.container.setFocus()
            error = UserError(error.what, error.why, self.tr("Choose the one to take."))
        self.notice.tell(error)
        self.body.activate()
        self.resize(self.width(), self.body.totalHeightForWidth(self.width()))

    def _show(self, offered: Offered) -> None:
        self.offered = offered
        self.notice.tell(None)
        self.resize(self.width(), max(self.height(), _HIGH))
        self.taken.clear()
        self.left.clear()
        self.taken_title.show()
        some = ordered(offered.profile)
        many = say.count(len(some), "setting", "settings")
        nothing = self.tr("Nothing in it is a setting of the caches")
        if offered.untold:
            nothing = self.tr("Nothing of what it sets can be taken")
        self.taken_title.setText(self.tr("Taken: {}").format(many) if some else nothing)
        for name, text in some:
            _add(self.taken, name, words.shown(name, text, 2000) or self.tr("(set to nothing)"))
        for name, why in offered.left[:_MOST]:
            _add(self.left, printable(name, 200), printable(why, 2000))
        left = say.count(len(offered.left), "variable", "variables")
        self.left_title.setText(self.tr("Left out: {}").format(left))
        for widget in (self.taken, self._asked):
            widget.setVisible(bool(some))
        for widget in (self.left, self.left_title):
            widget.setVisible(bool(offered.left))
        self.name.setText(free(offered.profile.name, self._names))
        self.name.setFocus()
        self.name.selectAll()

    def _say(self) -> None:
        name = self.name.text().strip()
        why = name_fault(name)
        taken = name.casefold() in {one.casefold() for one in self._names}
        text = self.tr("There is a profile of that name.") if taken else f"{why}." if why else ""
        self.wrong.setText(text)
        self.wrong.setVisible(bool(text) and self.offered is not None)
        good = self.offered is not None and bool(self.offered.profile.values)
        self.go.setEnabled(good and not text)

    def _go(self) -> None:
        if self.offered is not None:
            one = self.offered.profile
            self._taking(Profile(self.name.text().strip(), dict(one.values), one.about))
        self.accept()

    def done(self, result: int) -> None:
        self._engines.forget(self._ticket)
        super().done(result)


def _tree(name: str, headings: list[str]) -> QTreeWidget:
    made = QTreeWidget()
    made.setAccessibleName(name)
    made.setRootIsDecorated(False)
    made.setWordWrap(True)
    made.setAllColumnsShowFocus(True)
    made.setHeaderLabels(headings)
    columns(made, (360, 0), 1)
    return made


def _add(tree: QTreeWidget, name: str, text: str) -> None:
    item = QTreeWidgetItem([name, text])
    for column in (0, 1):
        item.setToolTip(column, tip(item.text(column)))
    tree.addTopLevelItem(item)
