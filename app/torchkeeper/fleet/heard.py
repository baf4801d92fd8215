"""What an engine says of the cells of a unit on its way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.fleet.cells import Cell, Place
from torchkeeper.fleet.state import Done

if TYPE_CHECKING:
    from torchkeeper.engine.protocol import Message

#: Lines that are kept of what a cell says, and characters of one.
LINES, WIDE = 40, 1000


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
        self._keys: dict[str, dict[str, None]] = {}
        self._shared: dict[str, set[str]] = {}
        self._lines: dict[str, deque[str]] = {}
        self.failed: dict[str, str] = {}

    def __call__(self, message: Message) -> None:
        if message.type != "finding":
            return
        told = message.body
        if "graph" in told:
            ident, key = self._by.get(told["graph"].get("variant")), told["graph"].get("key")
            if ident and key:
                self._keys.setdefault(ident, {})[str(key)] = None
                if told["graph"].get("outcome") == "hit" and ("fxgraph", key) in self._given:
                    self._shared.setdefault(ident, set()).add(key)
        elif "log" in told:
            variant = told.get("variant")
            if ident := self._by.get(variant) if isinstance(variant, int) else None:
                line = str(told["log"])[:WIDE]
                self._lines.setdefault(ident, deque(maxlen=LINES)).append(line)
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
                int(one.get("graphs") or 0), list(self._keys.get(ident, ())),
                shared=len(self._shared.get(ident, ())),
            )
            for ident, one in self._done.items()
        }  # fmt: skip
