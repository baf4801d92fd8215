"""Where the seconds of a compile go, by PyTorch's own account of it.

While a trace is on, PyTorch writes a ``chromium_event`` where a part of a compile begins ("B") and
where it ends ("E"), each in the parts around it (``dynamo_timed`` and ``ChromiumEventLogger`` in
torch/_dynamo/utils.py; the names are given where each part is, mostly in torch/_inductor). Here a
second belongs to the innermost part that was under way, so that phases do not overlap, and their
sum is what the graph took from its beginning to its end.

Nothing of it is a promise of PyTorch: a name that is not known counts for the part that it is in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: The phases, in the order in which a graph goes through them.
PHASES = ("dynamo", "pre_grad", "joint", "partition", "post_grad", "codegen", "build", "other")

#: What each event is part of (torch/_dynamo/convert_frame.py; torch/_inductor/compile_fx.py,
#: graph.py, scheduler.py, codegen/wrapper.py; codecache.py, cpp_builder.py, async_compile.py,
#: output_code.py, triton_bundler.py). Tracing by AOTAutograd and looking into caches is "other".
_PHASE = {
    "dynamo": "dynamo",
    "entire_frame_compile": "dynamo",
    "bytecode_tracing": "dynamo",
    "build_guards": "dynamo",
    "backend_compile": "other",
    "_recursive_pre_grad_passes": "pre_grad",
    "create_aot_dispatcher_function": "other",
    "_recursive_joint_graph_passes": "joint",
    "min_cut_rematerialization_partition": "partition",
    "compile_fx.<locals>.fw_compiler_base": "other",
    "compile_fx.<locals>.bw_compiler": "other",
    "inductor_compile": "other",
    "fx_codegen_and_compile": "other",
    "_recursive_post_grad_passes": "post_grad",
    "GraphLowering.run": "codegen",
    "GraphLowering.compile_to_fn": "codegen",
    "code_gen": "codegen",
    "GraphLowering.codegen": "codegen",
    "compile_file": "build",
    "PyCodeCache.load_by_key_path": "build",
    "AotCodeCompiler.compile": "build",
    "async_compile.wait": "build",
    "async_compile.precompile": "build",
    "reload_kernel_in_parent": "build",
    "TritonBundler.read_and_emit": "build",
    "TritonBundler.collect": "build",
}
#: Where a backward graph is compiled: with the forward one, or when it is first needed.
_BACKWARD = ("entire_backward_compile", "compile_fx.<locals>.bw_compiler")
#: Where a graph is compiled, looked up before. A graph may be so more than once, in itself.
GRAPH = "inductor_compile"

#: Seconds that one event may be after another; events that are deeper or more are passed over.
_LONGEST = 7 * 86400.0
_DEEPEST = 60
_MOST_PARTS = 1000

# JSON with the keys in this order; of what is between, which may be long, nothing is read.
_HEAD = re.compile(r'\{\s*"name":\s*"([^"\\]{1,200})",\s*"ts":\s*(\d{1,17}(?:\.\d{1,9})?),')
_KIND = re.compile(r'"ph":\s*"([BE])"')
_TAIL = 200

Phase = tuple[str, float]


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
    def under_way(self) -> bool:
        """Whether anything of it is."""
        return bool(self._open)

    @property
    def part(self) -> Part | None:
        """The part that is under way."""
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
        around = self._open[-1] if self._open else None
        part = around.part if around else None
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


def checked(value: Any) -> list[Phase]:
    """Phases, ``[[name, seconds], …]``. Raises ValueError, TypeError, LookupError."""
    found: dict[str, float] = {}
    for name, seconds in value[: len(PHASES)]:
        number = float(seconds)
        if name not in PHASES or not 0 <= number < _LONGEST:
            raise ValueError("not a phase")
        found[name] = number
    return [(name, found[name]) for name in PHASES if name in found]


def total(phases: Iterable[Phase]) -> float:
    """Seconds of all of them: from the beginning of a graph to its end."""
    return sum(seconds for _, seconds in phases)
