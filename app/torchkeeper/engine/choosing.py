"""Selections together with what they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torchkeeper.artifacts.entry import COUNTED_APART, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import (
    Session,
    asks_times,
    chosen_of,
    entries_of,
    items_of,
    picker,
    with_verdicts,
)
from torchkeeper.stores import query
from torchkeeper.stores.describe import Carried, Described
from torchkeeper.stores.names import is_server
from torchkeeper.stores.needs import needed, with_needed
from torchkeeper.stores.store import Store, read


def chosen_with_needed(
    session: Session,
    store: Store,
    select: dict[str, Any],
    report: Report,
    carried: Carried | None = None,
) -> list[Described]:
    """The entries that ``select`` picks, and what they need; carried: as of ``chosen_of``."""
    if is_server(store.place):
        chosen = chosen_of(session, store, select, report)
        chosen = _with_graphs(session, store, chosen, report)
        return _with_kernels(session, store, chosen, report) if is_part(select) else chosen
    asked = query.parse(select.get("filter") or "")
    asks_times(store, asked)
    picks = picker(session, select)
    batches = entries_of(session, store, report, items_of(store, report), carried)
    batches = with_verdicts(session, store, batches, select, asked, report)
    return with_needed([one for batch in batches for one in batch], picks)


def entries_among(chosen: Iterable[Described]) -> tuple[list[Described], dict[str, int]]:
    """The entries of a selection, and the rest as ``tally`` counts it: locks, headers and what is
    not recognised are of no use elsewhere, and nobody misses them in a copy.
    """
    entries, stays = list[Described](), list[str]()
    for one in chosen:
        if one.entry.kind in COUNTED_APART:
            stays.append(one.entry.kind)
        else:
            entries.append(one)
    return entries, tally(stays)


def is_part(select: dict[str, Any]) -> bool:
    """Whether a selection is not the whole place."""
    return bool(select.get("filter") or select.get("held") or "items" in select)


def lacking(chosen: Iterable[Described], whole: Sequence[Described]) -> int:
    """How many of the chosen name FX graphs that are in the whole, and not chosen with them."""
    chosen = list(chosen)
    graphs = {one.entry.key for one in whole if one.entry.kind == "fxgraph"}
    graphs -= {one.entry.key for one in chosen if one.entry.kind == "fxgraph"}
    return sum(not graphs.isdisjoint(one.facts.get("fx_keys") or ()) for one in chosen)


def _with_graphs(
    session: Session, store: Store, chosen: list[Described], report: Report
) -> list[Described]:
    """Entries of a server with the graphs that they name; only those are fetched besides."""
    from torchkeeper.artifacts.remote import redis_key
    from torchkeeper.stores.redis.store import Redis

    assert isinstance(store, Redis)
    known = {(one.entry.kind, one.entry.key) for one in chosen}
    names = {name: None for one in chosen for name in needed(one.facts) if name not in known}
    keys = [key for name in names if (key := redis_key(*name)) is not None]
    items = store.items_at(keys, report)
    return chosen + [one for some in read(store, items, session.reader, report) for one in some]


def _with_kernels(
    session: Session, store: Store, chosen: list[Described], report: Report
) -> list[Described]:
    """Entries of a server with the kernels that they name, which only a look at all keys finds."""
    known = {(one.entry.kind, one.entry.key) for one in chosen}
    names = {name for one in chosen for name in needed(one.facts) if name[0] == "triton"} - known
    if not names:
        return chosen
    items = [item for item in store.stream(report) if (item.kind, item.key) in names]
    return chosen + [one for some in read(store, items, session.reader, report) for one in some]
