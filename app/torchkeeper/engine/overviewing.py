"""What several places hold, and what of it could go: groups of entries, summed up where they lie.

Each place is looked at once, by itself: one after the other on the disk, which takes the memory of
one, and every server beside them. One that hangs or cannot be read is told as a problem.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from torchkeeper.artifacts.entry import COUNTS, Entry, Problem, holds, measured, tallied
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine.purging import by_reasons, looked_at, unknown_use, wanted_of, with_uses
from torchkeeper.engine.session import Session, asks_times, environments, picker, place_of
from torchkeeper.engine.summing import Sum
from torchkeeper.stores import query
from torchkeeper.stores.dead import Dead, May, Wanted
from torchkeeper.stores.describe import Described
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.store import Store
from torchkeeper.verdict.probed import Env

if TYPE_CHECKING:
    from torchkeeper.engine.messages import places as msg
    from torchkeeper.engine.messages.dead import SuggestParams, SuggestResult
    from torchkeeper.verdict.judging import Verdict


# Looking at several places, one lane beside the other, where one that hangs holds up no other.

T = TypeVar("T")

#: Seconds after which a place is stuck: it says nothing, and takes hardly any time of a processor.
STALL = 10.0
_SIGN = 0.2
#: How often that is looked at, and whether to go on.
_TICK = 0.1
#: Where no system tells what time a thread takes, only what it says is a sign, and it has longer.
_TELLS = hasattr(time, "pthread_getcpuclockid")
_LONGER = 6.0


class Heard(Report):
    """The Report of one piece of work: passes on what it is told until it is put aside."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._aside = False
        #: When it was last told anything, by time.monotonic.
        self.last = time.monotonic()
        #: The clock of the time that its thread has taken of a processor.
        self.clock: int | None = None

    def put_aside(self) -> None:
        """From now on nothing of it is passed on, and it ends at its next word."""
        with self._lock:
            self._aside = True

    def _hear(self) -> None:
        self.last = time.monotonic()
        if self._aside:
            raise Cancelled

    def progress(self, done: int, total: int | None, unit: str) -> None:
        with self._lock:
            self._hear()
            self._report.progress(done, total, unit)

    def finding(self, **what: Any) -> None:
        with self._lock:
            self._hear()
            self._report.finding(**what)

    def check(self) -> None:
        self._hear()
        self._report.check()


#: A piece of work: the place it is about, and what is to be done.
Work = tuple[str, Callable[[Report], T]]


class _Lane(Generic[T]):
    """Works off pieces of work one after the other, in a thread of its own."""

    def __init__(self, works: Iterable[Work[T]], report: Report) -> None:
        self.works = deque(works)
        self._report = report
        self.done: queue.SimpleQueue[tuple[str, T | BaseException]] = queue.SimpleQueue()
        self.place = ""
        self._heard = Heard(report)
        self._spent = 0.0
        self._since = time.monotonic()

    def next(self) -> bool:
        """Begin with the next piece; whether there is one."""
        if not self.works:
            return False
        place, work = self.works.popleft()
        heard, done = Heard(self._report), self.done

        def run() -> None:
            if _TELLS:
                heard.clock = time.pthread_getcpuclockid(threading.get_ident())
            outcome: T | BaseException
            try:
                outcome = work(heard)
            except BaseException as e:  # noqa: BLE001 - raised by whoever waits for it
                outcome = e
            done.put((place, outcome))

        self.place, self._heard, self._spent, self._since = place, heard, 0.0, time.monotonic()
        threading.Thread(target=run, name="place", daemon=True).start()
        return True

    def silent(self) -> float:
        """Seconds since the last sign of life."""
        if (clock := self._heard.clock) is not None:
            try:
                spent = time.clock_gettime(clock)
            except OSError:
                spent = self._spent  # it has ended
            if spent - self._spent > _SIGN:
                self._spent, self._since = spent, time.monotonic()
        silent = time.monotonic() - max(self._since, self._heard.last)
        return silent if clock is not None else silent / _LONGER

    def leave(self) -> None:
        self._heard.put_aside()
        self.done = queue.SimpleQueue()


