"""Having an engine add up all places, for the overview."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.overviewing import Overview
from torchkeeper.client.words import dead
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.verdicts.environments import Environment, Environments, State

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import OverviewParams, OverviewResult


class Looking(QObject):
    """What is known of all places; ``begin`` looks again. What was known is shown meanwhile."""

    #: There is news of any of it.
    changed = Signal()

    def __init__(
        self, engines: Engines, environments: Environments, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engines = engines
        self._environments = environments
        #: What is known, None before anything is; and what is being put together.
        self.found: Overview | None = None
        self._next = Overview()
        self.error: UserError | None = None
        #: The place that is being looked at, its number, and of how many.
        self.at: tuple[str, int, int] | None = None
        #: When the last look was over; 0 for never.
        self.looked = 0.0
        #: The interpreter that verdicts are about; empty for none.
        self.python = ""
        self._ticket: int | None = None
        self._asked: tuple[object, ...] | None = None

    @property
    def running(self) -> bool:
        """Whether places are being looked at."""
        return self._ticket is not None

    @property
    def shown(self) -> Overview | None:
        """What there is to show: the last look, and while the first runs what that has found."""
        return self.found if self.found is not None or not self.running else self._next

    def differs(self, places: Sequence[str]) -> bool:
        """Whether a look would be about something else than the last, or the one under way."""
        return self._asked != self._about(places)

    def _about(self, places: Sequence[str]) -> tuple[object, ...]:
        return tuple(places), tuple((one.python, id(one.facts)) for one in self._judging())

    def _judging(self) -> list[Environment]:
        chosen = self._environments.chosen
        known = [one for one in self._environments.every if one.state is State.KNOWN]
        first = [one for one in known if one is chosen]
        return first + [one for one in known if one is not chosen]

    def begin(self, places: Sequence[str]) -> None:
        """Look at all of these places."""
        self.cancel()
        self._asked = self._about(places)
        self._next = Overview()
        self.error = self.at = None
        known, chosen = self._judging(), self._environments.chosen
        # Stale is what none of the environments can use: where one was not asked, nobody knows.
        asked = {State.KNOWN, State.WITHOUT}
        all_known = all(
            one.state in asked or (one.state is State.FOUND and not one.counts)
            for one in self._environments.every
        )
        self.python = chosen.python if chosen in known and chosen is not None else ""
        names = [one.python for one in known]
        params: OverviewParams = {
            "places": list(places),
            "envs": [self.python] if self.python else [],
            "everywhere": names if all_known else [],
            "older": dead.DAYS * dead.DAY,
        }
        told = [one for one in known if all_known or one is chosen]
        before = [("know", {"python": one.python, "env": one.facts}) for one in told]
        listener = Listener(
            rows=self._next.add, findings=self._heard, result=self._over, failed=self._failed
        )
        self._ticket = self._engines.ask(protocol.OVERVIEW, params, listener, before=before)
        self.changed.emit()

    def cancel(self) -> None:
        """Look no further; what was known before stays."""
        if self._ticket is not None:
            self._engines.forget(self._ticket)
            self._ticket = self.at = self._asked = None
            self.changed.emit()

    def _heard(self, told: list[Finding]) -> None:
        for one in told:
            if "looked" in one:
                self._next.told(one["looked"])
            if "looking" in one:
                at = one["looking"]
                self.at = at["place"], at["number"], at["of"]
        self.changed.emit()

    def _over(self, result: OverviewResult) -> None:
        for place in result["places"]:
            self._next.told(place)
        self._ticket = self.at = None
        self.found, self.looked = self._next, time.time()
        self.changed.emit()

    def _failed(self, error: UserError) -> None:
        self._ticket = self.at = None
        self.error = error
        self.changed.emit()
