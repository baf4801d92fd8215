"""Purging: plan, move to the trash beside the entries, undo, empty.

The trash of a place is ``<root>/.torchkeeper-trash/<receipt>/files/…`` with the files under their
own paths, so that moving is a rename and keeps times; ``receipt.json`` beside them is written
first and tells the folders' times. What is undone is what lies there, not what a receipt claims.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import withdrawing
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.guard import changing
from torchkeeper.stores.items import File, Item, group
from torchkeeper.stores.lists import taken_apart
from torchkeeper.stores.locks import in_use, ours
from torchkeeper.stores.walking import file_at

_RECEIPT = "receipt.json"
#: Of a receipt: a folder has a list of three numbers.
_MOST_FOLDERS, _MOST_NUMBERS = 500_000, 2_000_000
_FILES = "files"

Left = Callable[[Item, Problem], None]


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


@dataclass
class Purged:
    """What a purge or an undo did. bytes: allocated on the disk. receipt: for undo, or None."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    receipt: str | None = None


@dataclass(frozen=True)
class Receipt:
    """One purge in the trash. made: seconds since the epoch; bytes: apparent."""

    receipt: str
    made: float | None
    entries: int
    files: int
    bytes: int


def allocated(files: Iterator[File] | list[File]) -> int:
    """Bytes on the disk of some files, hard links once."""
    seen: dict[object, int] = {}
    for file in files:
        seen[file.inode or file.path] = file.allocated
    return sum(seen.values())


def purge(plan: Plan, now: bool, report: Report, left: Left) -> Purged:
    """Move what was planned to the trash, or with ``now`` remove it at once.

    A file that changed since the plan was made stays and goes to ``left``, and so does what
    cannot be moved. Cancelling stops between entries; what was moved can be undone.
    Raises Problem("place-busy" | "place-unwritable").
    """
    done = Purged()
    with changing(plan.root):
        bin_ = None if now else _new_receipt(plan)
        if bin_:
            done.receipt = os.path.basename(bin_)
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
                gone = _purge_item(plan.root, item, bin_, left)
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
            if bin_ and not kept:
                _discard_receipt(bin_)
                done.receipt = None
        done.files = len(taken)
        done.bytes = allocated(taken)
    report.progress(len(plan.items), len(plan.items), "entries")
    return done


def _new_receipt(plan: Plan) -> str:
    """Make the receipt, before anything is moved: a purge that is cut off can be undone too.

    Raises Problem("trash-not-folder" | "trash-full" | "place-unwritable").
    """
    made = time.time()
    # To the microsecond: names sort by time, and the latest is what undo takes.
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(made))
    name = f"{stamp}.{int(made % 1 * 1e6):06d}-{secrets.token_hex(2)}"
    folders: dict[str, list[int]] = {}
    for item in plan.items:
        for file in item.files:
            folder = os.path.dirname(file.path)
            while folder not in folders:
                with contextlib.suppress(OSError):
                    at = os.lstat(os.path.join(plan.root, folder))
                    folders[folder] = [stat.S_IMODE(at.st_mode), at.st_atime_ns, at.st_mtime_ns]
                if not folder:
                    break
                folder = os.path.dirname(folder)
    root_times = folders.get("")
    trash = os.path.join(plan.root, TRASH)
    bin_ = os.path.join(trash, name)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(trash, 0o700)
        if os.path.islink(trash) or not os.path.isdir(trash):
            raise Problem("trash-not-folder", place=plan.root)
        os.makedirs(os.path.join(bin_, _FILES))
        if root_times is None:
            at = os.lstat(plan.root)
            root_times = [stat.S_IMODE(at.st_mode), at.st_atime_ns, at.st_mtime_ns]
        folders[""] = root_times
        receipt = {"version": 1, "made": made, "folders": folders}
        with open(os.path.join(bin_, _RECEIPT), "w", encoding="ascii") as out:
            json.dump(receipt, out)
    except OSError as e:
        _discard_receipt(bin_)
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Problem("trash-full", place=plan.root) from e
        raise Problem("place-unwritable", place=plan.root, why=e.strerror) from e
    return bin_


def _discard_receipt(bin_: str) -> None:
    shutil.rmtree(bin_, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(bin_))


