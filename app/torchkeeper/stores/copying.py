"""Copies: of entries, from a folder, a bundle or a server to any of them; and of a whole folder,
for a program that may do with it as it likes.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.remote import KINDS
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import no_room
from torchkeeper.stores.bundles.members import Directory
from torchkeeper.stores.bundles.parts import Makers
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.placing import ORDER, Counts, Outcomes, compare
from torchkeeper.stores.items import CHUNK, File, Item, Left, Offered, is_group, moved
from torchkeeper.stores.names import SUFFIX, scheme_of
from torchkeeper.stores.pouring import Progress
from torchkeeper.stores.preconditions import needed
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
    """See whether a copy can be made at all; ``dry``: whether it can be foretold. Raises Problem as
    ``check_other``, "place-not-folder" for what no folder can be made of, "not-a-bundle" for a file
    that is none and is called otherwise, "output-exists" for one that is not to be replaced,
    "server-read-only", and as stores.redis.store.Redis.
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
            return any(one.name == manifest.NAME for one in Directory(stream))
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


#: What a folder is given instead of what a bundle offers (stores.offering).
Names = Callable[[Offered], Offered]
#: How often what a server has lost by being started anew is put there once more.
_ROUNDS = 5


@dataclass
class Copied:
    """What was written, what was there already, what came twice, and ``what`` the target is
    ("folder", …). receipt: of a folder, for undo.
    """

    what: str
    entries: int = 0
    files: int = 0
    bytes: int = 0
    exists: int = 0
    doubles: int = 0
    receipt: str | None = field(default=None, compare=False)


@dataclass
class Foretold(Copied):
    """What a copy would come to; needed: bytes on the disk for what is new."""

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
    noted: bool = True,
) -> Copied:
    """Write entries of one place into another; what it cannot hold or take goes to ``left``.

    A folder is made where it is missing, a bundle is written anew: over one that is there only with
    ``replace``. A payload that is there is never overwritten by a different one. A server has one
    payload for each key: of several the newest goes. ``placed`` hears of each entry that was put
    into a folder, and its path there; noted: there is a receipt for undo then. ``makers`` tell a
    bundle how objects were built, ``names`` a folder under which names it gets them. ``screen``
    looks at what goes, and holds back what should not. Raises Problem as check_other and as the
    target's writer does (folders.importing, bundles.export, stores.redis.publishing), and passes
    Cancelled on; a folder or a bundle is then as it was, in a server stays what has arrived. A
    server that breaks off is waited for; where it does not come back, raises
    Problem("server-broke-off"), and what has arrived stays, or ("server-broke-off-bundle"), for a
    bundle is whole or not at all.
    """
    what = scheme_of(target).becomes(target)
    check_other(source, target)
    source.be_patient()
    try:
        if what == "bundle":
            from torchkeeper.stores.bundles.export import export

            chosen, where = source.for_bundle(chosen, left)
            made = export(list(chosen), where, target, report, left, replace, makers, screen=screen)
            return Copied(what, made.entries, made.files, made.bytes)
        if what == "server":
            return _publish(source, newest(chosen, left), target, password, report, left, screen)
        offered = source.offer(chosen, report, left)
        offered = screen.offered(offered) if screen else offered
        offered = names(offered) if names else offered
        from torchkeeper.stores.folders.importing import import_bundles

        done = import_bundles(
            [offered], target, report, lambda _, item, problem: left(item, problem), placed, noted
        )
        figures = done.entries, done.files, done.bytes, done.exists, done.doubles
        return Copied(what, *figures, done.receipt)
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

        def mark(_: Offered, item: Item, _home: str, _how: str, problem: Problem | None) -> None:
            if problem is not None:
                left(item, problem)

        offered = source.offer(chosen, report, left)
        offered = screen.offered(offered) if screen else offered
        offered = names(offered) if names else offered
        [found] = compare([offered], target, report, mark)
        new, there = found.whole.new, found.whole.there
        figures = new.entries, new.files, new.bytes, there.entries, found.whole.twice.entries
        return Foretold(what, *figures, kinds=found.kinds, needed=found.needed)
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
    """The newest payload of each key, in the order given, and what no server takes, of which
    whoever puts it tells why. The others go to ``left``. Where no times tell, as in a bundle, the
    last counts.
    """
    best: dict[tuple[str, str], Described] = {}
    for one in filter(_has_one, chosen):
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
        try:
            for _ in range(_ROUNDS):
                for item in items:
                    progress.begin(item)
                    publisher.put(item, offered, seconds.get((item.kind, item.key)))
                    done += item.size
                    progress.reach(done)
                publisher.flush()
                items = publisher.gone()
                if not items:
                    break
            else:
                raise Lost(Problem("server-lost", server=store.place), waited=True)
        except Lost as lost:
            lost.arrived, lost.total = made.entries + made.existed, total
            raise
        progress.end()
    return Copied("server", made.entries, made.entries, made.bytes, made.existed)


# A copy of a whole cache folder. Nothing is parsed, or shared with the copy: a program that writes
# to an object would otherwise write to the original's, too.

#: What serves nobody but those who are at work in the original: locks and temporary files; and
#: precompiled headers, which PyTorch does not look for in the folder that it is told to use.
_LEFT = ("lock", "header")


def copied(items: Iterable[Item]) -> list[tuple[Item, File]]:
    """The files that are copied, each with its item, once: eager kernels may share a library."""
    found: dict[str, tuple[Item, File]] = {}
    for item in items:
        for file in item.files if item.kind not in _LEFT else ():
            if file.regular:
                found.setdefault(file.path, (item, file))
    return list(found.values())


def room(items: Iterable[Item]) -> int:
    """Bytes on the disk that a copy of the items takes, about."""
    return needed(file.size for _, file in copied(items))


def duplicate(source: Folder, items: Iterable[Item], target: str, report: Report) -> None:
    """Copy the items of a folder to ``target``, which must not exist yet. Group files of Triton's
    kernels name the new folder. A file that has just gone, or that cannot be read, is passed over:
    a program will miss it in the original, too. Raises Problem("disk-full" | "place-unwritable")
    and passes Cancelled on; what was copied by then stays.
    """
    files = copied(items)
    progress = Progress(report, sum(file.size for _, file in files))
    try:
        os.makedirs(target)
        for item, file in files:
            progress.check()
            path = os.path.join(target, file.path)
            try:
                stream = source.open(file)
            except OSError:
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with stream:
                _copy(stream, item.kind if is_group(item.kind, file.name) else "", path, progress)
    except OSError as e:
        if no_room(e):
            raise Problem("disk-full", place=os.path.dirname(target)) from e
        raise Problem("place-unwritable", place=target, why=e.strerror or str(e)) from e
    progress.end()


def _copy(stream: BinaryIO, group: str, path: str, progress: Progress) -> None:
    # For one job, whose scratch folder goes with it: nothing of it has to survive a power cut.
    with open(path, "xb") as out:
        while True:
            progress.check()
            try:
                data = stream.read(CHUNK)
            except OSError:
                os.unlink(path)  # half of it would be worse than nothing
                return
            if not data:
                return
            progress.add(len(data))
            if group:
                # A damaged one stays as it is.
                with contextlib.suppress(ValueError, TypeError, RecursionError):
                    data = moved(group, data, os.path.dirname(path))
            out.write(data)
