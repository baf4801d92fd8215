"""Hears from PyTorch's structured trace which graph is being compiled, how its lookup ended, and
where the time went.

Records go to the logger ``torch.__trace`` (trace_structured in torch/_logging/_internal.py) while
any handler is attached, with the fields ``metadata`` and ``payload``. A lookup in the FX graph
cache is an artifact named ``fx_graph_cache_hit``, ``_miss`` or ``_bypass``
(torch/_inductor/compile_fx.py; torch/_functorch/_aot_autograd/aot_autograd_result.py where an
AOTAutograd entry asks for its graphs); ``phases`` knows of times. None of it is
a promise of PyTorch: whatever is missing is left out, and nothing here may fail a compile.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torchkeeper.warm.traces import phases
from torchkeeper.warm.traces.phases import Compile, Event, Part, Phase

LOGGER = "torch.__trace"

#: The name of a lookup's artifact, and how it ended.
OUTCOME = re.compile(r"fx_graph_cache_(hit|miss|bypass)")
# The payload is JSON of up to some 100 kB; a quotation mark inside one of its strings is escaped.
_KEY = re.compile(r'"key":\s*"([a-z0-9]{1,80})"')
_TAKEN = re.compile(r'"time_taken_ns":\s*(\d{1,18})')
_REASON = re.compile(r'"cache_bypass_reason":\s*("(?:[^"\\]|\\.)*")')
#: Characters of a reason that are told.
_LONGEST = 300
#: Where a graph begins to be compiled; before, there may never be one.
_BEGINS = ("backend_compile", phases.GRAPH)
#: Of a graph that is being compiled, one that was looked up in no cache, and all others.
COMPILING, NOT_ASKED = "compiling", "none"
DECIDED = ("hit", "miss", "bypass")
#: Seconds between two findings that tell nothing of a graph but its times.
_PAUSE = 0.25
#: Compiles of which something is remembered.
_MOST_COMPILES = 10_000
#: Names that say nothing; the step's name says more.
NAMELESS = ("forward", "inner", "wrapper", "<lambda>", "<module>", "__call__", "_fn")


@dataclass(frozen=True)
class Graph:
    """One FX graph: PyTorch's compile id and the direction, a name, and how its lookup ended.
    outcome: "hit", "miss" or "bypass"; "compiling" where that is not known yet, and "none" where it
    was compiled and no cache was asked. seconds: what compiling it took, or None where nothing was
    compiled. phases: where the time went, from when PyTorch began with it. reason: of a bypass,
    why, in PyTorch's words; None where it gives none.
    """

    id: str
    name: str
    outcome: str
    seconds: float | None
    phases: tuple[Phase, ...] = ()
    reason: str | None = None

    def to_json(self) -> Mapping[str, object]:
        """The graph as one flat JSON object."""
        return asdict(self)


@dataclass
class _Known:
    """One compile. keys: of its graphs, in order; parts: ids of those whose times are told."""

    function: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    times: Compile = field(default_factory=Compile)
    parts: dict[int, str] = field(default_factory=dict)


class Graphs(logging.Handler):
    """Calls ``tell`` with every graph; again with the same id where more becomes known."""

    def __init__(self, tell: Callable[[Graph], None]) -> None:
        super().__init__()
        self._tell = tell
        self._pid = os.getpid()
        self._compiles: dict[str, _Known] = {}
        self._told: dict[str, Graph] = {}
        #: When a graph was told last, in seconds as events have them.
        self._when: dict[str, float] = {}
        #: The name of the step under way, for graphs whose function has none.
        self.step = ""

    @property
    def count(self) -> int:
        """How many graphs were looked up. A graph that is looked up twice is one graph."""
        return sum(graph.outcome in DECIDED for graph in self._told.values())

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record, of whatever shape."""
        # A compile worker that was forked off has a copy of this handler; its say is not wanted.
        if os.getpid() == self._pid:
            self.hear(getattr(record, "metadata", None), getattr(record, "payload", None))

    def hear(self, metadata: Any, payload: Any) -> None:
        """Take what a record says: ``metadata``, and the ``payload`` as text. Raises nothing."""
        with contextlib.suppress(Exception):
            self._take(metadata, payload)

    def _take(self, metadata: Any, payload: Any) -> None:
        if not isinstance(metadata, dict):
            return
        # Compilers that run beside have no id: what they take is what the compile waits for.
        if "chromium_event" in metadata:
            happened = phases.event(payload)
            if happened and (compile_id := id_of(metadata)):
                self._happened(compile_id, happened)
            return
        if start := metadata.get("dynamo_start"):
            self._of(id_of(metadata)).function = str(start["stack"][-1]["name"])
        artifact = metadata.get("artifact")
        named = artifact.get("name") if isinstance(artifact, dict) else None
        if outcome := OUTCOME.fullmatch(str(named)):
            found = payload if isinstance(payload, str) else ""
            self._lookup(id_of(metadata), outcome[1], found)

    def _of(self, compile_id: str) -> _Known:
        if compile_id not in self._compiles and len(self._compiles) >= _MOST_COMPILES:
            del self._compiles[next(iter(self._compiles))]
        return self._compiles.setdefault(compile_id, _Known())

    def _happened(self, compile_id: str, happened: Event) -> None:
        known = self._of(compile_id)
        before = known.times.part
        known.times.take(happened)
        part = known.times.part
        if part is not None and happened.kind == "B":
            begins = happened.name in _BEGINS or part.direction == "backward"
            if begins and id(part) not in known.parts:
                ident = self._new_id(compile_id, known, part.direction)
                known.parts[id(part)] = ident
                graph = Graph(ident, self._named(known), COMPILING, None, part.phases())
                self._say(graph, happened.at)
        if not known.times.under_way:
            for ended in known.times.parts:
                self._timed(known, ended, happened.at, True)
        elif before is not None:
            last = self._when.get(known.parts.get(id(before), ""), 0.0)
            if happened.at - last > _PAUSE:
                self._timed(known, before, happened.at, False)

    def _timed(self, known: _Known, part: Part, at: float, ended: bool) -> None:
        """Tell the times of a graph, if it has been told."""
        graph = self._told.get(known.parts.get(id(part), ""))
        if graph is not None:
            outcome = NOT_ASKED if ended and graph.outcome == COMPILING else graph.outcome
            self._say(replace(graph, phases=part.phases(), outcome=outcome), at)

    def _say(self, graph: Graph, at: float) -> None:
        self._when[graph.id] = at
        if self._told.get(graph.id) != graph:
            self._told[graph.id] = graph
            self._tell(graph)

    def _named(self, known: _Known) -> str:
        nameless = not known.function or known.function in NAMELESS
        return (nameless and self.step) or known.function

    @staticmethod
    def _new_id(compile_id: str, known: _Known, direction: str) -> str:
        """An id that no graph has yet."""
        taken = {*known.parts.values(), *known.keys.values()}
        ident = f"{compile_id} {direction}".strip()
        ids = (ident, *(f"{ident} {n}" for n in range(2, len(taken) + 3)))
        return next(one for one in ids if one not in taken)

    def _lookup(self, compile_id: str, outcome: str, payload: str) -> None:
        known = self._of(compile_id)
        found = _KEY.search(payload)
        key = found[1] if found else f"no key {len(known.keys)}"
        part = known.times.part
        if key not in known.keys:
            # A graph that is being compiled is the one that is looked up, unless that was another:
            # what AOTAutograd has found, it takes forward and backward at once.
            ident = known.parts.get(id(part), "") if part else ""
            if not ident or ident in known.keys.values():
                ident = self._new_id(compile_id, known, direction_of(len(known.keys)))
            known.keys[key] = ident
        ident = known.keys[key]
        taken = _TAKEN.search(payload)
        own = part is not None and known.parts.get(id(part)) == ident
        seconds = int(taken[1]) / 1e9 if taken and outcome == "miss" else None
        spent = part.phases() if part is not None and own else ()
        reason = _reason(payload) if outcome == "bypass" else None
        graph = Graph(ident, self._named(known), outcome, seconds, spent, reason)
        self._say(graph, self._when.get(ident, 0.0))


def _reason(payload: str) -> str | None:
    found = _REASON.search(payload)
    said = str(json.loads(found[1])).strip() if found else ""
    return said[:_LONGEST] or None


def direction_of(place: int) -> str:
    """What the first, second, … graph of a compile is: forward is looked up first."""
    return ("forward", "backward")[place] if place < 2 else f"graph {place + 1}"


def id_of(metadata: Mapping[str, object]) -> str:
    """As PyTorch prints it (CompileId in torch/_guards.py), without the attempt."""
    parts = [metadata.get("frame_id"), metadata.get("frame_compile_id")]
    text = "/".join(str(part) for part in parts if part is not None)
    outer = metadata.get("compiled_autograd_id")
    return text if outer is None else f"!{outer}/{text}".rstrip("/")
