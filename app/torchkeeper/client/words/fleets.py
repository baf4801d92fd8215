"""What came of a fleet, in words: how many cells are in which state, and what was gathered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Text, tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import FleetResult

#: How many cells are in a state, by its name, in the order in which they are told.
_STATES: dict[str, Text] = {
    "proven": "{n} proven", "warm": "{n} warm", "partly": "{n} partly found",
    "failed": "{n} failed", "impossible": "{n} not possible", "proving": "{n} being proven",
    "compiling": "{n} compiling", "waiting": "{n} waiting",
}  # fmt: skip


def states(counts: Mapping[str, int]) -> list[str]:
    """How many cells are in each state, where there are any."""
    return [tr(text, n=counts[name]) for name, text in _STATES.items() if counts.get(name)]


def is_good(result: FleetResult, prove: bool) -> bool:
    """Whether every cell is what was asked for."""
    good = result["states"].get("proven", 0)
    return good + (0 if prove else result["states"].get("warm", 0)) >= result["cells"]


def note(result: FleetResult) -> str:
    """What came of it in a few words."""
    said = ", ".join(states(result["states"])) or tr("no cells")
    if result["cut"]:
        return tr("{said}; what is done stays", said=said)
    entries = say.count(result["entries"], "entry", "entries")
    took = say.seconds(result["seconds"])
    return f"{said} · {tr('{entries} gathered', entries=entries)} · {took}"


def title(result: FleetResult, prove: bool) -> str:
    """Whether all of it is what was asked for."""
    cells = say.count(result["cells"], "cell", "cells")
    if is_good(result, prove):
        return tr("Warm and proven: {cells}" if prove else "Warm: {cells}", cells=cells)
    good = result["states"].get("proven", 0)
    if prove:
        return tr("{n} of {cells} proven", n=good, cells=cells)
    return tr("{n} of {cells} warm", n=good + result["states"].get("warm", 0), cells=cells)


def lines(result: FleetResult, place: str) -> list[str]:
    """What is told below that."""
    some = say.count(result["entries"], "entry", "entries")
    where, size = printable(place, 4096), say.size(result["bytes"])
    said = [f"{', '.join(states(result['states']))}."]
    if result["entries"]:
        said.append(tr("{entries} ({size}) gathered into {place}.", entries=some, size=size,
                       place=where))  # fmt: skip
    else:
        said.append(tr("Nothing new was gathered into {place}.", place=where))
    if shared := result["shared"]:
        said.append(tr("{graphs} came from other nodes.",
                       graphs=say.count(shared, "graph", "graphs")))  # fmt: skip
    if there := result["there"]:
        said.append(tr("{cells} had been done before.", cells=say.count(there, "cell", "cells")))
    return said
