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
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import begin_writing, handle_of, no_room, sync_folder
from torchkeeper.stores.folders import merging, placing
from torchkeeper.stores.folders.guard import changing, settled, unplaced
from torchkeeper.stores.folders.journal import Journal, remaining, stamp_of, take_back
from torchkeeper.stores.folders.locks import in_use, waited_for
from torchkeeper.stores.folders.placed import Record, thin
from torchkeeper.stores.folders.placing import Plan, Target
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import CHUNK, File, Item, Offered
from torchkeeper.stores.pouring import Pouring, Progress, drop, whole
from torchkeeper.stores.store import Lost
from torchkeeper.stores.volume import Volume

# To have a file on the disk takes longer than to write it, but many at a time take little longer
# than one: so some are written first, and get their names together, in order.

#: Files that wait for each other, and bytes of them, at most; bytes after which that is begun; how
#: many files and folders they have to be for the whole file system to be synced, and how many are
#: synced at a time where it is not.
_FILES, _BYTES, _BEGIN, MANY, _AT_ONCE = 1 << 14, 64 << 20, 8 << 20, 64, 8
Offer = TypeVar("Offer", bound=Offered)
Placed = Callable[[Item, str], None] | None
_Left = Callable[[Offer, Item, Problem], None]


@dataclass
class Written:
    """An entry that was written. folder: the temporary path of the folder that is to appear with
    it, or "". files: those of its ``todo``, in order, and digests: the sha256 of each.
    """

    plan: Plan
    item: Item
    offered: Offered
    folder: str = ""
    files: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)


