"""The operations that remove entries: a plan, exactly that plan carried out, and undone.

From a folder entries go to its trash, what processes use stays; from a server they go for good.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

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
from torchkeeper.stores.preconditions import strange_in
from torchkeeper.stores.store import Removal, Store

if TYPE_CHECKING:
    from torchkeeper.engine.messages import dead as msg
    from torchkeeper.engine.messages.selecting import Select

#: Plans that are kept: one is shown at a time.
_MAX_PLANS = 4


def plan_purge(
    session: Session, params: msg.PlanPurgeParams, report: Report
) -> msg.PlanPurgeResult:
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
    select, insisted = params.get("select", {}), params.get("in_use", False)
    with session.store(place_of(params["place"]), report) as store:
        store.check_purgeable()
        return _planned(session, store, select, insisted, report)


def _planned(
    session: Session, store: Store, select: Select, insisted: bool, report: Report
) -> msg.PlanPurgeResult:
    removal = store.removal(insisted)
    unknown: msg.Unknown = {"goes": 0, "stays": 0}
    left, dead, reasons = partial(tell_left, report), None, []
    if suggesting.wanted_of(select):
        dead = suggesting.chosen(session, store, select, report)
        going = removal.add(dead.entries, report, left)
        _send(map(dead.row, going), report)
        reasons = [(item, dead.why[number]) for number, item in going.items()]
    else:
        for chosen in _chosen(session, store, select, unknown, report):
            going = removal.add(chosen, report, left)
            _send((chosen[number].entry.to_json() for number in going), report)
    size = removal.told()
    told: msg.PlanPurgeResult = {
        "plan": _keep(session, removal),
        "entries": size["entries"],
        "locks": size["locks"],
        "headers": size["headers"],
        "unknown": unknown,
        "files": size["files"],
        "bytes": size["bytes"],
        "in_use": removal.in_use(),
    }
    told["disk_bytes" if store.on_disk else "content_bytes"] = size["bytes"]
    if dead is not None:
        told["because"], told["rests"] = suggesting.totals(reasons, store.on_disk), dead.rests
    return told


def _chosen(
    session: Session, store: Store, select: Select, unknown: msg.Unknown, report: Report
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


def _names_known(select: Select) -> bool:
    """Whether a selection says itself what goes: rows that were chosen, or kinds by name."""
    rows = ("items" in select or select.get("held")) and not select.get("everything")
    return bool(rows or query.parse(select.get("filter") or "").kinds - {"unknown"})


def _without_strange(select: Select, chosen: list[Described], told: msg.Unknown) -> list[Described]:
    """What goes of what was chosen: nothing that no known writer wrote, unless by its name."""
    rows = ("items" in select or select.get("held")) and not select.get("everything")
    named = rows or "unknown" in query.parse(select.get("filter") or "").kinds
    strange = sum(one.entry.kind == "unknown" for one in chosen)
    if named and select.get("unknown"):
        told["goes"] += strange
        return chosen
    told["stays"] += strange
    return [one for one in chosen if one.entry.kind != "unknown"] if strange else chosen


def _send(rows: Iterable[Mapping[str, object]], report: Report) -> None:
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


def purge(session: Session, params: msg.PurgeParams, report: Report) -> msg.PurgeResult:
    """Carry a plan out: a folders.trash.Done; from a server there is no receipt."""
    plan = session.plans.pop(params["plan"], None)
    if not isinstance(plan, Removal):
        raise Problem("plan-unknown")
    password = session.secrets.get(plan.place)
    now, left = params.get("now", False), partial(tell_left, report)
    return plan.carry_out(now, report, left, password)


def undo(_: Session, params: msg.UndoParams, report: Report) -> msg.UndoResult:
    """Put the latest purge of a folder back, or that of a ``receipt``; rows are what is back."""
    place, only = path_of(params["place"]), params.get("receipt")

    def told(items: list[Item]) -> None:
        rows: Iterator[msg.UndoRow] = ({"kind": item.kind, "path": item.path} for item in items)
        _send(rows, report)

    return trash.undo(place, report, partial(tell_left, report), only or None, told).to_json()


def empty_trash(_: Session, params: msg.EmptyTrashParams, report: Report) -> msg.EmptyTrashResult:
    """Remove what lies in the trash of a folder for good: the counts of a receipts.Purged."""
    return trash.empty(path_of(params["place"]), report).amount


def recover(_: Session, params: msg.RecoverParams, report: Report) -> msg.RecoverResult:
    """Bring what was cut off in a folder to its end: ``{"recovered": [guard.Recovered]}``.

    insisted: as of ``guard.recover``. dry: nothing is done; what would be is told.
    """
    place = path_of(params["place"])
    Root(place)  # it is there, and can be read
    if params.get("dry"):
        told = cut_off(place)
    else:
        told = brought_to_end(place, report, params.get("insisted", ""))
    return {"recovered": [one.to_json() for one in told]}
