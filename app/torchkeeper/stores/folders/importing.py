"""Placing entries of bundles and other places in a folder, without torch or running anything.

Every file is written under a temporary name beside its own, checked, synced and renamed; payloads
that name others come last, so that a torch process at work meanwhile never finds one whose needs
are missing. What PyTorch keeps in a list is put into that. Each step is in a journal before.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import handle_of, no_room, sync_folder
from torchkeeper.stores.folders import merging, placing
from torchkeeper.stores.folders.guard import changing
from torchkeeper.stores.folders.journal import Journal, remaining, settle, stamp_of, take_back
from torchkeeper.stores.folders.locks import in_use, waited_for
from torchkeeper.stores.folders.merging import Listed
from torchkeeper.stores.folders.placing import Plan, Target
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import File, Item, Offered
from torchkeeper.stores.pouring import Pouring, Progress, whole
from torchkeeper.stores.store import Lost

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


# To have a file on the disk takes as long as to write it, but many at a time take little longer
# than one: so some are written first, and get their names together, in order.

#: Files that wait for each other, and bytes of them, at most; and how many are synced at a time.
_FILES, _BYTES, _AT_ONCE = 64, 64 << 20, 8
Offer = TypeVar("Offer", bound=Offered)
Placed = Callable[[Item, str], None]


@dataclass
class Written:
    """An entry that was written. files: temporary path and path of each, in order. folder: the
    temporary path of a kernel's folder, and its path. listed: the list it comes into, and as what.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    folder: tuple[str, str] | None = None
    replaced: frozenset[str] = frozenset()
    listed: tuple[str, Listed] | None = None
    size: int = 0


class Arriving:
    """Entries that were written to a folder and wait for their names. Raises OSError."""

    def __init__(self, root: str, journal: Journal) -> None:
        self._root, self._journal = root, journal
        self._waiting: list[Written] = []
        self._names: set[str] = set()
        self._touched: set[str] = set()
        self._pool: ThreadPoolExecutor | None = None

    def make_folders(self, path: str) -> None:
        """Make a folder and what is missing above it; links are refused."""
        for folder in reversed(placing.missing_folders(path, self._root)):
            where = self._relative(folder)
            self._journal.note(["folder", where])
            try:
                os.mkdir(folder)
            except FileExistsError:
                # PyTorch, or another import, was faster; that it is no link is checked again.
                if os.path.islink(folder) or not os.path.isdir(folder):
                    raise
                self._journal.note(["there", where])
            else:
                self._touched.add(os.path.dirname(folder))

    def temporary(self, folder: str) -> str:
        """The path of a file that is about to be written into a folder."""
        path = self._journal.temporary_file(folder)
        self._journal.note(["new", self._relative(path)])
        return path

    def temporary_folder(self, folder: str) -> str:
        """A new folder in a folder, for a kernel."""
        path = self._journal.temporary_folder(folder)
        self._journal.note(["new", self._relative(path)])
        os.mkdir(path)
        return path

    def taken(self, names: Iterable[str]) -> bool:
        """Whether an entry that waits is to have one of these names."""
        return not self._names.isdisjoint(names)

    def add(self, written: Written) -> bool:
        """Have an entry wait; whether as many do as should."""
        self._waiting.append(written)
        folder = written.folder and written.folder[1]
        self._names.update(_names(written.files, folder, written.listed))
        count = sum(len(one.files) for one in self._waiting)
        return count >= _FILES or sum(one.size for one in self._waiting) >= _BYTES

    def arrive(self) -> list[Written]:
        """Give all that wait their names, in order; returns the kernels that Triton has begun
        meanwhile, of which nothing was placed. Raises Problem as ``merging.put``.
        """
        waiting, self._waiting, self._names = self._waiting, [], set()
        self._sync([temporary for one in waiting for temporary, _ in one.files], _sync_file)
        self._sync([one.folder[0] for one in waiting if one.folder], sync_folder)
        noted = [(one, self._steps(one)) for one in waiting]
        self._journal.note(*(step for _, all_ in noted for step in all_))
        self._journal.sync()
        late = []
        for one, all_ in noted:
            if one.folder and not self._rename_kernel(*one.folder):
                late.append(one)
            elif not one.folder:
                for (temporary, path), step in zip(one.files, all_, strict=True):
                    self._rename(temporary, path, step[4])
                if one.listed:
                    self._list(*one.listed)
        return late

    def close(self) -> None:
        self._sync(self._touched, sync_folder)
        if self._pool:
            self._pool.shutdown()

    def _steps(self, one: Written) -> list[list[object]]:
        if one.folder:
            temporary, path = one.folder
            stamps = {os.path.basename(file): stamp_of(at) for at, file in one.files}
            names = self._relative(temporary), self._relative(path)
            return [["kernel", *names, stamp_of(temporary)[:1], stamps]]
        found: list[list[object]] = []
        for temporary, path in one.files:
            names = self._relative(temporary), self._relative(path)
            aside = None
            if path in one.replaced:
                aside = self._relative(self._journal.temporary_file(os.path.dirname(path)))
            found.append(["file", *names, stamp_of(temporary), aside])
        return found

    def _rename(self, temporary: str, path: str, aside: object) -> None:
        """Give a file its name. What is broken is put aside, for the case that all is taken back;
        what PyTorch has written there meanwhile stays, which is the same, or newer.
        """
        if isinstance(aside, str):
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, os.path.join(self._root, aside))
        try:
            # Unlike a rename, a link replaces nothing.
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError:
            os.unlink(temporary)
        except OSError:
            os.rename(temporary, path)  # a file system without hard links
        else:
            os.unlink(temporary)
        self._touched.add(os.path.dirname(path))

    def _rename_kernel(self, temporary: str, path: str) -> bool:
        try:
            os.rename(temporary, path)
        except OSError:
            if not os.path.isdir(path):
                raise
            shutil.rmtree(temporary, ignore_errors=True)
            return False
        self._touched |= {path, os.path.dirname(path)}
        return True

    def _list(self, path: str, item: Listed) -> None:
        """Put an item into a list, now that its library is there."""
        lock = merging.lock_of(path)
        self.make_folders(os.path.dirname(lock))
        if not os.path.lexists(lock):
            self._journal.note(["lock", self._relative(lock)])
            self._journal.sync()

        def note(before: list[Listed]) -> None:
            self._journal.note(["list", self._relative(path), item, before])
            self._journal.sync()

        merging.put(path, item, note)
        self._touched.add(os.path.dirname(path))

    def _sync(self, paths: Iterable[str], sync: Callable[[str], None]) -> None:
        if not self._pool:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_AT_ONCE)
        list(self._pool.map(sync, paths))

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root)


