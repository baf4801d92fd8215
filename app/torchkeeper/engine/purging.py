"""The operations that remove entries: a plan, exactly that plan carried out, and undone.

From a folder entries go to its trash, what processes use stays; from a server they go for good.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import suggesting, wire
from torchkeeper.engine.session import Session, batches_of, path_of, place_of, tell_left
from torchkeeper.stores import query
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.guard import brought_to_end, cut_off
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import Item
from torchkeeper.stores.store import Json, Removal, Store
from torchkeeper.stores.strangers import strange_in

#: Plans that are kept: one is shown at a time.
_MAX_PLANS = 4


def plan_purge(session: Session, params: Json, report: Report) -> Json:
    """What removing a selection would take: rows of the entries, and the number of the plan.

    In a folder what processes use is left out, unless ``in_use`` says to take that too. Of what
    goes for being dead (engine.suggesting) each row says ``because``, and the result for each
    reason how much. All counts are as of ``tally``; ``in_use.stays`` are those that processes use.

    What no known writer wrote (kind "unknown") goes only where ``unknown`` of the selection says
    so, and its filter names that kind or its rows are chosen. ``unknown`` of the result: how many
    entries of that kind go, and how many stay that the selection would mean, {goes, stays}.
    Raises Problem("place-no-cache") of a folder that is mostly such, unless known kinds or rows
    are named, and as ``suggesting.chosen``.
    """
    select, insisted = params.get("select", {}), bool(params.get("in_use"))
    with session.store(place_of(params, "place"), report) as store:
        store.check_purgeable()
        return _planned(session, store, select, insisted, report)


def _planned(session: Session, store: Store, select: Json, insisted: bool, report: Report) -> Json:
    removal = store.removal(insisted)
    unknown = {"goes": 0, "stays": 0}
    why: Json = {}
    left = partial(tell_left, report)
    if suggesting.wanted_of(select):
        dead = suggesting.chosen(session, store, select, report)
        going = removal.add(dead.entries, report, left)
        _send(map(dead.row, going), report)
        reasons = [(item, dead.why[number]) for number, item in going.items()]
        why = {"because": suggesting.totals(reasons, store.on_disk), "rests": dead.rests}
    else:
        for chosen in _chosen(session, store, select, unknown, report):
            going = removal.add(chosen, report, left)
            _send((chosen[number].entry.to_json() for number in going), report)
    told = {**removal.told(), "unknown": unknown, **why, "in_use": removal.in_use()}
    return {"plan": _keep(session, removal), **told}


def _chosen(
    session: Session, store: Store, select: Json, unknown: dict[str, int], report: Report
) -> Iterator[list[Described]]:
    """What a selection means of a store, without what no known writer wrote unless by its name."""
    items, strange = None, None
    if store.on_disk:
        items = store.survey(report)
        strange = strange_in(items)
        if not _names_known(select):
            suggesting.check_is_cache(store.place, strange)
    for batch in batches_of(session, store, select, report, items):
        chosen = _without_strange(select, batch, unknown)
        if unknown["goes"]:
            suggesting.check_is_cache(store.place, strange)
        yield chosen


def _names_known(select: Json) -> bool:
    """Whether a selection says itself what goes: rows that were chosen, or kinds by name."""
    rows = ("items" in select or select.get("held")) and not select.get("everything")
    return bool(rows or query.parse(select.get("filter") or "").kinds - {"unknown"})


def _without_strange(
    select: Json, chosen: list[Described], told: dict[str, int]
) -> list[Described]:
    """What goes of what was chosen: nothing that no known writer wrote, unless by its name."""
    rows = ("items" in select or select.get("held")) and not select.get("everything")
    named = rows or "unknown" in query.parse(select.get("filter") or "").kinds
    strange = sum(one.entry.kind == "unknown" for one in chosen)
    if named and select.get("unknown"):
        told["goes"] += strange
        return chosen
    told["stays"] += strange
    return [one for one in chosen if one.entry.kind != "unknown"] if strange else chosen


def _send(rows: Iterable[Json], report: Report) -> None:
    coming = iter(rows)
    while some := list(itertools.islice(coming, wire.MAX_ROWS)):
        report.rows(some)


def _keep(session: Session, plan: Removal) -> int:
    # A number is never given twice: confirming an old preview must not carry out another.
    number = next(session.numbers)
    session.plans[number] = plan
    for old in list(session.plans)[:-_MAX_PLANS]:
        del session.plans[old]
    return number


def purge(session: Session, params: Json, report: Report) -> Json:
    """Carry a plan out: a folders.trash.Done; from a server there is no receipt."""
    plan = session.plans.pop(params["plan"], None)
    if not isinstance(plan, Removal):
        raise Problem("plan-unknown")
    password = session.secrets.get(plan.place)
    now, left = bool(params.get("now")), partial(tell_left, report)
    return plan.carry_out(now, report, left, password)


def undo(_: Session, params: Json, report: Report) -> Json:
    """Put the latest purge of a folder back, or that of a ``receipt``: a restoring.Purged. Rows are
    the kind and path of each entry that is back.
    """
    place, only = path_of(params, "place"), params.get("receipt")
    named = str(only) if only else None

    def told(items: list[Item]) -> None:
        _send(({"kind": item.kind, "path": item.path} for item in items), report)

    return trash.undo(place, report, partial(tell_left, report), named, told).to_json()


def empty_trash(_: Session, params: Json, report: Report) -> Json:
    """Remove what lies in the trash of a folder for good: the counts of a restoring.Purged."""
    done = trash.empty(path_of(params, "place"), report).to_json()
    del done["receipt"]
    return done


def recover(_: Session, params: Json, report: Report) -> Json:
    """Bring what was cut off in a folder to its end: ``{"recovered": [recovering.Recovered]}``.

    insisted: as of ``recovering.recover``. dry: nothing is done; what would be is told.
    """
    place = path_of(params, "place")
    Root(place)  # it is there, and can be read
    if params.get("dry"):
        told = cut_off(place)
    else:
        told = brought_to_end(place, report, str(params.get("insisted") or ""))
    return {"recovered": [asdict(one) for one in told]}
