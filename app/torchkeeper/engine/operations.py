"""What an engine can be asked to do, by name.

Every operation takes the session, its parameters and a Report, and returns its result. Rows are
entries as JSON; ``left`` findings say what was not taken and why. A selection is ``{}`` for all,
``{"filter": text}``, ``{"items": [[kind, path], …]}``, or ``{"held": true}`` for items sent
before with ``hold``, for selections that are too long for one line. ``detail``, ``text`` and
``factors`` are about one entry, named by place, kind and path. A ``list`` that is told ``unless``,
the ``mark`` of an earlier one or an empty text, says a mark of its own, and sends no rows where
a folder is still as it was.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import KINDS, Entry, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import detail, wire
from torchkeeper.stores import places, query, trash
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.index import Index, signature
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader

if TYPE_CHECKING:
    # Loaded where it is needed: an engine that lists a folder shall start at once.
    from torchkeeper.stores.bundle import Bundle

#: Characters of a graph or a source that ``show`` sends.
_MAX_TEXT = 60_000
#: Plans that are kept: one is shown at a time.
_MAX_PLANS = 4


@dataclass
class Session:
    """What an engine remembers between requests."""

    reader: Reader = field(default_factory=Reader)
    details: detail.Details = field(default_factory=detail.Details)
    plans: dict[int, trash.Plan] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    held: list[tuple[str, str]] = field(default_factory=list)

    def close(self) -> None:
        """End what runs."""
        self.reader.close()


def _path(params: dict[str, Any], name: str) -> str:
    """A path from a request, which must be absolute: an engine runs in a folder of its own."""
    path: str = params[name]
    if not os.path.isabs(path):
        raise Problem("path-not-absolute", path=path)
    return path


def _store(place: str, report: Report) -> Folder | Bundle:
    """A folder, or a bundle file: a place is a place."""
    if not os.path.isfile(place):
        return Folder(place)
    from torchkeeper.stores.bundle import Bundle

    return Bundle(place, report)


def _items(store: Folder | Bundle, report: Report) -> list[Item]:
    if not isinstance(store, Folder):
        return store.items()
    items = store.items(report)
    for path, why in store.unreadable:
        report.finding(unreadable={"path": path, "why": why})
    return items


def _entries(
    session: Session, store: Folder | Bundle, report: Report, items: list[Item] | None = None
) -> Iterator[list[Described]]:
    """The entries of a store in batches, with progress; ``items`` where they are known already."""
    done, told = 0, 0.0
    kept_in = os.environ.get(wire.INDEX)
    index = Index(store.root, kept_in) if isinstance(store, Folder) else None
    try:
        items = _items(store, report) if items is None else items
        for batch in describe(items, store, session.reader, report, index=index):
            yield batch
            done += len(batch)
            if (now := time.monotonic()) - told > 0.05:
                report.progress(done, len(items), "entries")
                told = now
        report.progress(done, len(items), "entries")
        if index and isinstance(store, Folder) and not store.unreadable:
            # Otherwise what could not be looked at would be forgotten.
            index.finish()
    finally:
        if index:
            index.close()


def _chosen(
    session: Session, store: Folder | Bundle, select: dict[str, Any], report: Report
) -> list[Described]:
    wanted = _wanted(session, select)
    matches = query.parse(select.get("filter") or "").matches
    found = []
    for batch in _entries(session, store, report):
        found += [
            one
            for one in batch
            if (wanted is None or (one.entry.kind, one.entry.path) in wanted) and matches(one.entry)
        ]
    return found


def _wanted(session: Session, select: dict[str, Any]) -> set[tuple[str, str]] | None:
    if select.get("held"):
        held, session.held = set(session.held), []
        return held
    if "items" in select:
        return {(kind, path) for kind, path in select["items"]}
    return None


def _left(report: Report, item: Item, problem: Problem) -> None:
    said = {
        "kind": item.kind,
        "key": item.key,
        "path": item.path,
        "code": problem.code,
        "params": problem.params,
    }
    report.finding(left=said)


def _places(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    for place in places.find():
        report.check()
        row = asdict(place)
        if params.get("sizes") and place.exists:
            try:
                items = Folder(place.path).items(report)
            except Problem as problem:
                row["problem"] = problem.code
            else:
                row |= {"entries": len(items), "bytes": sum(item.size for item in items)}
        report.rows([row])
    return {}


def _list(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    matches = query.parse(params.get("filter") or "").matches
    store = _store(_path(params, "place"), report)
    unless = params.get("unless")
    items = None
    if unless and isinstance(store, Folder):
        items = _items(store, report)
        if _mark(items) == unless:
            return {"same": True, "mark": unless, "trash": _trash_totals(store.root)}
    totals = {"entries": 0, "files": 0, "bytes": 0, "broken": 0}
    seen: list[dict[str, Any] | None] = []
    listed: list[Item] = []
    for batch in _entries(session, store, report, items):
        entries = [one.entry for one in batch if matches(one.entry)]
        seen += [one.facts.get("made_in") for one in batch]
        listed += [one.item for one in batch]
        _count(totals, entries)
        if entries:
            report.rows([entry.to_json() for entry in entries])
    if isinstance(store, Folder):
        mark = "" if unless is None else _mark(listed)
        return {**totals, "mark": mark, "trash": _trash_totals(store.root)}
    _refused(store, report)
    store.close()
    from torchkeeper.stores.export import common_origin

    # What the payloads say weighs more than what a manifest claims.
    made_in = common_origin(seen) or store.made_in
    return {**totals, "trash": None, "format": store.format, "made_in": made_in}


def _mark(items: list[Item]) -> str:
    """A text that changes, within one engine, with any file of any item."""
    total = len(items) + sum(hash((*item.identity, signature(item))) for item in items)
    return f"{total & 0xFFFFFFFFFFFFFFFF:016x}"


def _count(totals: dict[str, int], entries: list[Entry]) -> None:
    totals["entries"] += len(entries)
    totals["files"] += sum(entry.files for entry in entries)
    totals["bytes"] += sum(entry.size for entry in entries)
    totals["broken"] += sum(entry.broken for entry in entries)


def _refused(bundle: Bundle, report: Report) -> None:
    for one in bundle.refused:
        said = {"kind": one.kind, "key": one.key, "path": None}
        report.finding(left={**said, "code": one.code, "params": one.params})


def _trash_totals(place: str) -> dict[str, int]:
    found = trash.receipts(place)
    return {
        "receipts": len(found),
        "entries": sum(receipt.entries for receipt in found),
        "files": sum(receipt.files for receipt in found),
        "bytes": sum(receipt.bytes for receipt in found),
    }


def _du(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    store = _store(_path(params, "place"), report)
    totals = {kind: {"kind": kind, "entries": 0, "files": 0, "bytes": 0} for kind in KINDS}
    for item in _items(store, report):
        total: dict[str, Any] = totals[item.kind]
        total["entries"] += 1
        total["files"] += len(item.files)
        total["bytes"] += item.size
    kinds = [total for total in totals.values() if total["entries"]]
    is_folder = isinstance(store, Folder)
    return {"kinds": kinds, "trash": _trash_totals(_path(params, "place")) if is_folder else None}


def _show(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    store = _store(_path(params, "place"), report)
    key = params["key"]
    items = _items(store, report)
    keys = {item.key for item in items if item.key.startswith(key)}
    if not key or not keys:
        raise Problem("key-unknown", key=key, place=_path(params, "place"))
    if key not in keys and len(keys) > 1:
        raise Problem("key-ambiguous", key=key, count=len(keys), first=sorted(keys)[0])
    wanted = key if key in keys else keys.pop()
    # The others are read too, briefly: a kernel's name is in the graph it belongs to.
    brief = [one for batch in _entries(session, store, report, items) for one in batch]
    known = {(one.item.kind, one.item.path, one.entry.sha256): one.entry for one in brief}
    chosen = [item for item in items if item.key == wanted]
    batches = describe(chosen, store, session.reader, report, full=True)
    shown = [one for batch in batches for one in batch]
    for one in sorted(shown, key=lambda one: (KINDS.index(one.entry.kind), one.entry.path)):
        entry = known.get((one.item.kind, one.item.path, one.entry.sha256), one.entry)
        _send_shown(one, entry, report)
    return {"entries": len(shown)}


def _send_shown(one: Described, entry: Entry, report: Report) -> None:
    """All that is known of an entry, its texts cut until they fit a line."""
    files = [
        {"path": f.path, "size": f.size, "mtime": f.mtime_ns / 1e9 if f.mtime_ns else None}
        for f in one.item.files[:1000]
    ]
    limit = _MAX_TEXT
    while True:
        facts = {name: _cut(value, limit) for name, value in one.facts.items()}
        shown = {"entry": entry.to_json(), "facts": facts, "files": files}
        try:
            report.finding(shown=shown)
            return
        except wire.WireError:
            limit //= 2
            if limit < 50:
                raise


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return value[:limit] + f"\n… {len(value) - limit:,} characters more"
    if isinstance(value, (list, tuple)):
        return [_cut(item, max(limit // 20, 40)) for item in value[: max(limit // 20, 20)]]
    if isinstance(value, dict):
        return {name: _cut(item, limit) for name, item in value.items()}
    return value


def _full(session: Session, params: dict[str, Any], report: Report) -> detail.Full:
    kind, path = params["kind"], params["path"]
    place = _path(params, "place")
    return session.details.of(session.reader, place, kind, path, report)


def _detail(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    return detail.send_detail(_full(session, params, report), report)


def _text(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    full = _full(session, params, report)
    return detail.page(full, params["name"], int(params.get("offset", 0)))


def _factors(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    return detail.send_factors(_full(session, params, report), report)


def _export(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    from torchkeeper.stores.export import export

    store = _store(_path(params, "place"), report)
    chosen = _chosen(session, store, params.get("select", {}), report)
    output = _path(params, "output")
    done = export(chosen, store, output, report, lambda i, p: _left(report, i, p))
    return {
        "entries": done.entries,
        "files": done.files,
        "bytes": done.bytes,
        "output": os.path.abspath(output),
        "size": os.path.getsize(output) if done.entries else 0,
    }


def _import(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    from torchkeeper.stores.bundle import Bundle
    from torchkeeper.stores.importing import import_bundle

    with Bundle(_path(params, "file"), report) as bundle:
        _refused(bundle, report)
        done = import_bundle(
            bundle, _path(params, "into"), report, lambda i, p: _left(report, i, p)
        )
    return asdict(done)


def _hold(session: Session, params: dict[str, Any], _: Report) -> dict[str, Any]:
    session.held += [(kind, path) for kind, path in params["items"]]
    return {"held": len(session.held)}


def _plan_purge(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    store = Folder(_path(params, "place"))
    select = params.get("select", {})
    chosen = _chosen(session, store, select, report)
    everything = not select.get("filter") and "items" not in select and not select.get("held")
    if everything and chosen and all(one.entry.kind == "unknown" for one in chosen):
        raise Problem("place-no-cache", place=store.place)
    plan = trash.Plan(store.root, [one.item for one in chosen])
    for start in range(0, len(chosen), wire.MAX_ROWS):
        part = chosen[start : start + wire.MAX_ROWS]
        report.rows([one.entry.to_json() for one in part])
    # A number is never given twice: confirming an old preview must not carry out another.
    number = next(session.numbers)
    session.plans[number] = plan
    for old in list(session.plans)[:-_MAX_PLANS]:
        del session.plans[old]
    return {
        "plan": number,
        "entries": len(plan.items),
        "files": plan.files,
        "bytes": plan.allocated,
    }


def _purge(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    plan = session.plans.pop(params["plan"], None)
    if plan is None:
        raise Problem("plan-unknown")
    now = bool(params.get("now"))
    return asdict(trash.purge(plan, now, report, lambda i, p: _left(report, i, p)))


def _undo(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    return asdict(trash.undo(_path(params, "place"), report, lambda i, p: _left(report, i, p)))


def _trash(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    found = [asdict(receipt) for receipt in trash.receipts(_path(params, "place"))]
    for start in range(0, len(found), wire.MAX_ROWS):
        report.rows(found[start : start + wire.MAX_ROWS])
    return _trash_totals(_path(params, "place"))


def _empty_trash(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    done = asdict(trash.empty(_path(params, "place"), report))
    del done["receipt"]
    return done


def _probe(_: Session, __: dict[str, Any], ___: Report) -> dict[str, Any]:
    from torchkeeper.verdict.environment import probe

    return probe()


def _warm(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    from torchkeeper.warm.supervise import warm

    return warm(params, report)


OPERATIONS: dict[str, Callable[[Session, dict[str, Any], Report], dict[str, Any]]] = {
    "places": _places,
    "list": _list,
    "du": _du,
    "show": _show,
    "detail": _detail,
    "text": _text,
    "factors": _factors,
    "export": _export,
    "import": _import,
    "hold": _hold,
    "plan_purge": _plan_purge,
    "purge": _purge,
    "undo": _undo,
    "trash": _trash,
    "empty_trash": _empty_trash,
    "probe": _probe,
    "warm": _warm,
}