def _sync_file(path: str) -> None:
    with handle_of(path, os.O_RDONLY | os.O_NOFOLLOW) as handle:
        os.fsync(handle)


@dataclass
class Imported(placing.Counts):
    """What was placed, and what was there already."""

    exists: int = 0


def import_bundles(
    bundles: Sequence[Offer],
    place: str,
    report: Report,
    left: Callable[[Offer, Item, Problem], None],
    placed: Placed | None = None,
) -> Imported:
    """Place every entry of what offers some in the folder, which is made if it is missing.

    An entry that is there with the same sha256 counts as ``exists``. A damaged entry and one
    whose place is taken by something else go to ``left``; the rest goes on. When the disk is
    full, the folder cannot be written, or the user cancels, what was placed is taken back.
    ``placed`` hears of each entry that was placed, and its path in the folder.

    Raises Problem("place-unwritable" | "disk-full" | "place-busy") and passes Cancelled on, and
    Lost, with its counts: what has wholly arrived stays then, so that the next time goes on there.
    """
    here = os.path.realpath(place)
    above: list[str] = []
    try:
        for folder in reversed(placing.missing_folders(here)):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
                above.append(folder)
        with changing(place, report):
            root = Root(place).root
            journal = Journal(root, "import", report, above=above)
            try:
                return _import(bundles, root, journal, report, left, placed)
            except BaseException as e:
                if not isinstance(e, Lost):
                    _take_back(root, journal, report)
                raise
    except OSError as e:
        if no_room(e):
            raise Problem("disk-full", place=place) from e
        raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
    finally:
        for folder in reversed(above):
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # unless something has come into it


def _settle(root: str, journal: Journal) -> None:
    """Say that what was placed stays. Raises OSError."""
    journal.done()
    settle(root, journal.steps)
    journal.close()


def _take_back(root: str, journal: Journal, report: Report) -> None:
    """Take all back; what cannot be is left to the next one that comes (folders.guard). What
    is gone and what is left ``report`` hears as ``taken_back={place, files, left, whole}``.
    """
    gone, whole = 0, True
    try:
        gone = take_back(root, journal.steps, report)
        journal.close()
    except (OSError, Problem):
        whole = False
        journal.leave()
    with contextlib.suppress(OSError):  # the folder may be gone
        left = remaining(root, journal.steps)
        report.finding(taken_back={"place": root, "files": gone, "left": left, "whole": whole})


def _import(
    bundles: Sequence[Offer],
    root: str,
    journal: Journal,
    report: Report,
    left: Callable[[Offer, Item, Problem], None],
    placed: Placed | None,
) -> Imported:
    ordered = [placing.in_order(offered) for offered in bundles]
    progress = Progress(report, sum(item.size for items in ordered for item, _ in items))
    target = Target(root, [item for items in ordered for item, _ in items])
    placer = _Placer(target, journal, Pouring(progress), placed, report)
    past = 0
    try:
        for offered, items in zip(bundles, ordered, strict=True):
            placer.left = functools.partial(left, offered)
            for item, problem in items:
                progress.begin(item)
                if problem is None:
                    placer.place(item, offered)
                else:
                    placer.left(item, problem)
                past += item.size
                progress.reach(past)
            placer.arrive()
    except Lost as lost:
        placer.arrive()
        _settle(root, journal)
        lost.arrived = placer.done.entries + placer.done.exists
        lost.total = sum(map(len, ordered))
        raise
    finally:
        placer.arriving.close()
    _settle(root, journal)
    progress.end()
    return placer.done


