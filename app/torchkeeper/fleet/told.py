"""What is said of the cells of a fleet, wherever it is shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from torchkeeper.client.words import say

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import CellFinding

#: The states of ``fleet.cells.STATES``, as people read them.
STATE_WORDS = {
    "proven": "proven", "warm": "warm", "partly": "partly", "failed": "failed",
    "impossible": "not possible", "waiting": "not done", "compiling": "compiling",
    "proving": "being proven",
}  # fmt: skip


#: What becomes of a cell on which nobody is at work any more.
_RESTS = {"compiling": "waiting", "proving": "warm"}


def at_rest(rows: Iterable[CellFinding]) -> list[CellFinding]:
    """Cells as they are once nobody is at work any more."""
    return [
        cast("CellFinding", {**row, "state": _RESTS.get(row["state"], row["state"])})
        for row in rows
    ]


def where(row: CellFinding) -> str:
    """What a cell is for: a kind of nodes; of a kernel that any node compiles, a GPU."""
    if row["kind"]:
        return kind_title(row["kind"])
    if target := row.get("target"):
        return target
    return "no node" if row["state"] == "impossible" else "any node"


def kind_title(kind: str) -> str:
    """A kind of node without the hash that tells it from others."""
    return kind.partition(" · ")[0]


def met(row: CellFinding, prove: bool) -> bool:
    """Whether a cell is what was asked for: proven, or in the place. One of which a proof did not
    find all is neither.
    """
    return row["state"] == "proven" or (not prove and row["state"] == "warm")


def alike(rows: Iterable[CellFinding]) -> list[list[CellFinding]]:
    """Cells with a problem, those together that have the same, for the same nodes, and log."""
    found: dict[str, list[CellFinding]] = {}
    for row in rows:
        if problem := row.get("problem"):
            which = json.dumps([problem, [*(row.get("log") or ())]], sort_keys=True, default=str)
            found.setdefault(which, []).append(row)
    return list(found.values())


def together(rows: Sequence[CellFinding]) -> str:
    """What some cells are called together."""
    first = f"{rows[0]['recipe']}: {rows[0]['name']}"
    return f"{first}, and {len(rows) - 1:,} more" if len(rows) > 1 else first


def title(rows: Sequence[CellFinding], prove: bool) -> str:
    """What has become of all, in a sentence without its stop."""
    good, word = sum(met(row, prove) for row in rows), "proven" if prove else "warm"
    if good == len(rows):
        if good == 1:
            return f"The one cell is {word}"
        return f"All {good:,} cells are {word}"
    said = (
        f"{good:,} of {say.count(len(rows), 'cell', 'cells')} {'is' if good == 1 else 'are'} {word}"
    )
    states = Counter(row["state"] for row in rows if not met(row, prove))
    rest = [f"{count:,} {STATE_WORDS[name]}" for name, count in states.items()]
    return f"{said}; {', '.join(rest)}"