def in_parallel(
    lanes: Iterable[Iterable[Work[T]]], report: Report, stall: float = STALL
) -> Iterator[tuple[str, T | Problem]]:
    """What came of each piece of work, as it is done. Those of one lane are done one after the
    other, and the lanes at once. A Problem is an outcome like any other; so is "place-stuck", of
    work that gave no sign of life for ``stall`` seconds. That is left to itself then, and its lane
    goes on. What else is raised is raised here. Raises Cancelled.
    """
    running = [lane for lane in (_Lane(works, report) for works in lanes) if lane.next()]
    try:
        while running:
            report.check()
            for lane in list(running):
                try:
                    place, outcome = lane.done.get(timeout=_TICK / len(running))
                except queue.Empty:
                    # What has just ended gives no sign of life any more, but its outcome.
                    if lane.silent() < stall or not lane.done.empty():
                        continue
                    lane.leave()
                    place = lane.place
                    outcome = Problem("place-stuck", place=place, seconds=round(stall))
                if isinstance(outcome, BaseException) and not isinstance(outcome, Problem):
                    raise outcome
                if not lane.next():
                    running.remove(lane)
                yield place, outcome
    finally:
        for lane in running:
            lane.leave()


# Places that are another by a second name, or lie in another: no entry shall count twice.

#: Kinds of what may be something else, seen from another folder.
_UNTOLD = frozenset({"unknown", "lock"})


class At(NamedTuple):
    """Where a place on the disk is, whatever it is called."""

    name: str
    real: str
    inode: tuple[int, int]

    def below(self, other: At) -> str:
        """The path of this in ``other``, "" where it does not lie there: the trash does not."""
        above = other.real.rstrip("/") + "/"
        path = self.real[len(above) :] if self.real.startswith(above) else ""
        return "" if path.partition("/")[0] == TRASH else path


def where(name: str, _: Report) -> At:
    """Where a place is. Raises Problem as stores.names.Scheme.opened."""
    try:
        real = os.path.realpath(name)  # fails at some links of /proc
        status = os.stat(real)
    except FileNotFoundError as e:
        raise Problem("place-missing", place=name) from e
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise Problem("place-unreadable", place=name, why=why) from e
    return At(name, real, (status.st_dev, status.st_ino))


class Inner:
    """Places in one; those of which nothing is recognised from there are counted by themselves."""

    def __init__(self, paths: Iterable[str], found: list[Described]) -> None:
        """paths: those of the places in the outer one."""
        starts = tuple(f"{path}/" for path in paths)
        known, here = set[str](), set[str]()
        for one in found if starts else ():
            path = f"{one.entry.path}/"  # a bundle is a file
            if path.startswith(starts):
                mine = {start for start in starts if path.startswith(start)}
                here |= mine
                known |= mine if one.entry.kind not in _UNTOLD else set()
        self._starts = tuple(here - known)
        #: The paths of those that are counted by themselves.
        self.apart = frozenset(start[:-1] for start in self._starts)
        #: Those of which something is.
        self.known = frozenset(start[:-1] for start in known)

    def counts(self, entry: Entry) -> bool:
        """Whether an entry is counted with the outer place."""
        return not (self._starts and f"{entry.path}/".startswith(self._starts))


#: Seconds that a place on the disk has to say what it is.
_GLANCE = 3.0


class Found(NamedTuple):
    """What was found in a place. unseen: paths in it that could not be read; apart: those of places
    in it that are counted by themselves.
    """

    rows: list[msg.OverviewRow]
    told: msg.PlaceLooked
    unseen: tuple[str, ...] = ()
    apart: frozenset[str] = frozenset()


