"""Hears from PyTorch's structured trace which graph is being compiled, how its lookup ended, and
where the time went.

Records go to the logger ``torch.__trace`` (trace_structured in torch/_logging/_internal.py) while
any handler is attached, with the fields ``metadata`` and ``payload``. A lookup in the FX graph
cache is an artifact named ``fx_graph_cache_hit``, ``_miss`` or ``_bypass``
(torch/_inductor/compile_fx.py; torch/_functorch/_aot_autograd/aot_autograd_result.py where an
AOTAutograd entry asks for its graphs).

While a trace is on, PyTorch writes a ``chromium_event`` where a part of a compile begins ("B") and
where it ends ("E"), each in the parts around it (``dynamo_timed`` and ``ChromiumEventLogger`` in
torch/_dynamo/utils.py; the names are given where each part is, mostly in torch/_inductor). Here a
second belongs to the innermost part that was under way, so that phases do not overlap, and their
sum is what the graph took from its beginning to its end.

None of it is a promise of PyTorch: whatever is missing is left out, a name that is not known counts
for the part that it is in, and nothing here may fail a compile.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

#: The phases, in the order in which a graph goes through them.
PHASES = ("dynamo", "pre_grad", "joint", "partition", "post_grad", "codegen", "build", "other")

#: What each event is part of (torch/_dynamo/convert_frame.py; torch/_inductor/compile_fx.py,
#: graph.py, scheduler.py, codegen/wrapper.py; codecache.py, cpp_builder.py, async_compile.py,
#: output_code.py, triton_bundler.py). Tracing by AOTAutograd and looking into caches is "other".
_PHASE = {
    name: phase
    for phase, names in (
        ("dynamo", "dynamo entire_frame_compile bytecode_tracing build_guards"),
        ("pre_grad", "_recursive_pre_grad_passes"),
        ("joint", "_recursive_joint_graph_passes"),
        ("partition", "min_cut_rematerialization_partition"),
        ("post_grad", "_recursive_post_grad_passes"),
        ("codegen", "GraphLowering.run GraphLowering.compile_to_fn code_gen GraphLowering.codegen"),
        ("build", "compile_file PyCodeCache.load_by_key_path AotCodeCompiler.compile"),
        ("build", "async_compile.wait async_compile.precompile reload_kernel_in_parent"),
        ("build", "TritonBundler.read_and_emit TritonBundler.collect"),
        ("other", "backend_compile create_aot_dispatcher_function inductor_compile"),
        ("other", "compile_fx.<locals>.fw_compiler_base compile_fx.<locals>.bw_compiler"),
        ("other", "fx_codegen_and_compile"),
    )
    for name in names.split()
}
#: Where a backward graph is compiled: with the forward one, or when it is first needed.
_BACKWARD = ("entire_backward_compile", "compile_fx.<locals>.bw_compiler")
#: Where a graph is compiled, looked up before. A graph may be so more than once, in itself.
GRAPH = "inductor_compile"

#: Seconds that one event may be after another; events that are deeper or more are passed over.
_LONGEST, _DEEPEST, _MOST_PARTS = 7 * 86400.0, 60, 1000

# JSON with the keys in this order; of what is between, which may be long, nothing is read.
_HEAD = re.compile(r'\{\s*"name":\s*"([^"\\]{1,200})",\s*"ts":\s*(\d{1,17}(?:\.\d{1,9})?),')
_KIND = re.compile(r'"ph":\s*"([BE])"')
_TAIL = 200

Phase = tuple[str, float]

LOGGER = "torch.__trace"

#: The name of a lookup's artifact, and how it ended.
OUTCOME = re.compile(r"fx_graph_cache_(hit|miss|bypass)")
_AUTOGRAD = frozenset({"aotautograd_cache_hit", "aotautograd_cache_miss"})
# The payload is JSON of up to some 100 kB; a quotation mark inside one of its strings is escaped.
_KEY = re.compile(r'"key":\s*"([a-z0-9]{1,80})"')
_TAKEN = re.compile(r'"time_taken_ns":\s*(\d{1,18})')
_REASON = re.compile(r'"cache_bypass_reason":\s*("(?:[^"\\]|\\.)*")')
#: Characters of a reason that are told.
_LONGEST_REASON = 300
#: Where a graph begins to be compiled; before, there may never be one.
_BEGINS = ("backend_compile", GRAPH)
#: Of a graph that is being compiled, one that was looked up in no cache, and all others.
COMPILING, NOT_ASKED = "compiling", "none"
DECIDED = ("hit", "miss", "bypass")
#: Seconds between two findings that tell nothing of a graph but its times.
_PAUSE = 0.25
#: Compiles of which something is remembered.
_MOST_COMPILES = 10_000
#: Names that say nothing; the step's name says more.
NAMELESS = ("forward", "inner", "wrapper", "<lambda>", "<module>", "__call__", "_fn")


class Event(NamedTuple):
    """A part of a compile begins ("B") or ends ("E"); at: seconds since the epoch."""

    kind: str
    name: str
    at: float


def event(payload: object) -> Event | None:
    """The event that the payload of a ``chromium_event`` tells of; None for any other."""
    if not isinstance(payload, str):
        return None
    head, kind = _HEAD.match(payload), _KIND.findall(payload[-_TAIL:])
    return Event(kind[-1], head[1], float(head[2]) / 1e6) if head and kind else None


@dataclass
class Part:
    """What belongs to one graph of a compile. direction: "forward" or "backward"."""

    direction: str
    spent: dict[str, float] = field(default_factory=dict)
    #: Whether a graph has been compiled, or looked up, in it.
    has_graph: bool = False

    def phases(self) -> tuple[Phase, ...]:
        """Each phase and its seconds until now, those that took none left out."""
        return tuple((name, self.spent[name]) for name in PHASES if self.spent.get(name))


class _Open(NamedTuple):
    """A part of a compile that is under way."""

    name: str
    phase: str
    part: Part
    in_graph: bool


class Compile:
    """What the events of one compile tell: those with its id, in order."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._open: list[_Open] = []
        self._at = 0.0

    @property
    def part(self) -> Part | None:
        """The part that is under way; None where nothing is."""
        return self._open[-1].part if self._open else None

    def take(self, one: Event) -> None:
        """Take the next event; an end without a beginning is passed over."""
        if one.kind == "B":
            self._spend(one.at)
            if one.name == "dynamo":
                self._open.clear()  # what was under way has failed
            if len(self._open) < _DEEPEST:
                self._open.append(self._begun(one.name))
        elif any(one.name == being.name for being in self._open):
            self._spend(one.at)
            while self._open.pop().name != one.name:
                pass

    def _spend(self, at: float) -> None:
        if self._open and 0 < at - self._at < _LONGEST:
            top = self._open[-1]
            top.part.spent[top.phase] = top.part.spent.get(top.phase, 0.0) + at - self._at
        self._at = at

    def _begun(self, name: str) -> _Open:
        around, part = self._open[-1] if self._open else None, self.part
        in_graph = around.in_graph if around else False
        if name in _BACKWARD and (part is None or part.direction != "backward"):
            part, in_graph = self._new("backward"), False
        elif part is None:
            part = self._new("forward")
        elif name == GRAPH and part.has_graph and not in_graph:
            part = self._new(part.direction)
        if name == GRAPH:
            part.has_graph = in_graph = True
        phase = _PHASE.get(name) or (around.phase if around else "other")
        return _Open(name, phase, part, in_graph)

    def _new(self, direction: str) -> Part:
        if len(self.parts) >= _MOST_PARTS:
            return self.parts[-1]
        self.parts.append(Part(direction))
        return self.parts[-1]


