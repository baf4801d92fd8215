"""What was last asked of the fleet of each place, and what came of it, beside its state: whoever
wants to see it again asks nobody. In a file of JSON lines: first what holds for all of it, then
each node, then each cell. What of it cannot be read is not shown.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.messages import fleet as msg
from torchkeeper.engine.protocol import misfit
from torchkeeper.fleet.state import State, fleets
from torchkeeper.stores.atomic import atomic_write

_FILE = "last.jsonl"
#: Bytes of a file, and of its first line; folders that are looked at; a time that never comes.
_MOST, _HEAD, _MANY, _FAR = 256 << 20, 1 << 20, 1000, 1e11


class Last(TypedDict):
    """A run. on, named, prove, share, python, slots: as it was asked for (``FleetParams``). began,
    ended: seconds since 1970; ended and result are None where it did not come to its end. folder:
    of its state.
    """

    folder: str
    into: str
    on: Sequence[str]
    named: Sequence[str]
    prove: bool
    share: bool
    python: str | None
    slots: int | None
    began: float
    ended: float | None
    result: msg.FleetResult | None


@dataclass(frozen=True)
class Told:
    """All of a run that is known."""

    last: Last
    nodes: Sequence[msg.NodeFinding]
    rows: Sequence[msg.CellFinding]


class Keeper:
    """Keeps what is told of a run."""

    def __init__(
        self, folder: str, params: msg.FleetParams, nodes: Iterable[msg.NodeFinding]
    ) -> None:
        self._nodes = {one["name"]: one for one in nodes}
        self._last: Last = {
            "folder": folder, "into": params["into"], "on": params.get("on") or ["local"],
            "named": params.get("named") or [], "prove": bool(params.get("prove")),
            "share": bool(params.get("share")),
            "python": params.get("python"), "slots": params.get("slots"),
            "began": time.time(), "ended": None, "result": None,
        }  # fmt: skip

    def node(self, one: msg.NodeFinding) -> None:
        """What has become of a node."""
        self._nodes[one["name"]] = one

    def keep(self, rows: Iterable[msg.CellFinding], result: msg.FleetResult | None = None) -> None:
        """Keep the cells as they are; result: at the end."""
        last: Last = {**self._last, "ended": time.time() if result else None, "result": result}
        with (
            contextlib.suppress(OSError),  # the next start shows less
            atomic_write(os.path.join(last["folder"], _FILE), 0o600) as file,
        ):
            lines: list[object] = [last, *({"node": one} for one in self._nodes.values())]
            for line in (*lines, *({"cell": row} for row in rows)):
                file.write(json.dumps(line).encode() + b"\n")


def every() -> list[Last]:
    """The last run of each place, the newest first. Waits for the disk."""
    found = (_head(folder) for folder in fleets()[:_MANY])
    return sorted((one for one in found if one), key=lambda one: one["began"], reverse=True)


def _head(folder: str) -> Last | None:
    try:
        with open(os.path.join(folder, _FILE), "rb") as file:
            return _last(folder, json.loads(file.readline(_HEAD)))
    except (OSError, ValueError, RecursionError):
        return None


def _last(folder: str, told: Any) -> Last | None:
    if misfit(Last, told, ""):
        return None
    if not all(0 <= one < _FAR for one in (told["began"], told["ended"] or 0.0)):
        return None
    return cast("Last", {**told, "folder": folder})  # whatever it says of itself


def told(folder: str) -> Told:
    """What is known of the run in a folder; of one that did not come to its end with what its state
    has. Raises UserError for what cannot be read. Waits for the disk.
    """
    try:
        lines = whole.read(os.path.join(folder, _FILE), _MOST).splitlines()
        last = _last(folder, json.loads(lines[0]))
    except (OSError, ValueError, IndexError, RecursionError):
        last = None
    if last is None:
        raise user_error("fleet-unreadable", {"folder": folder})
    nodes: list[msg.NodeFinding] = []
    rows: list[msg.CellFinding] = []
    for line in lines[1:]:
        with contextlib.suppress(ValueError, RecursionError):
            one = json.loads(line)
            if isinstance(one, dict) and not misfit(msg.NodeFinding, one.get("node"), ""):
                nodes.append(one["node"])
            elif isinstance(one, dict) and not misfit(msg.CellFinding, one.get("cell"), ""):
                rows.append(one["cell"])
    if last["result"] is None:
        state = State(folder)
        state.read()
        for row in rows:
            if done := state.done.get(row["cell"]):
                done.tell(row)
    return Told(last, nodes, rows)
