"""What a server's keys do not tell, asked for as far as somebody looks at it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.later import once
from torchkeeper.gui.places.listing import Listing
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.view import EntryTable

if TYPE_CHECKING:
    from torchkeeper.engine.messages.servers import FactsParams

#: Milliseconds between what changes the picture and the question for what is in it then, and
#: entries asked for at once.
REST_MS = 100
AT_ONCE = 64
#: Of a selection so many are asked for; what all of a large server is cannot be known.
SELECTED = 256
#: Milliseconds until what could not be found out is asked for again.
AGAIN_MS = 5000


class Facts(QObject):
    """Asks for the entries of a server that are on the screen or selected, each once a listing.

    One question at a time, and always for what is to be seen at that moment: what was scrolled
    past is never asked for.
    """

    def __init__(
        self, engines: Engines, listing: Listing, model: EntriesModel, table: EntryTable
    ) -> None:
        super().__init__(table)
        self._engines = engines
        self._listing = listing
        self._model = model
        self._table = table
        self._place: str | None = None
        self._ticket: int | None = None
        self._asked: set[tuple[str, str]] = set()
        self._wanting: list[tuple[str, str]] = []
        self._rest = once(self, self._ask)
        listing.changed.connect(self._changed)
        listing.over.connect(self._listed)
        for moved in (table.verticalScrollBar().valueChanged, table.selection_changed,
                      model.changed, model.layoutChanged, model.rowsInserted):  # fmt: skip
            moved.connect(self._soon)
        self._changed()

    def _soon(self, *_: object) -> None:
        # A timer that began anew would wait for the end of all scrolling.
        if self._listing.scheme.lazy and not self._rest.isActive():
            self._rest.start(REST_MS)

    def _changed(self) -> None:
        if self._listing.place != self._place:
            self._place = self._listing.place
            self._engines.forget(self._ticket)
            self._ticket = None
            self._asked.clear()
            self._rest.stop()
        self._soon()

    def _listed(self, _: bool) -> None:
        """What was known before may have changed since."""
        self._asked.clear()
        self._soon()

    def _wanted(self) -> list[Entry]:
        seen = (e for e in chain(self._table.seen(), self._table.selected(SELECTED)))
        found: dict[tuple[str, str], Entry] = {}
        for entry in seen:
            if entry.identity not in self._asked:
                found[entry.identity] = entry
                if len(found) == AT_ONCE:
                    break
        return list(found.values())

    def _ask(self) -> None:
        listing, place = self._listing, self._listing.place
        if (
            place is None
            or not listing.scheme.lazy
            or listing.error is not None
            or self._ticket is not None
        ):
            return
        wanted = [entry.identity for entry in self._wanted()]
        if not wanted:
            return
        self._asked.update(wanted)
        self._wanting = wanted
        params: FactsParams = {"place": place, "items": wanted}
        listener = Listener(
            rows=self._rows, result=self._over, failed=self._failed, cancelled=self._failed
        )
        # Beside the listing, which may take long.
        self._ticket = self._engines.ask(protocol.FACTS, params, listener, shared=True, aside=True)

    def _rows(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._listing.known[entry.identity] = entry
        self._model.renew(entries, self._table.seen_lines())

    def _over(self, _: object) -> None:
        self._ticket = None
        self._soon()

    def _failed(self, _: UserError | None = None) -> None:
        """Whatever it was, the listing says so where it lasts."""
        self._ticket = None
        self._asked.difference_update(self._wanting)
        self._rest.start(AGAIN_MS)
