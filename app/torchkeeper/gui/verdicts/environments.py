"""The environments that verdicts can be about. Nothing here waits: interpreters are looked for in a
thread, and each is asked in a process of its own for a limited time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, QTimer, Signal

from torchkeeper.client.engines import interpreters
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import ProbeResult
    from torchkeeper.gui.background.lookups import Found
    from torchkeeper.stores.shapes import Writer
    from torchkeeper.verdict.probed import Env

#: Where the chosen one is kept: its path, or NONE; where there is nothing, the first with a torch.
KEY = "environment/python"
NONE = "none"
#: So many are asked at once: each loads its torch.
_AT_ONCE = 2


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
        """What is known of it."""
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
        return self.error

    @property
    def torch(self) -> str:
        """The version of its torch; empty where none is known."""
        return (self.facts or {}).get("torch") or ""


class Environments(QObject):
    """The interpreters that are known, and which of them the user has chosen."""

    #: There are more or fewer, or something was found of one.
    changed = Signal()
    #: Whether one that was found is to be started is for the user to say: an Environment.
    to_start = Signal(object)
    #: Something could not be done: a UserError.
    failed = Signal(object)

    def __init__(
        self, engines: Engines, settings: QSettings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engines, self._settings = engines, settings
        self.every: list[Environment] = []
        #: Whether they were looked for at all.
        self.found = self._finding = False

    @property
    def off(self) -> bool:
        """Whether the user wants no verdicts."""
        return str(self._settings.value(KEY) or "") == NONE

    @property
    def chosen(self) -> Environment | None:
        """What the user chose, else the first that has a torch as far as is known."""
        if self.off:
            return None
        hopeless = (State.WITHOUT, State.FAILED)
        hopeful = (one for one in self.every if one.starts and one.state not in hopeless)
        return self.of(str(self._settings.value(KEY) or "")) or next(hopeful, None)

    def choose(self, python: str | None) -> None:
        """Have verdicts be about this one, or none; whether one found is started, is asked."""
        one = self.of(python or "")
        if one is not None and one.state is State.FOUND:
            self.to_start.emit(one)
            return
        if one is not None and not one.starts:  # what it is was kept
            self.add(one.python, lambda one: self.choose(one.python))
            return
        self._settings.setValue(KEY, NONE if python is None else python)
        self.changed.emit()
        self.find()
        self._ask_chosen()

    def find(self) -> None:
        """Look for interpreters, once."""
        if not self.found and not self._finding:
            self._finding = True
            self._look(self._found)

    def _look(self, then: Callable[[Found], None], **change: str) -> None:
        listener = Listener(result=then, failed=self.failed.emit)
        self._engines.background(listener, lookups.interpreters, **change)

    def add(self, python: str, then: Callable[[Environment], object] | None = None) -> None:
        """Put an interpreter on the list, and ask it; then call ``then`` with it."""

        def added(told: Found) -> None:
            self._found(told)
            if (one := self.of(told["added"])) is not None:
                if one.state is State.UNASKED:  # it may be started now
                    self.ask(one)
                if then is not None:
                    then(one)

        self._look(added, add=python)

    def start(self, one: Environment, then: Callable[[Environment], object] | None = None) -> None:
        """Have one that was found be started now, and whenever it is asked."""
        self.add(one.python, then)

    def remove(self, python: str) -> None:
        """Take one that was added off the list."""
        self._look(self._found, remove=python)

    def of(self, python: str) -> Environment | None:
        """The environment of an interpreter."""
        return next((one for one in self.every if one.python == python), None)

    def _found(self, told: Found) -> None:
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
        if told["problem"] is not None:
            self.failed.emit(told["problem"])
        self.changed.emit()
        self._ask_chosen()

    def _ask_chosen(self) -> None:
        if (one := self.chosen) is not None and one.state is State.UNASKED:
            self.ask(one)

    def ask_all(self) -> None:
        """Ask some that have said nothing; to be called again when something has ``changed``."""
        for one in self.every:
            asking = sum(other.state is State.ASKING for other in self.every)
            if one.state is State.UNASKED and asking < _AT_ONCE:
                self.ask(one)

    def ask(self, one: Environment, *, again: bool = False) -> None:
        """Ask what it is, ``again`` whatever is kept; one that may not start stays as it is."""
        if not one.starts:
            self.to_start.emit(one)
            return
        self._engines.forget(one.ticket)

        def end() -> None:
            one.ticket = None
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
                return  # it has answered, or was taken off the list
            self._engines.forget(ticket)
            failed(user_error("probe-stuck", {"python": one.python, "seconds": round(_limit())}))

        listener = Listener(result=told, failed=failed)
        params = {"again": True} if again else {}
        ticket = one.ticket = self._engines.ask(protocol.PROBE, params, listener, python=one.python)
        QTimer.singleShot(round(_limit() * 1000), self, late)
        self.changed.emit()


def _limit() -> float:
    """Seconds that a probe may take."""
    from torchkeeper.client.engines import probes

    return probes.LIMIT
