"""The choice of an environment in a dialog: one of the interpreters that are known."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal

from torchkeeper.client.words import environments as words
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.verdicts.environments import Environment, Environments, State, summary_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice, Compound
from torchkeeper.verdict.probed import Env


class EnvironmentChoice(Compound):
    """An interpreter, at first that of the verdicts, and below it what it says of itself."""

    #: Another was chosen, or more is known of it.
    changed = Signal()

    def __init__(self, environments: Environments, none: str = "") -> None:
        """none: what an entry for no environment at all says; without it there is none."""
        super().__init__()
        self._environments, self._none = environments, none
        #: Whether the user has chosen: then nothing else is.
        self._touched = False
        self.combo = Choice(40)
        self.about = forms.label("", "muted", wrap=True)
        forms.keep_room(self.about, 2)
        self.setLayout(forms.column(self.combo, self.about, gap=4))
        self.setFocusProxy(self.combo)
        self.combo.activated.connect(self._touch)
        self.combo.currentIndexChanged.connect(lambda *_: self._ask())
        environments.changed.connect(self._fill)
        self._fill()
        environments.find()

    @property
    def one(self) -> Environment | None:
        """The environment that is chosen; None for none."""
        return self._environments.of(str(self.combo.currentData() or ""))

    @property
    def python(self) -> str:
        """The interpreter that is chosen; empty for none, and for one that is not started."""
        one = self.one
        found = one is not None and one.state is State.FOUND
        return "" if found else str(self.combo.currentData() or "")

    @property
    def facts(self) -> Env | None:
        """What it says of itself, where it has a torch."""
        one = self.one
        return one.facts if one is not None and one.torch else None

    @property
    def waiting(self) -> bool:
        """Whether it is not known yet what it is."""
        if not self._environments.found and not self.combo.count():
            return True
        one = self.one
        return one is not None and one.state in (State.UNASKED, State.ASKING) and not one.torch

    def choose(self, python: str) -> None:
        """Choose an interpreter that is known."""
        if (row := self.combo.findData(python)) >= 0:
            self._touched = True
            self.combo.setCurrentIndex(row)

    def _touch(self) -> None:
        self._touched = True

    def _fill(self) -> None:
        every = self._environments.every
        rows = [(f"{printable(x.python)}  ({printable(x.label)})", x.python) for x in every]
        if self._none:
            rows.append((self._none, ""))
        if [self.combo.itemData(row) for row in range(self.combo.count())] != [r[1] for r in rows]:
            self.combo.offer(rows, str(self.combo.currentData() or ""))
        if not self._touched:
            first = self._environments.chosen
            if first is None and not (self._none and self._environments.off):
                hopeless = (State.WITHOUT, State.FAILED, State.FOUND)
                first = next((one for one in every if one.state not in hopeless), None)
            row = self.combo.findData(first.python if first is not None else "")
            with QSignalBlocker(self.combo):
                self.combo.setCurrentIndex(max(0, row))
        self._ask()

    def _ask(self) -> None:
        one = self.one
        if one is not None and one.state is State.UNASKED:
            self._environments.ask(one)  # which changes it, and comes back here
            return
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        one, role = self.one, "muted"
        if one is None and self.combo.count():
            said = ""
        elif one is None:
            said, found = self.tr("Looking for interpreters…"), self._environments.found
            if found:
                said, role = self.tr("No interpreter was found. Add one under Environments on the "
                           "left, or name it in TORCHKEEPER_TORCH_PYTHON."), "error"  # fmt: skip
            self.combo.setPlaceholderText(self.tr("No interpreter") if found else "")
        elif one.torch:
            said = summary_of(one.facts or {})
        elif one.error is not None and one.state is not State.ASKING:
            said, role = "\n".join(filter(None, str(one.error).splitlines())), "error"
        elif one.state is State.WITHOUT:
            said, role = printable(words.without_torch(one.facts or {}), 400), "error"
        elif one.state is State.FOUND:
            said = self.tr("This interpreter was found and never started. “Start it” under "
                           "Environments on the left starts it.")  # fmt: skip
        else:
            said = self.tr("Asking this interpreter for its torch…")
        forms.set_role(self.about, role)
        forms.tell(self.about, said)