class Arriving:
    """Entries that were written to a folder and wait for their names. record: what has got one.
    Raises OSError.
    """

    def __init__(self, root: str, journal: Journal, progress: Progress, record: Record) -> None:
        self._root, self._journal, self._record = root, journal, record
        self._meanwhile = functools.partial(progress.add, 0)
        self._volume = Volume(root)
        self._waiting: list[Written] = []
        self._files = self._bytes = self._begun = 0
        self._names: set[str] = set()
        # Temporary folders, by the paths that they are to have.
        self._folders: dict[str, str] = {}
        self._touched: set[str] = set()
        self._pool = ThreadPoolExecutor(_AT_ONCE)

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

    def folder_for(self, path: str) -> str:
        """Where the files are written meanwhile whose folder appears with them, at a path."""
        if path not in self._folders:
            above = os.path.dirname(path)
            self.make_folders(above)
            made = self._journal.temporary_folder(above)
            self._journal.note(["new", self._relative(made)])
            os.mkdir(made)
            self._folders[path] = made
        return self._folders[path]

    def taken(self, names: Iterable[str]) -> bool:
        """Whether an entry that waits is to have one of these names."""
        return not self._names.isdisjoint(names)

    def add(self, written: Written) -> bool:
        """Have an entry wait; whether as many do as should."""
        self._waiting.append(written)
        self._names.update(written.plan.names)
        self._files += len(written.files)
        self._bytes += sum(file.size for file, _ in written.plan.todo)
        if self._files >= MANY and self._bytes >= self._begun + _BEGIN:
            self._begun = self._bytes
            self._volume.begin()
        return self._files >= _FILES or self._bytes >= _BYTES

    def arrive(self) -> tuple[list[Written], list[Written]]:
        """Give all that wait their names, in order; returns them, and those in whose folders
        somebody has begun meanwhile, of which nothing was placed. Raises Problem as
        ``merging.put``.
        """
        waiting, self._waiting, self._names = self._waiting, [], set()
        folders, self._folders = self._folders, {}
        self._files = self._bytes = self._begun = 0
        self._sync([path for one in waiting for path in one.files], set(folders.values()))
        wholes: dict[str, dict[str, list[int]]] = {}
        noted = [(one, self._steps(one, wholes)) for one in waiting]
        self._journal.note(*(step for _, steps in noted for step in steps))
        self._journal.sync()
        for path in folders.values() if len(wholes) < len(folders) else ():
            if path not in wholes:
                shutil.rmtree(path, ignore_errors=True)  # what was to come into it was left
        came: dict[str, bool] = {}
        there, late = list[Written](), list[Written]()
        for one, steps in noted:
            self._meanwhile()
            plan, theirs = one.plan, set[str]()
            if one.folder:
                if one.folder not in came:
                    came[one.folder] = self._rename_folder(one.folder, plan)
            else:
                for temporary, (_, path), step in zip(one.files, plan.todo, steps, strict=True):
                    if not self._rename(temporary, path, step[4]):
                        theirs.add(path)
            if plan.listed:
                self._list(*plan.listed)
            if came.get(one.folder, True):
                there.append(one)
                self._record.add(one.item, plan, one.digests, theirs)
            else:
                late.append(one)
        return there, late

    def finish(self, others: Iterable[str] = ()) -> None:
        """Have the names that were given on the disk, and those in other folders."""
        self._sync([], {*self._touched, *others})

    def close(self) -> None:
        self._volume.close()
        self._pool.shutdown()

    def _steps(self, one: Written, wholes: dict[str, dict[str, list[int]]]) -> list[list[object]]:
        """What is noted of an entry. wholes: the stamps of what comes with each temporary folder:
        those of later entries in it are added there.
        """
        if one.folder:
            begin = len(one.folder) + 1
            stamps = {path[begin:]: stamp_of(path) for path in one.files}
            if (known := wholes.setdefault(one.folder, stamps)) is not stamps:
                known.update(stamps)
                return []
            names = self._relative(one.folder), self._relative(one.plan.whole)
            return [["kernel", *names, stamp_of(one.folder)[:1], stamps]]
        found: list[list[object]] = []
        for temporary, (_, path) in zip(one.files, one.plan.todo, strict=True):
            names = self._relative(temporary), self._relative(path)
            aside = None
            if path in one.plan.replaced:
                aside = self._relative(self._journal.temporary_file(os.path.dirname(path)))
            found.append(["file", *names, stamp_of(temporary), aside])
        return found

    def _rename(self, temporary: str, path: str, aside: object) -> bool:
        """Give a file its name; whether it has it. What is broken is put aside, for the case that
        all is taken back; what PyTorch has written there meanwhile stays, which is the same, or
        newer.
        """
        mine = True
        if isinstance(aside, str):
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, os.path.join(self._root, aside))
        try:
            # Unlike a rename, a link replaces nothing.
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError:
            os.unlink(temporary)
            mine = False
        except OSError:
            os.rename(temporary, path)  # a file system without hard links
        else:
            os.unlink(temporary)
        self._touched.add(os.path.dirname(path))
        return mine

    def _rename_folder(self, temporary: str, plan: Plan) -> bool:
        with contextlib.suppress(FileNotFoundError):
            there = os.lstat(plan.whole).st_mode
            if stat.S_ISDIR(there):  # it gives way where it is empty
                os.chmod(temporary, stat.S_IMODE(there))
        try:
            os.rename(temporary, plan.whole)
        except OSError:
            if not os.path.isdir(plan.whole):
                if plan.folder:
                    raise
                self.make_folders(plan.whole)  # a file system that renames files alone
            shutil.rmtree(temporary, ignore_errors=True)
            return False
        self._touched.add(os.path.dirname(plan.whole))
        return True

    def _list(self, path: str, item: merging.Listed) -> None:
        """Put an item into a list, now that its library is there."""
        lock = merging.lock_of(path)
        self.make_folders(os.path.dirname(lock))
        if not os.path.lexists(lock):
            self._journal.note(["lock", self._relative(lock)])
            self._journal.sync()

        def note(before: list[merging.Listed]) -> None:
            self._journal.note(["list", self._relative(path), item, before])
            self._journal.sync()
            self._record.put(self._relative(path), item, before)

        merging.put(path, item, note)
        self._touched.add(os.path.dirname(path))

    def _sync(self, files: list[str], folders: set[str]) -> None:
        """Have files on the disk, and the names in folders: all at once where they are many."""
        if len(files) + len(folders) >= MANY and self._volume.sync(self._meanwhile):
            apart = {*folders, *map(os.path.dirname, files)}
            folders = {folder for folder in apart if not self._volume.has(folder)}
            files = [path for path in files if folders and os.path.dirname(path) in folders]
        for sync, paths in ((_sync_file, files), (sync_folder, folders)):
            for _ in self._pool.map(sync, paths):
                self._meanwhile()

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._root).lstrip("/")  # as every path here begins


def _sync_file(path: str) -> None:
    with handle_of(path, os.O_RDONLY | os.O_NOFOLLOW) as handle:
        os.fsync(handle)


@dataclass
class Imported(placing.Counts):
    """What was placed, what was there already, and what came twice: ``doubles``. receipt: for undo,
    or None.
    """

    exists: int = 0
    doubles: int = 0
    receipt: str | None = field(default=None, compare=False)


