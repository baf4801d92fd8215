"""The operations that remove entries: a plan, exactly that plan carried out, and undone.

From a folder entries go to its trash, what processes use stays; from a server they go for good.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem, measured, tallied, tally
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine import suggesting, wire
from torchkeeper.engine.session import (
    Session,
    batches_of,
    chosen_of,
    items_of,
    path_of,
    place_of,
    tell_left,
)
from torchkeeper.stores import query
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.guard import brought_to_end, cut_off
from torchkeeper.stores.folders.in_use import InUse, users
from torchkeeper.stores.folders.withdrawing import parted
from torchkeeper.stores.items import Item
from torchkeeper.stores.names import is_server
from torchkeeper.stores.store import Store
from torchkeeper.stores.strangers import strange_in

if TYPE_CHECKING:
    from torchkeeper.stores.redis.packed import Packed

#: Plans that are kept: one is shown at a time.
_MAX_PLANS = 4
#: Seconds that a server has to answer what it was sent before a purge was cancelled.
_UNHURRIED = 1.0


@dataclass(frozen=True)
class ServerPlan:
    """Exactly which items of a server go."""

    place: str
    items: Packed


def plan_purge(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
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
    store = session.store(place_of(params, "place"), report)
    select = params.get("select", {})
    try:
        if isinstance(store, Folder):
            return _plan_folder(session, store, select, bool(params.get("in_use")), report)
        if not is_server(store.place):
            raise Problem("place-not-folder", place=store.place)
        return _plan_server(session, store, select, report)
    finally:
        store.close()


def _plan_server(
    session: Session, store: Store, select: dict[str, Any], report: Report
) -> dict[str, Any]:
    from torchkeeper.stores.redis.packed import Packed

    items = Packed()
    why: dict[str, Any] = {}
    told = {"goes": 0, "stays": 0}
    if suggesting.wanted_of(select):
        dead = suggesting.chosen(session, store, select, report)
        _send(map(dead.row, range(len(dead.entries))), report)
        going = [one.origin or one.item for one in dead.entries]
        items.add(going)
        because = suggesting.totals(list(zip(going, dead.why, strict=True)), False)
        why = {"because": because, "rests": dead.rests}
    else:
        for batch in batches_of(session, store, select, report):
            chosen = _without_strange(select, batch, told)
            _send((one.entry.to_json() for one in chosen), report)
            items.add(one.origin or one.item for one in chosen)
    counts = {**tallied(len(items)), "files": items.keys}
    about = {**counts, **measured(items.size, on_disk=False), "unknown": told, **why}
    nobody: dict[str, Any] = {**InUse().told([]), "left": 0, "stays": tally(())}
    return {"plan": _keep(session, ServerPlan(store.place, items)), **about, "in_use": nobody}


def _plan_folder(
    session: Session, store: Folder, select: dict[str, Any], insisted: bool, report: Report
) -> dict[str, Any]:
    dead: suggesting.Going | None = None
    unknown = {"goes": 0, "stays": 0}
    if suggesting.wanted_of(select):
        dead = suggesting.chosen(session, store, select, report)
        chosen = dead.entries
    else:
        every = items_of(store, report)
        strange = strange_in(every)
        if not _names_known(select):
            suggesting.check_is_cache(store.place, strange)
        chosen = chosen_of(session, store, select, report, items=every)
        chosen = _without_strange(select, chosen, unknown)
        if unknown["goes"]:
            suggesting.check_is_cache(store.place, strange)
    items = [one.item for one in chosen]
    used = users(store.root, report, items)
    in_use = used.told(items)
    if not insisted:
        # Where any entry may be needed, none goes, and nobody wants to hear that of each.
        items, left = ([], []) if used.holder else used.split(items)
        for item, problem in left:
            tell_left(report, item, problem)
    in_use["left"] = len(chosen) - len(items)
    going = {id(item) for item in items}
    in_use["stays"] = tally(one.item.kind for one in chosen if id(one.item) not in going)
    numbers = [number for number, one in enumerate(chosen) if id(one.item) in going]
    items = parted(store.root, items)
    plan = trash.Plan(store.root, items, insisted)
    more: dict[str, Any] = {}
    if dead is not None:
        _send(map(dead.row, numbers), report)
        reasons = [dead.why[number] for number in numbers]
        why = list(zip(items, reasons, strict=True))
        more = {"because": suggesting.totals(why, True), "rests": dead.rests}
    else:
        _send((chosen[number].entry.to_json() for number in numbers), report)
    return {
        "plan": _keep(session, plan),
        **tally(item.kind for item in plan.items),
        "files": plan.files,
        **measured(plan.allocated, on_disk=True),
        "unknown": unknown,
        **more,
        "in_use": in_use,
    }


def _names_known(select: dict[str, Any]) -> bool:
    """Whether a selection says itself what goes: rows that were chosen, or kinds by name."""
    rows = ("items" in select or select.get("held")) and not select.get("everything")
    return bool(rows or query.parse(select.get("filter") or "").kinds - {"unknown"})


def _without_strange(
    select: dict[str, Any], chosen: list[Described], told: dict[str, int]
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


def _send(rows: Iterable[dict[str, Any]], report: Report) -> None:
    coming = iter(rows)
    while some := list(itertools.islice(coming, wire.MAX_ROWS)):
        report.rows(some)


def _keep(session: Session, plan: trash.Plan | ServerPlan) -> int:
    # A number is never given twice: confirming an old preview must not carry out another.
    number = next(session.numbers)
    session.plans[number] = plan
    for old in list(session.plans)[:-_MAX_PLANS]:
        del session.plans[old]
    return number


def purge(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Carry a plan out: a folders.trash.Done; from a server there is no receipt."""
    plan = session.plans.pop(params["plan"], None)

    def left(item: Item, problem: Problem) -> None:
        tell_left(report, item, problem)

    if isinstance(plan, ServerPlan):
        return _purge_server(session, plan, report)
    if not isinstance(plan, trash.Plan):
        raise Problem("plan-unknown")
    if not plan.insisted:
        # A process may have come since the preview.
        used = users(plan.root, report, plan.items)
        if user := used.holder:
            raise Problem("place-in-use", place=plan.root, pid=user.pid, name=user.name)
        items, taken = used.split(plan.items)
        for item, problem in taken:
            left(item, problem)
        plan = trash.Plan(plan.root, items)
    return trash.purge(plan, bool(params.get("now")), report, left).to_json()


