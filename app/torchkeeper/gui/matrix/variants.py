"""The variants of one warm-up, as findings tell them, and what is said of them, graphs and phases.

Nothing here is shown as it came: whoever shows a name or a line makes it printable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import causes, say, tongue
from torchkeeper.client.words.causes import NAMES
from torchkeeper.client.words.problems import UserError, printable, user_error

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding, VariantFinding
    from torchkeeper.verdict.probed import GraphTold

_phases_tr = partial(QCoreApplication.translate, "Phases")
_tr = partial(QCoreApplication.translate, "Variants")

#: As a job names them; what is none of them counts as the last.
PHASES = tuple(NAMES)
_OTHER = len(PHASES) - 1
_NUMBERS = {name: number for number, name in enumerate(PHASES)}

#: Seconds of each phase, in the order of PHASES.
Spent = list[float]


def title(name: str) -> str:
    """What a phase is called, as everywhere, with a capital."""
    text = tongue.tr(NAMES.get(name, NAMES["other"]))
    return text[:1].upper() + text[1:]


def about(name: str) -> str:
    """What is done in a phase."""
    done = {
        "dynamo": _phases_tr("Python is traced into graphs"),
        "pre_grad": _phases_tr("passes over the graph before gradients are worked out"),
        "joint": _phases_tr("passes over the forward and backward graph together"),
        "partition": _phases_tr("the joint graph is cut into forward and backward"),
        "post_grad": _phases_tr("passes over each graph after that"),
        "codegen": _phases_tr("Inductor lowers the graph and writes kernels"),
        "build": _phases_tr("the C++ or Triton compiler makes machine code of them"),
    }.get(name, _phases_tr("the rest, which PyTorch's trace does not name"))
    return f"{title(name)}: {done}"


def spent(told: Iterable[tuple[str, float]]) -> Spent:
    """Seconds of each phase, from ``[[name, seconds], …]`` as a finding has it."""
    found = [0.0] * len(PHASES)
    for name, seconds in told:
        if is_time(seconds):
            found[_NUMBERS.get(name, _OTHER)] += seconds
    return found


def is_time(value: float | None) -> TypeGuard[float]:
    """Whether it is a sensible number of seconds."""
    return value is not None and 0 <= value < 1e7


def summed(every: Iterable[Spent]) -> Spent:
    """All of them together."""
    return [sum(some) for some in zip([0.0] * len(PHASES), *every, strict=True)]


def words(one: Spent, whole: float | None = None) -> list[str]:
    """A line for each phase that took time: "Codegen 1.2 s"; and what is in none of ``whole``."""
    # Of nothing there are none.
    named = zip(PHASES, one, strict=False)
    lines = [f"{title(name)}  {say.seconds(seconds)}" for name, seconds in named if seconds > 0]
    if whole is not None and lines and (rest := whole - sum(one)) >= 0.05:
        lines.append(_phases_tr("Outside of graphs  {}").format(say.seconds(rest)))
    return lines


QUEUED, STARTING, COMPILING = "queued", "starting", "compiling"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
_STATES = frozenset({QUEUED, STARTING, COMPILING, DONE, FAILED, CANCELLED})
ENDED = frozenset({DONE, FAILED, CANCELLED})

#: Variants of a job, graphs of a variant, and lines of its log that are kept.
MOST = 100_000
_GRAPHS = 500
LINES = 200
_TEXT = 400


@dataclass(slots=True)
class Graph:
    """A graph of a variant. outcome: how the lookup ended ("compiling" before that, "none" where
    there was none). said: whether a line of the log was about it. reason: why PyTorch does not
    cache it, where it says so.
    """

    id: str
    name: str
    outcome: str
    seconds: float | None
    phases: Spent
    said: bool = False
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Log:
    """The last lines of what something says; None while there are none. heard: how many came one
    by one.
    """

    log: list[str] | None = None
    heard: int = 0

    def hear(self, line: str) -> None:
        """Keep a line, the last so many."""
        if self.log is None:
            self.log = []
        self.log.append(line[:2000])
        self.heard += 1
        if len(self.log) > 2 * LINES:
            del self.log[:-LINES]

    def lines(self, last: int = LINES) -> list[str]:
        """The end of it, so many lines at most."""
        return [printable(line, 2000) for line in (self.log or ())[-min(last, LINES) :]]


@dataclass(slots=True)
class VariantState(Log):
    """A variant and what came of it. began: on the clock of time.monotonic, once it is compiled.
    seconds: once it has ended. found, of: its proof, where it has one. unfit: whether a
    verification does not call it good. graphs: None while there is none. changed: whether the
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
        return self.seconds if self.seconds is not None or self.began is None else now - self.began

    @property
    def phases(self) -> Spent | None:
        """Seconds of the phases of all its graphs; None while nothing is known."""
        if self.changed and self.graphs:
            self._phases = summed(graph.phases for graph in self.graphs.values())
            self.changed = False
        return self._phases


