"""Runs of programs that were explained, kept for the list: a small JSON file for each. A file that
cannot be understood is passed over and counted. Command lines are bounded, and kept without what
looks like a secret.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import hidden
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.client.words.tongue import Nouns, several
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import ExplainTraceResult
    from torchkeeper.verdict.probed import AotTold, GraphTold

    class ExplainedGraph(GraphTold):
        """A graph that was looked up; why: empty for a hit."""

        why: str

    class ExplainedAot(AotTold):
        """A lookup of AOTAutograd; why: empty for a hit."""

        why: str


MAX_RUNS = 200
#: Graphs of a run that are kept, those that were compiled first; and bytes of a file.
MAX_GRAPHS = 500
MAX_BYTES = 256 << 10
_MAX_TEXT, _MAX_ARGUMENTS, _MAX_ARGUMENT = 1000, 64, 300
#: Characters of an argument that are looked at.
_LONGEST = 1000

_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
_FILE = re.compile(rf"{_ID.pattern}\.json")
#: What a run counts, each a number.
TOTALS = ("graphs", "hits", "misses", "bypasses", "local", "remote", "unknown", "spent", "saved")
_SECONDS = ("spent", "saved")
_KEPT: Nouns = ("{n} of {all} graphs is kept", "{n} of {all} graphs are kept")
_OF_GRAPH = (
    "id", "process", "name", "source", "outcome", "where", "key", "seconds", "aot", "why", "phases"
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A run that is kept. at: when it began, seconds since the epoch. command: without secrets.
    code: its exit code. seconds: how long it took. totals: by TOTALS; spent and saved are seconds.
    graphs: what was compiled first, as ``engine.running`` tells it, with ``why`` in words.
    """

    id: str
    at: float
    command: tuple[str, ...]
    place: str
    code: int
    seconds: float
    torch: str | None
    totals: dict[str, float]
    graphs: Sequence[Mapping[str, object]] = field(repr=False)

    @property
    def rate(self) -> float | None:
        """Hits among all lookups that could have been one, from 0 to 1; None without any."""
        tried = self.totals["hits"] + self.totals["misses"] + self.totals["bypasses"]
        return self.totals["hits"] / tried if tried else None

    @property
    def machine(self) -> str:
        """Another machine that it ran on; "" for this one."""
        with suppress(Problem):
            return scheme_of(self.place).machine(self.place)
        return ""

    @property
    def line(self) -> str:
        """Its command, after the machine where that is another."""
        host = self.machine.removeprefix("ssh://")
        return " ".join([*([f"{host}:"] if host else []), *self.command])

    @property
    def shortened(self) -> str:
        """That not all graphs are kept; empty where they are."""
        every, kept = int(self.totals["graphs"]), len(self.graphs)
        return "" if kept >= every else several(kept, *_KEPT, all=every)

    def to_json(self) -> dict[str, object]:
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True)
class Kept:
    """The runs that are kept, the latest first, and how many files could not be understood."""

    runs: list[Run]
    damaged: int


def folder() -> str:
    from platformdirs import user_data_dir

    try:
        return os.path.join(user_data_dir("torchkeeper"), "runs")
    except RuntimeError:  # a user without a home folder, as in some containers
        return os.path.join(whole.cache_folder(), "runs")


def discreet(command: Sequence[str]) -> tuple[str, ...]:
    """A command line without passwords and tokens, as far as they can be told, and bounded."""
    found = [
        shown if len(shown) <= _MAX_ARGUMENT else shown[:_MAX_ARGUMENT] + "…"
        for shown in hidden([one[:_LONGEST] for one in command[:_MAX_ARGUMENTS]])
    ]
    if len(command) > _MAX_ARGUMENTS:
        found.append("…")
    return tuple(found)


