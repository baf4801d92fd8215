"""The environment that a page or a dialog is about: the window's, or in a dialog another one."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from torchkeeper.client.words import environments as words
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.verdicts.environments import (
    Environment,
    Environments,
    Machines,
    State,
    fill,
    state_text,
    summary_of,
)
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Elided
from torchkeeper.gui.widgets.plain import caption, tip
from torchkeeper.verdict.probed import Env


class EnvironmentChoice(forms.Compound):
    """Follows the choice of the window and says what that is; a dialog can have one of its own."""

    #: It is another, or more is known of it.
    changed = Signal()

    def __init__(
        self, environments: Environments | Machines, dialog: str = "", none: str = ""
    ) -> None:
        """environments: of one machine; ``Machines`` for a page, which follows the shown one.
        dialog: the name under which a dialog keeps its choice; empty on a page. none: the text of
        the choice of no environment, where that may be chosen.
        """
        super().__init__()
        self._known, self._dialog, self._none = environments, dialog, none
        environments = self._environments
        #: Its own: None to follow the window, empty for none.
        self._own = environments.own(dialog) if dialog else None
        self.which, self.about = Elided(), forms.label("", "muted", wrap=True)
        #: What the window has, where this has another.
        self.beside = forms.label("", "muted", wrap=True)
        both = forms.page(forms.column(self.about, self.beside, forms.REST, gap=0))
        forms.keep_room(both, 2 if dialog else 1)
        self.change = forms.button(self.tr("Cha&nge for this…"), self._ask_which, enter=False)
        self.change.setVisible(bool(dialog))
        self.about.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        said = forms.column(self.which, both, forms.REST, gap=4)
        self.setLayout(forms.row((said, 1), (self.change, forms.TOP), gap=16))
        if dialog:
            self.setFocusProxy(self.change)
        self._known.changed.connect(self._follow)
        self._follow()
        environments.find()

    def turn(self, environments: Environments) -> None:
        """Be about those of another machine from now on."""
        if environments is not self._known:
            self._known.changed.disconnect(self._follow)
            self._known, self._own = environments, environments.own(self._dialog)
            environments.changed.connect(self._follow)
            environments.find()
            self._follow()

    @property
    def _environments(self) -> Environments:
        return self._known.shown if isinstance(self._known, Machines) else self._known

    @property
    def one(self) -> Environment | None:
        """The environment; None for none."""
        return self._chosen if self._own is None else self._environments.of(self._own)

    @property
    def _chosen(self) -> Environment | None:
        """That of the window; where it has none and one is needed, the first that may do."""
        chosen = self._environments.chosen
        if chosen is None and not (self._none and self._environments.off):
            hopeless = (State.WITHOUT, State.FAILED, State.FOUND)
            every = self._environments.every
            chosen = next((one for one in every if one.state not in hopeless), None)
        return chosen

    @property
    def python(self) -> str:
        """Its interpreter; empty for none, and for one that is not started."""
        one = self.one
        return "" if one is None or one.state is State.FOUND else one.python

    @property
    def facts(self) -> Env | None:
        """What it says of itself, where it has a torch."""
        one = self.one
        return one.facts if one is not None and one.torch else None

    @property
    def waiting(self) -> bool:
        """Whether it is not known yet what it is."""
        one, none = self.one, self._own == "" or (self._none and self._environments.off)
        if one is None:
            return not (none or self._environments.found)
        return one.state in (State.UNASKED, State.ASKING) and not one.torch

    def choose(self, python: str) -> None:
        """Begin with another than the window's, which is not remembered."""
        chosen = self._chosen
        if self._environments.of(python) is not None:
            self._own = python if chosen is None or chosen.python != python else None
            self._follow()

    def setAccessibleName(self, name: str) -> None:
        QWidget.setAccessibleName(self, name)  # the button is called what it changes
        self._say()

    def _ask_which(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        chosen = self._environments.chosen
        window = caption(state_text(chosen)) if chosen is not None else self.tr("none")
        follows, none = self.tr("The window's environment"), self.tr("None of these environments")
        rows = [(self.tr("As in the &window: {}").format(window), follows, None, self._own is None)]
        last = [(self._none, none, "", self._own == "")] if self._none else []
        at = self.one if self._own else None
        fill(menu, rows, self._environments, at, last, self._take)
        menu.popup(self.change.mapToGlobal(QPoint(0, self.change.height())))

    def _take(self, python: str | None) -> None:
        self._own = python
        self._environments.keep_own(self._dialog, python)
        self._follow()

    def _follow(self) -> None:
        environments = self._environments
        if self._own and environments.found and environments.of(self._own) is None:
            self._own = None  # it is off the list
        one = self.one
        if one is not None and one.state is State.UNASKED:
            environments.ask(one)  # which changes it, and comes back here
            return
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        one = self.one
        said, role = self._what(one) if one is not None else self._nothing()
        if one is not None:
            self.which.setText(f"{printable(one.python)}  ({printable(one.label)})")
        self.which.setToolTip(tip(self.which.text()))
        forms.set_role(self.about, role)
        forms.tell(self.about, said)
        forms.tell(self.beside, self._beside())
        self.which.setAccessibleName(f"{self.accessibleName()}: {self.which.text()}")
        verb = self.change.text().replace("&", "")
        self.change.setAccessibleName(f"{self.which.accessibleName()}: {verb}")
        texts = filter(None, (said, self.beside.text()))
        self.change.setAccessibleDescription("\n".join(texts))

    def _beside(self) -> str:
        """What the window has, where this has another."""
        environments, chosen = self._environments, self._environments.chosen
        if not (self._dialog and environments.found):
            return ""
        if self._own is None:
            apart = self.one is not None and chosen is None
            return self.tr("The first that fits: the window has no environment.") if apart else ""
        if chosen is None:
            return self.tr("Only for this: the window has no environment.")
        other = f"{state_text(chosen)}, {printable(chosen.python)}"
        return self.tr("Only for this. The window has {}.").format(other)

    def _nothing(self) -> tuple[str, str]:
        if self._none and (self._own == "" or self._environments.off):
            self.which.setText(self._none)
            follows = self._own is None
            return self.tr("The window has no environment.") if follows else "", "muted"
        if not self._environments.found:
            self.which.setText(self._none)
            return self._environments.waits or self.tr("Looking for interpreters…"), "muted"
        self.which.setText(self._none or self.tr("No interpreter"))
        if machine := self._environments.machine:
            said = self.tr("No interpreter on {} has torch, as far as is known. Add one that has, "
                           "under Environments on the left.")  # fmt: skip
            return said.format(host_of(machine)), "error"
        return self.tr("No interpreter was found. Add one under Environments on the left, or name "
                       "it in TORCHKEEPER_TORCH_PYTHON."), "error"  # fmt: skip

    def _what(self, one: Environment) -> tuple[str, str]:
        if one.torch:
            return summary_of(one.facts or {}), "muted"
        if one.error is not None and one.state is not State.ASKING:
            return "\n".join(filter(None, str(one.error).splitlines())), "error"
        if one.state is State.WITHOUT:
            return printable(words.without_torch(one.facts or {}), 400), "error"
        if one.state is State.FOUND:
            said = self.tr("This interpreter was found and never started. “Start it” under "
                           "Environments on the left starts it.")  # fmt: skip
            return said, "muted"
        return self.tr("Asking this interpreter for its torch…"), "muted"
