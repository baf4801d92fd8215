"""The notice over what comes from others: it is code."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from torchkeeper.client import signers
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog, choose_file
from torchkeeper.gui.sidebar.carried import files_of
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.gui.background.lookups import Signers


def trust_notice(what: str, advice: str | QWidget, mild: bool = False) -> QWidget:
    """A notice that cannot be overlooked, with advice. mild: about what is the user's own."""
    texts = forms.column(forms.label(what, "heading"), gap=2)
    forms.add(texts, advice if isinstance(advice, QWidget) else forms.label(advice, wrap=True))
    shield = forms.picture("shield", 28, "muted" if mild else "error")
    line = forms.row((shield, forms.TOP), (texts, 1), gap=12, margin=(12, 10, 12, 10))
    return forms.frame("hint" if mild else "notice", line)


# The dialog that trusts a key: whose it is, and what that means.

#: Characters of a pasted key that are looked at; a long RSA key has some 1,500.
_LONG = 16_384


class TrustDialog(Dialog):
    """Puts a key among the trusted signers; a key that is read or pasted is shown as it is."""

    #: Whose signatures are trusted now, as of ``lookups.signers``.
    trusted = Signal(object)

    def __init__(self, parent: QWidget | None, engines: Engines, key: str = "") -> None:
        """key: the public key that has signed something, which is not to be changed then."""
        super().__init__(parent, 600, "signature")
        self.setWindowTitle(self.tr("Trust a signer"))
        self.setAcceptDrops(not key)
        self._engines = engines
        self._ticket: int | None = None
        self._public: signers.PublicKey | None = None
        self._error: UserError | None = None
        self.key = QPlainTextEdit()
        self.key.setTabChangesFocus(True)
        self.key.setReadOnly(bool(key))
        hint = self.tr("Paste a line such as ssh-ed25519 AAAAC3…, or drop a file: KEY.pub")
        self.key.setPlaceholderText(hint)
        theme.follow(self.key, lambda: self.key.setFont(theme.monospace()))
        self.key.setFixedHeight(self.key.fontMetrics().lineSpacing() * 4 + 20)
        self.file = forms.button(self.tr("Read from a &file…"), self._browse, enter=False)
        self.file.setVisible(not key)
        self.fingerprint = forms.label("", wrap=True)
        self.fingerprint.setAccessibleName(self.tr("Fingerprint"))
        self.name = QLineEdit()
        self.name.setMaxLength(200)
        self.wrong = forms.label("", "error", wrap=True)
        self.wrong.hide()
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        # Never the default: to trust is to be pressed on purpose.
        self.go = forms.button(self.tr("Trust"), self._go, primary=True, enter=False)
        forms.field(self.body, self.tr("Public &key"), self.key)
        forms.add(self.body, forms.row(self.file, forms.REST), self.fingerprint, 4)
        forms.field(
            self.body, self.tr("&Name"), self.name,
            self.tr("Such as team@example.org: what bundles are said to be signed by."),
        )  # fmt: skip
        notice = trust_notice(
            self.tr("What this key signs is imported unasked, and PyTorch will run it."),
            self.tr(
                "Compare the fingerprint with what its owner tells you, by another way "
                "than the bundle came: anybody can sign with a key of any name."
            ),
        )
        forms.add(self.body, 4, notice, self.wrong)
        self.buttons(self.cancel, self.go)
        self.key.textChanged.connect(self._read)
        self.name.textChanged.connect(lambda *_: self._read())
        self.finished.connect(lambda: engines.forget(self._ticket))
        self.key.setPlainText(key)
        self._read()
        (self.name if key else self.key).setFocus()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files_of(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if paths := files_of(event):
            event.acceptProposedAction()
            self.read_file(paths[0])

    def read_file(self, path: str) -> None:
        """Show the public key in a file."""
        self._engines.forget(self._ticket)
        listener = Listener(result=self._is_read, failed=self._failed)
        self._ticket = self._engines.background(listener, lookups.public_key, path)

    def _browse(self) -> None:
        folder = os.path.expanduser("~/.ssh/")
        kinds = self.tr("Public keys (*.pub);;All files (*)")
        choose_file(self, self.tr("Public key"), folder, kinds, self.read_file)

    def _is_read(self, public: signers.PublicKey) -> None:
        self._ticket = None
        self.key.setPlainText(f"{public.key} {printable(public.comment, 200)}".strip())

    def _read(self) -> None:
        self._public = self._error = None
        if text := self.key.toPlainText().strip():
            try:
                self._public = signers.public_key_in(text[:_LONG], self.tr("The text"))
            except UserError as e:
                self._error = e
        public = self._public
        if public is not None and not self.name.text() and "@" in public.comment:
            # Nobody vouches for it: it is only what the owner calls the key.
            self.name.setPlaceholderText(printable(public.comment, 80))
        self._say()

    def _failed(self, error: UserError) -> None:
        self._ticket, self._error = None, error
        self._say()

    def _say(self) -> None:
        error = self._error
        said = [error.what, error.why] if error is not None else []
        if error is not None and error.code != "key-unusable":
            said.append(error.remedy)  # of a key, it is about one to sign with
        self.wrong.setText(" ".join(filter(None, said)))
        self.wrong.setVisible(error is not None)
        public, shown = self._public, self.tr("Its fingerprint is shown here, to be compared.")
        if public is not None:
            shown = f"{public.key.partition(' ')[0]} {public.fingerprint}"
        self.fingerprint.setText(shown)
        forms.set_role(self.fingerprint, "muted" if public is None else "heading")
        why = self.tr("It is being added.") if self._ticket is not None else ""
        if public is None:
            why = self.tr("There is no public key yet.")
        elif not self.name.text().strip():
            why = self.tr("Give the signer a name.")
        forms.allow(self.go, why)

    def _go(self) -> None:
        if self._public is None:
            return
        trust = partial(signers.trust, self.name.text().strip(), self._public.key)
        self._error = None
        listener = Listener(result=self._trusted, failed=self._failed)
        self._ticket = self._engines.background(listener, lookups.signers, trust)
        self._say()

    def _trusted(self, found: Signers) -> None:
        self._ticket = None
        self.trusted.emit(found)
        self.accept()
