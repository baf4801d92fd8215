"""Hears from PyTorch's structured trace which graph is being looked up, and how that ended.

Records go to the logger ``torch.__trace`` (trace_structured in torch/_logging/_internal.py) while
any handler is attached, with the fields ``metadata`` and ``payload``. A lookup in the FX graph
cache is an artifact named ``fx_graph_cache_hit``, ``_miss`` or ``_bypass``
(torch/_inductor/compile_fx.py; torch/_functorch/_aot_autograd/aot_autograd_result.py where an
AOTAutograd entry asks for its graphs). None of it is a promise of PyTorch: whatever is missing is
left out, and nothing here may fail a compile.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

LOGGER = "torch.__trace"

#: The name of a lookup's artifact, and how it ended.
OUTCOME = re.compile(r"fx_graph_cache_(hit|miss|bypass)")
# The payload is JSON of up to some 100 kB; a quotation mark inside one of its strings is escaped.
_KEY = re.compile(r'"key":\s*"([a-z0-9]{1,80})"')
_TAKEN = re.compile(r'"time_taken_ns":\s*(\d{1,18})')
#: Names that say nothing; the step's name says more.
NAMELESS = ("forward", "inner", "wrapper", "<lambda>", "<module>", "__call__", "_fn")


@dataclass(frozen=True)
class Graph:
    """One FX graph: PyTorch's compile id and the direction, a name, and how its lookup ended.

    seconds: what compiling it took, or None where nothing was compiled.
    """

    id: str
    name: str
    outcome: str
    seconds: float | None

    def to_json(self) -> dict[str, Any]:
        """The graph as one flat JSON object."""
        return asdict(self)


class Graphs(logging.Handler):
    """Calls ``tell`` with every graph; again with the same id where more becomes known."""

    def __init__(self, tell: Callable[[Graph], None]) -> None:
        super().__init__()
        self._tell = tell
        self._pid = os.getpid()
        self._functions: dict[str, str] = {}
        self._of_compile: dict[str, list[str]] = {}
        self._told: dict[str, Graph] = {}
        #: The name of the step under way, for graphs whose function has none.
        self.step = ""

    @property
    def count(self) -> int:
        """How many graphs there were. A graph that is looked up twice is one graph."""
        return len(self._told)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record, of whatever shape."""
        # A compile worker that was forked off has a copy of this handler; its say is not wanted.
        if os.getpid() == self._pid:
            with contextlib.suppress(Exception):
                self._take(getattr(record, "metadata", None), getattr(record, "payload", None))

    def _take(self, metadata: Any, payload: Any) -> None:
        if not isinstance(metadata, dict):
            return
        compile_id = id_of(metadata)
        if start := metadata.get("dynamo_start"):
            self._functions[compile_id] = str(start["stack"][-1]["name"])
        artifact = metadata.get("artifact")
        if isinstance(artifact, dict):
            outcome = OUTCOME.fullmatch(str(artifact.get("name")))
            if outcome:
                self._lookup(compile_id, outcome[1], payload if isinstance(payload, str) else "")

    def _lookup(self, compile_id: str, outcome: str, payload: str) -> None:
        keys = self._of_compile.setdefault(compile_id, [])
        found = _KEY.search(payload)
        key = found[1] if found else f"no key {len(keys)}"
        if key not in keys:
            keys.append(key)
        direction = direction_of(keys.index(key))
        taken = _TAKEN.search(payload)
        function = self._functions.get(compile_id, "")
        if not function or function in NAMELESS:
            function = self.step or function
        graph = Graph(
            id=f"{compile_id} {direction}".strip(),
            name=function,
            outcome=outcome,
            seconds=int(taken[1]) / 1e9 if taken and outcome == "miss" else None,
        )
        if self._told.get(graph.id) != graph:
            self._told[graph.id] = graph
            self._tell(graph)


def direction_of(place: int) -> str:
    """What the first, second, … graph of a compile is.

    The forward graph is always looked up before the backward one, compiled now or lazily.
    """
    return ("forward", "backward")[place] if place < 2 else f"graph {place + 1}"


def id_of(metadata: dict[str, Any]) -> str:
    """As PyTorch prints it (CompileId in torch/_guards.py), without the attempt."""
    parts = [metadata.get("frame_id"), metadata.get("frame_compile_id")]
    text = "/".join(str(part) for part in parts if part is not None)
    outer = metadata.get("compiled_autograd_id")
    return text if outer is None else f"!{outer}/{text}".rstrip("/")