def _purge_item(root: str, item: Item, bin_: str | None, left: Left) -> list[File] | None:
    """Take the files of an entry, all of them if they are what was planned, else none: None."""
    used = in_use(root, item.kind, item.key, item.path)
    with contextlib.ExitStack() as stack:
        if not used and item.kind == "lock" and item.path.endswith(".lock"):
            used = not stack.enter_context(ours(os.path.join(root, item.path)))
        if not used:
            return _take_files(root, item, bin_, left)
    left(item, Problem("in-use"))
    return None


def _take_files(root: str, item: Item, bin_: str | None, left: Left) -> list[File] | None:
    gone: list[File] = []
    try:
        for file in item.files:
            with contextlib.suppress(FileNotFoundError):
                if not _same(file, file_at(file.path, os.lstat(os.path.join(root, file.path)))):
                    raise Problem("entry-changed")
        # Before its library is gone: PyTorch takes none of a list of which one is missing.
        kept = None if bin_ is None else os.path.join(bin_, _FILES)
        if withdrawing.goes_alone(item) and not withdrawing.withdraw(root, item, kept):
            raise Problem("entry-changed")
    except Problem as problem:
        left(item, problem)
        return None
    except OSError as e:
        left(item, Problem("cannot-remove", path=item.path, why=e.strerror))
        return None
    for file in item.files:
        path = os.path.join(root, file.path)
        try:
            if bin_ is None:
                os.unlink(path)
            else:
                target = os.path.join(bin_, _FILES, file.path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(path, target)
        except FileNotFoundError:
            continue  # somebody else was faster; it is gone, as was wished
        except OSError as e:
            left(item, Problem("cannot-remove", path=file.path, why=e.strerror))
        else:
            gone.append(file)
    return gone


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


def _receipts(root: str) -> list[str]:
    """The folders of all receipts, oldest first."""
    trash = os.path.join(root, TRASH)
    if os.path.islink(trash):
        return []
    try:
        with os.scandir(trash) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [os.path.join(trash, name) for name in names]


def _trashed(bin_: str) -> list[File]:
    """The files of one receipt, by the paths they had."""
    found = []
    pending = [""]
    base = os.path.join(bin_, _FILES)
    if os.path.islink(base):
        return []  # it would lead out of the trash
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(os.path.join(base, folder)) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                    else:
                        found.append(file_at(path, entry.stat(follow_symlinks=False)))
        except OSError:
            continue
    return sorted(found, key=lambda file: file.path)


def _items(bin_: str, files: list[File]) -> list[Item]:
    """The files of one receipt as the entries that they were."""
    folders: dict[str, list[File]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    try:
        source = Folder(os.path.join(bin_, _FILES))
    except Problem:
        return group(files)
    return taken_apart(group(files), lambda folder: folders.get(folder, []), source)


def receipts(place: str) -> list[Receipt]:
    """What lies in the trash of a place, oldest first."""
    found = []
    for bin_ in _receipts(Folder(place).root):
        files = _trashed(bin_)
        made = _receipt(bin_).get("made")
        when = float(made) if isinstance(made, (int, float)) and 0 < made < 1e11 else None
        found.append(
            Receipt(
                os.path.basename(bin_),
                when,
                len(_items(bin_, files)),
                len(files),
                sum(file.size for file in files),
            )
        )
    return found


def _receipt(bin_: str) -> dict[str, Any]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(os.path.join(bin_, _RECEIPT), flags)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return {}
            data = stream.read(64 << 20)
        # A stranger's may be a bomb, all brackets: each takes a hundred bytes of memory.
        if data.count(b"[") + data.count(b"{") > _MOST_FOLDERS or data.count(b",") > _MOST_NUMBERS:
            return {}
        said = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


@dataclass
class _Folders:
    """The folders of a receipt: mode and times in nanoseconds, by path."""

    said: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, receipt: dict[str, Any]) -> _Folders:
        said = receipt.get("folders")
        kept = {}
        for path, values in said.items() if isinstance(said, dict) else ():
            if path and (path.startswith("/") or {"", ".", ".."} & set(path.split("/"))):
                continue
            numbers = isinstance(values, list) and len(values) == 3
            if numbers and all(isinstance(v, int) and 0 <= v < 1 << 63 for v in values):
                kept[path] = values
        return cls(kept)

    def make(self, root: str, folder: str) -> None:
        """Make a folder below the root again, with its mode; links are refused."""
        if not folder:
            return
        self.make(root, os.path.dirname(folder))
        path = os.path.join(root, folder)
        if os.path.islink(path):
            raise Problem("link-in-place", path=path)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
            if folder in self.said:
                os.chmod(path, self.said[folder][0] & 0o7777)

    def restore_times(self, root: str, folders: set[str]) -> None:
        """Give folders the times they had, the deepest first."""
        for folder in sorted(folders, key=lambda path: -path.count("/") - bool(path)):
            # What is above a folder may have become a link since.
            inside = os.path.realpath(os.path.join(root, folder)) == os.path.join(root, folder)
            if folder in self.said and (inside or not folder):
                _, accessed, modified = self.said[folder]
                with contextlib.suppress(OSError):
                    times = (accessed, modified)
                    os.utime(os.path.join(root, folder), ns=times, follow_symlinks=False)


def undo(place: str, report: Report, left: Left) -> Purged:
    """Put the latest purge back, times included; where nothing of it can be, the one before.

    A file whose path is taken again stays in the trash and goes to ``left``.
    Raises Problem("nothing-to-undo" | "place-busy").
    """
    root = Folder(place).root
    with changing(root):
        done = Purged()
        bins = _receipts(root)
        for bin_ in reversed(bins):
            files = _trashed(bin_)
            done = _undo_receipt(root, bin_, files, report, left)
            if done.files or done.entries:
                return done
            # An undo that was cut off may have left no file, only the times to put back.
        if not any(map(_trashed, bins)):
            raise Problem("nothing-to-undo", place=place)
        return done


def _undo_receipt(root: str, bin_: str, files: list[File], report: Report, left: Left) -> Purged:
    folders = _Folders.of(_receipt(bin_))
    done = Purged(receipt=os.path.basename(bin_))
    back: list[File] = []
    touched: set[str] = {""}
    paths: set[str] = set()
    items = _items(bin_, files)
    # Lists last: PyTorch takes none of one of which a library is missing.
    parts = [(item, file, withdrawing.is_list(file.path)) for item in items for file in item.files]
    for number, (item, file, lists) in enumerate(sorted(parts, key=lambda part: part[2])):
        report.progress(number, len(parts), "files")
        if file.path in paths:
            continue  # it came with another entry that has it, too
        try:
            merged = lists and os.path.lexists(os.path.join(root, file.path))
            if merged:
                kept = os.path.join(bin_, _FILES)
                if not withdrawing.give_back(root, file.path, kept):
                    raise Problem("path-taken", path=file.path)
            else:
                _put_back(root, bin_, file, folders)
        except Problem as problem:
            left(item, problem)
        except OSError as e:
            left(item, Problem("cannot-restore", path=file.path, why=e.strerror))
        else:
            if not merged:
                back.append(file)
            paths.add(file.path)
            folder = os.path.dirname(file.path)
            while folder and folder not in touched:
                touched.add(folder)
                folder = os.path.dirname(folder)
    done.entries = sum(all(file.path in paths for file in item.files) for item in items)
    if not _trashed(bin_):
        _discard_receipt(bin_)
        if not files:
            touched |= folders.said.keys()
    if paths or not files:
        folders.restore_times(root, touched)
    done.files = len(back)
    done.bytes = allocated(back)
    return done


def _put_back(root: str, bin_: str, file: File, folders: _Folders) -> None:
    target = os.path.join(root, file.path)
    folders.make(root, os.path.dirname(file.path))
    # A link fails where a rename would replace what PyTorch has written there meanwhile.
    source = os.path.join(bin_, _FILES, file.path)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError as e:
        # An undo that was killed between the two steps left both names of one file.
        if not os.path.samestat(os.lstat(source), os.lstat(target)):
            raise Problem("path-taken", path=file.path) from e
        os.unlink(source)
    except OSError:
        if os.path.lexists(target):
            raise Problem("path-taken", path=file.path) from None
        os.rename(source, target)  # a file system without hard links
    else:
        os.unlink(source)


def empty(place: str, report: Report) -> Purged:
    """Remove everything in the trash for good.

    Raises Problem("trash-unremovable", why=…) if something stays.
    """
    root = Folder(place).root
    done = Purged()
    with changing(root):
        bins = _receipts(root)
        for number, bin_ in enumerate(bins):
            report.check()
            report.progress(number, len(bins), "entries")
            files = _trashed(bin_)
            entries = len(_items(bin_, files))
            try:
                shutil.rmtree(bin_)
            except OSError as e:
                raise Problem("trash-unremovable", place=place, why=e.strerror) from e
            done.entries += entries
            done.files += len(files)
            done.bytes += allocated(files)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(root, TRASH))
    report.progress(len(bins), len(bins), "entries")
    return done
