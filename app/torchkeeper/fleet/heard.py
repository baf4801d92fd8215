"""What an engine says of the cells of a unit on its way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.fleet.cells import Cell, Place
from torchkeeper.fleet.state import Done, key_of

if TYPE_CHECKING:
    from torchkeeper.engine.protocol import Message

#: Lines that are kept of what a cell says, and characters of one.
LINES, WIDE = 40, 1000
#: Lines that are told of a unit, and graphs of a cell that are known.
_LINES, _GRAPHS = 20_000, 10_000


class Heard:
    """What an engine says of the cells of a unit."""

    def __init__(
        self, place: Place, cells: Sequence[Cell], say: Callable[[str, str], None],
        given: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:  # fmt: skip
        """say: hears of each line of a cell. given: what others have compiled in this run, which
        the unit has.
        """
        self._place, self._say, self._given = place, say, given
        self._by = {cell.row["index"]: cell.ident for cell in cells}
        self._done: dict[str, Mapping[str, Any]] = {}
        #: How the lookups of graphs ended, and their keys, by the cell and their ids.
        self._graphs: dict[str, dict[str, tuple[str, str]]] = {}
        self._lines: dict[str, deque[str]] = {}
        self.failed: dict[str, str] = {}
        self._left = _LINES

    def __call__(self, message: Message) -> None:
        if message.type != "finding":
            return
        told = message.body
        if "graph" in told:
            one = told["graph"]
            some = self._graphs.setdefault(self._by.get(one.get("variant")) or "", {})
            if one.get("key") and (one["id"] in some or len(some) < _GRAPHS):
                some[one["id"]] = one["outcome"], str(one["key"])
        elif "log" in told:
            variant = told.get("variant")
            if ident := self._by.get(variant) if isinstance(variant, int) else None:
                line = str(told["log"])[:WIDE]
                self._lines.setdefault(ident, deque(maxlen=LINES)).append(line)
                if self._left > 0:
                    self._left -= 1
                    self._say(ident, line)
        elif isinstance(one := told.get("variant"), dict):
            ident = self._by.get(one["index"])
            if ident and one["state"] == "done":
                self._done[ident] = one
                self.failed.pop(ident, None)
            elif ident and one["state"] == "failed":
                lines = [*one.get("log", ()), str((one.get("problem") or {}).get("code", ""))]
                self.failed[ident] = "\n".join(line[:WIDE] for line in lines[-LINES:])
                self._done.pop(ident, None)

    def said(self, ident: str) -> str:
        return "\n".join(self._lines.get(ident, ()))

    def done(self, unit: str) -> dict[str, Done]:
        """The cells that are done."""
        return {
            ident: Done(
                self._place.name, unit, float(one.get("seconds") or 0.0),
                int(one.get("graphs") or 0), self._keys(ident, one.get("made") or ()),
                shared=self._shared(ident),
            )
            for ident, one in self._done.items()
        }  # fmt: skip

    def _shared(self, ident: str) -> int:
        """How many graphs a cell found that others have compiled."""
        found = {key for outcome, key in self._graphs.get(ident, {}).values() if outcome == "hit"}
        return sum(("fxgraph", key) in self._given for key in found)

    def _keys(self, ident: str, made: Sequence[tuple[str, str]]) -> list[str]:
        """The entries that a cell looked up, and that there are then: of a bypass is none."""
        graphs = self._graphs.get(ident, {}).values()
        keys = [key for outcome, key in graphs if outcome in ("hit", "miss")]
        keys += [key_of(kind, key) for kind, key in made]
        return list(dict.fromkeys(keys))