def keep(
    command: Sequence[str],
    place: str,
    code: int,
    began: float,
    seconds: float,
    result: ExplainTraceResult,
    graphs: Sequence[ExplainedGraph],
) -> Run:
    """Keep a run of ``explain_trace``; the oldest go. Raises UserError("runs-unwritable")."""
    counted: Mapping[str, Any] = result
    totals = {name: counted[name] for name in TOTALS}
    # What was compiled is what somebody will ask about.
    some = [_kept(x) for x in sorted(graphs, key=lambda x: x["outcome"] == "hit")[:MAX_GRAPHS]]
    # Of another machine all of this is its own say.
    now, torch = time.time(), (result["torch"] or "")[:_MAX_TEXT] or result["torch"]
    began = began if 0 <= began < now + 86_400 else now
    said = discreet(command)
    run = Run(_new_id(began), began, said, place, code, seconds, torch, totals, some)
    where, told = folder(), run.to_json()
    while some and len(json.dumps(told)) > MAX_BYTES:
        some = some[: len(some) // 2]
        told["graphs"] = some
    with failing_as("runs-unwritable", folder=where):
        os.makedirs(where, mode=0o700, exist_ok=True)
        whole.write(os.path.join(where, f"{run.id}.json"), told, indent=None)
        for name in _names(where)[MAX_RUNS:]:
            with suppress(OSError):
                os.unlink(os.path.join(where, name))
    return run


def _new_id(began: float) -> str:
    """An id that nothing has yet; ids are in the order of time, to less than a millisecond."""
    taken = set(every())
    while True:
        ident = time.strftime("%Y%m%d-%H%M%S-", time.gmtime(began))
        ident += f"{int(began % 1 * 0x10000):04x}"
        if ident not in taken:
            return ident
        began += 1 / 0x10000


def _kept(graph: ExplainedGraph) -> dict[str, object]:
    """What is kept of a graph: of the cause the words, and which entry was nearest."""
    cause = graph.get("cause")
    kept = {name: graph.get(name) for name in _OF_GRAPH}
    kept["nearest"] = cause.get("nearest") if cause else None
    return {k: x[:_MAX_TEXT] if isinstance(x, str) else x for k, x in kept.items()}


def _names(where: str) -> list[str]:
    """The files of runs, the latest first: a name begins with the time."""
    try:
        return sorted(filter(_FILE.fullmatch, os.listdir(where)), reverse=True)
    except OSError:
        return []


def kept() -> Kept:
    """The runs that are kept. Reads their files; a folder that is not there holds none."""
    where = folder()
    runs, damaged = list[Run](), 0
    for name in _names(where)[:MAX_RUNS]:
        try:
            runs.append(_read(os.path.join(where, name)))
        except FileNotFoundError:
            continue  # it has just gone
        except (OSError, ValueError, TypeError, LookupError, RecursionError, OverflowError):
            damaged += 1
    return Kept(runs, damaged)


def _read(path: str) -> Run:
    said = json.loads(whole.read(path, MAX_BYTES))
    totals = {name: (float if name in _SECONDS else int)(said["totals"][name]) for name in TOTALS}
    return Run(
        os.path.basename(path).removesuffix(".json"),
        float(said["at"]),
        tuple(str(one) for one in said["command"]),
        str(said["place"]),
        int(said["code"]),
        float(said["seconds"]),
        None if said["torch"] is None else str(said["torch"]),
        totals,
        [graph for graph in said["graphs"][:MAX_GRAPHS] if isinstance(graph, dict)],
    )


def one(ident: str) -> Run:
    """The run whose id begins so, or "last". Raises UserError("run-unknown" | "run-ambiguous")."""
    runs = kept().runs
    found = runs[:1] if ident == "last" else [run for run in runs if run.id.startswith(ident)]
    if not found:
        raise user_error("run-unknown", {"run": ident})
    if len(found) > 1:
        raise user_error("run-ambiguous", {"run": ident, "count": len(found)})
    return found[0]


def forget(idents: Sequence[str]) -> int:
    """Remove runs by their whole ids; how many were there. Raises UserError("runs-unwritable")."""
    gone = 0
    for ident in filter(_ID.fullmatch, idents):
        with failing_as("runs-unwritable", folder=folder()), suppress(FileNotFoundError):
            os.unlink(os.path.join(folder(), f"{ident}.json"))
            gone += 1
    return gone


def every() -> list[str]:
    """The ids of all files of runs, the damaged too."""
    return [name.removesuffix(".json") for name in _names(folder())]
