"""One copy for all places: from a folder, a bundle or a server to any of them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.remote import KINDS
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.parts import Makers
from torchkeeper.stores.compare import Counts, Outcomes, compare
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.placing import ORDER
from torchkeeper.stores.items import Item, Left, Offered
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.pouring import Progress
from torchkeeper.stores.scheme import SUFFIX
from torchkeeper.stores.store import Lost, Store

if TYPE_CHECKING:
    from torchkeeper.stores.screening import Screen


def check_other(source: Store, target: str) -> None:
    """Raises Problem("copy-onto-itself" | "copy-into-itself" | "place-unreadable"), so that nobody
    waits in vain. Of a server that has another name only ``check_target`` knows.
    """
    same = source.place == target
    if scheme_of(source.place).local and scheme_of(target).local:
        try:
            here, there = os.path.realpath(source.place), os.path.realpath(target)
        except OSError as e:  # at some links of /proc
            raise Problem("place-unreadable", place=target, why=e.strerror) from e
        same = here == there
        folders = os.path.isdir(here) and scheme_of(target).becomes(target) == "folder"
        if folders and not same and os.path.commonpath([here, there]) == here:
            raise Problem("copy-into-itself", place=target)
    if same:
        raise Problem("copy-onto-itself", place=target)


def check_target(
    source: Store, target: str, password: str | None, report: Report, replace: bool, dry: bool
) -> None:
    """See whether a copy can be made at all; ``dry``: whether it can be foretold.

    Raises Problem as ``check_other``, "place-not-folder" for what no folder can be made of,
    "not-a-bundle" for a file that is none and is called otherwise, "output-exists" for one that
    is not to be replaced, "server-read-only", and as stores.redis.store.Redis.
    """
    check_other(source, target)
    what = scheme_of(target).becomes(target)
    if what == "server":
        from torchkeeper.stores.redis.store import Redis

        with Redis(target, report, password) as store:
            if source.same_as(store):
                raise Problem("copy-onto-itself", place=target)
            if not dry:
                store.check_writable()
    elif what == "bundle":
        if not _may_be_replaced(target):
            raise Problem("not-a-bundle", file=target)
        if not dry and not replace and os.path.isfile(target):
            raise Problem("output-exists", file=target)
    else:
        root = os.path.realpath(target)
        if os.path.lexists(root):
            Folder(root)


def _may_be_replaced(file: str) -> bool:
    """Whether a file is a bundle, is called one, or holds nothing; so that no other is lost."""
    if file.endswith(SUFFIX) or not os.path.isfile(file):
        return True
    try:
        with open(file, "rb") as stream:
            head = stream.read(12)
            if not head or megacache.looks_like(head):
                return True
            with zipfile.ZipFile(stream) as archive:
                return manifest.NAME in archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False


#: What a folder is given instead of what a bundle offers (stores.offering).
Names = Callable[[Offered], Offered]
#: How often what a server has lost by being started anew is put there once more.
_ROUNDS = 5


@dataclass
class Copied:
    """What was written, what was there already, and what the target is.

    what: "folder", "bundle" or "server".
    """

    what: str
    entries: int = 0
    files: int = 0
    bytes: int = 0
    exists: int = 0


@dataclass
class Foretold(Copied):
    """What a copy would come to.

    kinds: in the order of KINDS. needed: bytes on the disk for what is new.
    """

    kinds: list[tuple[str, Outcomes]] = field(default_factory=list)
    needed: int = 0


def copy(
    source: Store,
    chosen: Sequence[Described],
    target: str,
    report: Report,
    left: Left,
    replace: bool = False,
    placed: Callable[[Item, str], None] | None = None,
    password: str | None = None,
    makers: Makers | None = None,
    names: Names | None = None,
    screen: Screen | None = None,
) -> Copied:
    """Write entries of one place into another; what it cannot hold or take goes to ``left``.

    A folder is made where it is missing, a bundle is written anew: over one that is there only with
    ``replace``. A payload that is there is never overwritten by a different one. A server has one
    payload for each key: of several the newest goes. ``placed`` hears of each entry that was put
    into a folder, and its path there. ``makers`` tell a bundle how objects were built, ``names`` a
    folder under which names it gets them. ``screen`` looks at what goes, and holds back what should
    not. Raises Problem as check_other and as the target's writer does (folders.importing,
    bundles.export, stores.redis.publishing), and passes Cancelled on; a folder or a bundle is then
    as it was, in a server stays what has arrived. A server that breaks off is waited for; where it
    does not come back, raises Problem("server-broke-off"), and what has arrived stays, or
    ("server-broke-off-bundle"), for a bundle is whole or not at all.
    """
    what = scheme_of(target).becomes(target)
    check_other(source, target)
    source.be_patient()
    try:
        if what == "bundle":
            from torchkeeper.stores.bundles.export import export

            chosen, where = source.for_bundle(chosen, left)
            if screen:
                chosen, where = screen.described(chosen, where)
            made = export(list(chosen), where, target, report, left, replace, makers)
            return Copied(what, made.entries, made.files, made.bytes)
        if what == "server":
            return _publish(source, newest(chosen, left), target, password, report, left, screen)
        offered = source.offer(chosen, report, left)
        offered = screen.offered(offered) if screen else offered
        offered = names(offered) if names else offered
        from torchkeeper.stores.folders.importing import import_bundles

        def left_one(_: Offered, item: Item, problem: Problem) -> None:
            left(item, problem)

        done = import_bundles([offered], target, report, left_one, placed)
        return Copied(what, done.entries, done.files, done.bytes, done.exists)
    except Lost as lost:
        raise broke_off(lost, what, target) from lost


def plan_copy(
    source: Store,
    chosen: Sequence[Described],
    target: str,
    report: Report,
    left: Left,
    password: str | None = None,
    makers: Makers | None = None,
    names: Names | None = None,
    screen: Screen | None = None,
) -> Foretold:
    """What ``copy`` would do, by the same rules; nothing is written. Raises as ``copy``, but for a
    server that is lost, which is the Problem that it is.
    """
    what = scheme_of(target).becomes(target)
    check_other(source, target)
    source.be_patient()
    try:
        if what == "bundle":
            from torchkeeper.stores.bundles.export import plan

            chosen, where = source.for_bundle(chosen, left)
            if screen:
                chosen, where = screen.described(chosen, where)
            planned = plan(chosen, where, report, left, makers)
            # As of a folder where nothing of it is.
            kinds = [(kind, Outcomes(Counts(*counts))) for kind, *counts in planned.kinds]
            amount = planned.entries, planned.files, planned.bytes
            return Foretold(what, *amount, kinds=kinds, needed=planned.size)
        if what == "server":
            going = newest(chosen, left)
            done = _publish(source, going, target, password, report, left, screen, dry=True)
            return Foretold(what, done.entries, done.files, done.bytes, done.exists)

        def mark(
            _: Offered, item: Item, _home: str, _outcome: str, problem: Problem | None
        ) -> None:
            if problem is not None:
                left(item, problem)

        offered = source.offer(chosen, report, left)
        offered = screen.offered(offered) if screen else offered
        offered = names(offered) if names else offered
        [found] = compare([offered], target, report, mark)
        new, there = found.whole.new, found.whole.there
        done = Foretold(what, new.entries, new.files, new.bytes, there.entries)
        done.kinds, done.needed = found.kinds, found.needed
        return done
    except Lost as lost:
        raise lost.problem from lost


def broke_off(lost: Lost, what: str, target: str) -> Problem:
    """What is to be said of a copy that a server has ended."""
    if not lost.waited:
        return lost.problem
    server = lost.problem.params.get("server")
    if what == "bundle":
        return Problem("server-broke-off-bundle", server=server, file=target)
    return Problem(
        "server-broke-off", server=server, arrived=lost.arrived, total=lost.total, place=target
    )


def newest(chosen: Sequence[Described], left: Left) -> list[Described]:
    """The newest payload of each key, in the order given, and what no server takes at all: broken
    entries, and kinds that have no keys there, of which it is said by whoever puts them. The others
    go to ``left``. Where no times tell, as in a bundle, the last counts: profiles lie there as they
    came.
    """
    best: dict[tuple[str, str], Described] = {}
    for one in chosen:
        if not _has_one(one):
            continue
        key = one.entry.kind, one.entry.key
        if key not in best or (one.entry.mtime or 0) >= (best[key].entry.mtime or 0):
            best[key] = one
    found = []
    for one in chosen:
        if not _has_one(one) or best[one.entry.kind, one.entry.key] is one:
            found.append(one)
        else:
            left(one.item, Problem("newer-goes"))
    return found


def _has_one(one: Described) -> bool:
    """Whether a server has one payload for the key of an entry."""
    entry = one.entry
    return entry.kind in KINDS and entry.sha256 is not None and not entry.broken


def _publish(
    source: Store,
    chosen: Sequence[Described],
    target: str,
    password: str | None,
    report: Report,
    left: Left,
    screen: Screen | None,
    dry: bool = False,
) -> Copied:
    from torchkeeper.stores.redis.publishing import Publisher
    from torchkeeper.stores.redis.store import Redis

    offered = source.offer(chosen, report, left, to_server=True)
    offered = screen.offered(offered) if screen else offered
    seconds = {(one.entry.kind, one.entry.key): one.entry.compile_s for one in chosen}
    items = sorted(offered.items(), key=lambda item: ORDER.index(item.kind))
    progress = Progress(report, sum(item.size for item in items))
    done, total = 0, len(items)
    with Redis(target, report, password) as store:
        publisher = Publisher(store, report, left, dry)
        made = publisher.done
        rounds = 0
        try:
            while items:
                for item in items:
                    progress.begin(item)
                    publisher.put(item, offered, seconds.get((item.kind, item.key)))
                    done += item.size
                    progress.reach(done)
                publisher.finish()
                items = publisher.gone()
                rounds += 1
                if items and rounds == _ROUNDS:
                    raise Lost(Problem("server-lost", server=store.place), waited=True)
        except Lost as lost:
            lost.arrived, lost.total = made.entries + made.existed, total
            raise
        progress.end()
    return Copied("server", made.entries, made.entries, made.bytes, made.existed)
