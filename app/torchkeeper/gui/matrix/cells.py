"""The cells of one warm-up: what is known of each, as the findings of the job tell it.

Nothing here is shown as it came: whoever shows a name or a line makes it printable.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.matrix.phases import Spent, is_time, spent, summed

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import CellFinding, Finding
    from torchkeeper.verdict.shapes import GraphTold

QUEUED, STARTING, COMPILING = "queued", "starting", "compiling"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
_STATES = frozenset({QUEUED, STARTING, COMPILING, DONE, FAILED, CANCELLED})
ENDED = frozenset({DONE, FAILED, CANCELLED})

#: Cells of a job, graphs of a cell, and lines of its log that are kept.
MOST = 100_000
_GRAPHS = 500
LINES = 200
_TEXT = 400


@dataclass(slots=True)
class Graph:
    """A graph of a cell: how the lookup ended ("compiling" before that, "none" where there was
    none), and its phases. said: whether a line of the log was about it. reason: why PyTorch does
    not cache it, where it says so.
    """

    id: str
    name: str
    outcome: str
    seconds: float | None
    phases: Spent
    said: bool = False
    reason: str = ""


@dataclass(slots=True)
class CellState:
    """A cell and what came of it.

    began: on the clock of time.monotonic, once it is compiled. seconds: once it has ended. found,
    of: its proof, where it has one. unfit: whether a verification does not call it good. graphs,
    log: None while there is none. heard: lines of it that came one by one. changed: whether the
    phases are to be added up again; total: all seconds in them, which is always known.
    """

    index: int
    recipe: str
    name: str
    source: str
    state: str = QUEUED
    began: float | None = None
    seconds: float | None = None
    hits: int = 0
    misses: int = 0
    bypasses: int = 0
    count: int = 0
    found: int | None = None
    of: int | None = None
    device: str = ""
    threads: int = 0
    unfit: bool = False
    error: UserError | None = None
    graphs: dict[str, Graph] | None = None
    log: list[str] | None = None
    heard: int = 0
    changed: bool = False
    total: float = 0.0
    _phases: Spent | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ENDED

    @property
    def good(self) -> bool:
        """Whether it is warm: it was compiled, and what was compiled is found again."""
        found = self.of is None or (self.found or 0) >= self.of
        return self.state == DONE and found and not self.unfit

    def took(self, now: float) -> float | None:
        """Seconds until now, or until it ended; None while it waits."""
        if self.seconds is not None or self.began is None:
            return self.seconds
        return now - self.began

    @property
    def phases(self) -> Spent | None:
        """Seconds of the phases of all its graphs; None while nothing is known."""
        if self.changed and self.graphs:
            self._phases = summed(graph.phases for graph in self.graphs.values())
            self.changed = False
        return self._phases

    def hear(self, line: str) -> None:
        """Keep a line of its log, the last so many."""
        if self.log is None:
            self.log = []
        self.log.append(line[:2000])
        self.heard += 1
        if len(self.log) > 2 * LINES:
            del self.log[:-LINES]

    def lines(self, last: int = LINES) -> list[str]:
        """The end of its log, so many lines at most."""
        return [printable(line, 2000) for line in (self.log or ())[-min(last, LINES) :]]


@dataclass
class Cells:
    """All cells of a job, in their order; ``dirty``: those that changed since it was emptied."""

    rows: list[CellState] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    longest: float = 0.0
    _by_index: dict[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def hear(self, found: Finding) -> bool:
        """Take note of ``cells``, a ``cell``, its ``graph`` or ``log``; False for all else."""
        if "cells" in found:
            self._add(found["cells"])
            return True
        one = found.get("cell")
        if one is not None and not isinstance(one, int):
            self._cell(one)
            return True
        if "graph" in found and "cell" in found["graph"]:
            self._graph(found["graph"])
            return True
        if "log" in found and (cell := self.at(one)):
            cell.hear(found["log"])
            self.dirty.add(self._by_index[cell.index])
            return False  # the log of the whole job has it, too
        return False

    def graph(self, told: GraphTold) -> Graph | None:
        """The graph that a finding is about; None where it is of no cell."""
        cell = self.at(told.get("cell"))
        return (cell.graphs or {}).get((told["id"] or "?")[:80]) if cell else None

    def at(self, index: int | None) -> CellState | None:
        """The cell of this index among those of the request."""
        row = None if index is None else self._by_index.get(index)
        return None if row is None else self.rows[row]

    @property
    def bad(self) -> list[CellState]:
        """The cells that have ended and are not warm."""
        return [cell for cell in self.rows if cell.ended and not cell.good]

    def end(self, error: UserError | None = None) -> None:
        """The job is over: what has not ended will not. ``error`` is of the only cell, if it is."""
        now = time.monotonic()
        for cell in self.rows:
            if not cell.ended:
                cell.seconds = cell.took(now)
                failed = error is not None and len(self.rows) == 1
                cell.error = error if failed else cell.error
                self._turn(cell, FAILED if failed else CANCELLED)

    def told(self, result: Sequence[CellFinding]) -> None:
        """What the result of the job says of its cells, which is the last word."""
        for one in result:
            cell = self.at(one["index"])
            if cell is None:
                self._add([one])
            elif cell.ended and cell.state == one["state"]:
                continue  # a finding has said the same
            self._cell(one)

    def _add(self, some: Sequence[CellFinding]) -> None:
        rows, by_index = self.rows, self._by_index
        before = len(rows)
        for one in some:
            index = one["index"]
            if index in by_index or len(rows) >= MOST:
                continue
            by_index[index] = len(rows)
            recipe, name = one.get("recipe", "")[:_TEXT], one.get("name", "")[:_TEXT]
            rows.append(CellState(index, recipe, name, one.get("source", "")[:40]))
        self.counts[QUEUED] = self.counts.get(QUEUED, 0) + len(rows) - before

    def _turn(self, cell: CellState, state: str) -> None:
        if state != cell.state:
            self.counts[cell.state] = self.counts.get(cell.state, 0) - 1
            self.counts[state] = self.counts.get(state, 0) + 1
            cell.state = state
        self.longest = max(self.longest, cell.seconds or 0.0)
        self.dirty.add(self._by_index[cell.index])

    def _cell(self, one: CellFinding) -> None:
        cell, state = self.at(one["index"]), one["state"]
        if cell is None or state not in _STATES:
            return
        if state == COMPILING and cell.state != COMPILING:
            cell.began = time.monotonic()
        if state in ENDED:
            cell.seconds = cell.took(time.monotonic())
            seconds = one.get("seconds")
            if isinstance(seconds, (int, float)) and is_time(seconds):
                cell.seconds = seconds
            self._count(cell, one)
        if state == FAILED and (problem := one.get("problem")):
            cell.error = user_error(problem["code"] or "warm-failed", problem["params"])
        if log := one.get("log"):
            cell.log = [line[:2000] for line in log[-LINES:]]
        self._turn(cell, state)

    def _count(self, cell: CellState, one: CellFinding) -> None:
        cell.hits, cell.misses = _number(one.get("hits")), _number(one.get("misses"))
        cell.bypasses, cell.count = _number(one.get("bypasses")), _number(one.get("graphs"))
        if proof := one.get("proof"):
            cell.found, cell.of = _number(proof.get("found")), _number(proof.get("of"))
        cell.unfit = one.get("good") is False
        cell.device = one.get("device", "")[:80]
        cell.threads = _number(one.get("threads"))

    def _graph(self, graph: GraphTold) -> None:
        cell = self.at(graph.get("cell"))
        if cell is None:
            return
        if cell.graphs is None:
            cell.graphs = {}
        ident = (graph["id"] or "?")[:80]
        known = cell.graphs.get(ident)
        if known is None and len(cell.graphs) >= _GRAPHS:
            return
        took = graph["seconds"] if is_time(graph["seconds"]) else None
        outcome = (graph["outcome"] or "compiling")[:20]
        name = (graph["name"] or (known.name if known else ident))[:_TEXT]
        said = known.said if known else False
        phases = spent(graph["phases"])
        reason = (graph.get("reason") or (known.reason if known else ""))[:_TEXT]
        cell.graphs[ident] = Graph(ident, name, outcome, took, phases, said, reason)
        cell.changed = True
        # Not added up from all graphs each time: there may be hundreds.
        before = known.outcome if known else ""
        cell.total += sum(phases) - (sum(known.phases) if known else 0.0)
        if not cell.ended:
            cell.hits += (outcome == "hit") - (before == "hit")
            cell.misses += (outcome == "miss") - (before == "miss")
            cell.count = len(cell.graphs)
        self.longest = max(self.longest, cell.total)
        self.dirty.add(self._by_index[cell.index])


def _number(value: int | None) -> int:
    return value if value is not None and 0 <= value < 10**9 else 0
