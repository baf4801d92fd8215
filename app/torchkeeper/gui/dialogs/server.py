"""The dialog of a server: where it is and how to log in, for a new one and one on the list."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLabel, QLineEdit, QWidget

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words import say
from torchkeeper.client.words.environments import changes
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import Dialog, choose_file
from torchkeeper.gui.dialogs.serverpage import KeepBox, secret
from torchkeeper.gui.places.model import Place, machine_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.redis import through
from torchkeeper.stores.redis.address import Address, parse

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import DuResult, ServerResult

_tr = partial(QCoreApplication.translate, "Trial")


class Login(NamedTuple):
    """How to log in for a trial: with a password, or with that of another server."""

    password: str | None = None
    login_of: str | None = None


def _remedy(error: UserError) -> str:
    """What to do about an error, where there are fields to do it with."""
    return {
        "certificate-untrusted": _tr("Choose the CA that signed it, under CA certificates."),
        "client-certificate-needed": _tr("Choose yours, under Client certificate."),
        "password-needed": _tr("Give the password above, and the user if there is one."),
        "password-unneeded": _tr("Leave the password out; forget one that is kept."),
        "database-out-of-range": _tr("Change the number at the end of the address."),
    }.get(error.code, error.remedy)


class Trial(QWidget):
    """Asks a server for what there is to know of it, and shows that; nothing on it changes."""

    #: It could not be asked, or does not let in: why.
    failed = Signal(object)

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._looked = Latest(engines, self)
        self.said = forms.label("", "muted", wrap=True)
        self.said.setAccessibleName(self.tr("What the server says"))
        self.notice = Notice()
        #: What is shown of the server, by what it is about.
        self.facts: dict[str, QLabel] = {}
        #: All that were made, kept: PySide (6.11) may have let go of a label that ``removeRow``
        #: takes away, which crashes.
        self._made: dict[str, QLabel] = {}
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(24)
        self.form.setVerticalSpacing(4)
        self.setLayout(forms.column(self.said, self.form, self.notice, margin=(0, forms.GAP, 0, 0)))
        self.hide()

    def begin(self, place: str, login: Login) -> None:
        self.clear()
        self._say(self.tr("Asking the server…"))
        answered = partial(self._answered, place, login)
        self._ask(protocol.SERVER, place, Listener(result=answered, failed=self.fail), login)

    def _ask(self, op: str, place: str, listener: Listener, login: Login) -> None:
        # In an engine of its own: what is tried is not what others use from now on.
        how = {"password": login.password, "login_of": login.login_of}
        self._looked.ask(op, {"place": place}, listener, **how)

    def clear(self) -> None:
        """Forget what was found: something has been changed since."""
        self._looked.forget()
        self.notice.tell(None)
        self._say("")
        self.facts.clear()
        for shown in self._made.values():
            self.form.setRowVisible(shown, False)
        self.hide()

    def fail(self, error: UserError) -> None:
        self.clear()
        self.notice.tell(UserError(error.what, error.why, _remedy(error), code=error.code))
        self.show()
        self.failed.emit(error)

    def _say(self, text: str, role: str = "muted") -> None:
        forms.tell(self.said, text)
        forms.set_role(self.said, role)
        self.setVisible(bool(text))

    def _answered(self, place: str, login: Login, page: ServerResult) -> None:
        self._say(self.tr("The server answers and accepts the login."), "good")
        self._fact("version", self.tr("Version"), printable(page["version"] or "", 80))
        self._fact("memory", self.tr("Memory"), _memory(page))
        keys = page["keys"]
        if keys is not None:
            self._fact("keys", self.tr("Keys in the database"), f"{keys:,}")
        self._fact("changes", self.tr("Changes"), changes(page))
        if keys:
            self._fact("ours", self.tr("Of torch.compile"), self.tr("counting…"))
            heard = Listener(
                result=self._counted,
                progress=self._counting,
                failed=lambda error: self._fact("ours", "", error.what),
            )
            self._ask(protocol.DU, place, heard, login)

    def _counting(self, done: float, total: float | None, unit: str) -> None:
        if unit == "keys" and total:
            of = f"{done:,.0f}", f"{total:,.0f}"
            self._fact("ours", "", self.tr("looking at {} of about {} keys…").format(*of))

    def _counted(self, found: DuResult) -> None:
        kinds = found["kinds"]
        kernels = sum(one["files"] for one in kinds if one["kind"] == "triton")
        entries = sum(one["entries"] for one in kinds if one["kind"] != "triton")
        parts = [self.tr("{} of PyTorch").format(f"{entries:,}")] if entries else []
        parts += [self.tr("{} of Triton").format(f"{kernels:,}")] if kernels else []
        text = f"{', '.join(parts)} · {say.size(sum(one['bytes'] for one in kinds))}"
        self._fact("ours", "", text if parts else self.tr("none yet"))

    def _fact(self, key: str, name: str, value: str) -> None:
        if key in self.facts or (value and key in self._made):
            shown = self.facts[key] = self._made[key]
            shown.setText(value)
            self.form.setRowVisible(shown, True)
        elif value:
            shown = self.facts[key] = self._made[key] = forms.label(value, wrap=True)
            forms.fact(self.form, name, shown)


def _memory(page: ServerResult) -> str:
    used, limit = page["used_memory"], page["max_memory"]
    if used is None:
        return ""
    text = _tr("{} of {} used") if limit else _tr("{} used, no limit")
    return text.format(say.size(used), say.size(limit or 0))


#: What stands before the host: a user and a password, of which the last may hold anything.
_LOGIN = re.compile(r"((?:(?:rediss?|unix)://)?)(.*)@(.*)", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"([?&])password=([^&]*)&?")
#: An address within what was copied: a line of a shell or of a settings file.
_WITHIN = re.compile(
    r".*?\b((?:ssh://[^\s\"'/]*/)?(?:rediss?|unix)://[^\s\"']*)[\s\"';]*", re.IGNORECASE | re.DOTALL
)
#: The fields at fault, by the beginning of the code.
_AT_FAULT = (
    ("password-unneeded", "password"), ("password", "password"), ("client-certificate", "own"),
    ("certificate-file", "ca"), ("certificate-untrusted", "ca"), ("address", "address"),
    ("server-unknown-host", "address"), ("server-refused", "address"),
    ("server-no-tls", "address"), ("server-wants-tls", "address"), ("socket", "address"),
    ("database", "address"), ("ssh", "address"),
)  # fmt: skip


class FileField(forms.Compound):
    """The path of a file, typed or chosen."""

    def __init__(self, title: str, hint: str, letter: str) -> None:
        super().__init__()
        self.edit = forms.line_edit(hint)
        self.browse = forms.button(forms.lettered(self.tr("Choose…"), letter), enter=False)
        self.browse.clicked.connect(lambda: choose_file(self, title, "", "", self.edit.setText))
        self.setLayout(forms.row((self.edit, 1), self.browse))
        self.setFocusProxy(self.edit)

    @property
    def path(self) -> str:
        """What was typed or chosen; empty for none."""
        return self.edit.text().strip()


def _alike(old: Address, new: Address) -> bool:
    """Whether the password of one may be sent to the other: to the same, and no less secured."""
    less = old.scheme == "rediss" and (new.scheme != "rediss" or new.cert_reqs != old.cert_reqs)
    where = [(one.way, one.scheme == "unix", one.host, one.port, one.path, one.username)
             for one in (old, new)]  # fmt: skip
    return where[0] == where[1] and not less


class ServerDialog(Dialog):
    """Asks where a Redis is and how to log in, and tries it out. others: names that are taken."""

    def __init__(
        self, parent: QWidget, engines: Engines, place: Place | None, others: Collection[str]
    ) -> None:
        super().__init__(parent, 600, "place")
        add, change = self.tr("Add a server or a machine"), self.tr("Edit a server")
        self.setWindowTitle(add if place is None else change)
        self.old = place
        self.forgets = False
        #: What stands in the fields while they are empty.
        self._hints: dict[QLineEdit, str] = {}
        self._others, self._engines = others, engines
        self.name = forms.line_edit(self.tr("Its address"))
        self.name.setMaxLength(80)
        examples = "ssh://gpu1   ssh://gpu1/path   redis://cache:6379/0   ssh://gpu1/redis://cache"
        self.address = forms.line_edit(examples if place is None else "redis://localhost:6379/0")
        self.user = forms.line_edit(self.tr("Only if the server has users"))
        self.password = secret()
        self.keep = KeepBox(engines)
        forget = self.tr("For&get password")
        self.forget = forms.button(forget, self._forget, danger=True, enter=False)
        self.forget.setVisible(place is not None)
        self.ca = FileField(self.tr("CA certificates"), self.tr("Those of the system"), "o")
        asked = self.tr("Only if the server asks for one")
        self.certificate = FileField(self.tr("Client certificate"), asked, "h")
        apart = self.tr("If it is not in the same file")
        self.key = FileField(self.tr("Key of the certificate"), apart, "s")
        self.read_only = QCheckBox(self.tr("&Read-only"))
        self.trial = Trial(engines)
        self.test = forms.button(self.tr("&Test"), self._test, enter=False)
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        verb = self.tr("A&dd") if place is None else self.tr("Sa&ve")
        self.go = forms.button(verb, self._go, primary=True)
        self.go.setDefault(True)
        self._lay_out()
        if place is not None:
            self._fill(place)
        self.address.textChanged.connect(self._typed)
        for edit in (self.user, self.password, self.ca.edit, self.certificate.edit, self.key.edit):
            edit.textChanged.connect(self.trial.clear)
        self._typed()
        self.trial.failed.connect(self._go_to_fault)
        (self.address if self.address.isEnabled() else self.name).setFocus()

    def _fill(self, place: Place) -> None:
        """What is known of a server; its password is not shown to anybody."""
        address = parse(place.path).address
        bare = replace(address, username="", ca_certs="", certfile="", keyfile="")
        self.name.setText(place.name)
        self.user.setText(address.username)
        self.ca.edit.setText(address.ca_certs)
        self.certificate.edit.setText(address.certfile)
        self.key.edit.setText(address.keyfile)
        self.address.setText(str(bare))
        self.read_only.setChecked(place.read_only)
        self.password.setPlaceholderText(self.tr("Left as it is"))
        self.name.setPlaceholderText(place._replace(name="").title)
        if not place.added:
            for field in (self.address, self.user, self.files):
                field.setEnabled(False)
            where = self.tr("The environment variable {} says where it is.")
            self.where.setText(where.format(place.reason))

    def _lay_out(self) -> None:
        asked = forms.column()
        text = self.tr("A Redis server; rediss:// is one over TLS, unix:// a socket.")
        if self.old is None:
            text = self.tr("Another machine, a folder or bundle there, or a Redis server, also one "
                           "that only that machine reaches.")  # fmt: skip
        forms.field(asked, self.tr("&Address"), self.address, text)
        self.where = forms.label("", "muted", wrap=True)
        if self.old is not None and not self.old.added:
            asked.addWidget(self.where)
        asked.addSpacing(forms.GAP)
        login = forms.row(gap=16)
        for text, control in ((self.tr("&User"), self.user), (self.tr("&Password"), self.password)):
            part = forms.column()
            forms.field(part, text, control)
            login.addLayout(part, 1)
        forms.add(asked, login, forms.row((self.keep, 1), self.forget))
        files = forms.column(margin=(0, forms.GAP, 0, 0))
        forms.field(files, self.tr("&CA certificates"), self.ca)
        forms.field(files, self.tr("Client c&ertificate"), self.certificate)
        forms.field(files, self.tr("Key of the certi&ficate"), self.key)
        self.files = forms.frame("tls", files)
        forms.add(asked, self.files, forms.GAP)
        forms.field(asked, self.tr("&Name in the list"), self.name)
        hint = self.tr(
            "Torchkeeper removes nothing from it, copies nothing into it and changes no expiry."
        )
        self.read_only.setAccessibleDescription(hint)
        forms.add(asked, forms.GAP, self.read_only, forms.label(hint, "muted", wrap=True))
        asked.addStretch(1)
        self.body.addLayout(asked)
        self.forget.hold(self.tr("For&gotten"))
        self.buttons(self.cancel, self.go, before=(self.test,), pinned=(self.trial,))
        # What a server says has its room from the start.
        self.resize_within(620, 600)

    def done(self, result: int) -> None:
        self.trial.clear()
        super().done(result)

    @property
    def place(self) -> str:
        """The name of the server. Raises Problem("address-wrong")."""
        text = self.address.text().strip()
        if self._elsewhere:
            return scheme_of(text).parted(text)[0]
        address = parse(text if "://" in text else f"redis://{text}").address
        if self.user.text().strip():
            address = replace(address, username=self.user.text().strip())
        if address.scheme == "rediss":
            address = replace(
                address,
                ca_certs=self.ca.path or address.ca_certs,
                certfile=self.certificate.path or address.certfile,
                keyfile=self.key.path or address.keyfile,
            )
        # Looked at again, with the files.
        return str(parse(str(address)).address)

    @property
    def _elsewhere(self) -> bool:
        """Whether it is a folder on another machine, to which ssh finds the way."""
        return scheme_of(self.address.text().strip()).elsewhere

    @property
    def keeps_password(self) -> bool:
        """Whether the password of the server that is changed is that of what it is now, too."""
        if self.old is None or self.forgets or self.password.text():
            return False
        return _alike(parse(self.old.path).address, parse(self.place).address)

    def _typed(self) -> None:
        """A password in the address moves to where it is not seen."""
        text = self.address.text()
        self._ask_for_login(not self._elsewhere)
        alone = self._elsewhere and machine_of(text.strip()) == text.strip().rstrip("/")
        self.read_only.setDisabled(alone)  # each of its places is, or is not
        if self._elsewhere:
            self.trial.clear()
            self.test.setEnabled(False)
            self.go.setEnabled(True)
            self.files.hide()
            return
        if (found := _WITHIN.fullmatch(text)) and found[1] != text:
            self.address.setText(found[1])
            return
        machine, there = through(text)
        if found := _LOGIN.fullmatch(there):
            user, colon, password = found[2].partition(":")
            if colon:
                self.user.setText(unquote(user))
                self.password.setText(unquote(password))
                self.address.setText((machine and f"{machine}/") + found[1] + found[3])
                return
        if found := _OPTION.search(text):
            self.password.setText(unquote(found[2]))
            rest = text[: found.start()] + found[1] + text[found.end() :]
            self.address.setText(rest.rstrip("?&"))
            return
        self.files.setVisible(there.strip().lower().startswith("rediss://"))
        for button in (self.test, self.go):
            button.setEnabled(bool(text.strip()))
        self.trial.clear()

    def _ask_for_login(self, on: bool) -> None:
        """Whether what is asked for besides the address is of use; where it is not, say why."""
        logs_in = self.tr("ssh logs in, and asks for what it needs")
        named = self.tr("Only servers have names of their own")
        for field, why in ((self.user, logs_in), (self.password, logs_in), (self.name, named)):
            hint = self._hints.setdefault(field, field.placeholderText())
            field.setEnabled(on)
            field.setPlaceholderText(hint if on else why)
        self.keep.tell("" if on else logs_in)
        self.test.setToolTip("" if on else tip(self.tr("Add connects, and says what is wrong")))

    def _go_to_fault(self, error: UserError) -> None:
        fields = {"address": self.address, "password": self.password, "ca": self.ca,
                  "own": self.certificate}  # fmt: skip
        name = next((name for start, name in _AT_FAULT if error.code.startswith(start)), None)
        if name and fields[name].isVisible() and fields[name].isEnabled():
            fields[name].setFocus()

    def _named(self) -> str | None:
        try:
            place = self.place
        except Problem as problem:
            self.trial.fail(user_error(problem.code, problem.params))
            return None
        if place in self._others and (self.old is None or place != self.old.path):
            taken = self.tr("This server is on the list already.")
            remedy = self.tr("Edit it there, or give another address or database.")
            self.trial.fail(UserError(taken, "", remedy, code="address-taken"))
            return None
        return place

    def _forget(self) -> None:
        self.forgets = True
        self.password.clear()
        self.password.setPlaceholderText("")
        self.forget.setEnabled(False)
        self.forget.setText(self.tr("For&gotten"))
        self._engines.forget_password(self.old.path if self.old else self.place)

    def _test(self) -> None:
        if (place := self._named()) is not None:
            login_of = self.old.path if self.old and self.keeps_password else None
            self.trial.begin(place, Login(self.password.text() or None, login_of))

    def _go(self) -> None:
        if self._named() is not None:
            self.accept()
