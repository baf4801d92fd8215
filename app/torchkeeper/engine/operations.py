"""What an engine can be asked to do, by name.

Every operation takes the session, its parameters and a Report, and returns its result. Rows are
entries as JSON; ``left`` findings say what was not taken and why. A selection is ``{}`` for all,
``{"filter": text}``, ``{"items": [[kind, path], …]}``, or ``{"held": true}`` for items sent before
with ``hold``, for selections that are too long for one line. ``detail``, ``text``, ``factors`` and
``needs`` are about one entry, named by place, kind and path. A ``list`` that is told ``unless``,
the ``mark`` of an earlier one or an empty text, says a mark of its own, and sends no rows where a
folder is still as it was. One of a server that is told ``times`` says when entries expire and were
last used, and with ``facts`` also what only their payloads tell; one of a bundle that is told
``signers``, a file, says who signed it (``bundles.signing.signature_of``). A selection or a
``list`` with ``envs``, names of environments that ``know`` told, gives entries the best of their
verdicts in these; without, no filter can ask for verdicts. ``places``, ``list``, ``du`` and
``check`` say of a folder who else can change what lies in it, as ``owners`` (folders.owners); what
writes into one or runs what is in it finds that first. What was cut off in a folder is told by all
that look at it, as ``cut_off``, and brought to its end by ``recover`` and by all that change it, as
``recovered`` (folders.recovering).
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from torchkeeper.artifacts.entry import (
    COUNTED_APART,
    KINDS,
    Entry,
    Problem,
    counted,
    holds,
    measured,
    tallied,
    tally,
)
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import detail, wire
from torchkeeper.engine.owning import at_a_glance, owned, point_out
from torchkeeper.engine.protocol import TABLE, Operation
from torchkeeper.engine.session import (
    Session,
    asks_times,
    entries_of,
    items_of,
    keys_tell,
    orphans_of,
    others_in,
    path_of,
    place_of,
    tell_cut_off,
    tell_refused,
    told_of,
    unread_of,
    with_times,
    with_verdicts,
)
from torchkeeper.stores import places, query
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import owners, receipts
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import signature
from torchkeeper.stores.items import File, Item, allocated
from torchkeeper.stores.names import is_server
from torchkeeper.stores.needs import TELLING, Name, Relatives, needed, relatives
from torchkeeper.stores.store import Store, read

#: What an operation does: with its parameters, to its result.
Handler = Callable[[Session, dict[str, Any], Report], dict[str, Any]]

#: Characters of a graph or a source that ``show`` sends.
_MAX_TEXT = 60_000
#: Entries that are named as needing, or needed by, another.
_MAX_NAMES = 500


def places_(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    for place in places.find():
        report.check()
        row = asdict(place)
        if params.get("sizes") and place.exists and not is_server(place.path):
            try:
                folder = Folder(place.path)
                items = folder.items(report)
            except Problem as problem:
                row["problem"] = problem.code
            else:
                row |= holds(_sizes(items))
                row["owners"] = owners.findings(place.path, folder.seen)
        elif place.exists and not is_server(place.path):
            row["owners"] = owners.glance(place.path)
        elif is_server(place.path):
            row["owners"] = at_a_glance(place.path)
        report.rows([row])
    return {}


def _sizes(items: Iterable[Item]) -> dict[str, tuple[int, int]]:
    """How many items there are of each kind, and their content in bytes."""
    found: dict[str, tuple[int, int]] = {}
    for item in items:
        count, size = found.get(item.kind, (0, 0))
        found[item.kind] = count + 1, size + item.size
    return found


def list_(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    asked = query.parse(params.get("filter") or "")
    store = session.store(place_of(params, "place"), report)
    unless = params.get("unless")
    items = None
    # The verdicts may be others, although the files are the same.
    if unless and isinstance(store, Folder) and not params.get("envs"):
        items = items_of(store, report)
        if _mark(items, store) == unless:
            return {"same": True, "mark": unless, **_beside(store)}
    sums = _Listed()
    seen: list[dict[str, Any] | None] = []
    listed: list[Item] = []
    folder = isinstance(store, Folder)
    batches = (
        unread_of(store, report)
        if keys_tell(store, asked) and not params.get("facts") and not params.get("envs")
        else entries_of(session, store, report, items, all_of_it=bool(params.get("all")))
    )
    timed = asks_times(store, asked) or bool(params.get("times") or params.get("facts"))
    batches = with_times(store, batches, timed)
    for batch in with_verdicts(session, store, batches, params, asked, report):
        entries = [one.entry for one in batch if asked.matches(one.entry)]
        if folder:
            listed += [one.item for one in batch]
        else:
            seen += [one.facts.get("made_in") for one in batch]
        sums.add(entries)
        for start in range(0, len(entries), wire.MAX_ROWS):
            report.rows([e.to_json() for e in entries[start : start + wire.MAX_ROWS]])
    totals = sums.to_json()
    if isinstance(store, Folder):
        mark = "" if unless is None else _mark(listed, store)
        return {**totals, "mark": mark, **_beside(store)}
    own = owned(store)
    store.close()
    if is_server(store.place):
        more = {"owners": own, **others_in(store)}
        return {**totals, "trash": None, "format": "redis", **more}
    from torchkeeper.stores.bundles.building import claims
    from torchkeeper.stores.bundles.bundle import Bundle
    from torchkeeper.stores.bundles.export import common_origin

    assert isinstance(store, Bundle)
    tell_refused(store, report)
    # What the payloads say weighs more than what a manifest claims.
    made_in = common_origin(seen) or store.made_in
    about = {"format": store.format, "made_in": made_in, **claims(store)}
    if params.get("signers"):
        from torchkeeper.stores.bundles.signing import signature_of

        signers = path_of(params, "signers")
        about["signature"] = signature_of(store.path, signers, report)._asdict()
    return {**totals, "trash": None, **about}


def _beside(store: Folder) -> dict[str, Any]:
    """What is said of a folder besides its entries."""
    return {"trash": _trash_totals(store.root), "owners": owned(store)}


def _mark(items: list[Item], store: Store) -> str:
    """A text that changes, within one engine, with any file of any item, and what is foreign."""
    total = len(items) + sum(hash((*item.identity, signature(item))) for item in items)
    if isinstance(store, Folder):
        total += sum(map(hash, store.seen.foreign.items()))
    return f"{total & 0xFFFFFFFFFFFFFFFF:016x}"


class _Listed:
    """What a listing comes to. Files, bytes, and how many are broken, unread or orphans are of
    entries alone: ``apart_files`` and ``apart_bytes`` are of what is counted apart.
    """

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._files: Counter[bool] = Counter()
        self._bytes: Counter[bool] = Counter()
        self._broken = self._unread = self._orphans = 0

    def add(self, entries: list[Entry]) -> None:
        """Some more rows."""
        self._kinds.update(entry.kind for entry in entries)
        for entry in entries:
            apart = entry.kind in COUNTED_APART
            self._files[apart] += entry.files
            self._bytes[apart] += entry.size
            self._broken += not apart and entry.broken
            self._unread += not apart and entry.put_off
            self._orphans += not apart and entry.orphan is not None

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            **counted(self._kinds),
            "files": self._files[False],
            **measured(self._bytes[False], on_disk=False),
            "broken": self._broken,
            "unread": self._unread,
            "orphans": self._orphans,
            "apart_files": self._files[True],
            "apart_bytes": self._bytes[True],
        }


def _trash_totals(place: str) -> dict[str, Any]:
    """What lies in the trash of a folder; ``last``: of that, what undo puts back, if anything."""
    found = receipts.in_trash(place)
    last = next((one for one in reversed(found) if one.files or any(one.counts.values())), None)
    return {
        "receipts": len(found),
        **{name: sum(receipt.counts[name] for receipt in found) for name in tally(())},
        "files": sum(receipt.files for receipt in found),
        **measured(sum(receipt.bytes for receipt in found), on_disk=True),
        "last": last and {**last.counts, **measured(last.bytes, on_disk=True), "made": last.made},
    }


def du(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    store = session.store(place_of(params, "place"), report)
    server, folder = is_server(store.place), isinstance(store, Folder)
    items = [] if server else items_of(store, report)
    counts, files, sizes = Counter[str](), Counter[str](), Counter[str]()
    kept: dict[str, list[File]] = {}
    for item in store.stream(report) if server else items:
        counts[item.kind] += 1
        files[item.kind] += len(item.files) if item.kind == "triton" or not server else 1
        sizes[item.kind] += item.size
        if folder:
            kept.setdefault(item.kind, []).extend(item.files)
    kinds: list[dict[str, Any]] = [
        {
            "kind": kind, **tallied(counts[kind], kind), "files": files[kind],
            **measured(sizes[kind], on_disk=False),
            **({"disk_bytes": allocated(kept[kind])} if folder else {}),
        }
        for kind in KINDS if counts[kind]
    ]  # fmt: skip
    disk = allocated(file for some in kept.values() for file in some) if folder else None
    trash_of = orphans = None
    own = owned(store)
    if isinstance(store, Folder):
        trash_of, orphans = _trash_totals(store.root), orphans_of(store, items)
    store.close()
    more = others_in(store) if server else {}
    about = {"trash": trash_of, "orphans": orphans, "owners": own, "disk_bytes": disk}
    return {"kinds": kinds, **about, **more}


def show(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    store = session.store(place_of(params, "place"), report)
    key = params["key"]
    if is_server(store.place):
        return _show_on_server(session, store, key, report)
    items = items_of(store, report)
    keys = {item.key for item in items if item.key.startswith(key)}
    if not key or not keys:
        raise Problem("key-unknown", key=key, place=path_of(params, "place"))
    if key not in keys and len(keys) > 1:
        raise Problem("key-ambiguous", key=key, count=len(keys), first=sorted(keys)[0])
    wanted = key if key in keys else keys.pop()
    # The others are read too, briefly: a kernel's name is in the graph it belongs to.
    brief = [one for batch in entries_of(session, store, report, items) for one in batch]
    known = {(one.item.kind, one.item.path, one.entry.sha256): one.entry for one in brief}
    told = [(one.item, one.facts) for one in brief if one.item.kind in TELLING]
    chosen = [item for item in items if item.key == wanted]
    batches = read(store, chosen, session.reader, report, full=True)
    shown = [one for batch in batches for one in batch]
    for one in sorted(shown, key=lambda one: (KINDS.index(one.entry.kind), one.entry.path)):
        entry = known.get((one.item.kind, one.item.path, one.entry.sha256), one.entry)
        _send_shown(one, entry, relatives(told, items, one.item), report)
    return tally(one.entry.kind for one in shown)


def _show_on_server(session: Session, store: Store, key: str, report: Report) -> dict[str, Any]:
    from torchkeeper.engine.relating import in_full
    from torchkeeper.stores.redis.store import Redis

    assert isinstance(store, Redis)
    count = 0
    with store:
        for one, related in in_full(session, store, key, report):
            [[timed]] = with_times(store, [[one]], True)
            _send_shown(one, timed.entry, related, report)
            count += 1
    return tallied(count)


def _send_shown(one: Described, entry: Entry, related: Relatives, report: Report) -> None:
    """All that is known of an entry, its texts cut until they fit a line."""
    files = [
        {"path": f.path, "size": f.size, "mtime": f.mtime_ns / 1e9 if f.mtime_ns else None}
        for f in one.item.files[:1000]
    ]
    limit = _MAX_TEXT
    while True:
        facts = {name: _cut(value, limit) for name, value in one.facts.items()}
        shown = {"entry": entry.to_json(), "facts": facts, "files": files, **_related(related)}
        try:
            report.finding(shown=shown)
            return
        except wire.WireError:
            limit //= 2
            if limit < 50:
                raise


def _related(related: Relatives) -> dict[str, Any]:
    """Who needs whom as kinds and keys; ``unread`` only where not all could be looked at."""
    found: dict[str, list[Name]] = {
        "needs": [(item.kind, item.key) for item in related.needs],
        "missing": [(kind, key[:100]) for kind, key in related.missing],
        "needed_by": [(item.kind, item.key) for item in related.needed_by],
    }
    told = {name: list(dict.fromkeys(names))[:_MAX_NAMES] for name, names in found.items()}
    return {**told, "unread": related.unread} if related.unread else told


def needs(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    place = place_of(params, "place")
    store = session.store(place, report)
    try:
        if is_server(place):
            return _needs_on_server(session, store, params["path"], report)
        items = items_of(store, report)
        of = next((i for i in items if i.identity == (params["kind"], params["path"])), None)
        if of is None:
            raise Problem("entry-gone", path=params["path"])
        state = (place, os.stat(place).st_mtime_ns, _mark(items, store))
        if session.told is None or session.told[0] != state:
            session.told = (state, told_of(session, store, report, items))
        return _related(relatives(session.told[1], items, of))
    finally:
        store.close()


def _needs_on_server(session: Session, store: Store, path: str, report: Report) -> dict[str, Any]:
    from torchkeeper.engine.relating import related
    from torchkeeper.stores.redis.store import Redis

    assert isinstance(store, Redis)
    items = store.items_beside(path, report)
    if not items:
        raise Problem("entry-gone", path=path)
    batches = read(store, items, session.reader, report)
    wanted = {name: None for batch in batches for one in batch for name in needed(one.facts)}
    return _related(related(session, store, items[0], wanted, report))


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
    store = session.store(place_of(params, "place"), report)
    return session.details.of(session.reader, store, kind, path, report)


def detail_(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    return detail.send_detail(_full(session, params, report), report)


def text(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    full = _full(session, params, report)
    return detail.page(full, params["name"], int(params.get("offset", 0)))


def factors(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    return detail.send_factors(_full(session, params, report), report)


def hold(session: Session, params: dict[str, Any], _: Report) -> dict[str, Any]:
    session.held += [(kind, path) for kind, path in params["items"]]
    return {"held": len(session.held)}


def trash(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    place = path_of(params, "place")
    tell_cut_off(place, report)
    found = [receipt.to_json() for receipt in receipts.in_trash(place)]
    for start in range(0, len(found), wire.MAX_ROWS):
        report.rows(found[start : start + wire.MAX_ROWS])
    return _trash_totals(place)


def probe_(_: Session, __: dict[str, Any], ___: Report) -> dict[str, Any]:
    from torchkeeper.verdict.environment import probe

    return probe()


def warm_(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """``supervise.warm``. settings: {variable: text} of a profile, which the compile then has and
    no others of the described ones; they may hold a password. Left out, they are the engine's.
    """
    from torchkeeper.warm.supervise import warm

    return warm(params, report)


def verify_(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    from torchkeeper.engine.missing import explainer
    from torchkeeper.warm.verify import verify

    return verify(params, report, explainer(session, params, report))


def prepare_(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    from torchkeeper.warm.prepare import prepare

    return prepare(params, report)


def secret(session: Session, params: dict[str, Any], _: Report) -> dict[str, Any]:
    """The password of a server for what is asked from now on; None to forget it."""
    session.secrets.pop(params["place"], None)
    if params["password"] is not None:
        session.secrets[params["place"]] = params["password"]
    return {}


def know(session: Session, params: dict[str, Any], _: Report) -> dict[str, Any]:
    """An environment, as its probe told, for whoever names it from now on."""
    python, env = params["python"], params["env"]
    if not isinstance(python, str) or not isinstance(env, dict):
        raise TypeError("an environment is a name and an object")
    session.environments[python] = env
    return {}


def _handler(operation: Operation) -> Handler:
    """What does an operation. Its module is loaded when it is asked for: a listing shall start at
    once.
    """
    module, name = operation.handler.split(".")

    def handle(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
        loaded = importlib.import_module(f"torchkeeper.engine.{module}")
        for place in operation.owned:
            point_out(session, place, params, report)
        found: dict[str, Any] = getattr(loaded, name)(session, params, report)
        return found

    return handle


#: The handlers of all operations, by name.
OPERATIONS: dict[str, Handler] = {name: _handler(one) for name, one in TABLE.items()}
