"""The environments, which of them is chosen, their words, and the button that chooses one.
Nothing here waits: a thread looks for interpreters, processes ask each for a limited time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from PySide6.QtCore import QCoreApplication, QObject, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.probes import Everywhere
from torchkeeper.client.words import environments as words
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.places.model import host_of, machine_of
from torchkeeper.gui.widgets.plain import caption, tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import ProbeResult
    from torchkeeper.stores.shapes import Writer
    from torchkeeper.verdict.probed import Env

tr = partial(QCoreApplication.translate, "Environment")

#: Where the chosen one is kept: its path, or NONE; where there is nothing, the first with a torch.
KEY = "environment/python"
NONE = "none"
#: So many are asked at once: each loads its torch.
_AT_ONCE = 2
#: Characters of a path in a menu; its end tells more than its beginning.
_PATH = 56


class State(StrEnum):
    """What is known of an interpreter."""

    UNASKED = "unasked"
    #: It was found, and is not started before the user says so.
    FOUND = "found"
    ASKING = "asking"
    FAILED = "failed"
    WITHOUT = "without"
    KNOWN = "known"


@dataclass(eq=False)
class Environment:
    """An interpreter, and what a probe said of it. label: why it is known. added: whether the user
    named it. starts: whether it may be started (client.engines.interpreters). counts: whether it
    may have a torch as far as the disk tells. writers: what of it others can change. facts: as
    verdict.environment.probe tells; those of before while it is asked again. error: why it could
    not be asked.
    """

    python: str
    label: str
    added: bool = False
    starts: bool = True
    counts: bool = True
    writers: Sequence[Writer] = field(default_factory=list)
    facts: Env | None = None
    error: UserError | None = None
    ticket: int | None = None

    @property
    def state(self) -> State:
        if self.ticket is not None:
            return State.ASKING
        if self.error is not None:
            return State.FAILED
        if self.facts is None:
            return State.UNASKED if self.starts else State.FOUND
        return State.KNOWN if self.facts.get("torch") else State.WITHOUT

    @property
    def unasked(self) -> UserError | None:
        """Why it is not known what it can use, where that counts; None while it is asked."""
        if self.state is State.FOUND:
            return interpreters.not_started(self.python) if self.counts else None
        why = str((self.facts or {}).get("torch_error") or "")
        return (
            user_error("torch-broken", {"python": self.python, "why": why}) if why else self.error
        )

    @property
    def torch(self) -> str:
        """The version of its torch; empty where none is known."""
        return (self.facts or {}).get("torch") or ""


class Environments(QObject):
    """The interpreters that are known of a machine, and which of them the user has chosen."""

    #: There are more or fewer, or something was found of one.
    changed = Signal()
    #: Whether one that was found is to be started is for the user to say: an Environment.
    to_start = Signal(object)
    #: Something could not be done: a UserError.
    failed = Signal(object)

    def __init__(
        self, engines: Engines, settings: QSettings, parent: QObject, machine: str = ""
    ) -> None:
        """machine: as of ``Scheme.machine``; "" is this one."""
        super().__init__(parent)
        self._engines, self._settings, self.machine = engines, settings, machine
        at = f"environment/at/{quote(machine, safe='')}/"
        self._key = KEY.replace("environment/", at) if machine else KEY
        #: Where dialogs keep that they have another one than the window.
        self._owns = f"{self._key.removesuffix('python')}own"
        self.every: list[Environment] = []
        #: Whether they were looked for at all, and are just now.
        self.found = self.looking = False
        #: Why some of those that the user added may be missing.
        self._problem: UserError | None = None

    @property
    def waits(self) -> str:
        """What for, where nobody looks for them yet."""
        if not self.machine or self.found or self.looking:
            return ""
        return tr("They are known once {} is connected.").format(host_of(self.machine))

    @property
    def off(self) -> bool:
        """Whether the user wants no verdicts."""
        return str(self._settings.value(self._key) or "") == NONE

    @property
    def chosen(self) -> Environment | None:
        """What the user chose, else the first that has a torch as far as is known."""
        if self.off:
            return None
        hopeless = (State.WITHOUT, State.FAILED)
        hopeful = (one for one in self.every if one.starts and one.state not in hopeless)
        return self.of(str(self._settings.value(self._key) or "")) or next(hopeful, None)

    def choose(self, python: str | None) -> None:
        """Choose one for the whole window, or none; asks before it starts one that was found."""
        one = self.of(python or "")
        if one is not None and one.state is State.FOUND:
            self.to_start.emit(one)
            return
        if one is not None and not one.starts:  # what it is was kept
            self.add(one.python, lambda one: self.choose(one.python))
            return
        self._settings.setValue(self._key, NONE if python is None else python)
        self._settings.remove(self._owns)  # dialogs follow again
        self.changed.emit()
        self.find()
        self._ask_chosen()

    def own(self, dialog: str) -> str | None:
        """What a dialog has for itself: an interpreter, empty for none; None for the chosen one."""
        kept = str(self._settings.value(f"{self._owns}/{dialog}") or "")
        return ("" if kept == NONE else kept) if kept else None

    def keep_own(self, dialog: str, python: str | None) -> None:
        """Have a dialog begin with it, until another one is chosen for all."""
        if python is None:
            self._settings.remove(f"{self._owns}/{dialog}")
        else:
            self._settings.setValue(f"{self._owns}/{dialog}", python or NONE)

    def find(self) -> None:
        """Look for interpreters, once."""
        if not self.found and not self.looking:
            self.looking = True
            self._look(self._found)

    def _look(self, then: Callable[[lookups.Found], None], **change: str) -> None:
        def failed(error: UserError) -> None:
            # Nobody waits for more; of another machine it may be told once that is reached.
            self.found, self.looking = not self.machine, False
            self.failed.emit(error)
            self.changed.emit()

        listener = Listener(result=then, failed=failed)
        self._engines.background(listener, lookups.interpreters, machine=self.machine, **change)

    def add(self, python: str, then: Callable[[Environment], object] | None = None) -> None:
        """Put one on the list, and ask it, as it may be from now on; then call ``then`` with it."""

        def added(told: lookups.Found) -> None:
            self._found(told)
            if (one := self.of(told["added"])) is not None:
                if one.state is State.UNASKED:  # it may be started now
                    self.ask(one)
                if then is not None:
                    then(one)

        self._look(added, add=python)

    def remove(self, python: str) -> None:
        """Take one that was added off the list."""
        self._look(self._found, remove=python)

    def of(self, python: str) -> Environment | None:
        return next((one for one in self.every if one.python == python), None)

    def _found(self, told: lookups.Found) -> None:
        known = {one.python: one for one in self.every}
        self.every = []
        for row in told["interpreters"]:
            one = known.pop(row["python"], None) or Environment(row["python"], "")
            one.label, one.added = row["label"], row["added"]
            one.starts, one.writers, one.counts = row["starts"], row["writers"], row["counts"]
            if one.facts is None and one.error is None:
                one.facts = row["facts"]
            self.every.append(one)
        for one in known.values():
            self._engines.forget(one.ticket)
            one.ticket = None
        self.found = True
        if (problem := told["problem"]) is not None:
            self.failed.emit(problem)
        self._problem = problem
        self.changed.emit()
        self._ask_chosen()

    def _ask_chosen(self) -> None:
        if (one := self.chosen) is not None and one.state is State.UNASKED:
            self.ask(one)

    def ask_all(self) -> None:
        """Ask some that have said nothing; to be called again when something has ``changed``."""
        for one in self.every:
            if one.state is State.UNASKED and self.asking < _AT_ONCE:
                self.ask(one)

    @property
    def asking(self) -> int:
        """How many are being asked."""
        return sum(one.state is State.ASKING for one in self.every)

    def everywhere(self, without: Collection[str] = ()) -> Everywhere:
        """The environments that count; without: interpreters that do not where they cannot be
        asked.
        """
        known = [(one.python, one.facts) for one in self.every if one.facts and one.torch]
        wrong = [(one.python, one.unasked) for one in self.every if one.counts and not one.torch]
        failed = [(python, why) for python, why in wrong if why and python not in without]
        return Everywhere(known, [*failed, *([("", self._problem)] if self._problem else [])])

    def ask(self, one: Environment, *, again: bool = False) -> None:
        """Ask what it is, ``again`` whatever is kept; one that may not start stays as it is."""
        if not one.starts:
            self.to_start.emit(one)
            return
        self._engines.forget(one.ticket)

        def end() -> None:
            one.ticket = None
            patience.deleteLater()
            self.changed.emit()
            self._ask_chosen()  # where this one has no torch, the next may have

        def told(facts: ProbeResult) -> None:
            # What is as it was is the same environment: its verdicts hold.
            one.facts, one.error = one.facts if facts == one.facts else facts, None
            end()

        def failed(error: UserError) -> None:
            one.facts, one.error = None, error
            end()

        def late() -> None:
            if one.ticket != ticket:
                patience.deleteLater()
                return  # it has answered, or was taken off the list
            self._engines.forget(ticket)
            stuck = {"python": one.python, "seconds": round(probes.LIMIT)}
            failed(user_error("probe-stuck", stuck))

        listener = Listener(result=told, failed=failed)
        params = {"again": True} if again else {}
        ticket = one.ticket = self._engines.ask(protocol.PROBE, params, listener, python=one.python)
        # A timer of its own: Qt's single shot would outlive the window by minutes.
        patience = once(self, late, round(probes.LIMIT * 1000))
        patience.start()
        self.changed.emit()


def _text(value: object) -> str:
    return printable(str(value), 80) if isinstance(value, (str, int, float)) and value else ""


def _accelerators(told: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(name for one in told if (name := _text(one))))


def facts_of(env: Mapping[str, object]) -> list[tuple[str, str]]:
    """What a bundle tells of an environment, as (name, value); nothing for what is not known."""
    gpus = env.get("gpus")
    found = [
        (tr("torch"), _text(env.get("torch"))),
        (tr("Triton"), _text(env.get("triton"))),
        (tr("CUDA"), _text(env.get("cuda"))),
        (tr("ROCm"), _text(env.get("hip"))),
        (tr("GPU"), _accelerators(gpus if isinstance(gpus, list) else ())),
        (tr("CPU"), _text(env.get("cpu")) or _text(env.get("machine"))),
        (tr("Threads"), _text(env.get("threads"))),
        (tr("Python"), _text(env.get("python"))),
        (tr("System"), _text(env.get("platform"))),
    ]
    return [(name, value) for name, value in found if value]


def summary_of(env: Env) -> str:
    """One line for a probed interpreter."""
    if not env.get("torch"):
        return tr("This interpreter has no torch. Choose another one.")
    parts = [tr("torch {}").format(_text(env.get("torch")))]
    if triton := _text(env.get("triton")):
        parts.append(tr("Triton {}").format(triton))
    others = (one for one in env.get("devices", ()) if one["type"] != "cpu")
    gpus = _accelerators(one["name"] or one["type"] for one in others)
    parts.append(gpus if gpus else tr("no GPU: compiles for the CPU"))
    return " · ".join(parts)


def short_path(path: str) -> str:
    """A path that fits a menu, in which nothing is a mnemonic."""
    shown = printable(path)
    return ("…" + shown[-_PATH:] if len(shown) > _PATH else shown).replace("&", "&&")


def state_text(one: Environment) -> str:
    if one.torch:
        return tr("torch {}").format(printable(one.torch, 40))
    if one.state is State.WITHOUT and (one.facts or {}).get("torch_error"):
        return tr("torch is broken")
    return {
        State.UNASKED: tr("not asked yet"),
        State.FOUND: tr("not started yet"),
        State.ASKING: tr("asking…"),
        State.FAILED: tr("does not answer"),
        State.WITHOUT: tr("no torch"),
    }.get(one.state, "")


#: What a menu of environments offers besides: text, hint, what it stands for, whether it is on.
Row = tuple[str, str, str | None, bool]


def fill(
    menu: QMenu, rows: Sequence[Row], environments: Environments, at: Environment | None,
    last: Sequence[Row], then: Callable[[str | None], object],
) -> None:  # fmt: skip
    """Offer environments, of which ``at`` is on, between other rows."""
    group = QActionGroup(menu)

    def add(text: str, hint: str, python: str | None, on: bool) -> None:
        action = QAction(text, group)
        action.setToolTip(tip(hint))
        action.setCheckable(True)
        action.setChecked(on)
        action.triggered.connect(lambda: then(python))
        menu.addAction(action)

    for row in rows:
        add(*row)
    if rows:
        menu.addSeparator()
    for one in environments.every:
        text = caption(f"{state_text(one)}   {short_path(one.python)}")
        add(text, printable(one.python), one.python, one is at)
    if environments.every and last:
        menu.addSeparator()
    for row in last:
        add(*row)


class Machines(QObject):
    """The environments of each machine; the window is about those of one: of what it shows."""

    #: There is news of those that the window is about, or they are others.
    changed = Signal()
    #: As of ``Environments``, of any.
    to_start = Signal(object)
    failed = Signal(object)

    def __init__(
        self,
        engines: Engines,
        settings: QSettings,
        place: Callable[[], str | None],
        parent: QObject,
    ) -> None:
        """place: that is shown; ``look`` is to be called when it may be another."""
        super().__init__(parent)
        self._engines, self._settings, self._place = engines, settings, place
        self._of: dict[str, Environments] = {}
        self._told = self.shown

    @property
    def shown(self) -> Environments:
        return self.of(self._place())

    def of(self, place: str | None) -> Environments:
        """Those of the machine that a place is on; of this one without any."""
        machine = machine_of(place or "")
        if (found := self._of.get(machine)) is None:
            found = self._of[machine] = Environments(self._engines, self._settings, self, machine)
            found.changed.connect(partial(self._tell, machine))
            found.to_start.connect(self.to_start)
            found.failed.connect(self.failed)
        return found

    def choose(self, python: str | None) -> None:
        """Choose one of those that the window is about, or none."""
        self.shown.choose(python)

    def _tell(self, machine: str) -> None:
        if machine == self.shown.machine:
            self.changed.emit()

    def look(self) -> None:
        """Say so where the window is about others."""
        if self.shown is not self._told:
            self._told = self.shown
            self.changed.emit()


class Chooser(QToolButton):
    """The one choice of the environment: says which it is, and lets another be chosen."""

    def __init__(self, machines: Machines, more: Sequence[QAction]) -> None:
        """more: what the menu offers besides."""
        super().__init__()
        self.setObjectName("environment")
        self._machines, self._more = machines, list(more)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(18, 18))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMenu(QMenu(self))
        self.menu().setToolTipsVisible(True)
        self.menu().aboutToShow.connect(self._open)
        machines.changed.connect(self._say)
        machines.changed.connect(self._fill_shown)
        theme.follow(self, self._say)

    @property
    def _environments(self) -> Environments:
        return self._machines.shown

    def _say(self) -> None:
        text, more, icon = self._words(self._environments.chosen)
        self.setText(text)
        self.setToolTip(tip(more))
        self.setAccessibleName(self.tr("Environment: {}").format(text))
        self.setIcon(theme.icon(icon, theme.shades().warning if icon == "warning" else None))

    def _words(self, chosen: Environment | None) -> tuple[str, str, str]:
        if self._environments.off:
            hint = self.tr("Choose the environment that the window uses")
            return self.tr("No environment"), hint, "machine"
        if chosen is None:
            if self._environments.found:
                tip = self.tr("No interpreter with a torch was found: add one")
                return self.tr("No torch"), tip, "warning"
            waits, looks = self._environments.waits, self.tr("Looking for torch…")
            return self.tr("No connection") if waits else looks, waits, "machine"
        python = printable(chosen.python)
        if chosen.torch:
            text = self.tr("Environment: torch {}").format(printable(chosen.torch, 40))
            tip = self.tr("Verdicts, pages and dialogs are about this environment:")
            facts = summary_of(chosen.facts or {})
            return text, f"{tip}\n{python}\n{facts}", "machine"
        if chosen.state is State.FAILED:
            tip = "\n".join(filter(None, str(chosen.error).splitlines()))
            return self.tr("Torch does not answer"), tip, "warning"
        if chosen.state is State.FOUND:
            tip = self.tr("It was found and never started")
            return self.tr("Torch not started"), f"{python}\n{tip}", "warning"
        if chosen.state is State.WITHOUT:
            why = printable(words.without_torch(chosen.facts or {}), 400)
            return self.tr("No torch"), f"{python}\n{why}", "warning"
        return (
            self.tr("Asking torch…"),
            self.tr("Torchkeeper is asking {}").format(python),
            "machine",
        )

    def _open(self) -> None:
        self._environments.find()
        self._fill()

    def _fill_shown(self) -> None:
        if self.menu().isVisible():
            self._fill()

    def _fill(self) -> None:
        menu, environments = self.menu(), self._environments
        for action in menu.actions():
            menu.removeAction(action)
        for group in menu.findChildren(QActionGroup):
            group.deleteLater()
        hint = self.tr("Work without an environment: verdicts are off")
        none = self.tr("&No environment"), hint, None, environments.off
        fill(menu, [], environments, environments.chosen, [none], environments.choose)
        menu.addSeparator()
        menu.addActions(self._more)
