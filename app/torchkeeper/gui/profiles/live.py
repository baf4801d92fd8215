"""What is wrong with a set of values, told while somebody types: the rules at once, and what has to
be looked up (a folder, a server) by an engine once nothing is typed for a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.link.words import UserError
from torchkeeper.settings.finding import SEVERITIES, Finding
from torchkeeper.settings.rules import About, check

#: Milliseconds without a key press before an engine is asked.
_TYPING_MS = 600


def about(facts: Mapping[str, Any] | None) -> About:
    """What the rules want to know of an environment, as far as its probe has told it."""
    if not facts:
        return About()
    devices = facts.get("devices")
    gpu = None
    if isinstance(devices, list):
        kinds = [one.get("type") for one in devices if isinstance(one, dict)]
        gpu = any(kind not in (None, "cpu", "meta") for kind in kinds)
    return About(torch=_text(facts, "torch"), triton=triton_of(facts), gpu=gpu)


def triton_of(facts: Mapping[str, Any] | None) -> str | None:
    """The version of an environment's Triton, where that is known."""
    return _text(facts or {}, "triton_version")


def _text(facts: Mapping[str, Any], name: str) -> str | None:
    found = facts.get(name)
    return found if isinstance(found, str) and found else None


class Live(QObject):
    """Checks one set of values at a time; a later one takes the place of one before."""

    #: There are other findings, or it begins or ends to look them up.
    changed = Signal()

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        self._values: dict[str, str] = {}
        self._facts: dict[str, Any] | None = None
        self._rules: list[Finding] = []
        #: What was looked up, and the values that it is of.
        self._looked: list[Finding] = []
        self._coming: list[Finding] = []
        self._of: dict[str, str] = {}
        self._ticket: int | None = None
        #: Why nothing could be looked up.
        self.error: UserError | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_TYPING_MS)
        self._timer.timeout.connect(self._ask)

    @property
    def checking(self) -> bool:
        """Whether something is still to be looked up."""
        return self._timer.isActive() or self._ticket is not None

    @property
    def found(self) -> list[Finding]:
        """What is wrong, the worst first."""
        codes = {(one.code, one.settings) for one in self._rules}
        more = [one for one in self._looked if (one.code, one.settings) not in codes]
        return sorted([*self._rules, *more], key=lambda one: SEVERITIES.index(one.severity))

    def look(
        self, values: Mapping[str, str], facts: dict[str, Any] | None, *, at_once: bool = False
    ) -> None:
        """Check these, in an environment; ``at_once``: nobody types."""
        self._values, self._facts = dict(values), facts
        self._rules = check(self._values, about(facts))
        # What was found of a folder is nothing to say of another.
        self._looked = [
            one
            for one in self._looked
            if all(self._of.get(name) == self._values.get(name) for name in one.settings)
        ]
        self._leave()
        self.error = None
        self._timer.start(0 if at_once else _TYPING_MS)
        self.changed.emit()

    def stop(self) -> None:
        """Nobody wants to know any more."""
        self._timer.stop()
        self._leave()
        self._rules, self._looked, self.error = [], [], None

    def _leave(self) -> None:
        if self._ticket is not None:
            self._engines.forget(self._ticket)
            self._ticket = None

    def _ask(self) -> None:
        values = dict(self._values)
        self._coming = []

        def found(some: list[dict[str, Any]]) -> None:
            told = (one.get("found") for one in some)
            self._coming += [Finding.from_json(one) for one in told if isinstance(one, dict)]

        def done(_: object) -> None:
            self._ticket = None
            self._looked, self._of = self._coming, values
            self.changed.emit()

        def failed(error: UserError) -> None:
            self._ticket, self.error = None, error
            self.changed.emit()

        params = {"values": values, "places": [], "facts": self._facts or {}}
        listener = Listener(findings=found, result=done, failed=failed)
        self._ticket = self._engines.ask("diagnose", params, listener, shared=True, aside=True)
