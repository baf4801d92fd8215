"""Purging: plan, move to the trash beside the entries, undo, empty.

Each is in a journal while it lasts: cut off, a purge is put back, an undo is brought to its end,
and so is the emptying of the trash (stores.recovering).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from dataclasses import dataclass

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import receipts, withdrawing
from torchkeeper.stores.durable import sync_folder
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.guard import changing
from torchkeeper.stores.items import File, Item, is_group
from torchkeeper.stores.journal import Journal, begun
from torchkeeper.stores.locks import in_use, ours
from torchkeeper.stores.receipts import FILES
from torchkeeper.stores.restoring import Left, Purged, allocated, restore
from torchkeeper.stores.walking import file_at


@dataclass(frozen=True)
class Plan:
    """Exactly what a purge will take.

    insisted: what processes use goes too (stores/in_use.py).
    """

    root: str
    items: list[Item]
    insisted: bool = False

    @property
    def files(self) -> int:
        """How many files go; one that lists several entries counts once."""
        return len({file.path for item in self.items for file in item.files})

    @property
    def allocated(self) -> int:
        """Bytes on the disk; a file with several links in the plan counts once."""
        return allocated(file for item in self.items for file in item.files)


def purge(plan: Plan, now: bool, report: Report, left: Left) -> Purged:
    """Move what was planned to the trash, or with ``now`` remove it.

    A file that changed since the plan was made stays and goes to ``left``, and so does what
    cannot be moved. Cancelling stops between entries; what was moved can be undone. With ``now``
    all is moved as well, and removed then, so that no part of it is ever lost.
    Raises Problem("place-busy" | "place-unwritable" | "trash-full" | "trash-not-folder").
    """
    done = Purged()
    with changing(plan.root, report):
        name = receipts.new_name()
        journal, bin_ = _begin(plan, name, now)
        if bin_ and not now:
            done.receipt = name
        taken: list[File] = []
        paths: set[str] = set()
        emptied: set[str] = set()
        kept = False
        try:
            items = withdrawing.parted(plan.root, plan.items)
            # A list that goes as a whole goes before anything is taken off it.
            items.sort(key=withdrawing.goes_alone)
            for number, item in enumerate(items):
                report.check()
                report.progress(number, len(plan.items), "entries")
                gone = _purge_item(plan.root, item, bin_, now, left)
                if gone is None:
                    continue
                kept = kept or bool(gone) or withdrawing.goes_alone(item)
                taken += gone
                paths.update(file.path for file in gone)
                # What two of a list have in common has gone with the first of them.
                done.entries += all(file.path in paths for file in item.files)
                emptied |= {os.path.dirname(file.path) for file in gone}
        finally:
            for folder in emptied:
                _prune(plan.root, folder)
            sync_folder(plan.root)
            if journal:
                with contextlib.suppress(OSError):  # the disk is full: it goes at once
                    journal.done()
            if bin_ and (now or not kept):
                receipts.discard(bin_)
                done.receipt = None
            if journal:
                journal.close()
        done.files = len(taken)
        done.bytes = allocated(taken)
    report.progress(len(plan.items), len(plan.items), "entries")
    return done


def _begin(plan: Plan, name: str, now: bool) -> tuple[Journal | None, str | None]:
    """The journal and the receipt. What is to be removed ``now`` goes without, where there can be
    none: a full disk is what it is for.

    Raises Problem as ``purge``.
    """
    try:
        journal = begun(plan.root, "purge", receipt=name, now=now)
    except OSError as e:
        if now:
            return None, None
        raise Problem("place-unwritable", place=plan.root, why=e.strerror) from e
    try:
        if journal is None:
            raise Problem("trash-full", place=plan.root)
        paths = (file.path for item in plan.items for file in item.files)
        return journal, receipts.make(plan.root, name, paths)
    except BaseException as e:
        if journal:
            journal.close()
        if now and isinstance(e, Problem):
            return None, None
        raise


def _purge_item(
    root: str, item: Item, bin_: str | None, now: bool, left: Left
) -> list[File] | None:
    """Take the files of an entry, all of them if they are what was planned, else none: None."""
    used = in_use(root, item.kind, item.key, item.path)
    with contextlib.ExitStack() as stack:
        if not used and item.kind == "lock" and item.path.endswith(".lock"):
            used = not stack.enter_context(ours(os.path.join(root, item.path)))
        if not used:
            return _take_files(root, item, bin_, now, left)
    left(item, Problem("in-use"))
    return None


def _take_files(
    root: str, item: Item, bin_: str | None, now: bool, left: Left
) -> list[File] | None:
    gone: list[File] = []
    try:
        for file in item.files:
            with contextlib.suppress(FileNotFoundError):
                if not _same(file, file_at(file.path, os.lstat(os.path.join(root, file.path)))):
                    raise Problem("entry-changed")
        # Before its library is gone: PyTorch takes none of a list of which one is missing.
        kept = None if bin_ is None else os.path.join(bin_, FILES)
        if withdrawing.goes_alone(item) and not withdrawing.withdraw(root, item, kept):
            raise Problem("entry-changed")
    except Problem as problem:
        left(item, problem)
        return None
    except OSError as e:
        left(item, Problem("cannot-remove", path=item.path, why=e.strerror))
        return None
    # Of a kernel the files first that say that the others are there: Triton looks at no other then.
    for file in sorted(item.files, key=lambda file: not is_group(item.kind, file.name)):
        path = os.path.join(root, file.path)
        try:
            if bin_ is None:
                os.unlink(path)
            else:
                _move(path, os.path.join(bin_, FILES, file.path), now)
        except FileNotFoundError:
            continue  # somebody else was faster; it is gone, as was wished
        except OSError as e:
            left(item, Problem("cannot-remove", path=file.path, why=e.strerror))
        else:
            gone.append(file)
    return gone


def _move(path: str, target: str, now: bool) -> None:
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.rename(path, target)
    except OSError as e:
        if not now or e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EXDEV):
            raise
        os.unlink(path)  # it would be removed in the end


def _same(file: File, now: File) -> bool:
    return (file.size, file.mtime_ns, file.inode) == (now.size, now.mtime_ns, now.inode)


def _prune(root: str, folder: str) -> None:
    """Remove a folder and what is above it, as far as they are empty."""
    while folder:
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def undo(place: str, report: Report, left: Left) -> Purged:
    """Put the latest purge back, times included; where nothing of it can be, the one before. One
    that was cut off is put back by that alone.

    A file whose path is taken again stays in the trash and goes to ``left``.
    Raises Problem("nothing-to-undo" | "place-busy" | "place-unwritable").
    """
    root = Folder(place).root
    with changing(root, report) as recovered:
        if recovered and recovered.outcome == "put-back":
            return Purged(recovered.entries, recovered.files)
        done = Purged()
        bins = receipts.folders_of(root)
        for bin_ in reversed(bins):
            done = _undo(root, bin_, report, left)
            if done.files or done.entries:
                return done
        if not any(map(receipts.trashed, bins)):
            raise Problem("nothing-to-undo", place=place)
        return done


def _undo(root: str, bin_: str, report: Report, left: Left) -> Purged:
    files = receipts.trashed(bin_)
    try:
        journal = begun(root, "undo", receipt=os.path.basename(bin_))
    except OSError as e:
        raise Problem("place-unwritable", place=root, why=e.strerror) from e
    try:
        done = restore(root, bin_, files, report, left)
        sync_folder(root)
    finally:
        if journal:
            journal.close()
    return done


def empty(place: str, report: Report) -> Purged:
    """Remove everything in the trash for good.

    Raises Problem("trash-unremovable", why=…) if something stays.
    """
    root = Folder(place).root
    done = Purged()
    with changing(root, report):
        bins = receipts.folders_of(root)
        try:
            journal = begun(root, "empty", receipts=list(map(os.path.basename, bins)))
        except OSError as e:
            raise Problem("trash-unremovable", place=place, why=e.strerror) from e
        try:
            for number, bin_ in enumerate(bins):
                report.check()
                report.progress(number, len(bins), "entries")
                files = receipts.trashed(bin_)
                entries = len(receipts.items_of(bin_, files))
                shutil.rmtree(bin_)
                done.entries += entries
                done.files += len(files)
                done.bytes += allocated(files)
        except OSError as e:
            raise Problem("trash-unremovable", place=place, why=e.strerror) from e
        finally:
            if journal:
                journal.close()
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(root, TRASH))
    report.progress(len(bins), len(bins), "entries")
    return done
