"""What an engine remembers, and what its operations share: stores, selections, what was left."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import READ, UNREAD, Entry, Problem, measured, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import detail, wire
from torchkeeper.stores import query
from torchkeeper.stores.budget import Budget
from torchkeeper.stores.describe import Carried, Described, describe, unread
from torchkeeper.stores.folders import journal
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import Item, allocated
from torchkeeper.stores.names import is_server
from torchkeeper.stores.needs import TELLING, Living, Told
from torchkeeper.stores.query import Query
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.store import Store, opened, read

if TYPE_CHECKING:
    # Loaded where it is needed: an engine that lists a folder shall start at once.
    from torchkeeper.engine.relating import Named
    from torchkeeper.engine.running import Held
    from torchkeeper.stores.appearing import Appearing
    from torchkeeper.stores.bundles.bundle import Bundle


#: What a probe tells (verdict.environment.probe).
Env = Mapping[str, Any]

#: What is known of every entry by its files alone.
_OF_FILES = frozenset({"kind", "size", "files", "age", query.OWNER})
#: What a server's listing knows of each entry.
_OF_KEYS = frozenset({"", "kind", "size", "files", *query.TIMES})


@dataclass
class Session:
    """What an engine remembers between requests."""

    reader: Reader = field(default_factory=Reader)
    details: detail.Details = field(default_factory=detail.Details)
    plans: dict[int, object] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    held: list[tuple[str, str]] = field(default_factory=list)
    #: Passwords by place, for as long as the engine runs.
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    #: Environments by name, as their probes told, for as long as the engine runs.
    environments: dict[str, Env] = field(default_factory=dict, repr=False)
    #: Keys of objects in an environment, by the file they are in and their paths in it.
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    #: What was last asked about who needs whom: of what state of a place, and what is known.
    told: tuple[object, Told] | None = None
    #: What entries of the server that was last asked about name.
    named: Named | None = None
    #: What was last looked at for what is dead (engine.suggesting.Look).
    look: object = None
    #: What the folder of a program held before that was started.
    before: Held | None = None
    #: A bundle that appears when it is signed.
    unsigned: Appearing | None = None

    def store(self, place: str, report: Report) -> Store:
        """The place, open for reading; of a folder it is told what was cut off there. Raises
        Problem as stores.store.opened.
        """
        if not is_server(place):
            tell_cut_off(place, report)
        return opened(place, report, self.secrets.get(place))

    def hold_unsigned(self, bundle: Appearing | None) -> None:
        """Keep a bundle until it is signed, and let go of the one before."""
        if self.unsigned is not None:
            self.unsigned.close()
        self.unsigned = bundle

    def close(self) -> None:
        """End what runs, and let go of what was not finished."""
        self.hold_unsigned(None)
        self.reader.close()


def tell_cut_off(folder: str, report: Report) -> None:
    """Say what was cut off in a folder (folders.recovering), and change nothing."""
    if journal.lies_in(folder):
        # Loaded where it is needed: an engine that lists a folder shall start at once.
        from torchkeeper.stores.folders.guard import cut_off

        for one in cut_off(folder):
            report.finding(cut_off=asdict(one))


def path_of(params: dict[str, Any], name: str) -> str:
    """A path from a request, which must be absolute: an engine runs in a folder of its own."""
    path: str = params[name]
    if not os.path.isabs(path):
        raise Problem("path-not-absolute", path=path)
    if "\0" in path:
        raise Problem("place-missing", place=path)  # nothing can be called so
    return path


def place_of(params: dict[str, Any], name: str) -> str:
    """A place from a request: an absolute path, or the name of a server."""
    place: str = params[name]
    return place if isinstance(place, str) and is_server(place) else path_of(params, name)


def items_of(store: Store, report: Report) -> list[Item]:
    """What a store holds, unread; folders that cannot be read are told."""
    items = store.items(report)
    _tell_unreadable(store, report)
    return items


def _tell_unreadable(store: Store, report: Report) -> None:
    if isinstance(store, Folder):
        for path, why in store.unreadable:
            report.finding(unreadable={"path": path, "why": why})


def entries_of(
    session: Session,
    store: Store,
    report: Report,
    items: list[Item] | None = None,
    carried: Carried | None = None,
    all_of_it: bool = False,
) -> Iterator[list[Described]]:
    """The entries of a store in batches, with progress; ``items``: all of them, if known already.

    Otherwise the first come while a folder is still walked. ``carried``: as of ``describe``;
    ``all_of_it``: as of ``read``.
    """
    if is_server(store.place):
        yield from _server_entries(session, store, report, items, all_of_it)
        return
    done, told = 0, 0.0
    folder = store if isinstance(store, Folder) else None
    index = Index(folder.root, os.environ.get(wire.INDEX)) if folder else None
    living = Living(lambda: store.whole)
    coming: Iterable[Item]
    if items is None and folder:
        coming = folder.stream(report)
    else:
        coming = items = items_of(store, report) if items is None else items
    try:
        batches = describe(
            coming,
            store,
            session.reader,
            report,
            index=index,
            living=living,
            carried=carried,
            budget=None if all_of_it else Budget(),
        )
        for batch in batches:
            if folder and folder.seen.foreign:
                _own(batch, folder)
            yield batch
            done += len(batch)
            # While nobody knows how many there are, the walk says how far it is.
            total = store.total if items is None else len(items)
            if total is not None and (now := time.monotonic()) - told > 0.05:
                report.progress(done, total, "entries")
                told = now
        report.progress(done, done, "entries")
        if items is None:
            _tell_unreadable(store, report)
        if folder and index and not folder.unreadable:
            # Otherwise what could not be looked at would be forgotten.
            index.finish()
    finally:
        if index:
            index.close()


def _own(batch: list[Described], folder: Folder) -> None:
    """Say of entries which are another user's."""
    for one in batch:
        if owner := folder.seen.owner([file.path for file in one.item.files]):
            one.entry = one.entry._replace(owner=owner)


