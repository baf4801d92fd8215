"""The editors of settings: one for each sort of value. Each shows the text of a variable, or that
it is left to PyTorch, and says when somebody has changed it.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from torchkeeper.gui.dialogs.base import choose_folder
from torchkeeper.gui.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.choices import Choice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings import masks
from torchkeeper.settings.setting import Setting
from torchkeeper.settings.values import default

#: Pixels of a field for a number.
_NARROW = 112


class Editor(QWidget):
    """Edits the text of one variable; None is for one that is not set."""

    #: Somebody has changed it.
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
        self.combo = Choice()
        for text, data in (("", None), (self.tr("On"), "1"), (self.tr("Off"), "0")):
            self.combo.addItem(text, data)
        self.combo.activated.connect(lambda *_: self.changed.emit())
        line = forms.row()
        line.addWidget(self.combo, 1)
        self.setLayout(line)
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
            self.combo.setCurrentIndex(3)
            return
        self.combo.setCurrentIndex({None: 0, "1": 1, "0": 2}[text])

    def use_version(self, version: str | None) -> None:
        super().use_version(version)
        self.combo.setItemText(0, words.own(self.setting, version))
        if self.combo.count() > 3:
            self.combo.setItemText(3, self._odd(str(self.combo.itemData(3))))

    def _odd(self, text: str) -> str:
        said = words.shown(self.setting.name, text, 24)
        return f"“{said}” ({words.meant(self.setting, text, self.version)})"


class TextEdit(Editor):
    """A text, a host, a port or a number. An emptied field is a variable that is not set; one that
    is set to nothing is shown so until somebody types.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._empty = False
        self.edit = QLineEdit()
        self.edit.textEdited.connect(self._edited)
        self._line = forms.row()
        if setting.type in ("port", "number"):
            self.edit.setFixedWidth(_NARROW)
            self._line.addWidget(self.edit)
            self._line.addStretch(1)
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
        hide = masks.has_password(self.setting.name, text or "")
        self.edit.setEchoMode(QLineEdit.EchoMode.Password if hide else QLineEdit.EchoMode.Normal)
        self._tip()
        self.use_version(self.version)

    def use_version(self, version: str | None) -> None:
        super().use_version(version)
        text = default(self.setting, version)
        self.edit.setPlaceholderText(
            self.tr("Set to nothing")
            if self._empty
            else words.owner(self.setting)
            if text is None
            else text
        )

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
        self.browse = forms.icon_button("folder", self.tr("Choose a folder…"))
        self.browse.clicked.connect(self._browse)
        self._line.addWidget(self.browse)

    def _browse(self) -> None:
        above = (self.text or "").rpartition("/")[0]
        choose_folder(self, self.tr("Choose a folder"), above, self._chosen)

    def _chosen(self, path: str) -> None:
        self.edit.setText(path)
        self._edited()


def editor_of(setting: Setting) -> Editor:
    """The editor for a setting."""
    if setting.type in ("switch", "tristate"):
        return SwitchEdit(setting)
    if setting.type == "folder":
        return FolderEdit(setting)
    if setting.type == "url":
        from torchkeeper.gui.profiles.addressedit import AddressEdit

        return AddressEdit(setting)
    return TextEdit(setting)
