"""What lies in the trash of a place: receipts, each of one purge, with the files that it moved.

The trash is ``<root>/.torchkeeper-trash/<receipt>/files/…`` with the files under their own paths,
so that moving is a rename and keeps times; ``receipt.json`` beside them is written first and tells
the folders' times. What is undone is what lies there, not what a receipt claims.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.walking import file_at
from torchkeeper.stores.items import File, Item, allocated, group
from torchkeeper.stores.lists import taken_apart

_RECEIPT = "receipt.json"
#: Of a receipt: a folder has a list of three numbers.
_MOST_FOLDERS, _MOST_NUMBERS = 500_000, 2_000_000
FILES = "files"
#: What the name of a receipt begins with that is being removed.
_REMOVING = "removing-"
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}-[0-9a-f]{4}")


@dataclass(frozen=True)
class Receipt:
    """One purge in the trash. made: seconds since the epoch; bytes: on the disk, as of
    all that goes and comes back."""

    receipt: str
    made: float | None
    entries: int
    files: int
    bytes: int


def new_name() -> str:
    """The name of a purge that begins now."""
    now = time.time()
    # To the microsecond: names sort by time, and the latest is what undo takes.
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return f"{stamp}.{int(now % 1 * 1e6):06d}-{secrets.token_hex(2)}"


def at(root: str, name: object) -> str | None:
    """The folder of a receipt by its name; None for what is no such name."""
    named = isinstance(name, str) and _NAME.fullmatch(name)
    return os.path.join(root, TRASH, str(name)) if named else None


def make(root: str, name: str, paths: Iterable[str]) -> str:
    """Make the receipt of a purge of files, before anything is moved; returns its folder.

    Raises Problem("trash-not-folder" | "trash-foreign" | "trash-full" | "place-unwritable").
    """
    folders: dict[str, list[int]] = {}
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in folders:
            with contextlib.suppress(OSError):
                folders[folder] = _mode_and_times(os.path.join(root, folder))
            if not folder:
                break
            folder = os.path.dirname(folder)
    trash = os.path.join(root, TRASH)
    bin_ = os.path.join(trash, name)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(trash, 0o700)
        if os.path.islink(trash) or not os.path.isdir(trash):
            raise Problem("trash-not-folder", place=root)
        if os.lstat(trash).st_uid not in _trusted(root):
            raise Problem("trash-foreign", place=root, file=trash)
        os.makedirs(os.path.join(bin_, FILES))
        receipt = {"version": 1, "made": time.time(), "folders": folders}
        with open(os.path.join(bin_, _RECEIPT), "w", encoding="ascii") as out:
            json.dump(receipt, out)
            out.flush()
            os.fsync(out.fileno())
    except OSError as e:
        discard(bin_)
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Problem("trash-full", place=root) from e
        raise Problem("place-unwritable", place=root, why=e.strerror) from e
    return bin_


def _mode_and_times(path: str) -> list[int]:
    at = os.lstat(path)
    return [stat.S_IMODE(at.st_mode), at.st_atime_ns, at.st_mtime_ns]


def discard(bin_: str) -> str | None:
    """Remove a receipt with all that is left of it, and the trash with the last; why it is not
    gone, or None. What is left then is no receipt any more: nothing is ever put back in part.
    """
    trash, name = os.path.split(bin_)
    aside = os.path.join(trash, f"{_REMOVING}{name}")
    try:
        os.rename(bin_, aside)
    except FileNotFoundError:
        pass
    except OSError as e:
        return e.strerror
    return clear(os.path.dirname(trash))


def clear(root: str) -> str | None:
    """Remove what is left of receipts that were to be removed, and the trash if it is empty then;
    why not all of it is gone, or None.
    """
    trash = os.path.join(root, TRASH)
    if os.path.islink(trash):
        return None
    why: str | None = None
    for bin_ in _in(trash):
        if os.path.basename(bin_).startswith(_REMOVING):
            try:
                shutil.rmtree(bin_)
            except OSError as e:
                why = e.strerror or str(e)
    with contextlib.suppress(OSError):
        os.rmdir(trash)
    return why


def folders_of(root: str) -> list[str]:
    """The folders of all receipts, oldest first."""
    trash = os.path.join(root, TRASH)
    if os.path.islink(trash):
        return []
    return [bin_ for bin_ in _in(trash) if not os.path.basename(bin_).startswith(_REMOVING)]


def _trusted(root: str) -> set[int]:
    """The users whose trash is believed: whoever else may add to a folder, as to one under /tmp,
    could otherwise have his files put anywhere in it.
    """
    return {os.geteuid(), 0, os.lstat(root).st_uid}


def _in(trash: str) -> list[str]:
    try:
        trusted = _trusted(os.path.dirname(trash))
        if os.lstat(trash).st_uid not in trusted:
            return []
        with os.scandir(trash) as entries:
            names = sorted(
                e.name
                for e in entries
                if e.is_dir(follow_symlinks=False)
                and e.stat(follow_symlinks=False).st_uid in trusted
            )
    except OSError:
        return []
    return [os.path.join(trash, name) for name in names]


def trashed(bin_: str) -> list[File]:
    """The files of one receipt, by the paths they had."""
    found = []
    pending = [""]
    base = os.path.join(bin_, FILES)
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


def items_of(bin_: str, files: list[File]) -> list[Item]:
    """The files of one receipt as the entries that they were."""
    folders: dict[str, list[File]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    try:
        source = Folder(os.path.join(bin_, FILES))
    except Problem:
        return group(files)
    return taken_apart(group(files), lambda folder: folders.get(folder, []), source)


def in_trash(place: str) -> list[Receipt]:
    """What lies in the trash of a place, oldest first."""
    found = []
    for bin_ in folders_of(Folder(place).root):
        files = trashed(bin_)
        made = said_by(bin_).get("made")
        when = float(made) if isinstance(made, (int, float)) and 0 < made < 1e11 else None
        found.append(
            Receipt(
                os.path.basename(bin_),
                when,
                len(items_of(bin_, files)),
                len(files),
                allocated(files),
            )
        )
    return found


def said_by(bin_: str) -> dict[str, Any]:
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
class Folders:
    """The folders of a receipt: mode and times in nanoseconds, by path."""

    said: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, receipt: dict[str, Any]) -> Folders:
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

    def prune(self, root: str) -> None:
        """Remove those that are empty."""
        for folder in sorted(filter(None, self.said), key=lambda path: -path.count("/")):
            path = os.path.join(root, folder)
            if os.path.realpath(path) == path:
                with contextlib.suppress(OSError):
                    os.rmdir(path)

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
