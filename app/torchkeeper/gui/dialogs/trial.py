"""What trying a server out comes to: what it is, how much it holds, whether it may be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFormLayout, QLabel, QWidget

from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.blank import Notice
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import UserError, printable
from torchkeeper.link.words.serverpage import changes

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import DuResult
    from torchkeeper.engine.messages.servers import ServerResult


class Login(NamedTuple):
    """How to log in for a trial: with a password, or with that of another server."""

    password: str | None = None
    login_of: str | None = None


def _tr(text: str) -> str:
    return QCoreApplication.translate("Trial", text)


def _remedy(error: UserError) -> str:
    """What to do about an error, where there are fields to do it with."""
    return {
        "certificate-untrusted": _tr("Choose the CA that signed it, under CA certificates."),
        "client-certificate-needed": _tr("Choose yours, under Client certificate."),
        "password-needed": _tr("Give the password above, and the user if there is one."),
        "password-unneeded": _tr("Leave the password out: if one is kept, forget it."),
        "database-out-of-range": _tr("Change the number at the end of the address."),
    }.get(error.code, error.remedy)


class Trial(QWidget):
    """Asks a server for what there is to know of it, and shows that; nothing on it changes."""

    #: It could not be asked, or does not let in: why.
    failed = Signal(object)

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._tickets: list[int] = []
        self.said = forms.label("", "muted", wrap=True)
        self.said.setAccessibleName(self.tr("What the server says"))
        self.notice = Notice()
        #: What is shown of the server, by what it is about.
        self.facts: dict[str, QLabel] = {}
        #: All that were made: PySide (6.11) may have let go of a label that ``removeRow`` takes
        #: away, which crashes.
        self._made: dict[str, QLabel] = {}
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(24)
        self.form.setVerticalSpacing(4)
        whole = forms.column()
        whole.setContentsMargins(0, forms.GAP, 0, 0)
        whole.addWidget(self.said)
        whole.addLayout(self.form)
        whole.addWidget(self.notice)
        self.setLayout(whole)
        self.hide()

    def begin(self, place: str, login: Login) -> None:
        """Ask a server."""
        self.clear()
        self._say(self.tr("Asking the server…"))
        listener = Listener(
            result=lambda page: self._answered(place, page, login), failed=self.fail
        )
        self._ask("server", place, listener, login)

    def _ask(self, op: str, place: str, listener: Listener, login: Login) -> None:
        # In an engine of its own: what is tried is not what others use from now on.
        ticket = self._engines.ask(op, {"place": place}, listener, password=login.password,
                                   login_of=login.login_of)  # fmt: skip
        self._tickets.append(ticket)

    def clear(self) -> None:
        """Forget what was found: something has been changed since."""
        for ticket in self._tickets:
            self._engines.forget(ticket)
        self._tickets.clear()
        self.notice.tell(None)
        self._say("")
        self.facts.clear()
        for shown in self._made.values():
            self.form.setRowVisible(shown, False)
        self.hide()

    def fail(self, error: UserError) -> None:
        """Say what is wrong."""
        self.clear()
        self.notice.tell(UserError(error.what, error.why, _remedy(error), code=error.code))
        self.show()
        self.failed.emit(error)

    def _say(self, text: str, role: str = "muted") -> None:
        self.said.setText(text)
        self.said.setVisible(bool(text))
        forms.set_role(self.said, role)
        self.setVisible(bool(text))

    def _answered(self, place: str, page: ServerResult, login: Login) -> None:
        self._say(self.tr("The server answers, and lets you in."), "good")
        self._fact("version", self.tr("Version"), printable(page["version"] or "", 80))
        self._fact("memory", self.tr("Memory"), _memory(page))
        keys = page["keys"]
        if keys is not None:
            self._fact("keys", self.tr("Keys in the database"), f"{keys:,}")
        self._fact("changes", self.tr("Changes"), changes(page))
        if keys:
            self._fact("ours", self.tr("Of torch.compile"), self.tr("counting…"))
            listener = Listener(
                result=self._counted, progress=self._counting, failed=self._not_counted
            )
            self._ask("du", place, listener, login)

    def _counting(self, done: float, total: float | None, unit: str) -> None:
        if unit == "keys" and total:
            of = f"{done:,.0f}", f"{total:,.0f}"
            self._fact("ours", "", self.tr("looking at {} of about {} keys…").format(*of))

    def _counted(self, found: DuResult) -> None:
        kinds = found["kinds"]
        kernels = sum(one["files"] for one in kinds if one["kind"] == "triton")
        entries = sum(one["entries"] for one in kinds if one["kind"] != "triton")
        size = sum(one["bytes"] for one in kinds)
        if entries or kernels:
            parts = [self.tr("{} of PyTorch").format(f"{entries:,}")] if entries else []
            parts += [self.tr("{} of Triton").format(f"{kernels:,}")] if kernels else []
            text = f"{', '.join(parts)} · {say.size(size)}"
        else:
            text = self.tr("none yet")
        self._fact("ours", "", text)

    def _not_counted(self, error: UserError) -> None:
        self._fact("ours", "", error.what)

    def _fact(self, key: str, name: str, value: str) -> None:
        """Add a line, or change one that is there."""
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
    if limit:
        return _tr("{} of {} used").format(say.size(used), say.size(limit))
    return _tr("{} used, no limit").format(say.size(used))
