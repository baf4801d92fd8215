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
``recovered`` (folders.guard).
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from torchkeeper.engine.protocol import TABLE, Operation, Owned
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
from torchkeeper.stores.folders import owners, receipts
from torchkeeper.stores.items import File, Item, allocated
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.needs import Name, Relatives

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import MadeIn
    from torchkeeper.engine.messages.bundles import SignatureParams
    from torchkeeper.engine.messages.compiling import (
        PrepareParams,
        PrepareResult,
        VerifyParams,
        VerifyResult,
        WarmParams,
        WarmResult,
    )
    from torchkeeper.engine.messages.dead import TrashParams, TrashResult
    from torchkeeper.engine.messages.entries import (
        DetailParams,
        DetailResult,
        EntryParams,
        FactorsParams,
        FactorsResult,
        NeedsParams,
        NeedsResult,
        Related,
        Shown,
        ShowParams,
        ShowResult,
        TextParams,
        TextResult,
    )
    from torchkeeper.engine.messages.environments import KnowParams, KnowResult, ProbeParams
    from torchkeeper.engine.messages.places import (
        DuKind,
        DuParams,
        DuResult,
        HoldParams,
        HoldResult,
        ListParams,
        ListResult,
        PlacesParams,
        PlacesResult,
        PlacesRow,
        SecretParams,
        SecretResult,
    )
    from torchkeeper.stores import shapes
    from torchkeeper.verdict.probed import Env

#: What an operation does: with its parameters, to its result.
Handler = Callable[[Session, Any, Report], Any]

#: Characters of a graph or a source that ``show`` sends.
_MAX_TEXT = 60_000
#: Entries that are named as needing, or needed by, another.
_MAX_NAMES = 500


def places_(_: Session, params: PlacesParams, report: Report) -> PlacesResult:
    for place in places.find():
        report.check()
        row: PlacesRow = {"path": place.path, "reason": place.reason, "exists": place.exists}
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
    """How many items there are of each kind, and their content in bytes."""
    found: dict[str, tuple[int, int]] = {}
    for item in items:
        count, size = found.get(item.kind, (0, 0))
        found[item.kind] = count + 1, size + item.size
    return found


def list_(session: Session, params: ListParams, report: Report) -> ListResult:
    asked = query.parse(params.get("filter") or "")
    place = place_of(params, "place")
    store = session.store(place, report)
    unless = params.get("unless")
    items = None
    # The verdicts may be others, although the files are the same.
    if unless and store.marked and not params.get("envs"):
        items = store.survey(report)
        if store.mark(items) == unless:
            same: ListResult = {"trash": None, "same": True, "mark": unless}
            store.tell_beside(same, ())
            return same
    sums = _Listed()
    seen: list[MadeIn | None] = []
    listed: list[Item] = []
    briefly = not params.get("facts") and not params.get("envs")
    batches = (
        store.unread(report, wire.MAX_ROWS)
        if store.tells_unread(asked.fields) and briefly
        else store.entries(session, report, items, all_of_it=bool(params.get("all")))
    )
    timed = asks_times(store, asked) or bool(params.get("times") or params.get("facts"))
    batches = store.timed(batches, timed)
    for batch in with_verdicts(session, store, batches, params, asked, report):
        entries = [one.entry for one in batch if asked.matches(one.entry)]
        if store.marked:
            listed += [one.item for one in batch]
        else:
            seen += [one.facts.get("made_in") for one in batch]
        sums.add(entries)
        for start in range(0, len(entries), wire.MAX_ROWS):
            report.rows([e.to_json() for e in entries[start : start + wire.MAX_ROWS]])
    totals = sums.to_json()
    store.tell_beside(totals, seen)
    if store.marked:
        totals["mark"] = "" if unless is None else store.mark(listed)
    store.close()
    tell_refused(store, report)
    if store.signable and params.get("signers"):
        from torchkeeper.engine.bundles import signature

        asked_of: SignatureParams = {"file": store.place, "signers": params["signers"]}
        totals["signature"] = signature(session, asked_of, report)
    return totals


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

    def to_json(self) -> ListResult:
        """All of it."""
        counts = counted(self._kinds)
        return {
            "trash": None,
            "entries": counts["entries"],
            "locks": counts["locks"],
            "headers": counts["headers"],
            "unknown": counts["unknown"],
            "files": self._files[False],
            "bytes": self._bytes[False],
            "content_bytes": self._bytes[False],
            "broken": self._broken,
            "unread": self._unread,
            "orphans": self._orphans,
            "apart_files": self._files[True],
            "apart_bytes": self._bytes[True],
        }


def du(session: Session, params: DuParams, report: Report) -> DuResult:
    store = session.store(place_of(params, "place"), report)
    items = store.survey(report) if store.on_disk else []
    counts, files, sizes = Counter[str](), Counter[str](), Counter[str]()
    kept: dict[str, list[File]] = {}
    for item in items if store.on_disk else store.stream(report):
        counts[item.kind] += 1
        files[item.kind] += item.count
        sizes[item.kind] += item.size
        if store.on_disk:
            kept.setdefault(item.kind, []).extend(item.files)
    kinds: list[DuKind] = [
        {
            "kind": kind, **tallied(counts[kind], kind), "files": files[kind],
            **measured(sizes[kind], on_disk=False),
        }
        for kind in KINDS if counts[kind]
    ]  # fmt: skip
    if store.on_disk:
        for one in kinds:
            one["disk_bytes"] = allocated(kept[one["kind"]])
    disk = allocated(file for some in kept.values() for file in some) if store.on_disk else None
    own = store.owners()
    trash_of, orphans = store.trash(), store.orphans(items, session.index)
    store.close()
    return {"kinds": kinds, "trash": trash_of, "orphans": orphans, "owners": own,
            "disk_bytes": disk, **store.strays()}  # fmt: skip


