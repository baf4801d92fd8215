"""Bundles of nodes that go into the place as they come, beside the work; those that came before the
process was killed go first. Where the place is a bundle, it is written once, at the end.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from torchkeeper.fleet.state import Name, State
from torchkeeper.fleet.threads import Thread

if TYPE_CHECKING:
    from torchkeeper.fleet.gathering import Gathering
    from torchkeeper.fleet.sharing import Shared


class Merging:
    """The bundles that have come and are to be merged. shared: gets those of this run, too. stop:
    is set where that fails.
    """

    def __init__(
        self, state: State, gathering: Gathering, shared: Shared | None, stop: threading.Event
    ) -> None:
        self._state, self._gathering, self._shared, self._stop = state, gathering, shared, stop
        #: The units that came, and the kind of node that those are for which came in this run; None
        #: at the end.
        self._came: queue.SimpleQueue[tuple[str, str | None] | None] = queue.SimpleQueue()

    def begin(self) -> Thread:
        """Merge what is there, and what comes. The thread raises UserError where it cannot be: then
        it stays for the next time.
        """
        for unit in self._state.pending:
            self._came.put((unit, None))
        return Thread(self._merge)

    def came(self, unit: str, kind: str) -> None:
        if self._shared:
            self._shared.expect(kind)
        self._came.put((unit, kind))

    def end(self) -> None:
        """Nothing comes any more."""
        self._came.put(None)

    def _merge(self) -> None:
        try:
            while (came := self._came.get()) is not None:
                (unit, kind), placed = came, frozenset[Name]()
                file, late = self._state.pending[unit], self._gathering.at_the_end
                if not late:
                    placed = self._gathering.take(file)
                if self._shared and kind is not None:
                    self._shared.add(kind, file, self._state.new[unit])
                if not late:
                    self._state.merged(unit, placed)
        except BaseException:
            self._stop.set()
            raise

    def finish(self) -> None:
        """Write the bundle, where the place is one. Raises UserError."""
        if files := list(self._state.pending.values()):
            self._gathering.write(files)
            for unit in list(self._state.pending):
                self._state.merged(unit)