def _server_entries(
    session: Session, store: Store, report: Report, items: list[Item] | None, all_of_it: bool
) -> Iterator[list[Described]]:
    items = store.items(report) if items is None else items
    living = Living(lambda: store.whole)
    done = 0
    for batch in read(store, items, session.reader, report, all_of_it=all_of_it):
        for one in batch:
            one.entry = one.entry._replace(orphan=living.orphan(one.item, one.facts))
        yield batch
        done += len(batch)
        report.progress(done, len(items), "entries")


def unread_of(store: Store, report: Report) -> Iterator[list[Described]]:
    """The entries of a server in batches, by what their keys alone tell."""
    from torchkeeper.stores.redis.kernels import named
    from torchkeeper.stores.redis.store import Redis

    assert isinstance(store, Redis)
    stream, keys = store.stream(report), store.triton
    while items := list(itertools.islice(stream, wire.MAX_ROWS)):
        yield [named(keys, item) if item.kind == "triton" else unread(item) for item in items]


def others_in(store: Store) -> dict[str, int]:
    """``{others, kernels_maybe}``: keys beside ours in a server, as its last survey counted them,
    and how many of them may be kernels under another TRITON_REDIS_KEY_FORMAT.
    """
    from torchkeeper.stores.redis.store import Redis

    assert isinstance(store, Redis)
    return {"others": store.others, "kernels_maybe": store.kernels_maybe}


def keys_tell(store: Store, asked: Query) -> bool:
    """Whether a filter needs no more than the keys of a server, whose values take long to fetch."""
    return is_server(store.place) and asked.fields <= _OF_KEYS


