"""Selections together with what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import COUNTED_APART, Entry, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, asks_times, chosen_of, picker, with_verdicts
from torchkeeper.stores import query
from torchkeeper.stores.describe import Carried, Described
from torchkeeper.stores.needs import Name, known_as, needed
from torchkeeper.stores.store import Store

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally
    from torchkeeper.engine.messages.selecting import Select


def chosen_with_needed(
    session: Session, store: Store, select: Select, report: Report, carried: Carried | None = None
) -> list[Described]:
    """The entries that ``select`` picks, and what they need; carried: as of ``chosen_of``."""
    if store.fetches_named:
        chosen = chosen_of(session, store, select, report)
        return chosen + store.named_by(chosen, is_part(select), session, report)
    asked = query.parse(select.get("filter") or "")
    asks_times(store, asked)
    picks = picker(session, select)
    batches = store.entries(session, report, store.survey(report), carried)
    batches = with_verdicts(session, store, batches, select, asked, report)
    return _with_needed([one for batch in batches for one in batch], picks)


def entries_among(chosen: Iterable[Described]) -> tuple[list[Described], Tally]:
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


def is_part(select: Select) -> bool:
    """Whether a selection is not the whole place."""
    return bool(select.get("filter") or select.get("held") or "items" in select)


def lacking(chosen: Iterable[Described], whole: Sequence[Described]) -> int:
    """How many of the chosen name FX graphs that are in the whole, and not chosen with them."""
    chosen = list(chosen)
    graphs = {one.entry.key for one in whole if one.entry.kind == "fxgraph"}
    graphs -= {one.entry.key for one in chosen if one.entry.kind == "fxgraph"}
    return sum(not graphs.isdisjoint(one.facts.get("fx_keys") or ()) for one in chosen)


def _with_needed(
    everything: Sequence[Described], picks: Callable[[Entry], bool]
) -> list[Described]:
    """The entries that are picked, and all that they need directly or not, in their order."""
    named: dict[Name, list[Described]] = {}
    for one in everything:
        for name in known_as(one.item, one.facts):
            named.setdefault(name, []).append(one)
    waiting = [one for one in everything if picks(one.entry)]
    taken = {id(one) for one in waiting}
    while waiting:
        for name in needed(waiting.pop().facts):
            for one in named.get(name, ()):
                if id(one) not in taken:
                    taken.add(id(one))
                    waiting.append(one)
    return [one for one in everything if id(one) in taken]