@dataclass
class Variants:
    """All variants of a job, in their order; ``dirty``: those that changed since it was emptied."""

    rows: list[VariantState] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    longest: float = 0.0
    _by_index: dict[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def hear(self, found: Finding) -> bool:
        """Note ``variants``, a ``variant``, its ``graph`` or ``log``; False for all else."""
        if "variants" in found:
            self._add(found["variants"])
            return True
        one = found.get("variant")
        if one is not None and not isinstance(one, int):
            self._variant(one)
            return True
        if "graph" in found and "variant" in found["graph"]:
            self._graph(found["graph"])
            return True
        if "log" in found and (variant := self.at(one)):
            variant.hear(found["log"])
            self.dirty.add(self._by_index[variant.index])
            return False  # the log of the whole job has it, too
        return False

    def graph(self, told: GraphTold) -> Graph | None:
        """The graph that a finding is about; None where it is of no variant."""
        variant = self.at(told.get("variant"))
        return (variant.graphs or {}).get((told["id"] or "?")[:80]) if variant else None

    def at(self, index: int | None) -> VariantState | None:
        """The variant of this index among those of the request."""
        row = None if index is None else self._by_index.get(index)
        return None if row is None else self.rows[row]

    @property
    def over(self) -> int:
        """How many have ended."""
        return sum(self.counts.get(state, 0) for state in ENDED)

    @property
    def loading(self) -> bool:
        """Whether none has begun to compile: processes start, and import torch."""
        return bool(self.rows) and all(x in (QUEUED, STARTING) for x, n in self.counts.items() if n)

    @property
    def bad(self) -> list[VariantState]:
        """The variants that have ended and are not warm."""
        return [variant for variant in self.rows if variant.ended and not variant.good]

    def end(self, error: UserError | None = None) -> None:
        """The job is over: what has not ended will not. ``error``: of the only variant."""
        now = time.monotonic()
        for variant in self.rows:
            if not variant.ended:
                variant.seconds = variant.took(now)
                failed = error is not None and len(self.rows) == 1
                variant.error = error if failed else variant.error
                self._turn(variant, FAILED if failed else CANCELLED)

    def told(self, result: Sequence[VariantFinding]) -> None:
        """What the result of the job says of its variants, which is the last word."""
        for one in result:
            if (variant := self.at(one["index"])) is None:
                self._add([one])
            elif variant.ended and variant.state == one["state"]:
                continue  # a finding has said the same
            self._variant(one)

    def _add(self, some: Sequence[VariantFinding]) -> None:
        rows, by_index = self.rows, self._by_index
        before = len(rows)
        for one in some:
            index = one["index"]
            if index in by_index or len(rows) >= MOST:
                continue
            by_index[index] = len(rows)
            recipe, name = one.get("recipe", "")[:_TEXT], one.get("name", "")[:_TEXT]
            rows.append(VariantState(index, recipe, name, one.get("source", "")[:40]))
        self.counts[QUEUED] = self.counts.get(QUEUED, 0) + len(rows) - before

    def _turn(self, variant: VariantState, state: str) -> None:
        if state != variant.state:
            self.counts[variant.state] = self.counts.get(variant.state, 0) - 1
            self.counts[state] = self.counts.get(state, 0) + 1
            variant.state = state
        self.longest = max(self.longest, variant.seconds or 0.0)
        self.dirty.add(self._by_index[variant.index])

    def _variant(self, one: VariantFinding) -> None:
        variant, state = self.at(one["index"]), one["state"]
        if variant is None or state not in _STATES:
            return
        if state == COMPILING and variant.state != COMPILING:
            variant.began = time.monotonic()
        if state in ENDED:
            variant.seconds = variant.took(time.monotonic())
            seconds = one.get("seconds")
            if isinstance(seconds, (int, float)) and is_time(seconds):
                variant.seconds = seconds
            self._count(variant, one)
        if state == FAILED and (problem := one.get("problem")):
            variant.error = user_error(problem["code"] or "warm-failed", problem["params"])
        if log := one.get("log"):
            variant.log = [line[:2000] for line in log[-LINES:]]
        self._turn(variant, state)

    def _count(self, variant: VariantState, one: VariantFinding) -> None:
        variant.hits, variant.misses = _number(one.get("hits")), _number(one.get("misses"))
        variant.bypasses, variant.count = _number(one.get("bypasses")), _number(one.get("graphs"))
        if proof := one.get("proof"):
            variant.found, variant.of = _number(proof.get("found")), _number(proof.get("of"))
        variant.unfit = one.get("good") is False
        variant.device = one.get("device", "")[:80]
        variant.threads = _number(one.get("threads"))

    def _graph(self, graph: GraphTold) -> None:
        if (variant := self.at(graph.get("variant"))) is None:
            return
        if variant.graphs is None:
            variant.graphs = {}
        ident = (graph["id"] or "?")[:80]
        known = variant.graphs.get(ident)
        if known is None and len(variant.graphs) >= _GRAPHS:
            return
        took = graph["seconds"] if is_time(graph["seconds"]) else None
        outcome = (graph["outcome"] or "compiling")[:20]
        name = (graph["name"] or (known.name if known else ident))[:_TEXT]
        said, phases = bool(known and known.said), spent(graph["phases"])
        reason = (graph.get("reason") or (known.reason if known else ""))[:_TEXT]
        variant.graphs[ident] = Graph(ident, name, outcome, took, phases, said, reason)
        variant.changed = True
        # Not added up from all graphs each time: there may be hundreds.
        before = known.outcome if known else ""
        variant.total += sum(phases) - (sum(known.phases) if known else 0.0)
        if not variant.ended:
            variant.hits += (outcome == "hit") - (before == "hit")
            variant.misses += (outcome == "miss") - (before == "miss")
            variant.count = len(variant.graphs)
        self.longest = max(self.longest, variant.total)
        self.dirty.add(self._by_index[variant.index])


def _number(value: int | None) -> int:
    return value if value is not None and 0 <= value < 10**9 else 0


#: Graphs that PyTorch does not cache and that are named of a variant.
_NAMED = 20


def source_words(source: str) -> str:
    """What is compiled, by the kind of its source."""
    return {
        "builtin": _tr("Built in"),
        "callable": _tr("Callable"),
        "script": _tr("Script"),
        "exported": _tr("Exported program"),
        "eager": _tr("Eager operator"),
        "triton": _tr("Triton kernel"),
    }.get(source, printable(source, 40))


def state_words(state: str) -> str:
    return {
        "queued": _tr("queued"),
        "starting": _tr("starting"),
        "compiling": _tr("compiling"),
        "done": _tr("done"),
        "failed": _tr("failed"),
        "cancelled": _tr("cancelled"),
    }.get(state, state)


def outcome_words(outcome: str) -> str:
    """How looking for a graph ended, in a word."""
    return {
        "hit": _tr("hit"),
        "miss": _tr("miss"),
        "bypass": _tr("not cacheable"),
        "none": _tr("no cache"),
        "compiling": _tr("compiling"),
    }.get(outcome, printable(outcome, 20))


def name_of(variant: VariantState, several: bool) -> str:
    """What a variant is called; of ``several`` recipes with its own, if it does not begin so."""
    name, recipe = printable(variant.name, 200), printable(variant.recipe, 80)
    if several and name and not name.startswith(recipe):
        return f"{recipe} · {name}"
    return name or recipe


def graph_name(graph: Graph) -> str:
    """What a graph is called: 1/0 forward · MLP, batch 64."""
    ident, name = printable(graph.id, 80), printable(graph.name, 200)
    return f"{ident} · {name}" if name and name != ident else ident


def reason_of(graph: Graph) -> str:
    """Why PyTorch did not cache a graph, in its own words; empty where it did not refuse to."""
    return causes.bypassed({"reason": graph.reason}) if graph.outcome == "bypass" else ""


def told(variant: VariantState) -> str:
    """What came of a variant, in a line."""
    parts = [source_words(variant.source), state_words(variant.state)]
    if variant.count:
        graphs = say.count(variant.count, "graph", "graphs")
        said = _tr("{}: {}").format(graphs, say.lookups(variant.hits, variant.misses))
        outcomes = [graph.outcome for graph in (variant.graphs or {}).values()]
        for count, text in (
            (max(variant.bypasses, outcomes.count("bypass")), _tr("{} not cacheable")),
            (outcomes.count("none"), _tr("{} without a cache")),
            (outcomes.count("compiling") * (variant.state == "compiling"), _tr("{} compiling")),
        ):
            said += f", {text.format(f'{count:,}')}" if count else ""
        parts.append(said)
    if variant.of is not None:
        parts.append(
            _tr("found again: {} of {}").format(f"{variant.found or 0:,}", f"{variant.of:,}")
        )
    parts.append(printable(variant.device, 60))
    if variant.threads:
        parts.append(say.count(variant.threads, "thread", "threads"))
    return " · ".join(filter(None, parts))


def uncached(variant: VariantState) -> str:
    """Which graphs of a variant PyTorch does not cache, and why, a line each; empty for none."""
    some = [graph for graph in (variant.graphs or {}).values() if graph.outcome == "bypass"]
    # A script is told of as a whole.
    if not (count := max(variant.bypasses, len(some))):
        return ""
    lines = [f"{graph_name(graph)}: {reason_of(graph)}" for graph in some[:_NAMED]]
    if more := count - len(lines):
        lines.append(_tr("and {} more").format(f"{more:,}") if lines else "")
    return "\n".join([f"{causes.uncached(count)}{':' if lines[0] else '.'}", *filter(None, lines)])
