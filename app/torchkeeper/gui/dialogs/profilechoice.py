"""The choice of a profile in a dialog: the settings of the session, or exactly those of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.pages.profiles import known as known_profiles
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.known import Kept
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.choices import Choice
from torchkeeper.link.profiles import applying
from torchkeeper.link.profiles.profile import Profile
from torchkeeper.link.words.findingwords import said
from torchkeeper.link.words.problems import UserError, printable
from torchkeeper.settings.rules import About, about_of, check

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env


class ProfileChoice(QWidget):
    """Reads the profiles in the worker's thread, and says below what is wrong with the chosen one;
    one that is not there any more is the session's instead.
    """

    #: Another was chosen, or more is known of it.
    changed = Signal()

    def __init__(self, engines: Engines, first: str = "") -> None:
        """first: the name of the one to begin with; "" for the session's."""
        super().__init__()
        self._engines = engines
        self._first = first
        self._facts: Env | None = None
        self._into = ""
        self._profiles: dict[str, Profile] = {}
        #: Whether what there is was read: before, nothing is known of the one to begin with.
        self.read = False
        self.combo = Choice()
        self.combo.addItem(self.tr("As in my session"), "")
        self.about = forms.label("", "muted", wrap=True)
        self.moved = forms.label("", "muted", wrap=True)
        self.moved.hide()
        whole = forms.column(gap=4)
        whole.addWidget(self.combo)
        whole.addWidget(self.about)
        whole.addWidget(self.moved)
        self.setLayout(whole)
        self.setFocusProxy(self.combo)
        self.about.hide()
        self.combo.currentIndexChanged.connect(self._say)
        listener = Listener(result=self._fill, failed=self._failed)
        self._ticket = engines.background(listener, known_profiles.listed)

    @property
    def name(self) -> str:
        """The profile that is chosen; "" for the session's."""
        return str(self.combo.currentData() or "")

    @property
    def good(self) -> bool:
        """Whether it can be used, as far as is known."""
        if not self.read:
            return not self._first
        return not self.name or not any(one.severity == "error" for one in self._found())

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.combo.setAccessibleName(name)

    def use(self, facts: Env | None, into: str) -> None:
        """In which environment, and into which place what is compiled goes."""
        if (facts, into) != (self._facts, self._into):
            self._facts, self._into = facts, into
            self._tell()

    def let_go(self) -> None:
        """Nobody waits for the answer any more."""
        self._engines.forget(self._ticket)

    def _fill(self, every: Sequence[Kept]) -> None:
        self.read = True
        self._profiles = {one.name: one.profile for one in every if one.profile is not None}
        self.combo.blockSignals(True)
        for name in self._profiles:
            self.combo.addItem(self.tr("Profile {}").format(printable(name, 64)), name)
        self.combo.setCurrentIndex(max(0, self.combo.findData(self._first)))
        self.combo.blockSignals(False)
        self._say()

    def _failed(self, error: UserError) -> None:
        self.read = True
        self.about.setText(f"{error.what} {error.why}")
        forms.set_role(self.about, "error")
        self.about.show()
        self.changed.emit()

    def _found(self) -> Sequence[Any]:
        about = about_of(self._facts) if self._facts else About()
        profile = self._profiles.get(self.name)
        return check(profile.values, about) if profile is not None else ()

    def _say(self, *_: object) -> None:
        self._tell()
        self.changed.emit()

    def _tell(self) -> None:
        profile = self._profiles.get(self.name)
        if profile is None:
            if self.read:
                self.about.hide()
            self.moved.hide()
            return
        found = self._found()
        bad = [one for one in found if one.severity != "advice"]
        text, role = profile.about, "muted"
        if bad:
            text = f"{words.counted(bad)}: {said(bad[0]).what}"
            role = "warning"
        if not self.good:
            text += " " + self.tr("Correct it under Go > Settings, or choose another.")
            role = "error"
        self.about.setText(text)
        forms.set_role(self.about, role)
        moved = applying.moved(profile, self._into) if self._into and self.good else []
        self.moved.setText("\n".join(moved))
        self.moved.setVisible(bool(moved))
        self.about.setVisible(bool(self.about.text()))
