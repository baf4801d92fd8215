"""What a program's run found in a folder, from its trace and what the folder held before."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import is_graph_key
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import explaining, protocol
from torchkeeper.engine.session import Session, path_of, place_of
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.walking import file_at
from torchkeeper.stores.items import Item, in_order
from torchkeeper.stores.reader import Budget
from torchkeeper.verdict import comparing
from torchkeeper.verdict.comparing import Side
from torchkeeper.warm.traces import trace as traces
from torchkeeper.warm.traces.trace import Graph, Trace

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.verdict.probed import AotTold, CauseTold, GraphTold

#: Entries among which the nearest to a miss is looked for: the newest.
MAX_NEAR = 5000
#: Differences that are told of a graph.
_MAX_ROWS = 60


@dataclass
class Held:
    """The keys that a folder held, with paths of payloads in it; traces: the files of a trace."""

    place: str
    fxgraph: dict[str, list[str]] = field(default_factory=dict)
    aotautograd: set[str] = field(default_factory=set)
    exists: bool = True
    traces: frozenset[str] = frozenset()

    def has(self, key: str | None) -> bool:
        """Whether a graph of this key, or what AOTAutograd made of one, was there."""
        return key in self.fxgraph or key in self.aotautograd


def held(session: Session, params: msg.HeldParams, report: Report) -> msg.HeldResult:
    """Remember before a run what a folder holds, and a trace: that is not taken for the run's."""
    found = session.before = holding(path_of(params["place"]), report)
    trace = path_of(params["trace"]) if params.get("trace") else ""
    if os.path.isdir(trace):
        found.traces = frozenset(traces.files_in(trace))
    graphs, autograd = len(found.fxgraph), len(found.aotautograd)
    return {"fxgraph": graphs, "aotautograd": autograd, "exists": found.exists}


def holding(place: str, report: Report) -> Held:
    """What a folder holds by the names of its folders and files; nothing of it is read."""
    found = Held(place, exists=os.path.isdir(place))
    root = os.path.realpath(place)
    for part in _names(os.path.join(root, "fxgraph"), True):
        report.check()
        for key in _names(os.path.join(root, "fxgraph", part), True):
            path = f"fxgraph/{part}/{key}"
            if is_graph_key(key) and (payloads := _names(os.path.join(root, path), False)):
                found.fxgraph[key] = [f"{path}/{name}" for name in payloads]
    for key in _names(os.path.join(root, "aotautograd"), True):
        if is_graph_key(key) and _names(os.path.join(root, "aotautograd", key), False):
            found.aotautograd.add(key)
    return found


