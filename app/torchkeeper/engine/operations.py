"""The handlers of operations that have no module of their own (``protocol.TABLE``).

Rows are entries as JSON; ``left`` findings say what was not taken and why. A ``list`` that is told
``unless``, the ``mark`` of an earlier one or an empty text, says a mark of its own, and sends no
rows where a folder is still as it was. A selection or a ``list`` with ``envs``, names of
environments that ``know`` told, gives entries the best of their verdicts in these; without, no
filter can ask for verdicts. ``places``, ``list``, ``du`` and ``check`` say of a folder who else can
change what lies in it (folders.owners); what writes into one or runs what is in it finds that
first. What was cut off in a folder is told by all that look at it, as ``cut_off``, and brought to
its end by ``recover`` and by all that change it, as ``recovered`` (folders.guard).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import (
    COUNTED_APART,
    KINDS,
    Problem,
    counted,
    holds,
    measured,
    tallied,
    tally,
)
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import detail, filled, protocol
from torchkeeper.engine.session import (
    Session,
    asks_times,
    path_of,
    place_of,
    tell_cut_off,
    tell_refused,
    with_verdicts,
)
from torchkeeper.stores import places, query
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.items import Item, OnDisk, packed
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.needs import Name, Relatives

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import MadeIn
    from torchkeeper.engine.messages import compiling, entries, verdicts
    from torchkeeper.engine.messages import places as msg
    from torchkeeper.engine.messages.dead import TrashParams, TrashResult
    from torchkeeper.engine.messages.verdicts import (
        InstalledParams,
        InstalledResult,
        KnowParams,
        KnowResult,
        ProbeParams,
    )
    from torchkeeper.stores.bundles.bundle import Bundle
    from torchkeeper.verdict.probed import Env

#: Characters of a graph or a source that ``show`` sends.
_MAX_TEXT = 60_000
#: Entries that are named as needing, or needed by, another.
_MAX_NAMES = 500


#: Why a place is one that may have ranks.
_RANKED = frozenset({"vllm", "SGLang"})


def places_(_: Session, params: msg.PlacesParams, report: Report) -> msg.PlacesResult:
    found = places.find()
    paths = {place.path for place in found}
    more = [places.Place(x, "filled", True) for x in filled.folders() if x not in paths]
    for place in [*found, *more]:
        report.check()
        row: msg.PlacesRow = {"path": place.path, "reason": place.reason, "exists": place.exists}
        if place.reason in _RANKED and (ranks := places.ranks(place.path)):
            row["ranks"] = ranks
        scheme = scheme_of(place.path)
        if params.get("sizes") and place.exists and scheme.local:
            try:
                store = scheme.opened(place.path, report)
                items = store.items(report)
            except Problem as problem:
                row["problem"] = problem.code
            else:
                row = {**row, **holds(_sizes(items)), "owners": store.owners()}
        elif place.exists:
            row["owners"] = scheme.owners(place.path)
        report.rows([row])
    return {}


def _sizes(items: Iterable[Item]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for item in items:
        count, size = found.get(item.kind, (0, 0))
        found[item.kind] = count + 1, size + item.size
    return found


def list_(session: Session, params: msg.ListParams, report: Report) -> msg.ListResult:
    asked = query.parse(params.get("filter") or "")
    place = place_of(params["place"])
    store, items = session.store(place, report), None
    unless = params.get("unless")
    # The verdicts may be others, although the files are the same.
    if unless and store.marked and not params.get("envs"):
        items = store.survey(report)
        if store.mark(items) == unless:
            same: msg.ListResult = {"trash": None, "same": True, "mark": unless}
            store.tell_beside(same, ())
            return same
    kinds, sums = Counter[str](), Counter[str]()
    seen: list[MadeIn | None] = []
    listed: list[Item] = []
    quiet = None
    if params.get("leaks") and store.signable:
        from torchkeeper.engine import screening  # only here: an engine shall start at once

        quiet = screening.quiet(session, report)
    briefly, every = not params.get("facts") and not params.get("envs"), bool(params.get("all"))
    if store.tells_unread(asked.fields) and briefly:
        batches = store.unread(report, protocol.MAX_ROWS)
    else:
        # Who is told a mark, or asks for some, wants every change; verdicts may want the files.
        glimpsing = briefly and unless is None and not every and not params.get("filter")
        batches = store.entries(
            session, report, items, all_of_it=every, glimpsing=glimpsing, search=quiet
        )
    timed = asks_times(store, asked) or bool(params.get("times") or params.get("facts"))
    batches = store.timed(batches, timed)
    for batch in with_verdicts(session, store, batches, params.get("envs"), asked, report):
        entries = [one.entry for one in batch if asked.matches(one.entry)]
        if unless is not None:
            listed += [one.item for one in batch]
        if not store.marked:
            seen += [one.facts.get("made_in") for one in batch]
        kinds.update(entry.kind for entry in entries)
        for entry in entries:
            apart = entry.kind in COUNTED_APART
            sums["apart_files" if apart else "files"] += entry.files
            sums["apart_bytes" if apart else "bytes"] += entry.size
            sums["broken"] += not apart and entry.broken
            sums["unread"] += not apart and entry.put_off
            sums["orphans"] += not apart and entry.orphan is not None
        report.rows([entry.to_json() for entry in entries])
    # Files, bytes, and how many are broken, unread or orphans are of entries alone.
    none: msg.ListResult = {"trash": None}
    totals: msg.ListResult = {
        **none,
        **counted(kinds),
        "files": sums["files"],
        "bytes": sums["bytes"],
        "content_bytes": sums["bytes"],
        "broken": sums["broken"],
        "unread": sums["unread"],
        "orphans": sums["orphans"],
        "apart_files": sums["apart_files"],
        "apart_bytes": sums["apart_bytes"],
    }
    store.tell_beside(totals, seen)
    if store.marked:
        totals["mark"] = "" if unless is None else store.mark(listed)
    store.close()
    tell_refused(store, report)
    if quiet and not quiet.clear():
        screening.leaks(session, {"place": place}, report)
    if store.signable and params.get("signers"):
        from torchkeeper.engine.bundles import signature_in

        totals["signature"] = signature_in(cast("Bundle", store), params["signers"], report)
    return totals


def du(session: Session, params: msg.DuParams, report: Report) -> msg.DuResult:
    store = session.store(place_of(params["place"]), report)
    items: list[Item] = []
    counts, files, sizes = Counter[str](), Counter[str](), Counter[str]()
    disk, of = OnDisk(), Counter[str]()
    for item in store.stream(report):
        counts[item.kind] += 1
        files[item.kind] += item.count
        sizes[item.kind] += item.size
        if store.on_disk:
            # A file with several names counts for the first: the kinds add up to the whole.
            before = disk.bytes
            disk.count([item])
            of[item.kind] += disk.bytes - before
            items += packed([item])
    if store.on_disk:
        store.tell_unreadable(report)
    kinds: list[msg.DuKind] = [
        {
            "kind": kind, **tallied(counts[kind], kind), "files": files[kind],
            **measured(sizes[kind], on_disk=False),
        }
        for kind in KINDS if counts[kind]
    ]  # fmt: skip
    if store.on_disk:
        for one in kinds:
            one["disk_bytes"] = of[one["kind"]]
    own = store.owners()
    trash_of, orphans = store.trash(), store.orphans(items, session.index)
    store.close()
    return {"kinds": kinds, "trash": trash_of, "orphans": orphans, "owners": own,
            "disk_bytes": disk.bytes if store.on_disk else None, **store.strays()}  # fmt: skip


def show(session: Session, params: entries.ShowParams, report: Report) -> entries.ShowResult:
    kinds = []
    with session.store(place_of(params["place"]), report) as store:
        for one, related in store.in_full(params["key"], session, report):
            _send_shown(one, related, report)
            kinds.append(one.entry.kind)
    return tally(kinds)


def _send_shown(one: Described, related: Relatives, report: Report) -> None:
    """All that is known of an entry, its texts cut until they fit a line."""
    files = detail.files_of(one.item, 1000)
    limit = _MAX_TEXT
    while True:
        facts = {name: _cut(value, limit) for name, value in one.facts.items()}
        shown = {"entry": one.entry.to_json(), "facts": facts, "files": files}
        try:
            return report.finding(shown={**shown, **_related(related)})
        except protocol.WireError:
            limit //= 2
            if limit < 50:
                raise


def _related(related: Relatives) -> entries.Related:
    """Who needs whom as kinds and keys; ``unread`` only where not all could be looked at."""
    told: entries.Related = {
        "needs": _first((item.kind, item.key) for item in related.needs),
        "missing": _first((kind, key[:100]) for kind, key in related.missing),
        "needed_by": _first((item.kind, item.key) for item in related.needed_by),
    }
    if related.unread:
        told["unread"] = related.unread
    return told


def _first(names: Iterable[Name]) -> list[Name]:
    return list(dict.fromkeys(names))[:_MAX_NAMES]


def needs(session: Session, params: entries.NeedsParams, report: Report) -> entries.NeedsResult:
    with session.store(place_of(params["place"]), report) as store:
        return _related(store.relatives(params["kind"], params["path"], session, report))


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return value[:limit] + f"\n… {len(value) - limit:,} characters more"
    if isinstance(value, (list, tuple)):
        return [_cut(item, max(limit // 20, 40)) for item in value[: max(limit // 20, 20)]]
    if isinstance(value, dict):
        return {name: _cut(item, limit) for name, item in value.items()}
    return value


def _full(session: Session, params: entries.EntryParams, report: Report) -> detail.Full:
    return session.full(params["place"], params["kind"], params["path"], report)


def detail_(session: Session, params: entries.DetailParams, report: Report) -> entries.DetailResult:
    return detail.send_detail(_full(session, params, report), report)


def text(session: Session, params: entries.TextParams, report: Report) -> entries.TextResult:
    return detail.page(_full(session, params, report), params["name"], params.get("offset", 0))


def factors(
    session: Session, params: entries.FactorsParams, report: Report
) -> entries.FactorsResult:
    return detail.send_factors(_full(session, params, report), report)


def hold(session: Session, params: msg.HoldParams, _: Report) -> msg.HoldResult:
    session.hold((kind, path) for kind, path in params["items"])
    return {"held": len(session.held)}


def trash(_: Session, params: TrashParams, report: Report) -> TrashResult:
    place = path_of(params["place"])
    tell_cut_off(place, report)
    report.rows(receipts.in_trash(place))
    return receipts.totals(place)


def probe_(_: Session, __: ProbeParams, ___: Report) -> Env:
    from torchkeeper.verdict.environment import probe

    return probe()


def warm_(_: Session, params: compiling.WarmParams, report: Report) -> compiling.WarmResult:
    from torchkeeper.warm.sent import placed
    from torchkeeper.warm.supervise import warm

    with placed(params) as recipes:
        return warm({**params, "recipes": recipes}, report)


def verify_(
    session: Session, params: compiling.VerifyParams, report: Report
) -> compiling.VerifyResult:
    from torchkeeper.engine.variants import explainer
    from torchkeeper.warm.sent import placed
    from torchkeeper.warm.verify import verify

    explain = explainer(session, params["place"], report)
    with placed(params) as recipes:
        return verify({**params, "recipes": recipes}, report, explain)


def prepare_(
    _: Session, params: compiling.PrepareParams, report: Report
) -> compiling.PrepareResult:
    from torchkeeper.warm.prepare import prepare

    return prepare(params, report)


def secret(session: Session, params: msg.SecretParams, _: Report) -> msg.SecretResult:
    """The password of a server for what is asked from now on; None to forget it."""
    session.secrets.pop(params["place"], None)
    if params["password"] is not None:
        session.secrets[params["place"]] = params["password"]
    return {}


def settings(_: Session, __: verdicts.SettingsParams, ___: Report) -> verdicts.SettingsResult:
    """In an interpreter's engine: as ``held.settings``."""
    from torchkeeper.settings import held

    return held.settings()


def processes(_: Session, __: verdicts.ProcessesParams, report: Report) -> verdicts.ProcessesResult:
    """A row for each of this user's that has torch, as ``processes.running``."""
    from torchkeeper.settings.processes import running

    return running(report)


def process_settings(
    _: Session, params: verdicts.ProcessSettingsParams, ___: Report
) -> verdicts.ProcessSettingsResult:
    from torchkeeper.settings.processes import of_process

    return of_process(params["pid"])


def installed_(_: Session, params: InstalledParams, __: Report) -> InstalledResult:
    import hashlib
    import json
    import os

    from torchkeeper.verdict.installed import installed

    told = json.dumps(installed(params["path"], os.environ))
    return {"known_by": hashlib.sha256(told.encode()).hexdigest()}


def know(session: Session, params: KnowParams, _: Report) -> KnowResult:
    """An environment, as its probe told, for whoever names it from now on."""
    session.know(params["python"], params["env"])
    return {}