def asks_times(store: Store, asked: Query) -> bool:
    """Whether a filter is about times that a server knows.

    Raises Problem("times-of-servers") for what is none, "use-unknown" for a server that does not
    know when entries were last used, "age-unknown" for what keeps no times of files, and
    "owner-unknown" for what keeps no owners.
    """
    if "age" in asked.fields and not isinstance(store, Folder):
        raise Problem("age-unknown", place=store.place)
    if query.OWNER in asked.fields and not isinstance(store, Folder):
        raise Problem("owner-unknown", place=store.place)
    if asked.fields & query.TIMES and not is_server(store.place):
        # With a minus in front, everything would match.
        raise Problem("times-of-servers", place=store.place)
    if "used" in asked.fields and is_server(store.place):
        from torchkeeper.stores.redis.store import Redis
        from torchkeeper.stores.redis.times import knows_use

        assert isinstance(store, Redis)
        if not knows_use(store):
            # Otherwise nothing would match, and nobody would know why.
            raise Problem("use-unknown", server=store.place)
    return bool(asked.fields & query.TIMES)


def with_times(
    store: Store, batches: Iterable[list[Described]], wanted: bool
) -> Iterator[list[Described]]:
    """The batches of a store; ``wanted``: with what a server says of when entries go, and when they
    were last used.
    """
    if not wanted or not is_server(store.place):
        yield from batches
        return
    from torchkeeper.stores.redis.store import Redis
    from torchkeeper.stores.redis.times import timed

    assert isinstance(store, Redis)
    for batch in batches:
        yield timed(store, batch)


def told_of(session: Session, store: Store, report: Report, items: list[Item]) -> Told:
    """What is known of the items that tell who needs whom; kernels are not read for that."""
    folder = store if isinstance(store, Folder) else None
    index = Index(folder.root, os.environ.get(wire.INDEX)) if folder else None
    telling = [item for item in items if item.kind in TELLING]
    try:
        batches = (
            read(store, telling, session.reader, report)
            if index is None
            else describe(telling, store, session.reader, report, index=index, budget=Budget())
        )
        return [(one.item, one.facts) for batch in batches for one in batch]
    finally:
        if index:
            index.close()


def orphans_of(store: Folder, items: list[Item]) -> dict[str, Any]:
    """How many of all the items of a folder nothing needs, as far as that costs no reading.

    What a listing has kept tells of entries; ``whole`` says whether it has of all of them. Of
    others only locks and temporary files are known to be left behind.
    """
    file = os.environ.get(wire.INDEX)
    index = Index(store.root, file if file and os.path.exists(file) else None)
    try:
        kept = [index.get(item) if item.kind in READ else None for item in items]
    finally:
        index.close()
    whole = store.whole and all(
        (known and known.problem not in UNREAD) or item.kind not in READ
        for item, known in zip(items, kept, strict=True)
    )
    living = Living(lambda: whole)
    found = [
        item
        for item, known in zip(items, kept, strict=True)
        if living.orphan(item, known.facts if known else {})
    ]
    files = [file for item in found for file in item.files]
    return {
        **tally(item.kind for item in found),
        "files": len(files),
        **measured(sum(item.size for item in found), on_disk=False),
        "disk_bytes": allocated(files),
        "whole": whole,
    }


def environments(session: Session, params: Mapping[str, Any], wanted: bool) -> list[Env]:
    """The environments that a request or a selection names in ``envs``.

    Raises Problem("environment-wanted") where some are wanted and none is named, and
    "environment-forgotten" for one that this engine does not know.
    """
    names = params.get("envs") or []
    if not isinstance(names, list):
        raise TypeError("envs is not a list")
    for name in names:
        if name not in session.environments:
            raise Problem("environment-forgotten", python=str(name))
    if wanted and not names:
        raise Problem("environment-wanted")
    return [session.environments[name] for name in names]


