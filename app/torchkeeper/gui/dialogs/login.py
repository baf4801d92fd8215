"""What a server wants to know of who asks: a password, and whether to keep it."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip


class KeepBox(QCheckBox):
    """Offers to keep a password in the system's keyring, where the system has one."""

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self.setText(self.tr("&Keep in the system's keyring"))
        self._engines = engines
        self.setEnabled(False)
        self._say(self.tr("Looking for a keyring…"))
        self._ticket = engines.background(Listener(result=self._found), lookups.keyring)

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._engines.forget(self._ticket)

    def _found(self, there: bool) -> None:
        self.setEnabled(there)
        self._say(
            self.tr("Asked for only once; otherwise it is forgotten when the window is closed.")
            if there
            else self.tr("This system has no keyring: it is forgotten when the window is closed.")
        )

    def _say(self, text: str) -> None:
        self.setToolTip(tip(text))
        self.setAccessibleDescription(text)


def secret() -> QLineEdit:
    """A field whose text nobody sees."""
    made = QLineEdit()
    made.setEchoMode(QLineEdit.EchoMode.Password)
    return made


class PasswordDialog(Dialog):
    """Asks for the password of a server that wants one, or another one."""

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        place: str,
        error: UserError,
        title: str = "",
    ) -> None:
        super().__init__(parent, "", 480)
        self.setWindowTitle(self.tr("Password of {}").format(title or Place(place).title))
        explain(self, "place")
        self.place = place
        self.password = secret()
        self.keep = KeepBox(engines)
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
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


# What ssh-keygen wants to know before it signs: the passphrase of a key, or the PIN of a token.


class PassphraseDialog(Dialog):
    """Asks once; what is typed goes to ssh-keygen and nowhere else."""

    def __init__(self, parent: QWidget | None, key: str, question: str, wrong: bool) -> None:
        """key: what to call it. question: ssh-keygen's own words. wrong: whether the answer before
        was.
        """
        super().__init__(parent, "", 480)
        pin = "PIN" in question
        self.setWindowTitle(self.tr("PIN of a key") if pin else self.tr("Passphrase of a key"))
        asked = self.tr("The PIN of {}") if pin else self.tr("The passphrase of {}")
        self.what = forms.label(asked.format(key), "heading", wrap=True)
        self.wrong = forms.label("", "error", wrap=True)
        if wrong:
            self.wrong.setText(
                self.tr("That was not the PIN. After a few wrong ones a token locks itself.")
                if pin
                else self.tr("That was not the passphrase. Try again.")
            )
        self.wrong.setVisible(wrong)
        self.text = secret()
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Sign"), primary=True)
        self.go.clicked.connect(self.accept)
        self.go.setEnabled(False)
        self.go.setDefault(True)
        self.text.textChanged.connect(lambda text: self.go.setEnabled(bool(text)))
        self.body.addWidget(self.what)
        self.body.addWidget(self.wrong)
        self.body.addSpacing(forms.GAP)
        forms.field(
            self.body,
            self.tr("&PIN") if pin else self.tr("&Passphrase"),
            self.text,
            self.tr("It goes to ssh-keygen and is kept nowhere. A key that ssh-agent holds is "
                    "not asked for."),
        )  # fmt: skip
        self.body.addStretch(1)
        self.buttons(self.cancel, self.go)
        self.text.setFocus()

    def done(self, result: int) -> None:
        super().done(result)
        self.text.clear()
