"""The verdict of every entry of a place, in an environment that was probed before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from torchkeeper.artifacts.entry import VERDICTS, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import wire
from torchkeeper.engine.session import Session, asks_times, entries_of, place_of, with_times
from torchkeeper.stores import query
from torchkeeper.stores.describe import Described
from torchkeeper.verdict import judging, kinds
from torchkeeper.verdict.judging import Verdict

_GRAPHS = ("fxgraph", "aotautograd")
_Factors = dict[str, list[tuple[str, str, str]]]


def check(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Rows: entries with ``verdict``, ``reasons`` and ``conditions``. ``env``: as a probe tells.

    The result counts verdicts, ``none`` those without one, and of what is stale the versions of
    torch that made it.
    """
    env = params["env"]
    if not isinstance(env, dict):
        raise TypeError("env is not an object")
    asked = query.parse(params.get("filter") or "")
    store = session.store(place_of(params, "place"), report)
    try:
        timed = asks_times(store, asked)
        batches = with_times(store, entries_of(session, store, report), timed)
        found = [one for batch in batches for one in batch]
    finally:
        store.close()
    judge = _Judge(_factors(session, store.place, found, report), env)
    graphs = _graphs(found, judge)
    counts: Counter[str] = Counter()
    made_by: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for one in found:
        if not asked.matches(one.entry):
            continue
        said = _verdict(one, judge, graphs)
        counts[said.verdict or "none"] += 1
        if said.verdict == "stale" and one.entry.torch not in (None, env.get("torch")):
            made_by[str(one.entry.torch)] += 1
        rows.append({**one.entry.to_json(), **said.to_json()})
        if len(rows) >= wire.MAX_ROWS:
            report.check()
            report.rows(rows)
            rows = []
    if rows:
        report.rows(rows)
    return {
        "verdicts": {name: counts[name] for name in (*VERDICTS, "none") if counts[name]},
        "made_by": dict(made_by.most_common(20)),
    }


def _factors(session: Session, place: str, found: list[Described], report: Report) -> _Factors:
    """The key factors of each group: those that its first entry names, read in full."""
    factors: _Factors = {}
    for one in found:
        group = one.facts.get("group")
        if one.entry.kind not in _GRAPHS or not group or group in factors or one.entry.problem:
            continue
        report.check()
        item = one.origin or one.item
        try:
            # Looking at one entry closes the store.
            store = session.store(place, report)
            full = session.details.of(session.reader, store, item.kind, item.path, report)
        except Problem:
            continue  # it is gone; the next of the group tells the same
        if full.facts.get("group") == group:
            factors[group] = [(f["hash"], f["name"], f["value"]) for f in full.factors()]
    return factors


class _Judge:
    """Judges graphs; those of one group, torch and device are the same to it."""

    def __init__(self, factors: _Factors, env: Mapping[str, Any]) -> None:
        self.env = env
        self._factors = factors
        self._said: dict[tuple[str, str | None, str | None, str], Verdict] = {}

    def graph(self, one: Described) -> Verdict:
        """The verdict of an FX graph or AOTAutograd entry by itself."""
        entry = one.entry
        if said := judging.damaged(entry):
            return said
        group = one.facts.get("group") or ""
        known_by = entry.kind, entry.torch, entry.device, group
        if known_by not in self._said:
            said = judging.graph(entry.torch, entry.device, self._factors.get(group), self.env)
            self._said[known_by] = judging.looked_for(entry.kind, said, self.env)
        return self._said[known_by]


def _graphs(found: list[Described], judge: _Judge) -> dict[str, Verdict]:
    """The verdict of each FX graph by key; of several payloads, the best."""
    best: dict[str, Verdict] = {}
    for one in found:
        if one.entry.kind == "fxgraph":
            said = judge.graph(one)
            best[one.entry.key] = min(best.get(one.entry.key, said), said, key=_rank)
    return best


def _rank(said: Verdict) -> int:
    return VERDICTS.index(said.verdict or "broken")


def _verdict(one: Described, judge: _Judge, graphs: dict[str, Verdict]) -> Verdict:
    kind = one.entry.kind
    if kind in judging.WITHOUT:
        return Verdict(None)
    if kind not in _GRAPHS:
        return judging.damaged(one.entry) or kinds.other(one.entry, one.facts, judge.env)
    said = judge.graph(one)
    if kind == "fxgraph" or one.facts.get("code_keys"):
        return said  # some hold their graphs themselves
    return judging.together(said, [(k, graphs.get(k)) for k in one.facts.get("fx_keys") or ()])