def suggest(session: Session, params: SuggestParams, report: Report) -> SuggestResult:
    """Look at what is dead in a place, for plans of it (``plan_purge``)."""
    look = looked_at(session, params, report)
    names = [place for place in (look.place, *params.get("beside", ())) if scheme_of(place).local]
    glances = [[(name, partial(where, name))] for name in names[1:] and names]
    told = dict(in_parallel(glances, report, _GLANCE))
    at = {name: one for name, one in told.items() if isinstance(one, At)}
    covers: dict[str, str] = {}
    if (here := at.pop(look.place, None)) is not None:
        paths = {name: one.below(here) for name, one in at.items()}
        known = Inner(set(paths.values()) - {""}, look.dead.found).known
        covers = {name: "place-within" for name, path in paths.items() if path in known}
        covers |= {name: "place-same" for name in at if at[name].inode == here.inode}
    kinds = [one.entry.kind for one in look.dead.found]
    headers = [n for n, kind in enumerate(kinds) if kind == "header"]
    every, size = look.dead.told(range(len(kinds))), look.dead.told(headers)["bytes"]
    about = {"look": look.number, "rests": look.rests, "covers": covers, "header_bytes": size}
    return cast("SuggestResult", {**every, **about})


@dataclass
class _Asked:
    """envs: whose verdicts entries get; everywhere: those in all of which stale is stale."""

    envs: tuple[str, ...]
    everywhere: tuple[str, ...]
    known: Mapping[str, Env]
    wanted: Wanted
    facts: bool
    filter: str
    now: float = field(default_factory=time.time)


def overview(session: Session, params: msg.OverviewParams, report: Report) -> msg.OverviewResult:
    """What the places ``places`` hold, as groups, and what of it could go.

    Of the rows of groups a kind counts in one: ``torch`` is "" where nothing tells, ``age`` one of
    summing.AGES or "" where no time is kept, ``verdict`` "" of what was not judged, ``compiler``
    one of jits.COMPILERS or "". The others (``reclaim``) say as ``Dead.told`` for each reason of
    stores.dead what would come free, once for the first that an entry has, "trash", and "total",
    without what is in the trash.

    Each place is also a finding ``looked`` when it is done, and ``looking`` when it is begun. One
    that is another's, or lies in one, is left out: "place-same" and "place-within"; but where
    nothing of it is recognised from there, it is the other that is counted without it. Raises as
    ``session.environments``.
    """
    names = list(dict.fromkeys(place_of(one) for one in params["places"]))
    return _Overview(session, _asked(session, params), report).of(names)


def _asked(session: Session, params: msg.OverviewParams) -> _Asked:
    envs, everywhere = params.get("envs"), params.get("everywhere")
    everywhere = envs if everywhere is None else everywhere
    for some in (envs, everywhere):
        environments(session, some, False)
    dead = wanted_of(params)
    broken, orphans = (params.get("broken", True), params.get("orphans", True))
    stale = bool(everywhere) and params.get("stale", True)
    wanted = Wanted(stale, broken, orphans, dead.older, dead.keep)
    facts, known = params.get("facts", False), dict(session.environments)
    own, anywhere = (tuple(dict.fromkeys(some or ())) for some in (envs, everywhere))
    return _Asked(own, anywhere, known, wanted, facts, params.get("filter") or "")


