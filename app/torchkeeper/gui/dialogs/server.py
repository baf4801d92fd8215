"""The dialogs of servers: adding one, and the password of one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from PySide6.QtWidgets import QCheckBox, QFileDialog, QHBoxLayout, QLineEdit, QWidget

from torchkeeper.artifacts.entry import Problem
from torchkeeper.gui import forms
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.places import Place
from torchkeeper.link.words import UserError, user_error
from torchkeeper.stores.redis.address import Address, parse

#: What stands before the host: a user and a password, of which the last may hold anything.
_LOGIN = re.compile(r"((?:rediss?|unix)://)(.*)@(.*)", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"([?&])password=([^&]*)&?")


class KeepBox(QCheckBox):
    """Offers to keep a password in the system's keyring, where the system has one."""

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self.setText(self.tr("&Keep in the system's keyring"))
        self._engines = engines
        self.setEnabled(False)
        self._say(self.tr("Looking for a keyring…"))
        self._ticket = engines.keyring(Listener(result=self._found))

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._engines.forget(self._ticket)

    def _found(self, found: dict[str, Any]) -> None:
        there = bool(found.get("keyring"))
        self.setEnabled(there)
        self._say(
            self.tr("Asked for only once; otherwise it is forgotten when the window is closed.")
            if there
            else self.tr("This system has no keyring: it is forgotten when the window is closed.")
        )

    def _say(self, text: str) -> None:
        self.setToolTip(text)
        self.setAccessibleDescription(text)


