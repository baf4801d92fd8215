"""The runs of a verification: what each is, how far it is, and what PyTorch found in it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import say, verifying
from torchkeeper.client.words.problems import printable
from torchkeeper.warm.options import RUNS

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import KeptVerification
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.verdict.probed import GraphTold

tr = partial(QCoreApplication.translate, "Laps")

#: Graphs of a run, and rebuilt objects, that are kept for the dialog.
_MOST = 2000


@dataclass(frozen=True)
class Seen:
    """A graph of a run, and what came of looking for it."""

    id: str
    name: str
    outcome: str
    seconds: float | None = None


@dataclass
class Lap:
    """One run. began: by time.monotonic's clock. built: objects that should have been there."""

    name: str
    began: float | None = None
    seconds: float | None = None
    graphs: list[Seen] = field(default_factory=list)
    built: list[str] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        """How many of its graphs came out so."""
        return sum(graph.outcome == outcome for graph in self.graphs)

    def end(self) -> None:
        """It is over, and nobody has said how long it took."""
        if self.began is not None and self.seconds is None:
            self.seconds = time.monotonic() - self.began


def title(name: str) -> str:
    text = verifying.title(name)
    return text[:1].upper() + text[1:]


def waiting(names: Iterable[str]) -> list[Lap]:
    """Runs that are still to come, in their order."""
    wanted = set(names)
    return [Lap(name) for name in RUNS if name in wanted]


def heard(laps: list[Lap], found: Finding) -> bool:
    """Take note of a finding ``run``, ``graph`` or ``built``; False where it is none of them."""
    if "run" in found:
        for lap in laps:
            lap.end()
        name = found["run"]["name"]
        lap = next((one for one in laps if one.name == name), None) or Lap(name)
        if lap not in laps:
            laps.append(lap)
        lap.began = time.monotonic()
        return True
    now = next((lap for lap in reversed(laps) if lap.began is not None), None)
    if "graph" in found and now is not None and len(now.graphs) < _MOST:
        now.graphs.append(seen(found["graph"]))
    elif "built" in found and now is not None and len(now.built) < _MOST:
        now.built.append(printable(found["built"]["path"], 400))
    return "graph" in found or "built" in found


def seen(graph: GraphTold) -> Seen:
    """A graph as a finding tells of it."""
    ident, name = printable(graph["id"], 80), printable(graph["name"] or graph["id"] or "?", 120)
    return Seen(ident, name, printable(graph["outcome"] or "?", 20), graph["seconds"])


def progress(lap: Lap) -> str:
    """How far a run is, or what it found, in a few words."""
    if lap.began is None and lap.seconds is None:
        return tr("waiting")
    parts = []
    if lap.graphs:
        parts.append(say.lookups(lap.count("hit"), lap.count("miss")))
    if lap.built:
        parts.append(tr("{} built").format(say.count(len(lap.built), "object", "objects")))
    if lap.seconds is None:
        parts.insert(0, tr("running"))
    return " · ".join(parts)


def finish(laps: list[Lap], result: KeptVerification) -> None:
    """A verification is over: each run took as long as its result says."""
    for lap in laps:
        if (took := result["seconds"].get(lap.name)) is not None:
            lap.seconds = took
        else:
            lap.end()