class _Overview:
    def __init__(self, session: Session, asked: _Asked, report: Report) -> None:
        self._session = session
        self._asked = asked
        self._report = report
        self._at: dict[str, At] = {}
        #: What was counted, by the names of places.
        self._counted: dict[str, Found] = {}
        #: By what tells them from others, the names of those that are being counted.
        self._met: dict[object, str] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def of(self, names: list[str]) -> msg.OverviewResult:
        told: dict[str, msg.PlaceLooked] = {}
        for name, outcome in self._outcomes(names):
            if isinstance(outcome, Problem):
                told[name] = _nothing(name)
                told[name]["problem"] = {"code": outcome.code, "params": outcome.params}
            else:
                self._report.rows(outcome.rows)
                told[name] = outcome.told
            self._report.finding(looked=told[name])
        return {"places": [told[name] for name in names]}

    def _outcomes(self, names: list[str]) -> Iterator[tuple[str, Found | Problem]]:
        disk = [name for name in names if scheme_of(name).local]
        glances = [[(name, partial(where, name))] for name in disk]
        for name, at in in_parallel(glances, self._report, _GLANCE):
            if isinstance(at, Problem):
                yield name, at
            else:
                self._at[name] = at
        # What lies in another comes after it: where that could be read, it is counted by then.
        disk = [name for name in disk if name in self._at]
        disk.sort(key=lambda name: len(self._at[name].real))
        lanes = [disk, *([name] for name in names if not scheme_of(name).local)]
        looks = [[(name, partial(self._look, name, len(names))) for name in lane] for lane in lanes]
        yield from in_parallel(looks, self._report, STALL)

    def _look(self, place: str, of: int, report: Report) -> Found:
        looking: msg.Looking = {"place": place, "number": next(self._numbers), "of": of}
        self._session.remains = None  # there is the memory of one
        report.finding(looking=looking)
        self._leave_out(place)
        # A reader that is shared with a place that hangs would hang as well.
        session = Session(secrets=dict(self._session.secrets), environments=dict(self._asked.known))
        try:
            with contextlib.closing(session), session.store(place, report) as store:
                found = self._in(session, place, store, report)
        except (Problem, Cancelled):
            raise
        except OSError as e:
            raise Problem("place-unreadable", place=place, why=e.strerror or str(e)) from e
        except Exception as e:
            # A bug is of one place, too, and shall not hide the others.
            traceback.print_exc()
            raise Problem("engine-bug", why=f"{type(e).__name__}: {e}"[:400]) from e
        report.check()  # what was put aside is not counted
        self._counted[place] = found
        return found

    def _leave_out(self, place: str) -> None:
        """Raises Problem where what lies here is counted elsewhere."""
        here = self._at.get(place)
        for name, found in list(self._counted.items()) if here else ():
            other = self._at.get(name)
            if here is None or other is None:
                continue
            if here.inode == other.inode:
                raise Problem("place-same", place=place, other=name)
            path = here.below(other)
            unseen = any(not x or f"{path}/".startswith(f"{x}/") for x in found.unseen)
            if path and not unseen and path not in found.apart:
                raise Problem("place-within", place=place, other=name)

    def _in(self, session: Session, place: str, store: Store, report: Report) -> Found:
        self._meet(place, store)
        sums = Sum(self._asked.now)
        if store.tells_unread(frozenset({"kind", "size"})) and not self._asked.facts:
            for item in store.stream(report):
                sums.add_unread(item.kind, item.size)
        elif store.purgeable:
            return self._with_dead(session, place, store, report)
        else:
            every = (one for batch in store.entries(session, report) for one in batch)
            if self._asked.envs:
                found = list(every)
                own, _ = self._verdicts(session, store, found, report)
                for one, verdict in zip(found, own, strict=True):
                    sums.add(one, verdict)
            for one in every:
                sums.add(one)
        return _found_in(place, store, sums)

    def _meet(self, place: str, store: Store) -> None:
        """Raises Problem where a place is being counted already, by whatever name."""
        if store.identity is None:
            return
        with self._lock:
            other = self._met.setdefault(store.identity, place)
        if other != place:
            raise Problem("place-same", place=place, other=other)

    def _with_dead(self, session: Session, place: str, store: Store, report: Report) -> Found:
        """As ``_in``, of a place from which entries can be purged."""
        timed = asks_times(store, query.parse(self._asked.filter))
        found, used, rests = with_uses(session, store, timed, report, showing=True)
        self._session.remains = found, used
        own, everywhere = self._verdicts(session, store, found, report)
        here = self._at.get(place)
        paths = {at.below(here) for at in self._at.values()} if here else set[str]()
        inner = Inner(paths - {""}, found)
        sums = Sum(self._asked.now)
        for one, verdict, anywhere in zip(found, own, everywhere, strict=True):
            if inner.counts(one.entry):
                sums.add(one, verdict)
            if verdict or anywhere:
                one.entry = one.entry._replace(verdict=anywhere or verdict)
        dead = Dead(found, used, store.whole, store.on_disk, self._asked.now)
        asked, picks = self._asked.wanted, picker(session, {"filter": self._asked.filter})

        def may(entry: Entry) -> bool:
            return inner.counts(entry) and picks(entry)

        reclaim = list(_reasons(dead, asked, rests, place, may))
        report.check()
        trash = store.trash()
        if trash is not None:
            size = {name: trash.get(name) for name in (*COUNTS, "files", "bytes", "disk_bytes")}
            about = {"place": place, "reclaim": "trash", **size, "why": None}
            reclaim.append(cast("msg.ReclaimRow", about))
        seen = _found_in(place, store, sums)
        seen.told["rests"], seen.told["trash_bytes"] = rests, trash["bytes"] if trash else 0
        return seen._replace(rows=[*seen.rows, *reclaim], apart=inner.apart)

    def _verdicts(
        self, session: Session, store: Store, found: list[Described], report: Report
    ) -> tuple[list[str | None], list[str | None]]:
        """Of each entry the best verdict in ``envs``, and that in ``everywhere``."""
        asked = self._asked
        named = list(dict.fromkeys((*asked.envs, *asked.everywhere)))
        none: list[str | None] = [None] * len(found)
        if not named:
            return none, none
        # Loaded where it is needed: what is not judged shall start at once.
        from torchkeeper.engine.verdicts import better, in_each

        best: dict[tuple[str, ...], list[Verdict]] = {}
        envs = [asked.known[name] for name in named]
        every = in_each(session.reader, store, found, envs, report)
        for name, said in zip(named, every, strict=True):
            for some in {asked.envs, asked.everywhere}:
                if name in some:
                    known = best.get(some)
                    best[some] = said if known is None else list(map(better, known, said))
        own, anywhere = (
            [one.verdict for one in best[some]] if some in best else none
            for some in (asked.envs, asked.everywhere)
        )
        return own, anywhere