def with_verdicts(
    session: Session,
    store: Store,
    batches: Iterable[list[Described]],
    params: Mapping[str, Any],
    asked: Query,
    report: Report,
) -> Iterator[list[Described]]:
    """The batches of a store, which are all it has; with verdicts in the environments that a
    request or a selection names, and then all in one batch: one may depend on any other.

    Raises as ``environments``.
    """
    if not (envs := environments(session, params, query.VERDICT in asked.fields)):
        return iter(batches)
    # Loaded where it is needed: an engine that lists a folder shall start at once.
    from torchkeeper.engine.verdicts import told

    every = [one for batch in batches for one in batch]
    return iter([told(session, store, every, envs, report)])


def batches_of(
    session: Session, store: Store, select: dict[str, Any], report: Report
) -> Iterator[list[Described]]:
    """The entries of a server that a selection means, some at a time: by what their keys tell
    where the filter needs no more.
    """
    asked = query.parse(select.get("filter") or "")
    if not keys_tell(store, asked) or select.get("envs"):
        yield chosen_of(session, store, select, report)
        return
    picks = picker(session, select)
    for batch in with_times(store, unread_of(store, report), asks_times(store, asked)):
        if chosen := [one for one in batch if picks(one.entry)]:
            yield chosen


def chosen_of(
    session: Session,
    store: Store,
    select: dict[str, Any],
    report: Report,
    carried: Carried | None = None,
    items: list[Item] | None = None,
) -> list[Described]:
    """The entries of a store that a selection means. ``carried``: as of ``describe``; ``items``:
    all that it holds, if known already.
    """
    picks = picker(session, select)
    asked = query.parse(select.get("filter") or "")
    timed = asks_times(store, asked)
    if keys_tell(store, asked) and not select.get("envs"):
        batches = with_times(store, unread_of(store, report), timed)
        unread = (one for batch in batches for one in batch)
        items = [one.item for one in unread if picks(one.entry)]
        batches = with_times(store, read(store, items, session.reader, report), timed)
    else:
        # In order, so that the same entries make the same bundle.
        items = items_of(store, report) if items is None else items
        batches = with_times(store, entries_of(session, store, report, items, carried), timed)
        batches = with_verdicts(session, store, batches, select, asked, report)
    return [one for batch in batches for one in batch if picks(one.entry)]


def carrying(select: dict[str, Any], with_needed: bool) -> Carried | None:
    """How much is to be read of what is copied by a selection; ``with_needed``: with what the
    entries need, which their facts tell.
    """
    fields = query.parse(select.get("filter") or "").fields
    if fields & {"is", query.VERDICT} or select.get("envs"):
        return None  # whether something is broken is for the reading to tell
    some = bool(fields or select.get("held") or "items" in select)
    return Carried(facts=some if with_needed else not fields <= _OF_FILES)


def picker(session: Session, select: dict[str, Any]) -> Callable[[Entry], bool]:
    """Whether a selection means an entry. Takes what is held, so that it is to be made once."""
    wanted = _wanted(session, select)
    matches = query.parse(select.get("filter") or "").matches
    return lambda entry: (wanted is None or entry.identity in wanted) and matches(entry)


def _wanted(session: Session, select: dict[str, Any]) -> set[tuple[str, str]] | None:
    if select.get("held"):
        held, session.held = set(session.held), []
        return held
    if "items" in select:
        return {(kind, path) for kind, path in select["items"]}
    return None


def tell_left(report: Report, item: Item, problem: Problem, file: str | None = None) -> None:
    """Say that an entry was not taken, and why; ``file`` is the bundle it is in."""
    said = {
        "kind": item.kind,
        "key": item.key,
        "path": item.path,
        "code": problem.code,
        "params": problem.params,
    }
    report.finding(left=said if file is None else {**said, "file": file})


def tell_refused(bundle: Bundle, report: Report, file: str | None = None) -> None:
    """Say what of a bundle no place can hold."""
    more = {} if file is None else {"file": file}
    for one in bundle.refused:
        said = {"kind": one.kind, "key": one.key, "path": None}
        report.finding(left={**said, **more, "code": one.code, "params": one.params})
