"""What dialogs ask and show of a server: a login, its figures, the expiry of entries."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLineEdit, QWidget

from torchkeeper.client import secrets
from torchkeeper.client.words import owned, say
from torchkeeper.client.words.environments import figures, meanings
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import ServerParams, ServerResult

_tr = partial(QCoreApplication.translate, "ServerPage")

#: Seconds of the units that an expiry is given in.
_UNITS = (3600, 86400, 7 * 86400)


class ServerPage(Dialog):
    """Asks a server for its figures and shows them."""

    def __init__(self, parent: QWidget, engines: Engines, place: str, title: str = "") -> None:
        super().__init__(parent, 560, "place")
        self.setWindowTitle(self.tr("Server"))
        self._asked = Latest(engines, self)
        self.title = forms.label(title or Place(place).title, "title", wrap=True)
        self.said = forms.label(self.tr("Asking the server…"), "muted", wrap=True)
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(24)
        self.form.setVerticalSpacing(forms.GAP)
        forms.add(self.body, self.title, 4, self.said, self.form)
        self.notice = Notice()
        self.notice.again.connect(self._ask)
        self.meaning = forms.column()
        forms.add(self.body, self.notice, self.meaning, forms.REST)
        self.close_button = forms.button(self.tr("Close"), self.reject)
        self.buttons(self.close_button)
        # What the server says has its room from the start.
        self.resize_within(600, 560)
        self._place = place
        self._ask()

    def _ask(self) -> None:
        self.notice.tell(None)
        self.said.show()
        listener = Listener(result=self._told, failed=self._failed)
        params: ServerParams = {"place": self._place}
        self._asked.ask(protocol.SERVER, params, listener, shared=True, aside=True)

    def _told(self, page: ServerResult) -> None:
        self.said.hide()
        for name, value in figures(page):
            forms.fact(self.form, name, forms.label(value, wrap=True))
        found = [f"{one.what} {one.why} {one.remedy}" for one in owned.told(page["owners"])]
        found += meanings(page)
        if found:
            forms.add(self.meaning, forms.GAP, forms.label(self.tr("What that means"), "heading"))
            forms.add(self.meaning, *(forms.label(text, wrap=True) for text in found))

    def _failed(self, error: UserError) -> None:
        self.said.hide()
        self.notice.tell(error, again=True)


class ExpiryDialog(Dialog):
    """Asks when entries are to expire, or that they never do."""

    def __init__(self, parent: QWidget | None, place: str, count: int) -> None:
        super().__init__(parent, 480, "place")
        self._count = count
        self.setWindowTitle(self.tr("Expiry"))
        entries = say.count(count, "entry", "entries")
        title = self.tr("When do {} expire?") if count != 1 else self.tr("When does {} expire?")
        self.body.addWidget(forms.label(title.format(entries), "title", wrap=True))
        where = several(
            count,
            "{place} deletes it then, and programs compile it again.",
            "{place} deletes them then, and programs compile them again.",
            place=printable(place),
        )
        forms.add(self.body, forms.label(where, "muted", wrap=True), forms.GAP)
        self.number = forms.Number(1, 999, self.tr("How many"))
        self.number.setValue(30)
        self.unit = forms.Choice()
        self.unit.addItems(
            [self.tr("hours from now"), self.tr("days from now"), self.tr("weeks from now"),
             self.tr("never")]
        )  # fmt: skip
        self.unit.setCurrentIndex(1)
        self.unit.setAccessibleName(self.tr("When"))
        self.number.setFixedHeight(self.unit.sizeHint().height())
        self.number.setMinimumWidth(88)
        self.hint = forms.label("", "muted", wrap=True)
        forms.add(self.body, forms.row(self.number, self.unit, forms.REST), self.hint, forms.REST)
        self.number.valueChanged.connect(self._say)
        self.unit.currentIndexChanged.connect(self._say)
        self._say()
        self.cancel = forms.button(self.tr("Cancel"), self.reject)
        self.go = forms.button(self.tr("&Set expiry"), self.accept, primary=True)
        self.go.setDefault(True)
        self.buttons(self.cancel, self.go)

    def _say(self) -> None:
        seconds = self.seconds
        self.number.setEnabled(seconds is not None)
        if seconds is None:
            text = several(
                self._count,
                "It stays until somebody purges it, or the server is full.",
                "They stay until somebody purges them, or the server is full.",
            )
        else:
            text = several(
                self._count,
                "On {when}. This replaces its expiry of before.",
                "On {when}. This replaces their expiry of before.",
                when=say.when(time.time() + seconds)[:-3],
            )
        self.hint.setText(text)

    @property
    def seconds(self) -> float | None:
        """From now until they expire; None for never."""
        chosen = self.unit.currentIndex()
        return float(self.number.value() * _UNITS[chosen]) if chosen < len(_UNITS) else None


class KeepBox(QCheckBox):
    """Offers to keep a password in the system's keyring, where the system has one."""

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self.setText(self.tr("&Keep in the system's keyring"))
        self._there, self._apart, self._told = False, "", self.tr("Looking for a keyring…")
        self.tell()
        Latest(engines, self).call(Listener(result=self._found), secrets.can_keep)

    def _found(self, there: bool) -> None:
        self._there = there
        self._told = (
            self.tr("If you do not keep it, Torchkeeper forgets it when you close the window.")
            if there
            else self.tr(
                "This system has no keyring: Torchkeeper forgets it when you close the window."
            )
        )
        self.tell(self._apart)

    def tell(self, apart: str = "") -> None:
        """What becomes of the password; apart: why there is none."""
        self._apart = apart
        self.setEnabled(self._there and not apart)
        self.setToolTip(tip(apart or self._told))
        self.setAccessibleDescription(apart or self._told)


def secret() -> QLineEdit:
    """A field whose text nobody sees."""
    made = QLineEdit()
    made.setEchoMode(QLineEdit.EchoMode.Password)
    return made


class PasswordDialog(Dialog):
    """Asks for the password of a server that wants one, or another one."""

    def __init__(
        self, parent: QWidget, engines: Engines, place: str, error: UserError, title: str = ""
    ) -> None:
        super().__init__(parent, 480, "place")
        self.setWindowTitle(self.tr("Password of {}").format(title or Place(place).title))
        self.place = place
        self.password = secret()
        self.keep = KeepBox(engines)
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.go = forms.button(self.tr("&Connect"), self.accept, primary=True)
        self.go.setEnabled(False)
        self.go.setDefault(True)
        self.password.textChanged.connect(lambda text: self.go.setEnabled(bool(text)))
        wrong = error.code == "password-wrong"
        self.what = forms.label(error.what, "error" if wrong else "heading", wrap=True)
        why = [forms.label(error.why, "muted", wrap=True)] if wrong and error.why else []
        forms.add(self.body, self.what, *why, forms.GAP)
        forms.field(self.body, self.tr("&Password"), self.password)
        self.body.addWidget(self.keep)
        self.buttons(self.cancel, self.go)
        self.password.setFocus()