class _Placer:
    """Places entries; most get their names together. left: hears of what cannot be placed."""

    def __init__(
        self, target: Target, journal: Journal, pour: Pouring, placed: Placed | None, report: Report
    ) -> None:
        self.done = Imported()
        self.left: Callable[[Item, Problem], None] = lambda _item, _problem: None
        self._root, self._journal = target.root, journal
        self._pouring, self._placed, self._report = pour, placed, report
        self._target, self.arriving = target, Arriving(target.root, journal)
        self._waiting: list[tuple[Plan, Item, Offered, Written]] = []

    def place(self, item: Item, offered: Offered) -> None:
        """Place one entry, or have it left. Raises Lost, after taking back what it wrote, and
        OSError for what concerns all.
        """
        mark = len(self._journal.steps)
        try:
            plan = self._target.plan(item, offered, self._pouring)
            names = _names(plan.todo, plan.folder if plan.whole else None, plan.listed)
            if plan.listed or self.arriving.taken(names):
                self.arrive()
                mark = len(self._journal.steps)
                plan = self._target.plan(item, offered, self._pouring)
            if self._was_being_built(plan):
                plan = self._target.plan(item, offered, self._pouring)
            if not plan.new:
                self.done.exists += 1
                return
            written = self._write(plan, item, offered)
            self._waiting.append((plan, item, offered, written))
            # Whether a list takes an item shows when it gets there.
            full = self.arriving.add(written)
            if plan.listed:
                self.arrive()
        except (Problem, Lost) as e:
            take_back(self._root, self._journal.steps[mark:])
            if isinstance(e, Lost):
                raise
            self.left(item, e)
            return
        if full:
            self.arrive()

    def _was_being_built(self, plan: Plan) -> bool:
        """Whether PyTorch was at work on an object. Raises Problem("in-use"), and Cancelled."""
        waited = False
        for _, target in plan.todo:
            path = os.path.relpath(target, self._root)
            stem = os.path.basename(path).partition(".")[0]
            if path.endswith(".so") and in_use(self._root, "code", stem, path):
                if not waited_for(self._root, "code", stem, path, self._report):
                    raise Problem("in-use")
                waited = True
        return waited

    def arrive(self) -> None:
        """Give what was written its names. Raises OSError, and Problem as ``merging.put``."""
        waiting, self._waiting = self._waiting, []
        late = self.arriving.arrive()
        for plan, item, offered, written in waiting:
            if any(written is one for one in late):
                # Triton has begun the same kernel meanwhile: only what is still missing is placed.
                self.place(item, offered)
                continue
            self.done.entries += 1
            self.done.files += len(item.files)
            self.done.bytes += item.size
            if self._placed:
                self._placed(item, plan.home)
        if late:
            self.arrive()

    def _write(self, plan: Plan, item: Item, offered: Offered) -> Written:
        """Write the files of an entry under temporary names, and check them."""
        written = Written(replaced=plan.replaced, listed=plan.listed)
        if plan.whole:
            above = os.path.dirname(plan.folder)
            self.arriving.make_folders(above)
            written.folder = self.arriving.temporary_folder(above), plan.folder
        digests = []
        for file, target in plan.todo:
            if written.folder:
                path = os.path.join(written.folder[0], file.name)
                digest = _write(path, offered, item, file, self._pouring, plan.folder)
            else:
                path, digest = self._beside(target, plan, item, offered, file)
            digests.append(digest)
            written.files.append((path, target))
            written.size += file.size
        placing.check_whole(plan, item, digests)
        return written

    def _beside(
        self, target: str, plan: Plan, item: Item, offered: Offered, file: File
    ) -> tuple[str, str]:
        """Write a file beside its path; its path until then, and its sha256."""
        folder = os.path.dirname(target)

        def written() -> tuple[str, str]:
            self.arriving.make_folders(folder)
            path = self.arriving.temporary(folder)
            return path, _write(path, offered, item, file, self._pouring, plan.folder)

        try:
            return written()
        except FileNotFoundError:
            # Somebody who purges or mends a place around this one has taken the empty folder.
            return written()


def _names(
    files: Iterable[tuple[object, str]], folder: str | None, listed: tuple[str, Listed] | None
) -> list[str]:
    """The paths that are taken when an entry has come."""
    return [*(path for _, path in files), *filter(None, (folder, listed and listed[0]))]


def _write(path: str, offered: Offered, item: Item, file: File, pour: Pouring, folder: str) -> str:
    """Write one file to a path where nothing is, and check it; returns its sha256. Raises Problem
    as ``deliver``, and OSError for what concerns the target.
    """
    mode = 0o755 if file.name.endswith(".so") else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb", buffering=0) as out:
        return placing.deliver(offered, item, file, pour, whole(out), folder)
