"""An editor for each sort of setting: it shows a variable's text, and says when that is changed."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from torchkeeper.gui.dialogs.base import choose_folder
from torchkeeper.gui.dialogs.serverpage import secret
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings import masks
from torchkeeper.settings.known import Setting, default

#: Pixels of a field for a number.
_NARROW = 112
#: Scheme, user, password and the rest; the password may hold anything, an @ too.
_LOGIN = re.compile(r"([A-Za-z][\w+.-]*://)([^/:@]*):(.*)@([^@]*)", re.DOTALL)
_USER = re.compile(r"([A-Za-z][\w+.-]*://)([^/:@]*)@?(.*)", re.DOTALL)
_OPTION = re.compile(r"([?&])password=([^&]*)&?", re.IGNORECASE)


class Editor(QWidget):
    """Edits the text of one variable; None is for one that is not set."""

    changed = Signal()

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self.version: str | None = None

    @property
    def text(self) -> str | None:
        """The text; None where it is left to PyTorch."""
        raise NotImplementedError

    def show_text(self, text: str | None) -> None:
        """Show a text; nobody has changed it then."""
        raise NotImplementedError

    def use_version(self, version: str | None) -> None:
        """Whose defaults are shown: a version of torch, or of Triton for its settings."""
        self.version = version

    def describe(self, name: str, about: str) -> None:
        """What a screen reader says of it."""
        proxy = self.focusProxy() or self
        proxy.setAccessibleName(name)
        proxy.setAccessibleDescription(about)


class SwitchEdit(Editor):
    """On, off, or left to PyTorch; what else a variable says stays as it is."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.combo = forms.Choice()
        self.combo.offer((("", None), (self.tr("On"), "1"), (self.tr("Off"), "0")))
        self.combo.activated.connect(lambda *_: self.changed.emit())
        self.setLayout(forms.row((self.combo, 1)))
        self.setFocusProxy(self.combo)
        self.use_version(None)

    @property
    def text(self) -> str | None:
        data = self.combo.currentData()
        return None if data is None else str(data)

    def show_text(self, text: str | None) -> None:
        while self.combo.count() > 3:
            self.combo.removeItem(3)
        if text not in (None, "0", "1"):
            self.combo.addItem(self._odd(text or ""), text)
        self.combo.setCurrentIndex({None: 0, "1": 1, "0": 2}.get(text, 3))

    def use_version(self, version: str | None) -> None:
        super().use_version(version)
        self.combo.setItemText(0, words.own(self.setting, version))
        if self.combo.count() > 3:
            self.combo.setItemText(3, self._odd(str(self.combo.itemData(3))))

    def _odd(self, text: str) -> str:
        said = words.shown(self.setting.name, text, 24)
        return f"“{said}” ({words.meant(self.setting, text, self.version)})"


class TextEdit(Editor):
    """A text, a host, a port or a number. Emptied is not set; what is set to nothing says so."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._empty = False
        self.edit = QLineEdit()
        self.edit.textEdited.connect(self._edited)
        self._line = forms.row()
        if setting.type in ("port", "number"):
            self.edit.setFixedWidth(_NARROW)
            forms.add(self._line, self.edit, forms.REST)
        else:
            self._line.addWidget(self.edit, 1)
        self.setLayout(self._line)
        self.setFocusProxy(self.edit)
        self.use_version(None)

    @property
    def text(self) -> str | None:
        return self.edit.text() or ("" if self._empty else None)

    def show_text(self, text: str | None) -> None:
        self._empty = text == ""
        if self.edit.text() != (text or ""):
            self.edit.setText(text or "")
            # Of a long one the beginning is seen.
            self.edit.setCursorPosition(0)
        self.edit.setEchoMode(_echo(not masks.has_password(self.setting.name, text or "")))
        self._tip()
        self.use_version(self.version)

    def use_version(self, version: str | None) -> None:
        super().use_version(version)
        text = default(self.setting, version)
        text = words.owner(self.setting) if text is None else text
        self.edit.setPlaceholderText(self.tr("Set to nothing") if self._empty else text)

    def _edited(self, _: str = "") -> None:
        self._empty = False
        self._tip()
        self.use_version(self.version)
        self.changed.emit()

    def _tip(self) -> None:
        text = words.shown(self.setting.name, self.edit.text(), 2000)
        self.edit.setToolTip(tip(text) if text else "")


class FolderEdit(TextEdit):
    """The path of a folder, typed or chosen."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.browse = forms.icon_button("folder", self.tr("Choose a folder…"), self._browse)
        self._line.addWidget(self.browse)

    def _browse(self) -> None:
        def chosen(path: str) -> None:
            self.edit.setText(path)
            self._edited()

        above = (self.text or "").rpartition("/")[0]
        choose_folder(self, self.tr("Choose a folder"), above, chosen)


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
    user, rest = (found[2], found[3]) if "@" in address else ("", found[2] + found[3])
    return f"{found[1]}{user}:{quote(password, safe='')}@{rest}"


class AddressEdit(Editor):
    """The address and its password; a text nobody has changed stays as it is to the letter."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._kept: tuple[str, str, str | None] = "", "", None
        self.address = QLineEdit()
        self.password = secret()
        self.password.setPlaceholderText(self.tr("No password"))
        self.reveal = QCheckBox(self.tr("Show"))
        self.reveal.setAccessibleName(self.tr("Show the password"))
        self.reveal.toggled.connect(self._reveal)
        line = forms.row((self.password, 1), self.reveal)
        self.setLayout(forms.column(self.address, line, gap=4))
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


def editor_of(setting: Setting) -> Editor:
    made = {"switch": SwitchEdit, "tristate": SwitchEdit, "folder": FolderEdit, "url": AddressEdit}
    return made.get(setting.type, TextEdit)(setting)
