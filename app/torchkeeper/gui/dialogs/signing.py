"""The dialog that signs a bundle: who signed it until now, and with which key it will be."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from torchkeeper.client.signers import signers_file
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.asking import Latest
from torchkeeper.gui.dialogs.inspected import signed
from torchkeeper.gui.dialogs.keychoice import KeyChoice
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureParams, SignatureResult

#: The key, and who has signed it until now.
Start = Callable[[str, "SignatureResult | None"], Job]


class SignDialog(WorkDialog):
    """Nothing is changed before Sign is pressed."""

    fits = True

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        jobs: JobsModel,
        settings: QSettings,
        file: str,
        start: Start,
    ) -> None:
        super().__init__(parent, jobs, 600)
        self.setWindowTitle(self.tr("Sign bundle"))
        explain(self, "signature")
        self._file = file
        self._start = start
        self.signature: SignatureResult | None = None
        self.error: UserError | None = None
        self._signature_of = Latest(engines, self)
        name = printable(os.path.basename(file), 200)
        self.title = forms.label(self.tr("Sign {}").format(name), "title", wrap=True)
        self.where = forms.label(printable(os.path.dirname(file), 4096), "muted", wrap=True)
        self.said = forms.label("", wrap=True)
        self.key = KeyChoice(engines, settings, needed=True)
        self.key.changed.connect(self._say)
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Sign"), primary=True)
        self.go.clicked.connect(self._go)
        layout = forms.column()
        for widget in (self.title, self.where, self.said):
            layout.addWidget(widget)
        layout.addSpacing(forms.GAP)
        forms.field(layout, self.tr("S&ign with"), self.key)
        layout.addStretch(1)
        page = ChoicePage(layout, self.cancel, self.go)
        self._look()
        self.add_choice(page, self.go)
        self.resize(620, self._needed(page))
        self.key.setFocus()

    @property
    def ready(self) -> bool:
        """Whether everything there is to know is known."""
        return (self.signature is not None or self.error is not None) and not self.key.busy

    def _look(self) -> None:
        self.signature = self.error = None
        about: SignatureParams = {"file": self._file, "signers": signers_file()}
        self._signature_of.ask(protocol.SIGNATURE, about, self._seen, self._failed, soon=False)
        self._say()

    def _seen(self, signature: SignatureResult) -> None:
        self.signature = signature
        self._say()

    def _failed(self, error: UserError) -> None:
        self.error = error
        self._say()

    def _say(self) -> None:
        role = ""
        if self.error is not None:
            role, error = "error", self.error
            text = " ".join(part for part in (error.what, error.why, error.remedy) if part)
        elif self.signature is None:
            text = self.tr("Reading who signed it…")
        elif self.signature["status"] == "none":
            text = self.tr("Nobody has signed it yet.")
        else:
            text = printable(signed(self.signature)) + ". "
            text += self.tr("A new signature takes the place of that one.")
        forms.set_role(self.said, role)
        self.said.setText(text)
        why = self._why_not()
        self.go.setEnabled(not why)
        self.go.setToolTip(tip(why))

    def _why_not(self) -> str:
        """Why it cannot begin; empty where it can."""
        # A signature that does not fit, or is of another version, can be replaced.
        if self.error is not None and self.error.code != "signature-wrong":
            return self.error.what
        if self.signature is None and self.error is None:
            return self.tr("The bundle is still being read.")
        return self.key.why_not

    def _go(self) -> None:
        self.key.keep()
        self.follow(self._start(self.key.value, self.signature))

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Sign bundle"))
        self._look()
        self.go.setFocus()

    def done(self, result: int) -> None:
        self._signature_of.forget()
        self.key.stop()
        super().done(result)
