"""Where what was warmed goes afterwards: a new bundle, and a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.asking import Latest, file_text, replace_text
from torchkeeper.gui.dialogs.base import choose_target
from torchkeeper.gui.jobs.asked import Then
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.choices import Choice
from torchkeeper.link.words.problems import UserError, printable

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import TargetParams, TargetResult


class ThenChoice(QWidget):
    """A bundle to be written, and a server to copy to, after a warm-up."""

    changed = Signal()

    def __init__(self, engines: Engines, places: Sequence[Place], name: str) -> None:
        """name: the bundle to begin with, an absolute path."""
        super().__init__()
        self._look = Latest(engines, self)
        #: What is at the file's path (operation ``target``); None while nobody knows.
        self._there: TargetResult | None = None
        self.bundle = QCheckBox(self.tr("Write a &bundle"))
        self.file = QLineEdit(name)
        self.file.setAccessibleName(self.tr("Bundle file"))
        self.browse = forms.button(self.tr("Bro&wse…"), enter=False)
        self.browse.clicked.connect(self._browse)
        self.check = forms.label("", wrap=True)
        self.check.setContentsMargins(forms.CHECK, 0, 0, 0)
        self.replace = QCheckBox()
        self.publish = QCheckBox(self.tr("P&ublish to a server"))
        self.server = Choice()
        self.server.setAccessibleName(self.tr("Server"))
        self.server.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.server.setMinimumContentsLength(16)
        for place in places:
            if place.server and not place.read_only:
                self.server.addItem(printable(place.title, 80), place.path)
        none = not self.server.count()
        self.publish.setEnabled(not none)
        self.publish.setToolTip(
            self.tr("There is no server among the places; add one first") if none else ""
        )
        self._lay_out()
        self.bundle.toggled.connect(self._changed)
        self.file.textChanged.connect(self._changed)
        self.publish.toggled.connect(self._say)
        self.replace.toggled.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        line = forms.row()
        line.setContentsMargins(forms.CHECK, 0, 0, 0)
        line.addWidget(self.file, 1)
        line.addWidget(self.browse)
        replace = forms.row()
        replace.setContentsMargins(forms.CHECK, 0, 0, 0)
        replace.addWidget(self.replace)
        below = forms.row()
        below.setContentsMargins(forms.CHECK, 0, 0, 0)
        below.addWidget(self.server)
        whole = forms.column(gap=4)
        whole.addWidget(self.bundle)
        whole.addLayout(line)
        whole.addWidget(self.check)
        whole.addLayout(replace)
        whole.addSpacing(4)
        whole.addWidget(self.publish)
        whole.addLayout(below)
        self.setLayout(whole)

    @property
    def then(self) -> Then | None:
        """What is asked for; None while the file is not one that can be written."""
        server = str(self.server.currentData() or "") if self.publish.isChecked() else ""
        if not self.bundle.isChecked():
            return Then("", server)
        if self._path is None or self._there is None or self._wrong()[1] == "error":
            return None
        if self._there["what"] == "file" and not self.replace.isChecked():
            return None
        return Then(self._path, server)

    def let_go(self) -> None:
        """Hear no more: the dialog closes."""
        self._look.forget()

    @property
    def _path(self) -> str | None:
        file = os.path.expanduser(self.file.text().strip())
        return file if os.path.isabs(file) and not file.endswith("/") else None

    def _changed(self, *_: object) -> None:
        self._there = None
        self.replace.setChecked(False)
        self._look.forget()
        if self.bundle.isChecked() and self._path is not None:
            params: TargetParams = {"path": self._path}
            self._look.ask("target", params, self._told, self._unknown)
        self._say()

    def _told(self, there: TargetResult) -> None:
        self._there = there
        if there["what"] == "file":
            self.replace.setText(replace_text(there, self.tr))
        self._say()

    def _unknown(self, error: UserError) -> None:
        self._say()
        self.check.setText(error.what)
        self.check.show()

    def _wrong(self) -> tuple[str, str]:
        """What is to be said of the file, and the role of that."""
        if self._path is None:
            return self.tr("Give the whole path of the bundle, or choose one."), "error"
        if self._there is None:
            return "", ""
        said, role = file_text(self._path, 0, self._there, self.tr)
        # How much room it takes is not known before it is warmed.
        return (said, role) if role == "error" else ("", "")

    def _say(self, *_: object) -> None:
        asked = self.bundle.isChecked()
        for widget in (self.file, self.browse):
            widget.setVisible(asked)
        self.server.setVisible(self.publish.isChecked())
        said, role = self._wrong() if asked else ("", "")
        forms.set_role(self.check, role)
        self.check.setText(said)
        self.check.setVisible(bool(said))
        there = asked and self._there is not None and self._there["what"] == "file"
        self.replace.setVisible(there and not said)
        self.changed.emit()

    def _browse(self) -> None:
        kinds = self.tr("Bundles (*.torchcache)")
        title = self.tr("Write a bundle")
        choose_target(self, title, self.file.text(), kinds, self.file.setText)