def import_bundles(
    bundles: Sequence[Offer], place: str, report: Report, left: _Left[Offer], placed: Placed = None,
    noted: bool = True,
) -> Imported:  # fmt: skip
    """Place every entry of what offers some in the folder, which is made if it is missing.

    An entry that is there with the same sha256 counts as ``exists``; one that came before it here,
    too, as a double. A damaged entry and one whose place is taken by something else go to ``left``;
    the rest goes on. When the disk is full, the folder cannot be written, or the user cancels, what
    was placed is taken back. ``placed`` hears of each entry that was placed, and its path in the
    folder. noted: whether there is a receipt for undo.

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
            record = Record(root, noted)
            journal = Journal(root, "import", report, above=above, receipt=record.name)
            try:
                return _import(bundles, journal, record, report, left, placed)
            except BaseException as e:
                if not isinstance(e, Lost):
                    _take_back(root, journal, record, report)
                raise
    except OSError as e:
        if no_room(e):
            raise Problem("disk-full", place=place) from e
        raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
    finally:
        for folder in reversed(above):
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # unless something has come into it


def _settle(journal: Journal, arriving: Arriving, record: Record, report: Report) -> str | None:
    """Say that what was placed stays; the receipt of it, if there is one. There is none where the
    trash is not this user's to change: ``report`` hears of it as ``no_undo={place, code, params}``.
    Raises OSError: nothing stays then.
    """
    receipt = None
    try:
        receipt = record.write()
    except Problem as e:
        report.finding(no_undo={"place": journal.root, "code": e.code, "params": e.params})
    arriving.finish(record.folders if receipt else ())
    journal.done()
    try:
        settled(journal.root, journal.steps, receipt)
    except OSError:
        journal.leave()  # nothing is taken back now: the next one that comes does the rest
    else:
        journal.close()
    if receipt:
        thin(journal.root)
    return receipt


def _take_back(root: str, journal: Journal, record: Record, report: Report) -> None:
    """Take all back; what cannot be is left to the next one that comes (folders.guard). What
    is gone and what is left ``report`` hears as ``taken_back={place, files, left, whole}``.
    """
    gone, whole = 0, True
    try:
        gone = take_back(root, journal.steps, report)
        unplaced(root, record.name)
        journal.close()
    except (OSError, Problem):
        whole = False
        journal.leave()
    with contextlib.suppress(OSError):  # the folder may be gone
        left = remaining(root, journal.steps)
        report.finding(taken_back={"place": root, "files": gone, "left": left, "whole": whole})


def _import(
    bundles: Sequence[Offer], journal: Journal, record: Record, report: Report,
    left: _Left[Offer], placed: Placed,
) -> Imported:  # fmt: skip
    ordered = [placing.in_order(offered) for offered in bundles]
    progress = Progress(report, sum(item.size for items in ordered for item, _ in items))
    target = Target(journal.root, [item for items in ordered for item, _ in items])
    placer = _Placer(target, journal, Arriving(journal.root, journal, progress, record),
                     progress, placed, report)  # fmt: skip
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
        placer.done.receipt = _settle(journal, placer.arriving, record, report)
    except Lost as lost:
        placer.arrive()
        _settle(journal, placer.arriving, record, report)
        lost.arrived = placer.done.entries + placer.done.exists + placer.done.doubles
        lost.total = sum(map(len, ordered))
        raise
    finally:
        placer.arriving.close()
    progress.end()
    return placer.done


class _Placer:
    """Places entries; most get their names together. left: hears of what cannot be placed."""

    def __init__(
        self, target: Target, journal: Journal, arriving: Arriving, progress: Progress,
        placed: Placed, report: Report,
    ) -> None:  # fmt: skip
        self.done = Imported()
        self.left: Callable[[Item, Problem], None] = lambda _item, _problem: None
        self._root, self._journal = target.root, journal
        self._pouring, self._placed, self._report = Pouring(progress), placed, report
        self._target, self.arriving = target, arriving
        # Where entries have gone, or were: a million paths would take much memory.
        self._seen = set[int]()

    def place(self, item: Item, offered: Offered) -> None:
        """Place one entry, or have it left. Raises Lost, after taking back what it wrote, and
        OSError for what concerns all.
        """
        if placing.tells(item):
            self.arrive()
        mark, written = len(self._journal.steps), None
        try:
            plan = self._target.plan(item, offered, self._pouring)
            if plan.listed or self.arriving.taken(plan.names):
                self.arrive()
                mark = len(self._journal.steps)
                plan = self._target.plan(item, offered, self._pouring)
            if self._was_being_built(item, plan):
                plan = self._target.plan(item, offered, self._pouring)
            if not plan.new:
                home = hash((item.kind, plan.home))
                self.done.exists += home not in self._seen
                self.done.doubles += home in self._seen
                self._seen.add(home)
                return
            folder = self.arriving.folder_for(plan.whole) if plan.whole else ""
            # That may be others', too: it stays where this entry is left.
            mark, written = len(self._journal.steps), Written(plan, item, offered, folder)
            self._write(written)
            full = self.arriving.add(written)
            # Whether a list takes an item shows when it gets there.
            if plan.listed:
                self.arrive()
        except (Problem, Lost) as e:
            take_back(self._root, self._journal.steps.since(mark))
            for path in written.files if written and written.folder else ():
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            if isinstance(e, Lost):
                raise
            self.left(item, e)
            return
        if full:
            self.arrive()

    def _was_being_built(self, item: Item, plan: Plan) -> bool:
        """Whether PyTorch was at work on an object, or another compiler on its entry. Raises
        Problem("in-use"), and Cancelled.
        """
        waited = False
        asked = [(item.kind, item.key, plan.home)] if item.kind == "jit" and plan.new else []
        for target in (x for _, x in plan.todo if x.endswith(".so") and item.kind != "jit"):
            path = os.path.relpath(target, self._root)
            asked.append(("code", os.path.basename(path).partition(".")[0], path))
        for kind, key, path in asked:
            if in_use(self._root, kind, key, path):
                if not waited_for(self._root, kind, key, path, self._report):
                    raise Problem("in-use")
                waited = True
        return waited

    def arrive(self) -> None:
        """Give what was written its names. Raises OSError, and Problem as ``merging.put``."""
        there, late = self.arriving.arrive()
        for one in there:
            self.done.entries += 1
            self.done.files += len(one.item.files)
            self.done.bytes += one.item.size
            self._seen.add(hash((one.item.kind, one.plan.home)))
            if self._placed:
                self._placed(one.item, one.plan.home)
        for one in late:
            # Somebody has begun the same folder meanwhile: only what is still missing is placed.
            self.place(one.item, one.offered)
        if late:
            self.arrive()

    def _write(self, written: Written) -> None:
        """Write the files of an entry under temporary names, and check them."""
        plan, item, offered = written.plan, written.item, written.offered
        digests = written.digests
        for file, target in plan.todo:
            if written.folder:
                path = written.folder + target[len(plan.whole) :]
                written.files.append(path)
                digest = _write(path, offered, item, file, self._pouring, plan.folder)
            else:
                path, digest = self._beside(target, plan, item, offered, file)
                written.files.append(path)
            digests.append(digest)
        placing.check_whole(plan, item, digests)

    def _beside(
        self, target: str, plan: Plan, item: Item, offered: Offered, file: File
    ) -> tuple[str, str]:
        """Write a file beside its path; its path until then, and its sha256."""
        folder = os.path.dirname(target)

        def written() -> tuple[str, str]:
            self.arriving.make_folders(folder)
            path = self.arriving.temporary(folder)
            made = plan.merged[1] if plan.merged and plan.merged[0] == target else None
            return path, _write(path, offered, item, file, self._pouring, plan.folder, made)

        try:
            return written()
        except FileNotFoundError:
            # Somebody who purges or mends a place around this one has taken the empty folder.
            return written()


def _write(
    path: str,
    offered: Offered,
    item: Item,
    file: File,
    pour: Pouring,
    folder: str,
    made: bytes | None = None,
) -> str:
    """Write one file to a path where nothing is, or what was made of it, and check it; returns its
    sha256. Raises Problem as ``deliver``, and OSError for what concerns the target.
    """
    own = item.kind == "jit"
    executable = file.mode & 0o100 if own else file.name.endswith(".so")
    mode = 0o755 if executable else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(path, flags, mode)
    try:
        write = whole(handle)
        take = write if made is None else drop
        digest = placing.deliver(offered, item, file, pour, take, folder)
        if made is not None:
            write(made)
    finally:
        if file.size >= CHUNK:
            begin_writing(handle)
        os.close(handle)
    if own and file.mtime_ns is not None:
        # What is built by ninja is built again where it is older than what it is made of.
        os.utime(path, ns=(time.time_ns(), file.mtime_ns), follow_symlinks=False)
    return digest
