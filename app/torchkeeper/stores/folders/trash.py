"""Purging: plan, move to the trash beside the entries, undo, empty.

Each is in a journal while it lasts: cut off, a purge is put back, an undo is brought to its end,
and so is the emptying of the trash (folders.guard). What undoes an import is a purge first, and so
it is put back until all of that has moved.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem, measured, tally
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.atomic import no_room, sync_folder
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import placed, receipts
from torchkeeper.stores.folders.guard import changing
from torchkeeper.stores.folders.in_use import InUse, users
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.journal import Journal, Step, begun
from torchkeeper.stores.folders.locks import holding
from torchkeeper.stores.folders.merging import lock_of
from torchkeeper.stores.folders.receipts import FILES, Back, Folders, Purged, restore, within
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import File, Item, Left, OnDisk, is_group, stamp
from torchkeeper.stores.processes import forked
from torchkeeper.stores.store import Removal

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount, Tally
    from torchkeeper.stores.shapes import Done, Users

#: Why a folder is not removed that is to go where it is empty.
_THERE = errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY, errno.ENOTDIR
#: So many kernels are worth a second process that takes them.
_MANY = 500


@dataclass(frozen=True)
class Plan:
    """Exactly what a purge will take; insisted: also what processes use (folders.in_use)."""

    root: str
    items: list[Item]
    insisted: bool = False

    @functools.cached_property
    def disk(self) -> OnDisk:
        """How much that is."""
        return OnDisk(self.items)


def purge(plan: Plan, now: bool, report: Report, left: Left) -> Purged:
    """Move what was planned to the trash, or with ``now`` remove it.

    A file that changed since the plan was made stays and goes to ``left``, and so does what cannot
    be moved. Cancelling stops between entries; what was moved can be undone, and a finding
    ``removed`` says how much that is, as of a server's (stores.redis.removing). With ``now`` all is
    moved as well, and removed then, so that no part of it is ever lost. Raises Problem("place-busy"
    | "place-unwritable" | "trash-full" | "trash-not-folder" | "trash-foreign").
    """
    with changing(plan.root, report):
        return _purge(_Purging(plan, now, report, left), report)


def _purge(purging: _Purging, report: Report, last: Callable[[], None] = lambda: None) -> Purged:
    """Carry one out that is begun. last: what is done while it can still be put back. Raises
    Problem as ``purge``.
    """
    plan = purging.plan
    try:
        purging.run(report)
        last()
    except OSError as e:
        # The trash is full: all or nothing.
        purging.put_back()
        raise _unmoved(plan, e) from e
    except Cancelled:
        purging.tell(report)
        raise
    finally:
        purging.end()
    report.progress(len(plan.items), len(plan.items), "entries")
    return purging.done


def _unmoved(plan: Plan, e: OSError) -> Problem:
    """Why nothing could be moved to the trash."""
    code = "trash-full" if no_room(e) else "place-unwritable"
    return Problem(code, place=plan.root, why=e.strerror)


class FolderRemoval(Removal):
    """A purge of a folder, added all at once. What processes use stays, unless insisted on."""

    def __init__(self, place: str, root: str, insisted: bool) -> None:
        self.place = place
        self._plan = Plan(root, [], insisted)
        self._in_use: Users = {**InUse().told([]), "left": 0, "stays": tally(())}

    def add(self, chosen: Sequence[Described], report: Report, left: Left) -> dict[int, Item]:
        root, insisted = self._plan.root, self._plan.insisted
        items = [one.item for one in chosen]
        every = Plan(root, items, insisted)
        used = users(root, report, items, lambda: every.disk)
        using = used.told(items)
        if not insisted:
            # Where any entry may be needed, none goes, and nobody wants to hear that of each.
            items, kept = ([], []) if used.holder else used.split(items)
            for item, problem in kept:
                left(item, problem)
        going = {id(item) for item in items}
        stays = tally(one.item.kind for one in chosen if id(one.item) not in going)
        self._in_use = {**using, "left": len(chosen) - len(items), "stays": stays}
        numbers = [number for number, one in enumerate(chosen) if id(one.item) in going]
        items = receipts.parted(root, items)
        self._plan = every if items == every.items else Plan(root, items, insisted)
        return dict(zip(numbers, self._plan.items, strict=True))

    def told(self) -> Amount:
        disk, counts = self._plan.disk, tally(item.kind for item in self._plan.items)
        return {**counts, "files": disk.files, **measured(disk.bytes, on_disk=True)}

    def in_use(self) -> Users:
        return self._in_use

    def carry_out(self, now: bool, report: Report, left: Left, password: str | None) -> Done:
        # A process may have come since the preview.
        plan = self._plan if self._plan.insisted else _unused(self._plan, report, left)
        return purge(plan, now, report, left).to_json()


def _unused(plan: Plan, report: Report, left: Left) -> Plan:
    """A plan without what processes use, which goes to ``left``. Raises Problem("place-in-use")."""
    used = users(plan.root, report, plan.items, lambda: plan.disk)
    if user := used.holder:
        raise Problem("place-in-use", place=plan.root, pid=user.pid, name=user.name)
    items, taken = used.split(plan.items)
    for item, problem in taken:
        left(item, problem)
    return Plan(plan.root, items) if taken else plan


class _Purging:
    """A purge that is under way, or what ``undoes`` the import of a receipt. Raises Problem as
    ``purge`` when made.
    """

    def __init__(self, plan: Plan, now: bool, report: Report, left: Left, undoes: str = "") -> None:
        name = receipts.new_name()
        self.plan, self._root, self._now, self._left = plan, plan.root, now, left
        self._journal, self._bin = _begin(plan, name, now, report, undoes)
        #: What is done when all has moved, before the journal goes; whether all of that could be.
        self.rest: Callable[[], bool] | None = None
        self.done = Purged(receipt=name if self._bin and not now else None)
        #: What has gone as a whole, and files of other entries.
        self._whole, self._parts = list[Item](), list[File]()
        self._kinds: list[str] = []
        #: The folders in which something was that is no more there.
        self._gone: set[str] = set()
        self._inside: Inside
        self._kept = self._unfinished = self._said = False

    def run(self, report: Report) -> None:
        """Take everything. Raises Cancelled, and OSError where the trash is full."""
        paths: set[str] = set()
        items = receipts.parted(self._root, self.plan.items)
        # A list that goes as a whole goes before anything is taken off it.
        items.sort(key=receipts.goes_alone)
        # Where a process may look into folders, each of them stays; but an empty one of DeepGEMM's
        # ends its programs (KernelRuntime::check_validity in csrc/jit/kernel_runtime.hpp).
        stay = self.plan.insisted
        folders = ["" if stay and x.kind != "jit" else _folder_of(x) for x in items]
        entries = Counter(folders)
        work = [(x, at if entries[at] == 1 else "") for x, at in zip(items, folders, strict=True)]
        with Inside(self._root) as self._inside, contextlib.closing(self._shared(work)) as mine:
            for number, (item, folder) in enumerate(mine):
                report.check()
                report.progress(number, len(items), "entries")
                files = item.files
                gone = self._take(item, files, folder)
                if gone is None:
                    continue
                if gone is files:
                    self._went(item, folder)
                    continue
                self._kept = self._kept or bool(gone) or receipts.goes_alone(item)
                self._parts += gone
                self._gone.update([file.path.rpartition("/")[0] for file in gone])
                if item.about:
                    paths.update([file.path for file in gone])
                # What two of a list have in common has gone with the first of them.
                if len(gone) == len(files) or paths.issuperset([file.path for file in files]):
                    self._kinds.append(item.kind)
        self.done.counts = tally(self._kinds)
        self.done.files, self.done.bytes = self._taken()

    def _shared(self, work: list[tuple[Item, str]]) -> Generator[tuple[Item, str]]:
        """What this process takes: of many kernels that go with their folders a second one takes
        every other, until this one has nothing left but what that has not taken.
        """
        bin_, left = str(self._bin), list[tuple[Item, str]]()
        theirs = [x for x in work if x[1] and x[0].kind == "triton"][1::2]
        if self._now or not self._bin or len(theirs) < _MANY or (os.cpu_count() or 1) < 2:
            theirs = []
        given = set(map(id, theirs))
        try:
            with forked(lambda x: self._take_whole(bin_, x[1], x[0].files), theirs) as told:
                yield from (x for x in work if id(x) not in given)
        finally:
            for one, said in zip(theirs, told[:], strict=False):
                # If it was killed, it has not told of the last.
                went = said == 2 or (not said and self._inside.is_folder(within(bin_, one[1])))
                self._went(*one) if went else left.append(one)
        yield from left

    def _went(self, item: Item, folder: str) -> None:
        self._kept = True
        self._whole.append(item)
        self._gone.add(folder.rpartition("/")[0])
        self._kinds.append(item.kind)

    def _taken(self) -> tuple[int, int]:
        """How many files have gone, and their bytes on the disk."""
        found = self.plan.disk
        if len(self._whole) < len(self.plan.items):
            found = OnDisk(self._whole)
            found.add(self._parts)
        return found.files, found.bytes

    def _take(self, item: Item, files: list[File], folder: str) -> list[File] | None:
        """Take the files of an entry, all of them if they are what was planned, else none: None.
        folder: in which no other one is, if there is such a one.
        """
        # The lock of a list that stays is taken when the item comes off it.
        alone = receipts.goes_alone(item)
        but = lock_of(os.path.join(self._root, item.list_path)) if alone else None
        held = holding(self._root, item.kind, item.key, item.path, but)
        with contextlib.nullcontext(True) if item.kind == "triton" else held as free:
            # What is removed at once takes nothing along that came in while it moved.
            whole = free and folder and self._bin and not self._now
            if whole and self._take_whole(str(self._bin), folder, files):
                return files
            if free:
                return self._take_each(item, files)
        self._left(item, Problem("in-use"))
        return None

    def _take_whole(self, bin_: str, folder: str, files: list[File]) -> bool:
        """Move the folder of an entry to its place in the receipt by one rename, if all that is in
        it was planned and has not changed; whether it has gone. It is looked at again there: with
        anything that somebody has written meanwhile it comes back. What fails goes file by file.
        """
        there, inside, found = within(bin_, folder), self._inside, dict[str, int]()
        planned = {file[0].rpartition("/")[2]: (file[1], file[2], file[4]) for file in files}
        seen, looked = dict[str, int](), dict[str, tuple[int, int, tuple[int, int]]]()
        try:
            handle = inside.looked_into(folder)
            # An open folder above it may have been moved elsewhere.
            here = os.fstat(handle.number)
            if not os.path.samestat(here, os.lstat(f"{self._root}/{folder}")):
                return False
            with os.scandir(handle.number) as entries:
                for entry in entries:
                    seen[entry.name] = entry.inode()
                    looked[entry.name] = stamp(entry.stat(follow_symlinks=False))
            if looked != planned:
                return False
            self._move(folder, there)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            # Another one may have come in its place before it moved.
            same = os.path.samestat(here, inside.stat(there))
            found = (handle if same else inside.looked_into(there)).inodes()
            if same and found == seen:
                return True
        try:
            inside.rename(there, folder)
        except OSError:
            # It is there again, with something in it.
            for name in (name for name in found if found[name] != seen.get(name)):
                with contextlib.suppress(OSError, Problem):  # it stays in the trash
                    receipts.put_back(inside, bin_, f"{folder}/{name}", Folders())
            return True
        return False

    def _take_each(self, item: Item, files: list[File]) -> list[File] | None:
        gone, there = list[File](), list[File]()
        bin_, where, moves = self._bin, item.path, False
        try:
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    at = stamp(os.lstat(os.path.join(self._root, file.path)))
                    if (file.size, file.mtime_ns, file.inode) != at:
                        raise Problem("entry-changed")
                    there.append(file)  # or it may be that of a folder that was moved elsewhere
            # Before its library is gone: PyTorch takes none of a list of which one is missing.
            kept = bin_ and os.path.join(bin_, FILES)
            if receipts.goes_alone(item) and not receipts.withdraw(self._root, item, kept):
                raise Problem("entry-changed")
            # Of a kernel the files first that say that the others are there: Triton looks at no
            # other then.
            for file in sorted(there, key=lambda file: not is_group(item.kind, file.name)):
                where, moves = file.path, bin_ is not None
                with contextlib.suppress(FileNotFoundError):  # somebody was faster: it is gone
                    if bin_ is None:
                        self._inside.unlink(where)
                    else:
                        self._move(where, within(bin_, where))
                    gone.append(file)
            return gone
        except Problem as problem:
            self._left(item, problem)
        except OSError as e:
            if bin_ and moves:
                self._give_back(bin_, item, gone)
                gone = []
            if no_room(e) and bin_ and not self._now:
                raise
            self._left(item, Problem("cannot-remove", path=where, why=e.strerror))
        return gone or None

    def _give_back(self, bin_: str, item: Item, gone: list[File]) -> None:
        """Have an entry as it was that cannot go as a whole."""
        for file in reversed(gone):
            with contextlib.suppress(OSError):
                self._inside.rename(within(bin_, file.path), file.path)
        if receipts.goes_alone(item):
            with contextlib.suppress(OSError, Problem):
                receipts.give_back(self._root, item.list_path, os.path.join(bin_, FILES))

    def _move(self, path: str, there: str) -> None:
        try:
            try:
                self._inside.rename(path, there)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(os.path.join(self._root, there)), exist_ok=True)
                self._inside.rename(path, there)
        except OSError as e:
            if not self._now or not (no_room(e) or e.errno == errno.EXDEV):
                raise
            self._inside.unlink(path)  # it would be removed in the end

    def tell(self, report: Report) -> None:
        """Say how much is gone where it ends early."""
        of = tally(item.kind for item in self.plan.items)
        about = {"of": of, "sure": True, "bytes": self._taken()[1], "trash": not self._now}
        report.finding(removed={**tally(self._kinds), **about})

    def say(self, *steps: Step) -> None:
        """Say that all has moved, and what of the rest is to be known. Raises OSError."""
        if self._journal:
            self._journal.note(*steps)
            self._journal.done()
            self._said = True

    def put_back(self) -> None:
        """Put back what was moved; what cannot be now is by the next one that comes."""
        assert self._bin
        items = receipts.trashed(self._bin)
        restore(self._root, self._bin, items, Report(), lambda _item, _problem: None)
        self._kept = self._unfinished = bool(receipts.count(self._bin))

    def end(self) -> None:
        """Leave no empty folders, and the trash and the journal as they should be."""
        if self._unfinished and self._journal:
            self._journal.leave()
            return
        tidy = self.rest() if self._said and self.rest else True
        # PyTorch looks whether a graph's folder is there, and fails where it then is not
        # (iterate_over_candidates in torch/_inductor/codecache.py).
        gone = receipts.with_above(() if self.plan.insisted else self._gone)
        gone |= {item.path for item in self.plan.items if item.kind == "jit"}
        for folder in sorted(gone - {""}, reverse=True):
            try:
                os.rmdir(os.path.join(self._root, folder))
            except OSError as e:
                tidy = tidy and e.errno in _THERE
        with contextlib.suppress(OSError):
            sync_folder(self._root)
        if not self._said:
            with contextlib.suppress(OSError):  # the disk is full: it goes at once
                self.say()
        if self._bin and (self._now or not self._kept):
            if tidy or not self._said:
                tidy = receipts.discard(self._bin) is None
            self.done.receipt = None
        if self._journal and self._said and not tidy:
            self._journal.leave()  # the next one that comes tries again
        elif self._journal:
            self._journal.close()


def _begin(
    plan: Plan, name: str, now: bool, report: Report, undoes: str
) -> tuple[Journal | None, str | None]:
    """The journal and the receipt. What is to be removed ``now`` goes without, where there can be
    none: a full disk is what it is for. Raises Problem as ``purge``.
    """
    try:
        about: dict[str, object] = {"undoes": undoes} if undoes else {"now": now}
        what = "undo" if undoes else "purge"
        journal = begun(plan.root, what, report, receipt=name, **about)
    except OSError as e:
        if now:
            return None, None
        raise Problem("place-unwritable", place=plan.root, why=e.strerror) from e
    try:
        if journal is None:
            raise Problem("trash-full", place=plan.root)
        return journal, receipts.make(plan.root, name, plan.items)
    except BaseException as e:
        if journal:
            journal.close()
        if now and isinstance(e, (OSError, Problem)):
            return None, None
        if isinstance(e, OSError):
            raise _unmoved(plan, e) from e
        raise


def _folder_of(item: Item) -> str:
    """The folder that all files of an entry are in; "" where there is none but the place."""
    folders = item.folders
    return folders.pop() if len(folders) == 1 and not item.about else ""


def undo(
    place: str, report: Report, left: Left, only: str | None = None, told: Back | None = None
) -> Purged:
    """Put the latest purge back, times included, or take away what the latest import has placed;
    where nothing of that can be, the one before. What was cut off is put back by that alone. only:
    the receipt of what is meant, which need not be the latest.

    What an import has placed moves to the trash, as far as it is what was placed, and nobody uses
    it: that is a purge with a receipt of its own. What had to give way is back. A file whose path
    is taken again stays in the trash and goes to ``left``; the entries that are back go to
    ``told``. Raises Problem("nothing-to-undo" | "place-busy" | "place-unwritable"), ("undo-full")
    where there is no room for all: the other entries stay in the trash, and of an import as
    ``purge``.
    """
    root = Root(place).root
    with changing(root, report) as recovered:
        for one in recovered:
            if (one.what, one.outcome) in (("purge", "put-back"), ("undo", "completed")):
                counts: Tally = {**tally(()), "entries": one.entries}
                return Purged(counts, one.files, one.bytes, undid=one.undid)
        done = Purged()
        bins = receipts.folders_of(root)
        if only is not None:
            bins = [bin_ for bin_ in bins if os.path.basename(bin_) == os.path.basename(only)]
        for bin_ in reversed(bins):
            undoing = _withdraw if receipts.is_import(bin_) else _undo
            done = undoing(root, bin_, report, left, told)
            if not done.nothing:
                return done
        if not any(map(receipts.count, bins)):
            raise Problem("nothing-to-undo", place=place)
        return done


def _undo(root: str, bin_: str, report: Report, left: Left, told: Back | None) -> Purged:
    items = receipts.trashed(bin_, report)
    try:
        journal = begun(root, "undo", report, receipt=os.path.basename(bin_))
        try:
            done, full = restore(root, bin_, items, report, left, told)
            sync_folder(root)
        except BaseException:
            if journal:
                journal.leave()
            raise
    except OSError as e:
        raise Problem("place-unwritable", place=root, why=e.strerror) from e
    if journal and (full or receipts.clear(root) is not None):
        journal.leave()  # the next one that comes does the rest, if it can
    elif journal:
        journal.close()
    if full:
        raise Problem("undo-full", place=root, entries=done.entries)
    return done


def _withdraw(root: str, bin_: str, report: Report, left: Left, told: Back | None) -> Purged:
    """Undo the import of a receipt. Raises Problem as ``purge``, and as ``_undo``."""
    remains = placed.remains(root, bin_, report)
    for item in remains.changed:
        left(item, Problem("entry-changed"))
    stays = list[Item]()

    def kept(item: Item, problem: Problem) -> None:
        stays.append(item)
        left(item, problem)

    if not remains.going:
        back = _undo(root, bin_, report, left, told) if receipts.count(bin_) else Purged()
        placed.forget(bin_)
        return replace(back, undid="import")
    plan = _unused(Plan(root, receipts.parted(root, remains.going)), report, kept)
    purging = _Purging(plan, False, report, kept, undoes=os.path.basename(bin_))
    failed = list[OSError]()

    def last() -> None:
        if not stays:
            purging.say(placed.WITHDRAWN, *remains.steps)
            purging.rest = rest

    def rest() -> bool:
        """Have back what had to give way."""
        try:
            placed.give_back(root, bin_, remains.steps, report, left, told)
        except OSError as e:
            failed.append(e)
        return not failed

    done = replace(_purge(purging, report, last), undid="import")
    for e in failed:
        code = "undo-full" if no_room(e) else "place-unwritable"
        raise Problem(code, place=root, why=e.strerror, entries=done.entries) from e
    return done


def empty(place: str, report: Report, left: Left) -> Purged:
    """Remove all that purges have put into the trash for good; what somebody else has stays, and
    goes to ``left``. Raises Problem("trash-unremovable", why=…) if some of that cannot be removed;
    it cannot be put back then.
    """
    root, items, others = Root(place).root, list[Item](), list[str]()
    with changing(root, report):
        bins = receipts.folders_of(root)
        try:
            journal = begun(root, "empty", report, receipts=list(map(os.path.basename, bins)))
        except OSError as e:
            raise Problem("trash-unremovable", place=place, why=e.strerror) from e
        try:
            for number, bin_ in enumerate(bins):
                report.check()
                report.progress(number, len(bins), "entries")
                brought = receipts.purged(bin_)
                for item in receipts.trashed(bin_):
                    mine = all(brought(within(bin_, file.path)) for file in item.files)
                    items += [item] if mine else []
                if (why := receipts.discard(bin_)) is not None:
                    raise Problem("trash-unremovable", place=place, why=why)
            if (why := receipts.clear(root, others)) is not None:
                raise Problem("trash-unremovable", place=place, why=why)
            for path in others:
                left(Item("unknown", os.path.basename(path), path), Problem("not-purged"))
        finally:
            if journal:
                journal.close()
    report.progress(len(bins), len(bins), "entries")
    size = OnDisk(items)
    return Purged(tally(item.kind for item in items), size.files, size.bytes)