def _reasons(
    dead: Dead, asked: Wanted, rests: str | None, place: str, may: May
) -> Iterator[msg.ReclaimRow]:
    """What would come free for each reason, of what several are given for the first; what only that
    needs; and all together ("total").
    """
    wanted = asked if rests is not None else Wanted(asked.stale, asked.broken, asked.orphans)
    going = dead.chosen(wanted, may)
    parts = by_reasons([(dead.item(n), why) for n, why in going.items()], dead.on_disk)
    for reason in (*asked.reasons, "needless"):
        why = unknown_use(place) if reason in set(asked.reasons) - set(wanted.reasons) else None
        part = parts.get(reason) or dead.told(())
        yield {"place": place, "reclaim": reason, **part, "why": why}
    yield {"place": place, "reclaim": "total", **dead.told(going), "why": None}


def _nothing(place: str) -> msg.PlaceLooked:
    return {
        "place": place, **holds({}), "trash_bytes": 0, "free_bytes": None,
        "total_bytes": None, "disk": None, "rests": None, "problem": None,
    }  # fmt: skip


def _found_in(place: str, store: Store, sums: Sum) -> Found:
    groups = sums.groups.items()
    rows: list[msg.GroupRow] = [
        {
            "place": place, "kind": kind, "torch": torch, "age": age, "verdict": verdict,
            **tallied(int(count), kind), **measured(int(size), on_disk=False),
            "compile_s": seconds, "timed": int(timed), "compiler": compiler,
        }
        for (kind, torch, age, verdict, compiler), (count, size, seconds, timed) in groups
    ]  # fmt: skip
    sizes: dict[str, tuple[int, int]] = {}
    for (kind, *_), (count, size, *_) in groups:
        before = sizes.get(kind, (0, 0))
        sizes[kind] = before[0] + int(count), before[1] + int(size)
    told: msg.PlaceLooked = {**_nothing(place), **holds(sizes), **store.room()}
    return Found([*rows], told, tuple(path for path, _ in store.unreadable))
