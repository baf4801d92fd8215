"""What ssh-keygen wants to know before it signs: the passphrase of a key, or the PIN of a token."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.login import secret
from torchkeeper.gui.widgets import forms


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
