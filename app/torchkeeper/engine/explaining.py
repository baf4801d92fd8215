"""Two entries compared, in one place or in two, and the entry that is nearest to another. One is
asked for as ``{place, kind, path}`` or ``{place, key}``, where the beginning of a key is enough.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import COMPARED, KINDS, Entry, Problem
from torchkeeper.artifacts.layout import VLLM_FILES
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.vllm import HASHES, piece, rank_of
from torchkeeper.engine.detail import GRAPHS, Full, factors_of
from torchkeeper.engine.session import Session, place_of
from torchkeeper.stores import vllm as stored
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item
from torchkeeper.verdict import comparing, flat, vllm
from torchkeeper.verdict.comparing import Comparison, Side

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.verdict.probed import FactorTold

#: Characters of a value that are told.
_VALUE = 4000
#: Groups of which an entry is read in full to find the nearest entry, and entries that are.
_GROUPS = 300
_READ = 8
_FLAT = 48


class Found(NamedTuple):
    place: str
    full: Full

    @property
    def entry(self) -> Entry:
        return self.full.entry

    def told(self) -> msg.PlacedEntry:
        return {"place": self.place, **self.entry.to_json()}


def explain(session: Session, params: msg.ExplainParams, report: Report) -> msg.ExplainResult:
    """Rows: what differs between an entry and another, causes first. Places that cannot be read are
    told as ``left``. Raises Problem("entry-gone" | "key-unknown" | "key-ambiguous" | "kinds-differ"
    | "nothing-recorded" | "factors-missing" | "entry-damaged").
    """
    one = _asked(session, params, params, report)
    if "other" in params and (keys := _keys(session, params, one, report)):
        return keys
    if one.entry.kind not in COMPARED:
        raise Problem("nothing-recorded", kind=one.entry.kind)
    if one.entry.broken:
        raise Problem("entry-damaged", key=one.entry.key)
    other: Found | None
    if (places := params.get("nearest")) is not None:
        other = nearest_to(session, one, list(map(place_of, places)), report)
    else:
        other = _asked(session, params["other"], params, report, one)
    if other is None:
        return {"a": one.told(), "b": None, "recorded": (True, True)}
    if other.entry.kind != one.entry.kind:
        raise Problem("kinds-differ", kind=one.entry.kind, other_kind=other.entry.kind)
    found = compare(one, other)
    rows = [cut(difference.to_json()) for difference in found.differences]
    report.rows(rows)
    return {"a": one.told(), "b": other.told(), "count": len(rows), **found.in_short()}


def _keys(
    session: Session, params: msg.ExplainParams, one: Found, report: Report
) -> msg.ExplainResult | None:
    """The same of two entries of keys of vLLM's: what differs is a factor of these; None of others.
    Nothing differs that does not stand beside the entries.
    """
    if (own := _key_of(session, one, report)) is None:
        return None
    other = _asked(session, params["other"], params, report, one)
    if (its := _key_of(session, other, report)) is None:
        return None
    found = vllm.compare(own.factors, its.factors)
    rows: list[FactorTold] = []
    for factor in found.factors:
        told = factor.to_json()
        name = f"{factor.name}_hash" if factor.name in HASHES else factor.name
        rows.append({"group": "key", "factor": name, "a": told["a"], "b": told["b"],
                     "follows": False})  # fmt: skip
    report.rows(list(map(cut, rows)))
    whole = [len(key.factors.hashes) == len(HASHES) for key in (own, its)]
    recorded = whole[0], whole[1]
    return {"a": one.told(), "b": other.told(), "count": len(rows), "recorded": recorded}


def _key_of(session: Session, found: Found, report: Report) -> stored.Key | None:
    """The key of vLLM's that an entry is of."""
    entry = found.entry
    name = entry.path.rpartition("/")[2]
    if name not in VLLM_FILES and piece(name) is None:
        return None
    rank, path = rank_of(entry.path).name, entry.path
    within = path[: path.index(rank)] + rank if rank else ""
    with session.store(found.place, report) as store:
        items = [item for item in store.items(report) if item.path.startswith(within)]
        every = stored.keys(items, store, os.path.realpath(found.place), report)
        above = [key for key in every if path.startswith(f"{key.path}/".lstrip("/"))]
    return max(above, key=lambda key: len(key.path), default=None)


def cut(row: FactorTold) -> FactorTold:
    """A difference with its values short enough for a line."""

    def short(value: str | None) -> str | None:
        return value[:_VALUE] + "…" if value and len(value) > _VALUE else value

    return {**row, "a": short(row["a"]), "b": short(row["b"])}


def _asked(
    session: Session,
    wanted: msg.Wanted | msg.ExplainParams,
    params: msg.ExplainParams,
    report: Report,
    beside: Found | None = None,
) -> Found:
    """The entry that is asked for; ``beside`` another one, which it is compared with."""
    place = place_of(wanted.get("place") or params["place"])
    kind, path = wanted.get("kind"), wanted.get("path")
    if kind is None or path is None:
        item = _of_key(session, place, wanted.get("key", ""), report, beside)
        kind, path = item.kind, item.path
    return Found(place, session.full(place, kind, path, report))


def _of_key(session: Session, place: str, key: str, report: Report, beside: Found | None) -> Item:
    """The entry of a key, or of the only one that begins so: what tells most of itself, of the kind
    of ``beside`` if there is one, and not that entry itself if there is another.
    """
    with session.store(place, report) as store:
        items = store.items_of_key(key, report)
    kind = beside.entry.kind if beside else None
    same = (beside.place, *beside.entry.identity) if beside else None

    def rank(item: Item) -> tuple[bool, bool, int, str]:
        itself = (place, *item.identity) == same
        return itself, item.kind != kind, KINDS.index(item.kind), item.path

    return min(items, key=rank)


