"""What an engine remembers, and what operations share: stores, selections, and what was left."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import COUNTED_APART, Entry, Problem, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import detail, protocol
from torchkeeper.stores import query
from torchkeeper.stores.describe import Carried, Described
from torchkeeper.stores.folders import journal
from torchkeeper.stores.items import Item
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.needs import Name, Told, known_as, needed
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.store import Store

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.findings import LeftFinding
    from torchkeeper.stores.atomic import AtomicFile
    from torchkeeper.stores.bundles.bundle import Bundle
    from torchkeeper.verdict.probed import Env


#: What is known of every entry by its files alone.
_OF_FILES = frozenset({"kind", "size", "files", "age", query.OWNER})
#: Bytes of entries that are held at most, counted with what it takes to remember one; and
#: environments that are known, the last ones.
_HELD, _EACH, _KNOWN = 512 << 20, 200, 64
#: Bundles that were looked into and are remembered, at most: the last ones.
_LOOKED_INTO = 8


@dataclass
class Session:
    reader: Reader = field(default_factory=Reader)
    details: detail.Details = field(default_factory=detail.Details)
    plans: dict[int, object] = field(default_factory=dict)
    #: Of plans: hardly another engine gives the same, so that none carries out another's. 30 bits.
    numbers: Iterator[int] = field(
        default_factory=lambda: itertools.count(int.from_bytes(os.urandom(4), "big") >> 2)
    )
    held: list[tuple[str, str]] = field(default_factory=list)
    held_bytes: int = 0
    #: Passwords by place, for as long as the engine runs.
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    #: Environments by name, as their probes told, for as long as the engine runs.
    environments: dict[str, Env] = field(default_factory=dict, repr=False)
    #: Keys of objects in an environment, by the file they are in and their paths in it.
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    #: What was last asked about who needs whom: of what state of a place, and what is known.
    told: tuple[object, Told] | None = None
    #: What entries of the server that was last asked about name (stores.redis.payloads.Named).
    named: object = None
    #: What was last looked at for what is dead (engine.purging.Look).
    look: object = None
    #: What was made for an answer, which goes once that is sent: of a big place it takes 0.1 s.
    remains: object = None
    #: What the folder of a program held before that was started (engine.running.Held).
    before: Any = None
    #: Bundles that were looked at, by their paths, for who asks for them next.
    bundles: dict[str, Bundle] = field(default_factory=dict)
    #: A bundle that appears when it is signed.
    unsigned: AtomicFile | None = None

    @property
    def index(self) -> str | None:
        """The file in which is kept what was read of folders."""
        return os.environ.get(protocol.INDEX)

    def hold(self, items: Iterable[tuple[str, str]]) -> None:
        """Remember what a selection is to mean. Raises Problem where nobody has chosen as much."""
        for kind, path in items:
            self.held_bytes += len(kind) + len(path) + _EACH
            if self.held_bytes > _HELD:
                self.let_go()
                raise Problem("request-malformed", why="too many entries are held")
            self.held.append((kind, path))

    def let_go(self) -> list[tuple[str, str]]:
        """What was held, which is not any more."""
        held, self.held, self.held_bytes = self.held, [], 0
        return held

    def know(self, name: str, env: Env) -> None:
        """An environment, for whoever names it from now on; it is known longest."""
        self.environments.pop(name, None)
        self.environments[name] = env
        if len(self.environments) > _KNOWN:
            del self.environments[next(iter(self.environments))]

    def store(self, place: str, report: Report) -> Store:
        """The place, open for reading; tells what was cut off there. Raises as Scheme.opened. A
        bundle that nobody has open and that is as it was is not read again.
        """
        scheme = scheme_of(place)
        if scheme.local:
            tell_cut_off(place, report)
        store = self.again(place) or scheme.opened(place, report, self.secrets.get(place))
        self.bundles = {place: cast("Bundle", store)} if store.signable else {}
        return store

    def again(self, path: str) -> Bundle | None:
        """A bundle that was looked at, open once more, if nobody has it open and it is as it was;
        it is not looked at any more.
        """
        known = self.bundles.pop(path, None)
        with contextlib.suppress(Problem):
            if known and known.again():
                return known
        return None

    def look_into(self, path: str, report: Report) -> Bundle:
        """A bundle, open for reading, which whoever takes it in next need not read again. Raises
        Problem as ``Bundle``.
        """
        from torchkeeper.stores.bundles.bundle import Bundle

        bundle = self.again(path) or Bundle(path, report)
        self.bundles[path] = bundle
        if len(self.bundles) > _LOOKED_INTO:
            del self.bundles[next(iter(self.bundles))]
        return bundle

    def full(self, place: str, kind: str, path: str, report: Report) -> detail.Full:
        """An entry in full, as its place lists it. Raises Problem("entry-gone")."""
        store = self.store(place_of(place), report)
        return self.details.of(self.reader, store, kind, path, report)

    def hold_unsigned(self, bundle: AtomicFile | None) -> None:
        """Keep a bundle until it is signed, and let go of the one before."""
        if self.unsigned is not None:
            self.unsigned.close()
        self.unsigned = bundle

    def close(self) -> None:
        self.hold_unsigned(None)
        self.reader.close()


def tell_cut_off(folder: str, report: Report) -> None:
    """Say what was cut off in a folder (folders.guard), and change nothing."""
    if journal.lies_in(folder):
        # Loaded where it is needed: an engine that lists a folder shall start at once.
        from torchkeeper.stores.folders.guard import cut_off

        for one in cut_off(folder):
            report.finding(cut_off=one.to_json())


def path_of(path: str) -> str:
    """A path from a request, which must be absolute: an engine runs in a folder of its own."""
    if not os.path.isabs(path):
        raise Problem("path-not-absolute", path=path)
    if "\0" in path:
        raise Problem("place-missing", place=path)  # nothing can be called so
    return path


def place_of(place: str) -> str:
    """A place from a request: an absolute path, or the name of a server."""
    return path_of(place) if scheme_of(place).local else place


def asks_times(store: Store, asked: query.Query) -> bool:
    """Whether a filter is about times that a server knows. Raises as ``Store.check_asked``."""
    store.check_asked(asked.fields)
    return bool(asked.fields & query.TIMES)


def environments(session: Session, names: Sequence[str] | None, wanted: bool) -> list[Env]:
    """The environments that are named. Raises Problem("environment-wanted") where some are wanted
    and none is, and "environment-forgotten" for one that this engine does not know.
    """
    if wanted and not names:
        raise Problem("environment-wanted")
    for name in names or ():
        if name not in session.environments:
            raise Problem("environment-forgotten", python=name)
    return [session.environments[name] for name in names or ()]


def with_verdicts(
    session: Session,
    store: Store,
    batches: Iterable[list[Described]],
    names: Sequence[str] | None,
    asked: query.Query,
    report: Report,
) -> Iterator[list[Described]]:
    """All batches of a store; with verdicts in the environments that are named, as ``judged``.
    Raises as ``environments``.
    """
    if not (envs := environments(session, names, query.VERDICT in asked.fields)):
        return iter(batches)
    # Loaded where it is needed: an engine that lists a folder shall start at once.
    from torchkeeper.engine.verdicts import judged

    return (some for some, _ in judged(session.reader, store, batches, envs, report))


def batches_of(
    session: Session, store: Store, select: Select, report: Report, items: list[Item] | None = None
) -> Iterator[list[Described]]:
    """As ``chosen_of``, some at a time where they need not be read for that."""
    asked = query.parse(select.get("filter") or "")
    if not store.tells_unread(asked.fields) or select.get("envs"):
        yield chosen_of(session, store, select, report, items=items)
        return
    picks = picker(session, select)
    unread = store.unread(report, protocol.MAX_ROWS)
    for batch in store.timed(unread, asks_times(store, asked)):
        if chosen := [one for one in batch if picks(one.entry)]:
            yield chosen


def chosen_of(
    session: Session,
    store: Store,
    select: Select,
    report: Report,
    carried: Carried | None = None,
    items: list[Item] | None = None,
) -> list[Described]:
    """The entries that a selection means. carried: as of ``describe``; items: all, if known."""
    picks = picker(session, select)
    asked = query.parse(select.get("filter") or "")
    timed = asks_times(store, asked)
    if store.tells_unread(asked.fields) and not select.get("envs"):
        batches = store.timed(store.unread(report, protocol.MAX_ROWS), timed)
        unread = (one for batch in batches for one in batch)
        items = [one.item for one in unread if picks(one.entry)]
        batches = store.timed(store.read(items, session.reader, report), timed)
    else:
        # In order, so that the same entries make the same bundle.
        items = store.survey(report) if items is None else items
        batches = store.timed(store.entries(session, report, items, carried), timed)
        batches = with_verdicts(session, store, batches, select.get("envs"), asked, report)
    return [one for batch in batches for one in batch if picks(one.entry)]


def carrying(select: Select, with_needed: bool) -> Carried | None:
    """How much is to be read of what is copied; with_needed: with what the entries need."""
    fields = query.parse(select.get("filter") or "").fields
    if fields & {"is", query.VERDICT} or select.get("envs"):
        return None  # whether something is broken is for the reading to tell
    some = bool(fields or select.get("held") or "items" in select)
    return Carried(facts=some if with_needed else not fields <= _OF_FILES)


def picker(session: Session, select: Select) -> Callable[[Entry], bool]:
    """Whether a selection means an entry. Takes what is held, so that it is to be made once."""
    wanted: set[tuple[str, str]] | None = None
    if select.get("held"):
        wanted = set(session.let_go())
    elif "items" in select:
        wanted = {(kind, path) for kind, path in select["items"]}
    matches = query.parse(select.get("filter") or "").matches
    return lambda entry: (wanted is None or entry.identity in wanted) and matches(entry)


def tell_left(report: Report, item: Item, problem: Problem, file: str | None = None) -> None:
    """Say that an entry was not taken, and why; ``file`` is the bundle it is in."""
    _tell_left(report, problem.code, problem.params, item.kind, item.key, item.path, file)


def tell_refused(store: Store, report: Report, file: str | None = None) -> None:
    """Say what of a store no place can hold; ``file`` is the bundle that it is."""
    for one in store.refused:
        _tell_left(report, one.code, one.params, one.kind, one.key, None, file)


def _tell_left(
    report: Report, code: str, params: Mapping[str, str | int | float | None],
    kind: str, key: str, path: str | None, file: str | None,
) -> None:  # fmt: skip
    said: LeftFinding = {"code": code, "params": params, "kind": kind, "key": key, "path": path}
    if file is not None:
        said["file"] = file
    report.finding(left=said)


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
    batches = with_verdicts(session, store, batches, select.get("envs"), asked, report)
    everything = [one for batch in batches for one in batch]
    if select.get("fits"):
        return _fitting(everything, picks)
    return _with_needed(everything, picks)


def entries_among(chosen: Iterable[Described]) -> tuple[list[Described], Tally]:
    """The entries of a selection, and the rest as ``tally`` counts it: of no use elsewhere."""
    entries, stays = list[Described](), list[str]()
    for one in chosen:
        if one.entry.kind in COUNTED_APART:
            stays.append(one.entry.kind)
        else:
            entries.append(one)
    return entries, tally(stays)


def is_part(select: Select) -> bool:
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


def _fitting(everything: Sequence[Described], picks: Callable[[Entry], bool]) -> list[Described]:
    """What the environment can use: all but what has no use there, and what only that needs."""
    useless = [one for one in everything if one.entry.verdict in ("stale", "broken")]
    gone = {id(one) for one in useless}
    rest = [one for one in everything if id(one) not in gone]
    taken = {id(one) for one in _with_needed(rest, lambda e: picks(e) and e.verdict is not None)}
    of_useless = {name for one in useless for name in needed(one.facts)}
    return [
        one
        for one in rest
        if id(one) in taken or (picks(one.entry) and of_useless.isdisjoint(_names(one)))
    ]


def _names(one: Described) -> set[Name]:
    return known_as(one.item, one.facts)


class Rows:
    """Rows that are sent as many at a time as a line may have."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._waiting: list[Mapping[str, object]] = []

    def add(self, row: Mapping[str, object]) -> None:
        self._waiting.append(row)
        if len(self._waiting) >= protocol.MAX_ROWS:
            self.send()

    def send(self) -> None:
        self._report.rows(self._waiting)
        self._waiting = []
