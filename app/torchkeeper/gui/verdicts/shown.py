"""The verdicts of the place that is shown: asked for when it is listed, and when it changes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.later import once
from torchkeeper.gui.places.listing import Listing
from torchkeeper.gui.table.entries import EntriesModel, Told
from torchkeeper.gui.table.slices import Slices
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.verdicts.environments import Environment, Environments
from torchkeeper.gui.verdicts.judging import Judging
from torchkeeper.link.words import verdicts
from torchkeeper.link.words.problems import UserError

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import JudgedFinding
    from torchkeeper.engine.messages.verdicts import JudgeResult

#: So many entries of a server are judged unasked: all their values are to be fetched for that.
FEW = 200
#: Milliseconds between two questions about a place that changes, and the part of the time that
#: questions may take at most.
_REST_MS, _SHARE = 1500, 0.2


class Verdicts(QObject):
    """Has the engine judge what the table shows, and puts what it says into the rows."""

    #: What is known, or is being asked, is another than before.
    changed = Signal()

    def __init__(
        self,
        engines: Engines,
        listing: Listing,
        model: EntriesModel,
        table: EntryTable,
        environments: Environments,
    ) -> None:
        super().__init__(table)
        self._listing = listing
        self._model = model
        self._table = table
        self._environments = environments
        self._judging = Judging(engines, self)
        #: What the verdicts in the rows are of, and those that are being asked for: the place, the
        #: facts of the environment, and which state of the place.
        self._known: tuple[Any, ...] | None = None
        self._asked: tuple[Any, ...] | None = None
        #: The place and the facts that verdicts in the rows are about, if there may be any.
        self._about: tuple[Any, ...] | None = None
        self._listings = 0
        self._insisted: str | None = None
        self._said: list[tuple[str, verdicts.Why]] = []
        self._queue: deque[JudgedFinding] = deque()
        self._slices = Slices(self)
        self._began = self._ended = self._took = 0.0
        #: How many there are of each verdict (engine/checking.py), once that is known.
        self.counts: JudgeResult | None = None
        self.error: UserError | None = None
        self._rest = once(self, self._ask)
        listing.over.connect(self._listed)
        listing.changed.connect(self._look)
        environments.changed.connect(self._look)
        self._look()

    @property
    def environment(self) -> Environment | None:
        """What the verdicts are about: an interpreter whose torch is known."""
        chosen = self._environments.chosen
        return chosen if chosen is not None and chosen.torch else None

    @property
    def asking(self) -> bool:
        """Whether verdicts are on their way."""
        return self._asked is not None

    @property
    def to_insist(self) -> bool:
        """Whether the place is a server so large that it is judged only when asked for."""
        return self.environment is not None and self._listed_well() and not self._worth_asking()

    def insist(self) -> None:
        """Judge a server, however large it is."""
        self._insisted = self._listing.place
        self._look()

    def _listed(self, _: bool) -> None:
        self._listings += 1
        self._look()

    def _listed_well(self) -> bool:
        listing = self._listing
        shown = listing.place is not None and not listing.loading and bool(listing.result)
        return shown and self._model.total > 0

    def _worth_asking(self) -> bool:
        listing = self._listing
        few = self._model.rows <= FEW
        return not listing.scheme.lazy or few or self._insisted == listing.place

    def _state(self) -> tuple[Any, ...] | None:
        """What there is to judge; None where nothing is."""
        env = self.environment
        if env is None or not self._listed_well() or not self._worth_asking():
            return None
        # A folder says whether it is as it was; of another place every reading counts.
        return self._listing.place, id(env.facts), self._listing.mark or self._listings

    def _look(self) -> None:
        """Something has happened that verdicts depend on."""
        env, place = self.environment, self._listing.place
        if self.error is not None and self._listing.loading:
            self._known = self.error = None  # a refresh tries again
        about = (place, None if env is None else id(env.facts))
        # Of what is gone nothing is true: what comes back has rows of its own.
        empty = not self._listing.loading and bool(self._listing.result) and not self._model.total
        if self._about is not None and (self._about != about or empty):
            self._forget()
        state = self._state()
        if state is None or state in (self._known, self._asked):
            return
        if self._asked is None and not self._rest.isActive():
            first = self._known is None and self.error is None
            self._rest.start(0 if first else self._pause())

    def _pause(self) -> int:
        rested = time.monotonic() - self._ended
        return max(0, round(1000 * (max(_REST_MS / 1000, self._took / _SHARE) - rested)))

    def _forget(self) -> None:
        """No verdict is true any more: of another place, or in another environment."""
        self._judging.forget()
        self._rest.stop()
        self._queue.clear()
        self._said = []
        self._slices.stop()
        # The rows of another place are gone.
        if self._about is not None and self._about[0] == self._listing.place:
            self._slices.start(self._model.forget_verdicts(self._table.seen_lines()))
        self._about = self._known = self._asked = self.counts = self.error = None
        self.changed.emit()

    def _ask(self) -> None:
        state, env = self._state(), self.environment
        if state is None or env is None or state == self._known:
            return
        if self._slices.busy:
            self._rest.start(_REST_MS // 10)  # what is no longer true goes first
            return
        self._about, self._asked, self._said = state[:2], state, []
        self._began = time.monotonic()
        self._judging.ask(str(state[0]), env, self._over, self._failed, self._found, self._anew)
        self.changed.emit()

    def _anew(self) -> None:
        self._said = []
        self._queue.clear()

    def _found(self, told: list[JudgedFinding]) -> None:
        self._queue.extend(told)
        if not self._slices.busy:
            self._slices.start(self._take())

    def _take(self) -> Iterator[None]:
        while self._queue:
            told = self._told(self._queue.popleft())
            self._model.judge(told, self._table.seen_lines())
            yield

    def _told(self, judged: JudgedFinding) -> list[Told]:
        """What a finding says of which entries."""
        self._said += map(verdicts.told, judged["said"])
        return [
            ((kind, path), *self._said[n])
            for kind, path, n in judged["of"]
            if 0 <= n < len(self._said)
        ]

    def _over(self, counts: JudgeResult) -> None:
        # What was found before is worked in first.
        self._slices.start(self._take(), lambda: self._ends(counts))

    def _ends(self, counts: JudgeResult) -> None:
        self._known, self.counts, self.error = self._asked, counts, None
        self._end()
        self._model.judged()
        self.changed.emit()
        self._look()

    def _failed(self, error: UserError) -> None:
        # As for what is shown: that stays, and the next reading asks again.
        self._known, self.error = self._asked, error
        self._end()
        self._model.judged()
        self.changed.emit()

    def _end(self) -> None:
        self._asked, self._ended, self._said = None, time.monotonic(), []
        self._took = self._ended - self._began