def _names(folder: str, folders: bool) -> list[str]:
    """The folders in a folder, or its finished files; none where it is not there."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return [
            e.name
            for e in entries
            if not (e.name.startswith(".") or e.name.endswith(".tmp"))
            and (e.is_dir if folders else e.is_file)(follow_symlinks=False)
        ]
    return []


def explain_trace(
    session: Session, params: msg.ExplainTraceParams, report: Report
) -> msg.ExplainTraceResult:
    """Findings ``graph`` and ``aot``, each a lookup and how it ended; the result has totals. With
    ``known``, a hit on something else than what was ``held`` before was ``remote``, if such a cache
    was on. Without it nobody knows, and a miss is compared with what a ``place`` holds now, less
    what the run itself compiled.
    """
    before = session.before if params.get("known") else None
    assert before is None or isinstance(before, Held)
    trace = traces.read(path_of(params["trace"]), report, before.traces if before else ())
    place = place_of(params["place"]) if params.get("place") else ""
    near = Near(session, before, trace, report, place)
    made, totals = set[str](), Counter[str]()
    spent = saved = 0.0
    for graph in trace.graphs:
        report.check()
        where = _where(graph, before, made, bool(params.get("remote")))
        if graph.key and graph.outcome == "miss":
            made.add(graph.key)
        totals[graph.outcome] += 1
        if graph.outcome == "hit":
            totals[where or "unknown"] += 1
            saved += graph.seconds or 0
        else:
            spent += graph.seconds or 0
        tell({**told(graph), "where": where, "cause": near.cause(graph)}, report)
    for aot in trace.aot:
        report.finding(aot=_aot(aot, trace, before))
    return {
        "graphs": len(trace.graphs),
        "hits": totals["hit"],
        "misses": totals["miss"],
        "bypasses": totals["bypass"],
        "local": totals["local"],
        "remote": totals["remote"],
        "unknown": totals["unknown"],
        "spent": spent,
        "saved": saved,
        "torch": trace.torch,
        "files": trace.files,
        "compiles": trace.compiles,
        "odd": trace.odd,
        "cut": trace.cut,
        "full": trace.full,
        "elsewhere": _elsewhere(trace, before, report),
        "looked_at": near.looked_at,
        "there": len(before.fxgraph) if before else None,
    }


def tell(graph: GraphTold, report: Report) -> None:
    try:
        report.finding(graph=graph)
    except protocol.WireError:
        cause = graph.get("cause")
        if cause is None or "differences" not in cause:
            raise
        # Values that are all as long as can be, of graphs that nobody wrote by hand.
        short = {**cause, "differences": cause["differences"][:5], "graph": None}
        report.finding(graph={**graph, "cause": short})


def told(graph: Graph) -> GraphTold:
    return {
        "id": graph.id,
        "process": graph.process,
        "name": graph.name,
        "source": graph.where,
        "direction": graph.direction,
        "outcome": graph.outcome,
        "key": graph.key,
        "seconds": graph.seconds,
        "phases": list(graph.phases),
        "reason": graph.reason,
        "aot": graph.aot,
        "at": graph.at,
    }


def _where(graph: Graph, before: Held | None, made: set[str], remote: bool) -> str | None:
    """Where a hit came from: "local", "remote" or "unknown"; None for what is no hit. What the
    folder held, or this run put there before, is local. PyTorch's own record does not tell; a hit
    on anything else came from a remote cache if one was on. Otherwise the program itself brought
    it, with a mega-cache perhaps, or has its cache in another folder.
    """
    if graph.outcome != "hit":
        return None
    if before is None or not graph.key:
        return "unknown"
    if before.has(graph.key) or graph.key in made:
        return "local"
    return "remote" if remote else "unknown"


def _aot(aot: traces.Aot, trace: Trace, before: Held | None) -> AotTold:
    """An AOTAutograd lookup, and the graphs that explain it. dropped: the entry was found, and so
    were its graphs, and PyTorch did not take it as another rank had not found it
    (sync_cache_decision_cross_ranks in autograd_cache.py, since 2.15).
    """
    graphs = [
        one
        for one in trace.graphs
        if (one.process, one.compile_id) == (aot.process, aot.compile_id)
    ]
    local = None if before is None or not aot.key else aot.key in before.aotautograd
    return {
        "id": aot.compile_id,
        "process": aot.process,
        "name": aot.name,
        "outcome": aot.outcome,
        "key": aot.key,
        "saved": aot.seconds,
        "reason": aot.reason,
        "there": local,
        "dropped": aot.found and all(graph.outcome == "hit" for graph in graphs),
        "graphs": [graph.id for graph in graphs],
    }


def _elsewhere(trace: Trace, before: Held | None, report: Report) -> bool | None:
    """Whether the program has its cache in another folder: what it compiled is not in this one."""
    misses = [graph for graph in trace.graphs if graph.outcome == "miss"]
    made = {graph.key for graph in misses if graph.key and not graph.failed}
    if before is None or not made:
        return None
    after = holding(before.place, report)
    return not any(map(after.has, made))


class Near:
    """Finds what was there and is nearest to a graph; looks at entries when first asked."""

    def __init__(
        self, session: Session, before: Held | None, trace: Trace, report: Report, place: str = ""
    ) -> None:
        """place: where to look when it is not known what was there before."""
        self._session = session
        self._before = before
        self._torch = trace.torch
        self._made = {("fxgraph", g.key) for g in trace.graphs if g.key and g.outcome == "miss"}
        self._place = place
        self._report = report
        self._among: list[tuple[str, Described]] | None = None

    @property
    def looked_at(self) -> int:
        return len(self._among or ())

    def cause(self, graph: Graph) -> CauseTold | None:
        """Why a graph was compiled, as far as that is known: ``code``, and for "differs" the
        ``nearest`` key, and the comparison of the graph with that as ``explain`` tells it; None
        for a hit.

        Codes: bypass, cut, failed (with ``text``, why compiling it was), guards (the key was
        there, its guards did not hold), refused (it was there, and PyTorch did not take it),
        unrecorded, unknown (nobody knows what was there), nothing (no graph was there),
        nothing-now (none is in the place that was named), unread (none that was there tells its
        factors), differs.
        """
        if graph.outcome == "hit":
            return None
        before = self._before
        codes = {
            "bypass": graph.outcome == "bypass",
            "cut": graph.cut,
            "failed": graph.failed and not graph.factors,
            "guards": graph.guarded,
            "unknown": before is None and not self._place,
            "refused": before and before.has(graph.key),
            "nothing": before and not (before.fxgraph or before.aotautograd),
            "unrecorded": not graph.factors,
        }
        if code := next((code for code, holds in codes.items() if holds), ""):
            return {"code": code, "text": graph.failed} if code == "failed" else {"code": code}
        there = self._there()
        found = explaining.nearest_graph(self._session, graph.factors, there, self._report)
        if found is None:
            return {"code": "unread" if there or before else "nothing-now"}
        names = {f"example_inputs[{number}]": name for number, name in graph.inputs.items()}
        side = Side(graph.factors, self._torch, graphs=(graph.text,))
        told = comparing.compare(side, explaining.side_of(found.full))
        rows = [explaining.cut(one.to_json()) for one in told.differences[:_MAX_ROWS]]
        for row in rows:
            if name := names.get(row["factor"]):
                row["called"] = name
        return {
            "code": "differs",
            "nearest": found.entry.key,
            "differences": rows,
            "recorded": told.recorded,
            "same_graph": told.same_graph,
            "inputs": told.inputs,
            "graph": told.graph.to_json() if told.graph else None,
            "device_index": told.device_index,
        }

    def _there(self) -> list[tuple[str, Described]]:
        """The graphs that were there and still are; or those that are in the place now."""
        if self._among is None and self._before:
            self._among = self._of_before(self._before)
        elif self._among is None:
            self._among = explaining.candidates(
                self._session, "fxgraph", [self._place], self._made, self._report
            )
        return self._among

    def _of_before(self, before: Held) -> list[tuple[str, Described]]:
        try:
            folder = Folder(before.place)
        except Problem:
            return []
        found: list[tuple[str, Described]] = []
        items, reader, report = _items(folder, before), self._session.reader, self._report
        with contextlib.closing(folder.index(self._session.index)) as index:
            for batch in describe(items, folder, reader, report, index=index, budget=Budget()):
                found += [(before.place, x) for x in batch if not x.entry.problem]
                report.progress(len(found), len(items), "entries")
        return found


def _items(folder: Folder, before: Held) -> list[Item]:
    """The newest of the graphs that a folder held, one payload of each key, unread."""
    found = []
    for key, paths in before.fxgraph.items():
        with contextlib.suppress(OSError):
            status = os.stat(os.path.join(folder.root, paths[0]), follow_symlinks=False)
            found.append(Item("fxgraph", key, paths[0], [file_at(paths[0], status)]))
    found.sort(key=lambda item: item.files[0].mtime_ns or 0, reverse=True)
    return in_order(found[:MAX_NEAR])