class _Unhurried(Report):
    """Lets what was begun come to its end before it is cancelled, unless that takes long."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._since: float | None = None

    def check(self) -> None:
        """Raises Cancelled some time after the request was."""
        try:
            self._report.check()
        except Cancelled:
            self._since = self._since or time.monotonic()
            if time.monotonic() - self._since > _UNHURRIED:
                raise


def _purge_server(session: Session, plan: ServerPlan, report: Report) -> dict[str, Any]:
    from torchkeeper.stores.redis.removing import remove
    from torchkeeper.stores.redis.store import Redis

    # Cancelled between a transaction and its answer, nobody could say what is gone.
    with Redis(plan.place, _Unhurried(report), session.secrets.get(plan.place)) as store:
        done = remove(store, plan.items, report, lambda i, p: tell_left(report, i, p))
    counts = {**tallied(done.entries), "files": done.keys}
    about = {**counts, **measured(done.bytes, on_disk=False)}
    return {**about, "failed": done.failed, "receipt": None}


def undo(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Put the latest purge of a folder back, or that of a ``receipt``: a restoring.Purged. Rows are
    the kind and path of each entry that is back.
    """
    place, only = path_of(params, "place"), params.get("receipt")
    named = str(only) if only else None

    def told(items: list[Item]) -> None:
        _send(({"kind": item.kind, "path": item.path} for item in items), report)

    return trash.undo(place, report, lambda i, p: tell_left(report, i, p), named, told).to_json()


def empty_trash(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Remove what lies in the trash of a folder for good: the counts of a restoring.Purged."""
    done = trash.empty(path_of(params, "place"), report).to_json()
    del done["receipt"]
    return done


def recover(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Bring what was cut off in a folder to its end: ``{"recovered": [recovering.Recovered]}``.

    insisted: as of ``recovering.recover``. dry: nothing is done; what would be is told.
    """
    place = path_of(params, "place")
    Folder(place)  # it is there, and can be read
    if params.get("dry"):
        told = cut_off(place)
    else:
        told = brought_to_end(place, report, str(params.get("insisted") or ""))
    return {"recovered": [asdict(one) for one in told]}