class FileField(QWidget):
    """The path of a file, typed or chosen."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self.edit = QLineEdit()
        self.browse = forms.button(self.tr("Choose…"))
        self.browse.setAutoDefault(False)
        self.browse.clicked.connect(self._browse)
        line = forms.row()
        line.addWidget(self.edit, 1)
        line.addWidget(self.browse)
        self.setLayout(line)
        self.setFocusProxy(self.edit)

    @property
    def path(self) -> str:
        """What was typed or chosen; empty for none."""
        return self.edit.text().strip()

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.edit.setAccessibleName(name)

    def _browse(self) -> None:
        dialog = QFileDialog(self, self._title)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.edit.setText)
        dialog.open()


def _secret() -> QLineEdit:
    made = QLineEdit()
    made.setEchoMode(QLineEdit.EchoMode.Password)
    return made


def _words(error: UserError) -> str:
    return "\n".join(part for part in (error.what, error.why, error.remedy) if part)


class ServerDialog(Dialog):
    """Asks where a Redis is and how to log in; can try it out before it is put on the list."""

    def __init__(self, parent: QWidget | None, engines: Engines) -> None:
        super().__init__(parent, "", 600)
        self.setWindowTitle(self.tr("Add a Redis server"))
        self._engines = engines
        self._ticket: int | None = None
        self.address = QLineEdit()
        self.address.setPlaceholderText("redis://localhost:6379/0")
        self.address.textChanged.connect(self._typed)
        self.user = QLineEdit()
        self.user.setPlaceholderText(self.tr("Only where the server has users"))
        self.password = _secret()
        self.keep = KeepBox(engines)
        self.ca = FileField(self.tr("CA certificates"))
        self.ca.edit.setPlaceholderText(self.tr("Those of the system"))
        self.certificate = FileField(self.tr("Client certificate"))
        self.certificate.edit.setPlaceholderText(self.tr("Only where the server asks for one"))
        self.key = FileField(self.tr("Key of the certificate"))
        self.key.edit.setPlaceholderText(self.tr("Where it is not in the same file"))
        self.read_only = QCheckBox(self.tr("&Read-only"))
        self.read_only.setAccessibleDescription(self._read_only_hint())
        self.said = forms.label("", "muted", wrap=True)
        self.said.setAccessibleName(self.tr("What the server says"))
        self.said.hide()
        self.test = forms.button(self.tr("&Test"))
        self.test.setAutoDefault(False)
        self.test.clicked.connect(self._test)
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Add"), primary=True)
        self.go.clicked.connect(self._add)
        self.go.setDefault(True)
        self._lay_out()
        self._typed()
        self.address.setFocus()

    def _read_only_hint(self) -> str:
        return self.tr("Nothing is removed from it or copied into it, and no expiry is changed.")

    def _lay_out(self) -> None:
        forms.field(
            self.body,
            self.tr("&Address"),
            self.address,
            self.tr(
                "redis://host:port/database, rediss:// for TLS, or unix:///path/to/socket. "
                "The keys of PyTorch and Triton are shown; those of others are never touched."
            ),
        )
        self.body.addSpacing(forms.GAP)
        login = QHBoxLayout()
        login.setSpacing(16)
        for text, control in (
            (self.tr("&User"), self.user),
            (self.tr("&Password"), self.password),
        ):
            part = forms.column()
            forms.field(part, text, control)
            login.addLayout(part, 1)
        self.body.addLayout(login)
        self.body.addWidget(self.keep)
        files = forms.column()
        files.setContentsMargins(0, forms.GAP, 0, 0)
        forms.field(files, self.tr("&CA certificates"), self.ca)
        forms.field(files, self.tr("Client c&ertificate"), self.certificate)
        forms.field(files, self.tr("&Key of the certificate"), self.key)
        self.files = forms.frame("tls", files)
        self.body.addWidget(self.files)
        self.body.addSpacing(forms.GAP)
        self.body.addWidget(self.read_only)
        self.body.addWidget(forms.label(self._read_only_hint(), "muted", wrap=True))
        self.body.addWidget(self.said)
        self.buttons(self.test, self.cancel, self.go)

    def done(self, result: int) -> None:
        self._engines.forget(self._ticket)
        self.keep.stop()
        super().done(result)

    @property
    def place(self) -> str:
        """The name of the server. Raises Problem("address-wrong")."""
        text = self.address.text().strip()
        address = parse(text if "://" in text else f"redis://{text}").address
        if self.user.text().strip():
            address = replace(address, username=self.user.text().strip())
        # Looked at again, with the files.
        return str(parse(str(self._with_files(address))).address)

    def _with_files(self, address: Address) -> Address:
        if address.scheme != "rediss":
            return address
        return replace(
            address,
            ca_certs=self.ca.path or address.ca_certs,
            certfile=self.certificate.path or address.certfile,
            keyfile=self.key.path or address.keyfile,
        )

    def _typed(self) -> None:
        """A password in the address moves to where it is not seen."""
        text = self.address.text()
        if found := _LOGIN.fullmatch(text):
            user, colon, password = found[2].partition(":")
            if colon:
                self.user.setText(unquote(user))
                self.password.setText(unquote(password))
                self.address.setText(found[1] + found[3])
                return
        if found := _OPTION.search(text):
            self.password.setText(unquote(found[2]))
            rest = text[: found.start()] + found[1] + text[found.end() :]
            self.address.setText(rest.rstrip("?&"))
            return
        self.files.setVisible(text.strip().lower().startswith("rediss://"))
        for button in (self.test, self.go):
            button.setEnabled(bool(text.strip()))
        self._say("")

    def _say(self, text: str, role: str = "muted") -> None:
        self._engines.forget(self._ticket)
        self._ticket = None
        self.said.setText(text)
        self.said.setVisible(bool(text))
        forms.set_role(self.said, role)

    def fail(self, error: UserError) -> None:
        """Say what is wrong, and stay open."""
        self._say(_words(error), "error")

    def _named(self) -> str | None:
        try:
            return self.place
        except Problem as problem:
            self.fail(user_error(problem.code, problem.params))
            self.address.setFocus()
            return None

    def _test(self) -> None:
        place = self._named()
        if place is None:
            return
        self._say(self.tr("Asking the server…"))
        if self.password.text():
            self._engines.give(place, self.password.text(), Listener())
        listener = Listener(result=self._answered, failed=self.fail)
        self._ticket = self._engines.ask("facts", {"place": place, "items": []}, listener)

    def _answered(self, _: dict[str, Any]) -> None:
        self._ticket = None
        self._say(self.tr("The server answers, and lets you in."), "good")

    def _add(self) -> None:
        if self._named() is not None:
            self.accept()


class PasswordDialog(Dialog):
    """Asks for the password of a server that wants one, or another one."""

    def __init__(
        self, parent: QWidget | None, engines: Engines, place: str, error: UserError
    ) -> None:
        super().__init__(parent, "", 480)
        self.setWindowTitle(self.tr("Password of {}").format(Place(place).title))
        self.place = place
        self.password = _secret()
        self.keep = KeepBox(engines)
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Connect"), primary=True)
        self.go.clicked.connect(self.accept)
        self.go.setEnabled(False)
        self.go.setDefault(True)
        self.password.textChanged.connect(lambda text: self.go.setEnabled(bool(text)))
        wrong = error.code == "password-wrong"
        self.what = forms.label(error.what, "error" if wrong else "heading", wrap=True)
        self.body.addWidget(self.what)
        if wrong and error.why:
            self.body.addWidget(forms.label(error.why, "muted", wrap=True))
        self.body.addSpacing(forms.GAP)
        forms.field(self.body, self.tr("&Password"), self.password)
        self.body.addWidget(self.keep)
        self.buttons(self.cancel, self.go)
        self.password.setFocus()

    def done(self, result: int) -> None:
        self.keep.stop()
        super().done(result)
