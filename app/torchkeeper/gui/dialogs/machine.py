"""What ssh asks on its way to another machine, and ssh-keygen as it signs; what is typed goes to it
and nowhere else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.serverpage import secret
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.ssh import SCHEME

if TYPE_CHECKING:
    from torchkeeper.client.engines.questions import Question

#: How ssh's question about a key begins, which nothing of a server's can: those name the user.
_OF_KEY = "The authenticity of host "
#: The key's fingerprint in it, which people compare.
_FINGERPRINT = re.compile(r"\s*\b((?:SHA256|MD5):[\w+/=:]{20,100})\.?\s*", re.ASCII)


class QuestionDialog(Dialog):
    """One question, in the asker's words, which may have some of a stranger's server in them."""

    def __init__(self, parent: QWidget, question: Question) -> None:
        host, note = question.about.removeprefix(SCHEME), question.kind == "none"
        signs = host == question.about
        super().__init__(parent, 560, "signature" if signs else "place")
        self.question = question
        of_key = not signs and question.text.startswith(_OF_KEY)
        title = self.tr("Signing with {}") if signs else self.tr("Connecting to {}")
        self.setWindowTitle(title.format(host))
        asked = self.tr("ssh wants to know something on its way to {}")
        if signs:
            asked = self.tr("ssh-keygen wants to know something to sign with {}")
        elif of_key:
            asked = self.tr("{} was never seen from here: is this its key?")
        elif note:
            asked = self.tr("ssh waits for you on its way to {}")
        self.what = forms.label(asked.format(host), "heading", wrap=True)
        text, mark, rest = question.text, "", ""
        if of_key and (found := _FINGERPRINT.search(text)):
            text, mark, rest = text[: found.start()], found[1], text[found.end() :]
        self.words = forms.label(text, wrap=True, selectable=True)
        self.fingerprint = forms.label(mark)
        forms.selectable(self.fingerprint, keys=True)
        theme.follow(self, lambda: self.fingerprint.setFont(theme.monospace()))
        after = forms.label(rest, wrap=True, selectable=True)
        pin = "PIN" in question.text
        wrong = self.tr("That was not accepted.") if question.again else ""
        if wrong and pin:
            wrong = f"{wrong} {self.tr('After a few wrong PINs a token locks itself.')}"
        self.wrong = forms.label(wrong, "error", wrap=True)
        # One that is shown before it is in the dialog is a window of its own.
        said = (self.what, self.wrong, self.words, self.fingerprint, after)
        forms.add(self.body, *(one for one in said if one.text()), forms.GAP)
        self.text: QLineEdit | None = None
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        yes = self.tr("&Trust this key") if of_key else self.tr("&Yes")
        self.go = forms.button(yes, self.accept, primary=True)
        if of_key:
            told = self.tr("Compare it with what the administrator of the machine tells you. ssh "
                           "keeps a key that you trust in ~/.ssh/known_hosts.")  # fmt: skip
            self.body.addWidget(forms.label(told, "muted", wrap=True))
        elif not note and question.kind != "confirm":
            self.text = secret()
            self.go.setText(self.tr("&Sign") if signs else self.tr("&Connect"))
            self.go.setEnabled(False)
            self.go.setDefault(True)
            self.text.textChanged.connect(lambda text: self.go.setEnabled(bool(text)))
            told = self.tr("Torchkeeper hands it to {} and does not keep it.")
            told = told.format("ssh-keygen" if signs else "ssh")
            if signs and not pin:
                told = f"{told} {self.tr('A key in ssh-agent needs none.')}"
            forms.field(self.body, self.tr("&Answer"), self.text, told)
        self.body.addStretch(1)
        self.buttons(self.cancel, *([] if note else [self.go]))
        self.cancel.setDefault(not self.text)
        (self.text or self.cancel).setFocus()
        #: Whether nobody waits for an answer any more.
        self.answered = False
        self.accepted.connect(self._answer)
        self.rejected.connect(self._refuse)

    def _refuse(self) -> None:
        if not self.answered:
            self.answered = True
            self.question.answer(None)

    def _answer(self) -> None:
        self.answered = True
        self.question.answer(self.text.text() if self.text else "yes")
        if self.text:
            self.text.clear()

    def over(self) -> None:
        """It is answered, or nobody waits for an answer any more."""
        if not self.answered:
            self.answered = True
            self.reject()


def ask(window: QWidget, question: Question) -> None:
    """Ask it instead of what the same one asked before, and after what others ask."""
    every = window.findChildren(QuestionDialog)
    for one in every:
        if one.question.by is question.by:
            one.over()
    if question.text:
        dialog = QuestionDialog(window, question)
        dialog.finished.connect(lambda _: _next(window))
        if not any(one.isVisible() for one in every):
            dialog.open()


def _next(window: QWidget) -> None:
    """Ask what has waited for longest."""
    every = [one for one in window.findChildren(QuestionDialog) if not one.answered]
    if every and not any(one.isVisible() for one in every):
        every[0].open()
