"""The operations that remove entries: what of a place is dead, and why, a plan, exactly that plan
carried out, and undone. From a folder entries go to its trash, from a server for good.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Problem, measured
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import protocol
from torchkeeper.engine.session import (
    Session,
    asks_times,
    batches_of,
    environments,
    path_of,
    picker,
    place_of,
    tell_left,
)
from torchkeeper.stores import query
from torchkeeper.stores.dead import REASONS, Dead, Wanted
from torchkeeper.stores.describe import Described, unread
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.guard import brought_to_end, cut_off
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import Item, amount_of
from torchkeeper.stores.mounts import mount_of
from torchkeeper.stores.preconditions import Strange, strange_in
from torchkeeper.stores.store import Removal, Store
from torchkeeper.verdict.probed import Env

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount, Fault
    from torchkeeper.engine.messages import Dying, Select
    from torchkeeper.engine.messages import dead as msg
    from torchkeeper.engine.messages.dead import SuggestParams

#: Plans that are kept: one is shown at a time.
_MAX_PLANS = 4
#: Fields of a filter that ``unread`` entries tell of as all others do.
_OF_ITEMS = frozenset({"kind", "size", "files"})


def plan_purge(
    session: Session, params: msg.PlanPurgeParams, report: Report
) -> msg.PlanPurgeResult:
    """What removing a selection would take: rows of the entries, if wanted, and the number of the
    plan. In a folder what processes use is left out, unless ``in_use`` says to take that too.

    What no known writer wrote (kind "unknown") goes only where ``unknown`` of the selection says
    so, and its filter names that kind or its rows are chosen. ``unknown`` of the result: how many
    of that kind go, and how many stay that the selection would mean. Raises
    Problem("place-no-cache") of a folder that is mostly such, unless known kinds or rows are named,
    and as ``chosen_dead``.
    """
    select, rows = params.get("select", {}), params.get("rows", True)
    unknown: msg.Unknown = {"goes": 0, "stays": 0}
    left, dead, reasons = partial(tell_left, report), None, []
    with session.store(place_of(params["place"]), report) as store:
        store.check_purgeable()
        removal = store.removal(params.get("in_use", False))
        if wanted_of(select) or select.get("look") is not None:
            dead = chosen_dead(session, store, select, report)
            going = removal.add(dead.entries, report, left)
            _send(map(dead.row, going if rows else ()), report)
            reasons = [(item, dead.why[number]) for number, item in going.items()]
        else:
            for chosen in _chosen(session, store, select, unknown, report, rows):
                going = removal.add(chosen, report, left)
                shown = going if rows else ()
                _send((chosen[number].entry.to_json() for number in shown), report)
        size, in_use = removal.told(), removal.in_use()
    # A number is never given twice: confirming an old preview must not carry out another.
    number = next(session.numbers)
    session.plans[number] = removal
    for old in list(session.plans)[:-_MAX_PLANS]:
        del session.plans[old]
    told: msg.PlanPurgeResult = {
        "plan": number,
        "entries": size["entries"],
        "locks": size["locks"],
        "headers": size["headers"],
        "unknown": unknown,
        "files": size["files"],
        "bytes": size["bytes"],
        "in_use": in_use,
    }
    told["disk_bytes" if store.on_disk else "content_bytes"] = size["bytes"]
    mount = mount_of(store.place) if store.on_disk else None
    if mount and mount.network:
        told["shared"] = mount.type
    if dead is not None:
        told["because"], told["rests"] = by_reasons(reasons, store.on_disk), dead.rests
        told["more"] = _more(session, select, params.get("others", {}))
    return told


def _chosen(
    session: Session, store: Store, select: Select, unknown: msg.Unknown, report: Report,
    shown: bool,
) -> Iterator[list[Described]]:  # fmt: skip
    """What a selection means of a store, without what no known writer wrote unless by its name.
    shown: whether somebody looks at it; otherwise no more is read than the filter asks about.
    """
    # A selection says itself what goes by rows that were chosen, or kinds by name.
    rows = ("items" in select or select.get("held")) and not select.get("everything")
    asked = query.parse(select.get("filter") or "")
    named = select.get("unknown") and (rows or "unknown" in asked.kinds)
    items, strange = None, None
    if store.on_disk:
        items = store.survey(report)
        strange = strange_in(items)
        if not (rows or asked.kinds - {"unknown"}):
            check_is_cache(store.place, strange)
    batches = batches_of(session, store, select, report, items)
    if items is not None and not (shown or asked.fields - _OF_ITEMS or select.get("envs")):
        picks = picker(session, select)
        batches = iter([[one for one in map(unread, items) if picks(one.entry)]])
    for batch in batches:
        unknown["goes" if named else "stays"] += sum(x.entry.kind == "unknown" for x in batch)
        if unknown["goes"]:
            check_is_cache(store.place, strange)
        yield batch if named else [one for one in batch if one.entry.kind != "unknown"]


def _send(rows: Iterable[Mapping[str, object]], report: Report) -> None:
    coming = iter(rows)
    while some := list(itertools.islice(coming, protocol.MAX_ROWS)):
        report.rows(some)


def purge(session: Session, params: msg.PurgeParams, report: Report) -> msg.PurgeResult:
    """Carry a plan out: a folders.trash.Done; from a server there is no receipt."""
    plan = session.plans.pop(params["plan"], None)
    if not isinstance(plan, Removal):
        raise Problem("plan-unknown")
    left, password = partial(tell_left, report), session.secrets.get(plan.place)
    return plan.carry_out(params.get("now", False), report, left, password)


def undo(_: Session, params: msg.UndoParams, report: Report) -> msg.UndoResult:
    """Undo the latest purge or import of a folder, or that of a ``receipt``; rows, if wanted, are
    what is back.
    """
    place, only = path_of(params["place"]), params.get("receipt")

    def told(items: list[Item]) -> None:
        rows: Iterator[msg.UndoRow] = ({"kind": item.kind, "path": item.path} for item in items)
        _send(rows, report)

    back = told if params.get("rows", True) else None
    done = trash.undo(place, report, partial(tell_left, report), only or None, back)
    return {**done.to_json(), "undid": done.undid}


def empty_trash(_: Session, params: msg.EmptyTrashParams, report: Report) -> msg.EmptyTrashResult:
    """Remove what lies in the trash of a folder for good: the counts of a receipts.Purged."""
    return trash.empty(path_of(params["place"]), report, partial(tell_left, report)).amount


def recover(_: Session, params: msg.RecoverParams, report: Report) -> msg.RecoverResult:
    """Bring what was cut off in a folder to its end."""
    place, dry = path_of(params["place"]), params.get("dry")
    Root(place)  # it is there, and can be read
    told = cut_off(place) if dry else brought_to_end(place, report, params.get("insisted", ""))
    return {"recovered": [one.to_json() for one in told]}


@dataclass
class Look:
    """What a place was found to be. rests: what last uses rest on, one of folders.folder.RESTS;
    None where nobody knows them. judged: in which environments entries have their verdicts.
    """

    number: int
    place: str
    dead: Dead
    rests: str | None
    judged: tuple[str, ...] = ()


def wanted_of(params: Dying) -> Wanted:
    """Which entries are asked for as dead. Raises TypeError for a number less than nothing."""
    older, keep = params.get("older"), params.get("keep")
    for number in (older, keep):
        if number is not None and not number >= 0:
            raise TypeError("an age or a budget is not a number of at least 0")
    stale, broken = params.get("stale", False), params.get("broken", False)
    return Wanted(stale, broken, params.get("orphans", False), older, keep)


def looked_at(session: Session, params: SuggestParams, report: Report) -> Look:
    """A place, or what an earlier look found there, in the environments that are asked for. Raises
    Problem as ``check_is_cache``.
    """
    look, envs = _looked(session, params), tuple(params.get("envs") or ())
    if look is None or (envs and envs != look.judged):
        with session.store(place_of(params["place"]), report) as store:
            if look is None:
                timed = asks_times(store, query.parse(params.get("filter") or ""))
                look = _look_at(session, store, params, timed, report)
            else:
                _judge(session, store, look, params, report)
    check_is_cache(look.place, look.dead.strange)
    return look


def unknown_use(place: str) -> Fault:
    """Why nobody can say when what a server has was used last."""
    return {"code": "use-unknown", "params": {"server": place}}


class Going(NamedTuple):
    """What goes: entries; of each why it does (stores.dead.REASONS) and when it, or what needs it,
    was last used, None where nobody knows; and what that rests on.
    """

    entries: list[Described]
    why: list[list[str]]
    used: list[float | None]
    rests: str | None

    def row(self, number: int) -> msg.PlanPurgeRow:
        row = self.entries[number].entry.to_json()
        return {**row, "because": self.why[number], "last_used": self.used[number]}


def chosen_dead(session: Session, store: Store, select: Select, report: Report) -> Going:
    """The entries that a selection means which asks for what is dead; its filter says which may go.
    Raises Problem as ``environments``, and "use-unknown".
    """
    wanted = wanted_of(select)
    look = _looked(session, select)
    if look is None:
        timed = asks_times(store, query.parse(select.get("filter") or ""))
        look = _look_at(session, store, select, timed, report)
    elif look.place != store.place:
        raise Problem("look-unknown")
    if wanted.stale and not look.judged:
        raise Problem("environment-wanted")
    if wanted.stale and tuple(select.get("envs") or look.judged) != look.judged:
        raise Problem("look-unknown")  # what it was judged by is not what was asked for
    if look.rests is None and (wanted.older is not None or wanted.keep is not None):
        raise Problem("use-unknown", server=look.place)
    check_is_cache(look.place, look.dead.strange)
    going = look.dead.chosen(wanted, picker(session, select))
    found = [look.dead.found[n] for n in going]
    return Going(found, list(going.values()), [look.dead.last_used(n) for n in going], look.rests)


def _more(session: Session, select: Select, others: Dying) -> dict[str, Amount]:
    """How much more than a selection of the last look each of ``others`` by itself would take."""
    if not others:
        return {}
    look = session.look
    assert isinstance(look, Look)
    wanted, picks = wanted_of(select), picker(session, select)
    going = look.dead.chosen(wanted, picks).keys()
    each = {
        "stale": bool(look.judged) and others.get("stale") and replace(wanted, stale=True),
        "broken": others.get("broken") and replace(wanted, broken=True),
        "orphan": others.get("orphans") and replace(wanted, orphans=True),
    }
    if look.rests is not None:
        than = wanted_of(others)
        each["unused"] = than.older is not None and replace(wanted, older=than.older)
        each["budget"] = than.keep is not None and replace(wanted, keep=than.keep)
    return {
        reason: look.dead.told(look.dead.chosen(more, picks).keys() - going)
        for reason, more in each.items()
        if more
    }


def check_is_cache(place: str, strange: Strange | None) -> None:
    """Raises Problem("place-no-cache") of a folder that is mostly a user's own files, and
    "place-undescribed" of the cache of a compiler that says of none of its files what it is.
    """
    if strange is not None and strange.of and strange.most:
        if cache := jits.undescribed(place):
            size, title = strange.size, cache.title
            raise Problem("place-undescribed", place=place, cache=title, size_bytes=size)
        raise Problem(
            "place-no-cache", place=place, size_bytes=strange.size, total_bytes=strange.total
        )


def by_reasons(going: list[tuple[Item, list[str]]], on_disk: bool) -> dict[str, Amount]:
    """How much goes for each reason; what has several counts for the first: they add up."""
    found: dict[str, Amount] = {}
    items: list[Item] = []
    before = amount_of(items, on_disk=on_disk)
    for reason in REASONS:
        if some := [item for item, why in going if why[0] == reason]:
            items += some
            part, upto = amount_of(some, on_disk=on_disk), amount_of(items, on_disk=on_disk)
            size = measured(upto["bytes"] - before["bytes"], on_disk=on_disk)
            found[reason] = {**part, "files": upto["files"] - before["files"], **size}
            before = upto
    return found


def _looked(session: Session, params: Select | SuggestParams) -> Look | None:
    number = params.get("look")
    if number is None:
        return None
    look = session.look
    if not isinstance(look, Look) or look.number != number:
        raise Problem("look-unknown")
    return look


def _look_at(
    session: Session, store: Store, params: Select | SuggestParams, timed: bool, report: Report
) -> Look:
    store.check_purgeable()
    _environments(session, params)  # before anything that takes long
    found, used, rests = with_uses(session, store, timed, report)
    dead = Dead(found, used, store.whole, store.on_disk)
    session.look = look = Look(next(session.numbers), store.place, dead, rests)
    _judge(session, store, look, params, report)
    return look


def with_uses(
    session: Session, store: Store, timed: bool, report: Report, showing: bool = False
) -> tuple[list[Described], list[float | None], str | None]:
    """All entries, when each was last used (timed: as a server knows), and what that rests on.
    showing: whether nothing is to go (``Store.survey``).
    """
    items = store.survey(report, session if showing else None)
    # First of all: to read a file of somebody else's is to use it.
    times, rests = store.uses(items, report)
    batches = store.timed(store.entries(session, report, items), bool(rests or timed))
    found = [one for batch in batches for one in batch]
    if times is None:
        return found, [one.entry.used for one in found], rests
    by_item = {id(item): time for item, time in zip(items, times, strict=True)}
    return found, [by_item.get(id(one.item)) for one in found], rests


def _judge(
    session: Session, store: Store, look: Look, params: Select | SuggestParams, report: Report
) -> None:
    if envs := _environments(session, params):
        from torchkeeper.engine.verdicts import judged

        list(judged(session.reader, store, [look.dead.found], envs, report))
        look.judged = tuple(params.get("envs") or ())


def _environments(session: Session, params: Select | SuggestParams) -> list[Env]:
    asked = query.parse(params.get("filter") or "")
    wanted = bool(params.get("stale")) or query.VERDICT in asked.fields
    return environments(session, params.get("envs"), wanted)
