"""Proofs of cells: each on a node that did not compile it, if there is one, with what was gathered
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.fleet.cells import Cell, Place
from torchkeeper.fleet.heard import Heard
from torchkeeper.fleet.state import Done, State

if TYPE_CHECKING:
    from torchkeeper.engine.protocol import Message
    from torchkeeper.warm.shapes import VerifiedVariant


#: What is told of a proof.
_ROW = frozenset({"index", "good", "seconds", "hits", "misses", "rebuilt"})
#: Lookups of a cell.
_MOST = 10**9


class Elsewhere:
    """A proof is worth more on a node that did not compile it."""

    def __init__(self, state: State) -> None:
        self._state = state

    def prefers(self, cell: Cell, place: Place) -> bool:
        known = self._state.done.get(cell.ident)
        return known is None or known.node != place.name


class Proofs:
    """What a node says of the proofs of a unit: each counts when it is told. say: hears of each
    line of a cell; proved: of each proof, and of the last word about one that failed.
    """

    def __init__(
        self, place: Place, cells: Sequence[Cell], known: Mapping[str, Done],
        say: Callable[[str, str], None], proved: Callable[[str, Done], None],
    ) -> None:  # fmt: skip
        self._place, self._known, self._proved = place, known, proved
        self._by = {cell.row["index"]: cell.ident for cell in cells}
        self._heard = Heard(place, cells, say)
        self.done, self.failed = set[str](), dict[str, str]()

    def __call__(self, message: Message) -> None:
        self._heard(message)
        told: Any = message.body.get("variant") if message.type == "finding" else None
        # Findings of a verification have all of its row; others only say that it begins.
        if isinstance(told, dict) and told.keys() >= _ROW and isinstance(told["seconds"], dict):
            self.take(cast("VerifiedVariant", told))

    def take(self, row: VerifiedVariant) -> None:
        """The proof of a cell, of which only the first word counts."""
        ident = self._by.get(row["index"])
        if ident is None or ident in self.done or ident in self.failed:
            return
        if row.get("problem"):
            self.failed[ident] = self._heard.said(ident)
            return
        spent = row["seconds"]
        if max(row["hits"], row["misses"], row["rebuilt"]) > _MOST:
            return  # nobody looks up so many
        known = replace(
            self._known[ident], proved_on=self._place.name, found=float(spent.get("warm", 0.0)),
            hits=row["hits"], misses=row["misses"], rebuilt=row["rebuilt"],
            proof="proven" if row["good"] else "partly",
        )  # fmt: skip
        self.done.add(ident)
        self._proved(ident, known)