def compare(a: Found, b: Found) -> Comparison:
    kind = a.entry.kind
    if kind in GRAPHS:
        return comparing.compare(side_of(a.full), side_of(b.full))
    return flat.compare(flat.values(kind, a.full.facts), flat.values(kind, b.full.facts))


def side_of(full: Full) -> Side:
    """What ``verdict.comparing`` is to know of an FX graph or AOTAutograd entry."""
    facts = full.facts
    graphs = [facts.get(name) for name in ("graph", "backward_graph")]
    guards = facts.get("guards")
    return Side(
        factors_of(facts),
        full.entry.torch,
        full.entry.device,
        tuple(text if isinstance(text, str) else "" for text in graphs),
        guards if isinstance(guards, str) else None,
    )


def nearest_to(
    session: Session, of: Found, places: Collection[str], report: Report
) -> Found | None:
    """The entry of the same kind and another key, in any of some places, that is nearest to one;
    None where there is no such entry. Raises Problem("factors-missing") where nothing is recorded
    by which another could be near.
    """
    kind, key = of.entry.kind, of.entry.key
    graph = kind in GRAPHS
    factors = factors_of(of.full.facts) if graph else []
    values = {} if graph else flat.values(kind, of.full.facts)
    if not factors and not values:
        raise Problem("factors-missing", key=key)
    among = candidates(session, kind, places, {(kind, key)}, report)
    if graph:
        return nearest_graph(session, factors, among, report)
    return _nearest_flat(session, of, values, among, report)


def candidates(
    session: Session,
    kind: str,
    places: Collection[str],
    without: Collection[tuple[str, str]],
    report: Report,
) -> list[tuple[str, Described]]:
    """The entries of a kind in some places, but for keys that are named by kind and key; places
    that cannot be read are told as ``left``, and the one that is being read as ``looking``.
    """
    listed: list[tuple[str, Described]] = []
    for place in dict.fromkeys(places):
        # One that does not answer is known by its name, at least.
        report.finding(looking={"place": place})
        try:
            listed += [(place, one) for one in _described(session, place, kind, report)]
        except Problem as problem:
            report.finding(left={"kind": None, "key": None, "path": place, "code": problem.code,
                                 "params": problem.params})  # fmt: skip
    mine = [(place, one) for place, one in listed if not one.entry.problem]
    return [one for one in mine if (one[1].entry.kind, one[1].entry.key) not in without]


def _described(session: Session, place: str, kind: str, report: Report) -> Iterator[Described]:
    with session.store(place, report) as store:
        # What is far away is not to be fetched whole for the entries of one kind.
        far = store.fetches_named
        items = [item for item in store.items(report) if item.kind == kind] if far else None
        for batch in store.entries(session, report, items):
            yield from (one for one in batch if one.entry.kind == kind)


def nearest_graph(
    session: Session,
    factors: list[tuple[str, str, str]],
    among: Collection[tuple[str, Described]],
    report: Report,
) -> Found | None:
    """The nearest of some FX graphs, or AOTAutograd entries, to these key factors."""
    of = flat.prints(factors)
    known: dict[str, dict[str, str] | None] = {}

    def prints(one: Described) -> flat.Prints:
        return flat.Prints(known.get(one.facts.get("group") or ""), one.facts.get("prints") or ())

    # Those whose graphs are near come first; of their settings, one of each group tells.
    ranked = flat.nearest(of, [((p, one), prints(one)) for p, one in among], len(among))
    for place, one in ranked:
        group = one.facts.get("group") or ""
        if group not in known:
            if len(known) >= _GROUPS:
                break
            again = _again(session, [(place, one)], report)
            own = factors_of(again[0].full.facts) if again else []
            known[group] = dict(flat.prints(own).shared or {}) if own else None
    best = flat.nearest(of, [((p, one), prints(one)) for p, one in ranked], _READ)
    if not best:
        return None

    def differs(one: Found) -> tuple[float, int, int]:
        other = comparing.compare(Side(factors), Side(factors_of(one.full.facts)))
        causes = [x for x in other.differences if not x.follows]
        # The same change of five inputs is one change.
        ways = {x.fields or x.factor for x in causes}
        return 1 - other.graph.alike if other.graph else 0.0, len(ways), len(causes)

    # Hashes do not tell how much an input or a graph differs: the first few are looked at.
    return min(_again(session, best, report), key=differs, default=None)


def _again(
    session: Session, chosen: Collection[tuple[str, Described]], report: Report
) -> list[Found]:
    """Entries in full; those that are gone meanwhile are left out."""
    full = []
    for place, one in chosen:
        report.check()
        item = one.origin or one.item
        try:
            full.append(Found(place, session.full(place, item.kind, item.path, report)))
        except Problem:
            continue
    return full


def _nearest_flat(
    session: Session,
    of: Found,
    values: dict[str, str],
    among: Collection[tuple[str, Described]],
    report: Report,
) -> Found | None:
    """The nearest entry of a kind that tells of itself in a flat list: few are read."""
    entry = of.entry

    def rank(one: tuple[str, Described]) -> tuple[bool, bool, bool]:
        other = one[1].entry
        return other.name != entry.name, other.device != entry.device, other.torch != entry.torch

    def differing(one: Found) -> int:
        its = flat.values(entry.kind, one.full.facts)
        return len(flat.compare(values, its).differences) if its else len(values) + 1

    near = _again(session, sorted(among, key=rank)[:_FLAT], report)
    return min(near, key=differing, default=None)
