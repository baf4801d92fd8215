"""A control for the bundle that is to be written: its path, what is there, and whether it goes."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Typed, choose_target, room_text
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import TargetParams, TargetResult
    from torchkeeper.stores.shapes import Space

_tr = partial(QCoreApplication.translate, "BundleFile")


class BundleFile(forms.Compound):
    """Looks at what is at its path. Its owner lays out ``replace``, and calls ``say``."""

    changed = Signal()

    def __init__(self, engines: Engines, file: str, title: str, browse: str) -> None:
        """file: to begin with. title: of the dialog that ``browse``, a button, opens."""
        super().__init__()
        self._look_of = Typed(engines, self)
        #: What is at the path (operation ``target``); None while nobody knows.
        self._there: TargetResult | None = None
        self._title = title
        self.file = QLineEdit(file)
        self.browse = forms.button(browse, self._browse, enter=False)
        self.check = forms.label("", wrap=True)
        self.replace = QCheckBox()
        self.replace.hide()
        self.setLayout(forms.column(forms.row((self.file, 1), self.browse), self.check))
        self.setFocusProxy(self.file)
        self.file.textChanged.connect(lambda *_: self.look())
        self.replace.toggled.connect(lambda *_: self.changed.emit())

    @property
    def path(self) -> str | None:
        """The file to write as an absolute path; None while there is none."""
        typed = os.path.expanduser(self.file.text().strip())
        return os.path.normpath(typed) if os.path.isabs(typed) and not typed.endswith("/") else None

    @property
    def busy(self) -> bool:
        """Whether what is there is not known yet."""
        return self._there is None and self.path is not None

    @property
    def written_over(self) -> bool:
        """Whether a file that is there is given up."""
        return self.replace.isVisibleTo(self.window()) and self.replace.isChecked()

    @property
    def why_not(self) -> str:
        """Why no bundle can be written there, as it was said; empty where one can."""
        text, role = self._told()
        if self._there is None or role == "error":
            return text
        if self._there["what"] == "file" and not self.replace.isChecked():
            return self.tr("The file exists. Tick “Replace the existing file”.")
        return ""

    def look(self, soon: bool = True) -> None:
        """Look again. soon: once nobody types."""
        self._there = None
        self.replace.setChecked(False)
        if (path := self.path) is None:
            self._look_of.forget()
        else:
            params: TargetParams = {"path": path}
            heard = Listener(result=self._looked, failed=self._not_looked)
            self._look_of.ask(protocol.TARGET, params, heard, soon=soon)
        self.changed.emit()

    def _looked(self, there: TargetResult) -> None:
        self._there = there
        self.changed.emit()

    def _not_looked(self, error: UserError) -> None:
        about: Space = {"free": None, "why": error.what.rstrip("."), "exists": True}
        self._looked({"what": "missing", "size": None, "mtime": None, "space": about})

    def say(self, needed: int | None) -> None:
        """Tell it. needed: the bytes that it takes; None: nobody knows, so only what is wrong."""
        text, role = self._told(needed or 0)
        if needed is None:
            forms.tell(self.check, text if role == "error" else "")
        else:
            self.check.setText(text)
        forms.set_role(self.check, role or "muted")
        there = self._there
        self.replace.setVisible(there is not None and there["what"] == "file")
        if there is not None:
            self.replace.setText(replace_text(there))

    def _told(self, needed: int = 0) -> tuple[str, str]:
        if self.path is None:
            return self.tr("Give the whole path of a file, or choose one."), "error"
        if self._there is None:
            return self.tr("Checking the path…"), ""
        return file_text(self.path, needed, self._there)

    def _browse(self) -> None:
        kinds = self.tr("Torchkeeper bundles (*.torchcache)")
        choose_target(self, self._title, self.path or "", kinds, self.file.setText)


def file_text(path: str, needed: int, there: TargetResult) -> tuple[str, str]:
    """Whether a bundle can be written at a path, and the role of the label."""
    what = there["what"]
    if what == "folder":
        return _tr("That is a folder. Give the name of a file in it."), "error"
    if what == "other":
        return _tr("This path exists and is not a file."), "error"
    if not there["space"]["exists"]:
        return _tr("There is no folder {}.").format(printable(os.path.dirname(path))), "error"
    return room_text(needed, there["space"])


def replace_text(there: TargetResult) -> str:
    """What a box says by which a file that is there is given up."""
    size, when = say.size(there["size"] or 0), say.ago(there["mtime"] or 0)
    return _tr("&Replace the existing file ({}, {})").format(size, when)