def show(session: Session, params: ShowParams, report: Report) -> ShowResult:
    kinds = []
    with session.store(place_of(params, "place"), report) as store:
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
        shown: Shown = {
            "entry": one.entry.to_json(),
            "facts": facts,
            "files": files,
            **_related(related),
        }
        try:
            report.finding(shown=shown)
            return
        except wire.WireError:
            limit //= 2
            if limit < 50:
                raise


def _related(related: Relatives) -> Related:
    """Who needs whom as kinds and keys; ``unread`` only where not all could be looked at."""
    told: Related = {
        "needs": _first((item.kind, item.key) for item in related.needs),
        "missing": _first((kind, key[:100]) for kind, key in related.missing),
        "needed_by": _first((item.kind, item.key) for item in related.needed_by),
    }
    if related.unread:
        told["unread"] = related.unread
    return told


def _first(names: Iterable[Name]) -> list[Name]:
    """Names, each once, and not too many."""
    return list(dict.fromkeys(names))[:_MAX_NAMES]


def needs(session: Session, params: NeedsParams, report: Report) -> NeedsResult:
    with session.store(place_of(params, "place"), report) as store:
        return _related(store.relatives(params["kind"], params["path"], session, report))


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return value[:limit] + f"\n… {len(value) - limit:,} characters more"
    if isinstance(value, (list, tuple)):
        return [_cut(item, max(limit // 20, 40)) for item in value[: max(limit // 20, 20)]]
    if isinstance(value, dict):
        return {name: _cut(item, limit) for name, item in value.items()}
    return value


def _full(session: Session, params: EntryParams, report: Report) -> detail.Full:
    kind, path = params["kind"], params["path"]
    store = session.store(place_of(params, "place"), report)
    return session.details.of(session.reader, store, kind, path, report)


def detail_(session: Session, params: DetailParams, report: Report) -> DetailResult:
    return detail.send_detail(_full(session, params, report), report)


def text(session: Session, params: TextParams, report: Report) -> TextResult:
    full = _full(session, params, report)
    return detail.page(full, params["name"], params.get("offset", 0))


def factors(session: Session, params: FactorsParams, report: Report) -> FactorsResult:
    return detail.send_factors(_full(session, params, report), report)


def hold(session: Session, params: HoldParams, _: Report) -> HoldResult:
    session.held += [(kind, path) for kind, path in params["items"]]
    return {"held": len(session.held)}


def trash(_: Session, params: TrashParams, report: Report) -> TrashResult:
    place = path_of(params, "place")
    tell_cut_off(place, report)
    found = [receipt.to_json() for receipt in receipts.in_trash(place)]
    for start in range(0, len(found), wire.MAX_ROWS):
        report.rows(found[start : start + wire.MAX_ROWS])
    return receipts.totals(place)


def probe_(_: Session, __: ProbeParams, ___: Report) -> Env:
    from torchkeeper.verdict.environment import probe

    return probe()


def warm_(_: Session, params: WarmParams, report: Report) -> WarmResult:
    from torchkeeper.warm.supervise import warm

    return warm(params, report)


def verify_(session: Session, params: VerifyParams, report: Report) -> VerifyResult:
    from torchkeeper.engine.cells import explainer
    from torchkeeper.warm.verify import verify

    return verify(params, report, explainer(session, params["place"], report))


def prepare_(_: Session, params: PrepareParams, report: Report) -> PrepareResult:
    from torchkeeper.warm.prepare import prepare

    return prepare(params, report)


def secret(session: Session, params: SecretParams, _: Report) -> SecretResult:
    """The password of a server for what is asked from now on; None to forget it."""
    session.secrets.pop(params["place"], None)
    if params["password"] is not None:
        session.secrets[params["place"]] = params["password"]
    return {}


def know(session: Session, params: KnowParams, _: Report) -> KnowResult:
    """An environment, as its probe told, for whoever names it from now on."""
    session.environments[params["python"]] = params["env"]
    return {}


def _point_out(session: Session, of: Owned, params: Mapping[str, object], report: Report) -> None:
    """Tell what a look at a place finds that an operation changes or runs programs with:
    ``owners``, where there is something.
    """
    place = params.get(of.parameter) or (places.default_folder() if of.runs else None)
    if not isinstance(place, str):
        return
    found: Sequence[shapes.Owned] | None = None
    if not scheme_of(place).local:
        # What is wrong with it the operation says itself.
        with contextlib.suppress(Problem), session.store(place, report) as store:
            found = store.owners()
    elif (
        os.path.isabs(place) and "\0" not in place and not of.only_servers and not params.get("dry")
    ):
        found = owners.of_program(place) if of.runs else owners.glance(place)
    if found:
        report.finding(owners=found)


def _handler(operation: Operation) -> Handler:
    """What does an operation. Its module is loaded when it is asked for: a listing shall start at
    once.
    """
    module, name = operation.handler.split(".")

    def handle(session: Session, params: Any, report: Report) -> Any:
        loaded = importlib.import_module(f"torchkeeper.engine.{module}")
        for place in operation.owned:
            _point_out(session, place, params, report)
        return getattr(loaded, name)(session, params, report)

    return handle


#: The handlers of all operations, by name.
OPERATIONS: dict[str, Handler] = {name: _handler(one) for name, one in TABLE.items()}
