"""Profiles to and from files of others: what is written, and what is taken of a file or left."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from PySide6.QtCore import QDir
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from torchkeeper.client.profiles.profile import Profile, name_fault, ordered, with_password
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import Dialog, choose_target
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.lists import Table, columns, line
from torchkeeper.gui.widgets.notice import Notice

#: Lines of what is left.
_MOST = 500


class ProfileImport(Dialog):
    """Reads the file in the worker, and shows it; ``take`` is called with what is to be kept."""

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        path: str,
        names: Sequence[str],
        take: Callable[[Profile], object],
    ) -> None:
        """names: of the profiles that there are."""
        super().__init__(parent, 640, "profile")
        self.setWindowTitle(self.tr("Import {}").format(printable(os.path.basename(path), 80)))
        self._names, self._taking = list(names), take
        self._path, self._asked_of = path, Latest(engines, self)
        self.offered: known_profiles.Offered | None = None
        self.where = forms.label(printable(path, 4096), "muted", wrap=True)
        self.notice = Notice()
        self.format = forms.Choice()
        self.format.offer([(self.tr("The detected format"), ""), *words.formats()])
        self.container = forms.Choice()
        self.name = QLineEdit()
        self.wrong = forms.label("", "error", wrap=True)
        self.taken = _tree(
            self.tr("Settings that are taken"), [self.tr("Setting"), self.tr("Value")]
        )
        self.left = _tree(
            self.tr("Variables that are left out"), [self.tr("Variable"), self.tr("Why")]
        )
        self.taken_title = forms.label(self.tr("Reading…"), "heading")
        self.left_title = forms.label("", "heading")
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.go = forms.button(self.tr("&Keep as profile"), self._go, primary=True)
        forms.add(self.body, self.where, self.notice)
        chosen, read, named = forms.column(), forms.column(), forms.column()
        forms.field(chosen, self.tr("C&ontainer"), self.container)
        self._of_several = forms.page(chosen)
        self._of_several.hide()
        forms.field(read, self.tr("&Read as"), self.format)
        forms.field(named, self.tr("&Name of the profile"), self.name)
        named.addWidget(self.wrong)
        self._asked = forms.page(named)
        forms.add(self.body, forms.row((read, 1), (self._of_several, 1), gap=16), self._asked, 4)
        forms.add(self.body, self.taken_title, (self.taken, 1), self.left_title, (self.left, 1))
        for widget in (self._asked, self.taken, self.left, self.left_title, self.wrong):
            widget.hide()
        # Where there is nothing to list, the rest stays at the top.
        self.body.addStretch(0)
        self.buttons(self.cancel, self.go)
        self.go.setEnabled(False)
        self.go.setDefault(True)
        self.name.textChanged.connect(self._say)
        self.resize_within(1000, 640)
        self.format.currentIndexChanged.connect(self._read)
        self.container.activated.connect(self._read)
        self._read()

    def _read(self, *_: object) -> None:
        self.offered = None
        self.go.setEnabled(False)
        listener = Listener(result=self._show, failed=self._failed)
        form, container = (str(x.currentData() or "") for x in (self.format, self.container))
        self._asked_of.call(listener, known_profiles.offered, self._path, form, container)

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

    def _show(self, offered: known_profiles.Offered) -> None:
        self.offered = offered
        self.notice.tell(None)
        self.taken.clear()
        self.left.clear()
        self.taken_title.show()
        some = ordered(offered.profile)
        many = say.count(len(some), "setting", "settings")
        nothing = self.tr("It holds no settings of the caches")
        if offered.untold:
            nothing = self.tr("None of its settings can be taken")
        self.taken_title.setText(self.tr("Taken: {}").format(many) if some else nothing)
        for name, text in some:
            value = words.shown(name, text, 2000) or self.tr("(set to nothing)")
            self.taken.addTopLevelItem(line((name, value), tips=(0, 1)))
        for name, why in offered.left[:_MOST]:
            told = printable(name, 200), printable(why, 2000)
            self.left.addTopLevelItem(line(told, tips=(0, 1)))
        left = say.count(len(offered.left), "variable", "variables")
        self.left_title.setText(self.tr("Left out: {}").format(left))
        for widget in (self.taken, self._asked):
            widget.setVisible(bool(some))
        for widget in (self.left, self.left_title):
            widget.setVisible(bool(offered.left))
        self.name.setText(known_profiles.free(offered.profile.name, self._names))
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


def _tree(name: str, headings: list[str]) -> Table:
    made = Table(name, headings)
    made.setUniformRowHeights(False)
    made.setWordWrap(True)
    made.setAllColumnsShowFocus(True)
    columns(made, (360, 0), 1)
    return made


class ProfileExport(Dialog):
    """A password is not shown; what is copied or saved has it, which is said before."""

    def __init__(self, parent: QWidget | None, engines: Engines, profile: Profile) -> None:
        super().__init__(parent, 640, "profile")
        self.setWindowTitle(self.tr("Export {}").format(printable(profile.name, 64)))
        self._engines, self._profile = engines, profile
        self._ticket: int | None = None
        self.written: known_profiles.Written | None = None
        self.format = forms.Choice()
        self.format.offer(words.formats())
        self.secret = forms.line_edit(self.tr("NAME/KEY"))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.document().setDocumentMargin(8)
        self.notice = Notice()
        self.warning = Notice()
        self.said = forms.label("", "good", wrap=True)
        self.copy = forms.button(self.tr("&Copy"), self._copy, enter=False)
        self.save = forms.button(self.tr("&Save as…"), self._save, primary=True, enter=False)
        self.close_button = forms.button(self.tr("Close"), self.reject, enter=False)
        forms.field(self.body, self.tr("&Format"), self.format)
        asked = forms.column()
        forms.field(
            asked, self.tr("Password from the Sec&ret"), self.secret,
            self.tr("The manifest then names this Secret of the cluster instead of the password."),
        )  # fmt: skip
        self._of_cluster = forms.page(asked)
        forms.add(self.body, self._of_cluster, forms.GAP)
        forms.field(self.body, self.tr("&What is written"), self.text)
        self.body.setStretchFactor(self.text, 1)
        forms.keep_room(self.said, 1)
        told = self.warning, self.notice, self.said
        self.buttons(self.close_button, self.copy, self.save, pinned=told)
        self.format.currentIndexChanged.connect(self._write)
        self.secret.textChanged.connect(self._write)
        self.notice.again.connect(self._write)
        theme.follow(self, lambda: self.text.setFont(theme.monospace()))
        self.resize_within(880, 620)
        self._write()
        self.format.setFocus()

    @property
    def form(self) -> str:
        """The format that is chosen (client.profiles.formats)."""
        return str(self.format.currentData())

    def _write(self, *_: object) -> None:
        self._engines.forget(self._ticket)
        self.written = None
        asks = self.form == "kubernetes" and bool(with_password(self._profile))
        self._of_cluster.setVisible(asks)
        secret = self.secret.text().strip() if asks else ""
        forms.tell(self.said, "")
        self._able()
        listener = Listener(result=self._show, failed=self._failed)
        write, one = known_profiles.written, self._profile
        self._ticket = self._engines.background(listener, write, one, self.form, secret)

    def _show(self, written: known_profiles.Written) -> None:
        self.written = written
        self.notice.tell(None)
        self.text.setPlainText(written.shown.rstrip("\n"))
        self.warning.tell(
            UserError(
                self.tr("The text contains a password."),
                self.tr("Here it appears as …; a copy or a saved file contains it in full."),
                self.tr("Keep the file to yourself, or have the address come from a secret of "
                        "the cluster."),
            ) if written.secret else None
        )  # fmt: skip
        self._able()

    def _failed(self, error: UserError) -> None:
        self.text.setPlainText("")
        self.warning.tell(None)
        self.notice.tell(error)

    def _able(self) -> None:
        for button in (self.copy, self.save):
            button.setEnabled(self.written is not None)

    def _copy(self) -> None:
        if self.written is not None:
            QGuiApplication.clipboard().setText(self.written.text)
            forms.tell(self.said, self.tr("Copied."))

    def _save(self) -> None:
        name = self._profile.name
        named = {"sh": f"{name}.sh", "env": f"{name}.env", "dockerfile": f"Dockerfile.{name}",
                 "kubernetes": f"{name}.yaml"}  # fmt: skip
        first = os.path.join(QDir.homePath(), named[self.form])
        # The file dialog has asked already whether what is there may be replaced.
        choose_target(self, self.tr("Save the export"), first, "", self._put, "")

    def _put(self, path: str) -> None:
        if self.written is None:
            return

        def done(path: str) -> None:
            self.notice.tell(None)
            forms.tell(self.said, self.tr("Saved as {}").format(printable(path, 400)))

        listener = Listener(result=done, failed=self.notice.tell)
        put, what = known_profiles.put, self.written
        self._ticket = self._engines.background(listener, put, path, what.text, what.secret)

    def done(self, result: int) -> None:
        # What is being written is written.
        self._engines.leave(self._ticket or 0, cancel=False)
        super().done(result)
