"""Putting back what a purge has moved to the trash, times included."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem, measured, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import withdrawing
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.receipts import (
    FILES,
    Folders,
    discard,
    items_of,
    said_by,
    trashed,
    within,
)
from torchkeeper.stores.folders.withdrawing import is_list
from torchkeeper.stores.items import File, Item, allocated, is_group

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount, Tally
    from torchkeeper.stores.shapes import Done

Left = Callable[[Item, Problem], None]
Back = Callable[[list[Item]], None]


@dataclass
class Purged:
    """What a purge or an undo did, counted as ``tally`` does. bytes: allocated on the disk.
    receipt: for undo, or None.
    """

    entries: int = 0
    files: int = 0
    bytes: int = 0
    receipt: str | None = None
    locks: int = 0
    headers: int = 0
    unknown: int = 0

    def count(self, kinds: Iterable[str]) -> None:
        """As many more, of these kinds."""
        more = tally(kinds)
        self.entries += more["entries"]
        self.locks += more["locks"]
        self.headers += more["headers"]
        self.unknown += more["unknown"]

    @property
    def counts(self) -> Tally:
        """Its counts alone."""
        return {"entries": self.entries, "locks": self.locks, "headers": self.headers,
                "unknown": self.unknown}  # fmt: skip

    @property
    def amount(self) -> Amount:
        """How much it was."""
        return {**self.counts, "files": self.files, **measured(self.bytes, on_disk=True)}

    @property
    def nothing(self) -> bool:
        """Whether nothing was done."""
        return not (self.files or self.entries or self.locks or self.headers or self.unknown)

    def to_json(self) -> Done:
        """Its fields, and what its bytes are."""
        return {
            "entries": self.entries,
            "locks": self.locks,
            "headers": self.headers,
            "unknown": self.unknown,
            "files": self.files,
            "bytes": self.bytes,
            "disk_bytes": self.bytes,
            "receipt": self.receipt,
        }


def restore(
    root: str, bin_: str, files: list[File], report: Report, left: Left, told: Back | None = None
) -> tuple[Purged, bool]:
    """Put the entries of a receipt back, as far as nothing has come into their place; what cannot
    be goes to ``left``, what is back to ``told``. Of a receipt that is empty then nothing stays.
    Returns what was done, and whether the disk was too full for all: no further entry is tried
    then. No link is followed, in the folder or its trash. Raises OSError where the folder is gone.
    """
    with Inside(root) as inside:
        return _restore(inside, bin_, files, report, left, told)


def _restore(
    inside: Inside, bin_: str, files: list[File], report: Report, left: Left, told: Back | None
) -> tuple[Purged, bool]:
    folders = Folders.of(said_by(bin_))
    done = Purged(receipt=os.path.basename(bin_))
    back: list[File] = []
    paths: set[str] = set()
    items = items_of(bin_, files)
    number, full = 0, False
    # Lists last: PyTorch takes none of one of which a library is missing.
    for item in sorted(items, key=lambda item: any(is_list(file.path) for file in item.files)):
        try:
            back += _restore_item(inside, bin_, item, folders, paths, left)
        except OSError as e:
            if e.errno in (errno.ENOSPC, errno.EDQUOT):
                full = True
                break
            left(item, Problem("cannot-restore", path=item.path, why=e.strerror))
        number += len(item.files)
        report.progress(number, len(files), "files")
    whole = [item for item in items if all(file.path in paths for file in item.files)]
    done.count(item.kind for item in whole)
    touched = {""}
    for path in paths:
        while (path := os.path.dirname(path)) and path not in touched:
            touched.add(path)
    if not trashed(bin_):
        # Also of what one that was cut off has put back.
        touched |= folders.said.keys()
        folders.restore_times(inside, touched)
        discard(bin_)
    if paths or not files:
        folders.restore_times(inside, touched)
    done.files = len(back)
    done.bytes = allocated(back)
    if told is not None:
        told(whole)
    return done, full


def _restore_item(
    inside: Inside, bin_: str, item: Item, folders: Folders, paths: set[str], left: Left
) -> list[File]:
    """Put an entry back, whose files come to ``paths``; returns those that were moved.

    Raises OSError, after taking it to the trash again as a whole.
    """
    back: list[File] = []

    def order(file: File) -> tuple[bool, bool]:
        # Last what says that the others are there.
        return is_list(file.path), is_group(item.kind, file.name)

    for file in sorted(item.files, key=order):
        if file.path in paths:
            continue  # it came with another entry that has it, too
        try:
            merged = is_list(file.path) and inside.there(file.path)
            if merged:
                if not inside.there(within(bin_, file.path)):
                    raise Problem("link-in-place", path=file.path)
                if not withdrawing.give_back(inside.root, file.path, os.path.join(bin_, FILES)):
                    raise Problem("path-taken", path=file.path)
            else:
                _put_back(inside, bin_, file, folders)
        except Problem as problem:
            left(item, problem)
            continue
        except OSError:
            for one in back:
                with contextlib.suppress(OSError):
                    inside.rename(one.path, within(bin_, one.path))
                    paths.remove(one.path)
            raise
        if not merged:
            back.append(file)
        paths.add(file.path)
    return back


def _put_back(inside: Inside, bin_: str, file: File, folders: Folders) -> None:
    folders.make(inside, os.path.dirname(file.path))
    # A link fails where a rename would replace what PyTorch has written there meanwhile.
    source, target = within(bin_, file.path), file.path
    try:
        inside.link(source, target)
    except FileExistsError as e:
        # An undo that was killed between the two steps left both names of one file.
        if not os.path.samestat(inside.stat(source), inside.stat(target)):
            raise Problem("path-taken", path=file.path) from e
        inside.unlink(source)
    except OSError:
        if inside.there(target):
            raise Problem("path-taken", path=file.path) from None
        inside.rename(source, target)  # a file system without hard links
    else:
        with contextlib.suppress(OSError):  # it is back, and has two names, as above
            inside.unlink(source)
