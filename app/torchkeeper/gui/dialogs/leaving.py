"""What is asked and told before entries leave a place: the key, secrets, what would stay out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.client.signers import Key
from torchkeeper.client.words import leaks, say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import choose_file
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Secrets
    from torchkeeper.engine.messages.findings import Finding

#: Where the name of the key is remembered that was chosen last: a path, or a public key.
SIGN_WITH = "sign/key"
#: Secrets that are listed; how many there are is said in any case.
_LISTED = 200
#: Reasons that are named one by one.
_NAMED = 4


class KeyChoice(forms.Compound):
    """Looks for the keys itself; ``value`` is the name of the chosen one (``client.signers``)."""

    changed = Signal()

    def __init__(self, engines: Engines, settings: QSettings, *, needed: bool = False) -> None:
        """needed: there is no way without a key."""
        super().__init__()
        self._settings, self._needed = settings, needed
        self._looked = Latest(engines, self)
        self._keys: list[Key] = []
        self._error: UserError | None = None
        #: The name of the key that is chosen, as far as it goes before the keys are known.
        self._wanted = str(settings.value(SIGN_WITH) or "")
        #: Why the file that was chosen holds no key.
        self._wrong: UserError | None = None
        self._without_agent = ""
        self.combo = forms.Choice(30)
        self.combo.activated.connect(lambda *_: self._chosen())
        self.file = forms.button(self.tr("Other &key…"), self._browse, enter=False)
        self.file.setToolTip(self.tr("Choose the file of a key, private or public"))
        self.said = forms.label("", "muted", wrap=True)
        forms.keep_room(self.said, 2)
        self.setLayout(forms.column(forms.row((self.combo, 1), self.file), self.said, gap=4))
        self.setFocusProxy(self.combo)
        self._look("")

    @property
    def value(self) -> str:
        """The name of the key; empty for none."""
        return self._wanted if self._error is None else ""

    @property
    def why_not(self) -> str:
        """Why nothing can be signed as it was chosen; empty where it can, or need not."""
        if self.busy:
            return self.tr("Torchkeeper is still looking for your keys.") if self._wanted else ""
        if self._error is not None:
            return self._error.what if self._needed else ""
        if self._wanted and self._key is None:
            return self.said.text()
        return self.tr("Choose the key to sign with.") if self._needed and not self._wanted else ""

    @property
    def busy(self) -> bool:
        """Whether the keys are still being looked for."""
        return self._looked.busy

    def keep(self) -> None:
        if self._error is None and (self._key is not None or not self._wanted):
            self._settings.setValue(SIGN_WITH, self._wanted)

    @property
    def _key(self) -> Key | None:
        return next((key for key in self._keys if key.name == self._wanted), None)

    def _look(self, file: str) -> None:
        """Look for the keys; file: one that was chosen, which is to be among them."""
        listener = Listener(result=lambda found: self._found(found, file), failed=self._failed)
        self._looked.call(listener, lookups.keys, file)
        self._fill()

    def _found(self, found: lookups.Keys, file: str) -> None:
        self._error = None
        self._wrong = found["wrong"]
        keys: dict[str, Key] = {}
        for key in found["keys"]:
            keys.setdefault(key.name, key)
        self._keys = list(keys.values())
        self._without_agent = found["without_agent"]
        if file:
            self._wanted = file
        elif self._wanted and self._key is None and os.path.isabs(self._wanted):
            # It was chosen as a file once, from wherever that is.
            self._look(self._wanted)
            return
        elif self._needed and not self._wanted and self._keys:
            self._wanted = self._keys[0].name
        self._fill()

    def _failed(self, error: UserError) -> None:
        self._error = error
        self._fill()

    def _fill(self) -> None:
        self.combo.clear()
        if not self._needed:
            self.combo.addItem(self.tr("No signature"), "")
        for key in self._keys:
            self.combo.addItem(_title(key), key.name)
        row = self.combo.findData(self._wanted)
        if row < 0 and self._wanted and self._error is None:
            self.combo.addItem(_short(self._wanted), self._wanted)
            row = self.combo.count() - 1
        self.combo.setCurrentIndex(row if self._error is None else 0 if not self._needed else -1)
        able = self._error is None
        self.combo.setPlaceholderText(self.tr("No key") if not self.busy else "")
        waited = not self.combo.isEnabled()
        self.combo.setEnabled(able and self.combo.count() > 0)
        if waited and self._needed and self.window().focusWidget() is self.file:
            # It had the keyboard for want of keys to choose from.
            self.combo.setFocus()
        self.file.setEnabled(able)
        self._say()

    def _chosen(self) -> None:
        self._wrong = None
        self._wanted = str(self.combo.currentData() or "")
        self._say()

    def _say(self) -> None:
        text, role, key = "", "muted", self._key
        if self._error is not None:
            text = f"{self._error.what} {self._error.why} {self._error.remedy}".strip()
        elif self.busy:
            text = self.tr("Looking for your keys…") if self._wanted or self._needed else ""
        elif key is not None:
            text = _about(key, self.tr("held by ssh-agent"), self.tr("to be touched"))
        elif self._wanted:
            text, role = self.tr("Neither ~/.ssh nor ssh-agent has this key now."), "error"
            if self._wrong is not None:
                text = f"{self._wrong.what} {self._wrong.why}"
        elif not self._keys:
            text = self.tr("There is no key in ~/.ssh. {} “ssh-keygen -t ed25519” makes one.")
            text = text.format(self._without_agent).replace("  ", " ")
        forms.set_role(self.said, role)
        forms.tell(self.said, text)
        hint = self.tr("A signature shows others that the bundle is yours and unchanged.")
        self.combo.setToolTip(tip(text or hint))
        self.combo.setAccessibleDescription(text or hint)
        self.changed.emit()

    def _browse(self) -> None:
        folder = os.path.expanduser("~/.ssh/")
        choose_file(self, self.tr("Key to sign with"), folder, "", self.choose_file)

    def choose_file(self, path: str) -> None:
        """Sign with the key in a file."""
        self._wanted = path
        self._look(path)


def _short(name: str) -> str:
    if not os.path.isabs(name):
        return printable(name.partition(" ")[0], 60)
    home = os.path.expanduser("~").rstrip("/") + "/"
    return printable(f"~/{name[len(home) :]}" if name.startswith(home) else name, 200)


def _title(key: Key) -> str:
    return _short(key.name) if os.path.isabs(key.name) else printable(key.comment or key.kind, 80)


def _about(key: Key, held: str, touched: str) -> str:
    first = [key.kind, key.fingerprint]
    more = [key.comment if os.path.isabs(key.name) else "", held if key.agent else "",
            touched if key.hardware else ""]  # fmt: skip
    lines = (" · ".join(filter(None, parts)) for parts in (first, more))
    return "\n".join(printable(line, 300) for line in lines if line)


class SecretChoice(QWidget):
    """Hidden where there are neither secrets nor private facts; nothing is decided unasked."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._found: list[str] = []
        self._told: Leaks | None = None
        #: What would stay out, by the reason.
        self.stays = Stays()
        self.heading = forms.label("", "heading")
        self.list = forms.read_only_text(self.tr("Secrets that were found"))
        self.list.setFixedHeight(self.list.fontMetrics().lineSpacing() * 4 + 20)
        self.choice = forms.Choice()
        self.choice.setPlaceholderText(self.tr("Choose what to do with them"))
        self.choice.addItem(self.tr("Redact them: write an x for each character"), "redact")
        self.choice.addItem(self.tr("Leave these entries out"), "leave")
        self.choice.addItem(self.tr("Keep them: none of this is secret"), "allow")
        self.choice.setCurrentIndex(-1)
        self.choice.setAccessibleName(self.tr("What to do with secrets"))
        self.choice.currentIndexChanged.connect(lambda *_: self._say())
        self.note = forms.label("", "muted", wrap=True)
        self.private = forms.label("", "muted", wrap=True)
        inside = forms.column(self.heading, self.list, forms.row(self.choice, forms.REST), gap=6)
        self._notice = forms.frame("notice", forms.row((inside, 1), margin=(12, 10, 12, 10)))
        self.setLayout(forms.column(self._notice, self.note, self.private))
        self._say()

    def clear(self) -> None:
        """Nothing is known any more; what was decided stays."""
        self._found, self._told = [], None
        self.stays.clear()
        self._say()

    def choose(self, value: Secrets) -> None:
        """Decide, as the user did elsewhere."""
        self.choice.setCurrentIndex(self.choice.findData(value))

    def take(self, found: list[Finding]) -> None:
        """Note what an engine has found, with everything else."""
        before = self._told
        self.stays.take(found)
        for one in found:
            if "secret" in one and len(self._found) < _LISTED:
                self._found.append(leaks.line(one["secret"], brief=True))
            elif "leaks" in one:
                self._told = one["leaks"]
        if self._told is not before:
            self._say()

    @property
    def secrets(self) -> int:
        """How many were found."""
        return self._told["secrets"] if self._told else 0

    @property
    def value(self) -> Secrets | None:
        """What an engine is to be told; None while there is nothing to decide, or undecided."""
        chosen: Secrets | None = self.choice.currentData()
        return chosen if self.secrets else None

    @property
    def undecided(self) -> bool:
        """Whether somebody has to say what is to become of them."""
        return self.secrets > 0 and self.choice.currentIndex() < 0

    @property
    def left_out(self) -> int:
        """How many entries would be left out as they cannot be redacted."""
        return self._told["fixed"] if self._told and self.choice.currentData() == "redact" else 0

    def _say(self) -> None:
        told, count = self._told, self.secrets
        entries = say.count(told["entries"] if told else 0, "entry", "entries")
        secrets = say.count(count, "password or key", "passwords or keys")
        self.heading.setText(self.tr("{} found in {}").format(secrets, entries))
        if self.list.toPlainText() != (lines := "\n".join(self._found)):
            self.list.setPlainText(lines)
        fixed = told["fixed"] if told else 0
        redact = self.choice.currentData() == "redact"
        text = self.tr(
            "{} cannot be redacted, because their content decides their name: they are left out."
        )
        if fixed == 1:
            text = self.tr(
                "{} cannot be redacted, because its content decides its name: it is left out."
            )
        note = text.format(say.count(fixed, "entry", "entries"))
        forms.tell(self.note, note if fixed and redact else "")
        facts = leaks.private(told["private"] if told else ())
        private = self.tr("The entries also contain {}").format("; ".join(facts))
        forms.tell(self.private, private if facts else "")
        self._notice.setVisible(count > 0)
        self.setVisible(bool(count or facts))
        self.changed.emit()


class Stays(Counter[str]):
    """How many entries stay out for each reason."""

    def take(self, found: list[Finding]) -> None:
        """Count what an engine has found."""
        for one in found:
            if "left" in one:
                self[user_error(one["left"]["code"], one["left"]["params"]).what] += 1

    def words(self, tr: Callable[[str], str]) -> str:
        """How many stay out and why, a line for each reason; empty where none does."""
        count = sum(self.values())
        if not count:
            return ""
        if count == 1:
            stay, why = tr("One entry stays out"), self.most_common(1)[0][0]
            # But an abbreviation stays one.
            return f"{stay}: {why if why[1:2].isupper() else why[:1].lower() + why[1:]}"
        reasons = [f"{number:,} × {why}" for why, number in self.most_common(_NAMED)]
        if len(self) > _NAMED:
            reasons.append(tr("and {} reasons more").format(len(self) - _NAMED))
        stay = tr("{} stay out").format(say.count(count, "entry", "entries"))
        return "\n".join([f"{stay}:", *reasons])
