"""The address of a server, with a password that nobody sees unless asked."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from PySide6.QtWidgets import QCheckBox, QLineEdit

from torchkeeper.gui.dialogs.login import secret
from torchkeeper.gui.profiles import words
from torchkeeper.gui.profiles.editors import Editor
from torchkeeper.gui.widgets import forms
from torchkeeper.settings import masks
from torchkeeper.settings.setting import Setting
from torchkeeper.settings.values import default

#: Scheme, user, password and the rest; the password may hold anything, an @ too.
_LOGIN = re.compile(r"([A-Za-z][\w+.-]*://)([^/:@]*):(.*)@([^@]*)", re.DOTALL)
_USER = re.compile(r"([A-Za-z][\w+.-]*://)([^/:@]*)@?(.*)", re.DOTALL)
_OPTION = re.compile(r"([?&])password=([^&]*)&?", re.IGNORECASE)


def apart(text: str) -> tuple[str, str]:
    """An address without its password, and the password as it is meant."""
    if found := _LOGIN.fullmatch(text):
        user = f"{found[2]}@" if found[2] else ""
        return f"{found[1]}{user}{found[4]}", unquote(found[3])
    if found := _OPTION.search(text):
        rest = text[: found.start()] + found[1] + text[found.end() :]
        return rest.rstrip("?&"), unquote(found[2])
    return text, ""


def together(address: str, password: str) -> str:
    """An address with a password in it, where it has a scheme."""
    found = _USER.fullmatch(address) if password else None
    if found is None:
        return address
    user, rest = found[2], found[3]
    if "@" not in address:
        user, rest = "", found[2] + found[3]
    return f"{found[1]}{user}:{quote(password, safe='')}@{rest}"


class AddressEdit(Editor):
    """The address in one field, its password in another; a text nobody has changed stays as it
    is to the letter.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._kept: tuple[str, str, str | None] = "", "", None
        self.address = QLineEdit()
        self.password = secret()
        self.password.setPlaceholderText(self.tr("No password"))
        self.reveal = QCheckBox(self.tr("Show"))
        self.reveal.setAccessibleName(self.tr("Show the password"))
        self.reveal.toggled.connect(self._reveal)
        whole = forms.column(gap=4)
        whole.addWidget(self.address)
        line = forms.row()
        line.addWidget(self.password, 1)
        line.addWidget(self.reveal)
        whole.addLayout(line)
        self.setLayout(whole)
        self.setFocusProxy(self.address)
        self.address.textEdited.connect(self._edited)
        self.password.textEdited.connect(lambda *_: self.changed.emit())
        self.use_version(None)

    @property
    def text(self) -> str | None:
        address, password = self.address.text(), self.password.text()
        if (address, password) == self._kept[:2]:
            return self._kept[2]
        return together(address, password) or None

    def show_text(self, text: str | None) -> None:
        address, password = apart(text or "")
        self._kept = address, password, text
        self.address.setText(address)
        self.password.setText(password)
        self.reveal.setChecked(False)
        self._hide(address)

    def use_version(self, version: str | None) -> None:
        super().use_version(version)
        self.address.setPlaceholderText(default(self.setting, version) or words.owner(self.setting))

    def describe(self, name: str, about: str) -> None:
        super().describe(name, about)
        self.password.setAccessibleName(self.tr("Password in {}").format(name))

    def _edited(self, text: str) -> None:
        address, password = apart(text)
        if address != text:
            # What was pasted or typed moves to where it is not seen.
            self.password.setText(password)
            self.address.setText(address)
        if self.address.echoMode() != QLineEdit.EchoMode.Normal:
            self._hide(address)
        self.changed.emit()

    def _hide(self, address: str) -> None:
        """Hide an address that cannot be read, in which a password may be anywhere."""
        password = self.password.text()
        text = together(address, password)
        told = masks.shown(self.setting.name, text)
        # A user without a password is one, too.
        hide = told == masks.HIDDEN if password else told != text
        self.address.setEchoMode(_echo(self.reveal.isChecked() or not hide))

    def _reveal(self, on: bool) -> None:
        self.password.setEchoMode(_echo(on))
        self._hide(self.address.text())


def _echo(seen: bool) -> QLineEdit.EchoMode:
    return QLineEdit.EchoMode.Normal if seen else QLineEdit.EchoMode.Password