def checked_phases(value: Any) -> list[Phase]:
    """Phases, ``[[name, seconds], …]``. Raises ValueError, TypeError, LookupError."""
    found: dict[str, float] = {}
    for name, seconds in value[: len(PHASES)]:
        number = float(seconds)
        if name not in PHASES or not 0 <= number < _LONGEST:
            raise ValueError("not a phase")
        found[name] = number
    return [(name, found[name]) for name in PHASES if name in found]


@dataclass(frozen=True)
class Graph:
    """One FX graph: PyTorch's compile id and the direction, a name, and how its lookup ended.
    outcome: "hit", "miss" or "bypass"; "compiling" where that is not known yet, and "none" where it
    was compiled and no cache was asked. seconds: what compiling it took, or None where nothing was
    compiled. phases: where the time went, from when PyTorch began with it. reason: of a bypass,
    why, in PyTorch's words; None where it gives none. key: of its entry, None where that is not
    known.
    """

    id: str
    name: str
    outcome: str
    seconds: float | None
    phases: tuple[Phase, ...] = ()
    reason: str | None = None
    key: str | None = None


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
        #: The keys of AOTAutograd's entries that were looked up.
        self.autograd: dict[str, None] = {}
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
            happened = event(payload)
            if happened and (compile_id := id_of(metadata)):
                self._happened(compile_id, happened)
            return
        if start := metadata.get("dynamo_start"):
            self._of(id_of(metadata)).function = str(start["stack"][-1]["name"])
        artifact = metadata.get("artifact")
        named = artifact.get("name") if isinstance(artifact, dict) else None
        said = payload if isinstance(payload, str) else ""
        if outcome := OUTCOME.fullmatch(str(named)):
            self._lookup(id_of(metadata), outcome[1], said)
        elif named in _AUTOGRAD and (key := _KEY.search(said)):
            self.autograd[key[1]] = None

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
        if part is None:
            for ended in known.times.parts:
                self._timed(known, ended, happened.at, True)
        elif before is not None:
            last = self._when.get(known.parts.get(id(before), ""), 0.0)
            if happened.at - last > _PAUSE:
                self._timed(known, before, happened.at, False)

    def _timed(self, known: _Known, part: Part, at: float, ended: bool) -> None:
        """Tell the times of a graph, if it has been told."""
        if graph := self._told.get(known.parts.get(id(part), "")):
            outcome = NOT_ASKED if ended and graph.outcome == COMPILING else graph.outcome
            self._say(replace(graph, phases=part.phases(), outcome=outcome), at)

    def _say(self, graph: Graph, at: float) -> None:
        self._when[graph.id] = at
        if self._told.get(graph.id) != graph:
            self._told[graph.id] = graph
            self._tell(graph)

    def _named(self, known: _Known) -> str:
        named = "" if known.function in NAMELESS else known.function
        return named or self.step or known.function

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
        reason = None
        if outcome == "bypass" and (told := _REASON.search(payload)):
            reason = str(json.loads(told[1])).strip()[:_LONGEST_REASON] or None
        of = found[1] if found else None
        graph = Graph(ident, self._named(known), outcome, seconds, spent, reason, of)
        self._say(graph, self._when.get(ident, 0.0))


def direction_of(place: int) -> str:
    """What the first, second, … graph of a compile is: forward is looked up first."""
    return ("forward", "backward")[place] if place < 2 else f"graph {place + 1}"


def id_of(metadata: Mapping[str, object]) -> str:
    """As PyTorch prints it (CompileId in torch/_guards.py), without the attempt."""
    parts = [metadata.get("frame_id"), metadata.get("frame_compile_id")]
    text = "/".join(str(part) for part in parts if part is not None)
    outer = metadata.get("compiled_autograd_id")
    return text if outer is None else f"!{outer}/{text}".rstrip("/")
