"""Putting back what a purge has moved to the trash, times included."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import withdrawing
from torchkeeper.stores.folders.receipts import FILES, Folders, discard, items_of, said_by, trashed
from torchkeeper.stores.folders.withdrawing import is_list
from torchkeeper.stores.items import File, Item, allocated, is_group

Left = Callable[[Item, Problem], None]
Back = Callable[[list[Item]], None]


@dataclass
class Purged:
    """What a purge or an undo did. bytes: allocated on the disk. receipt: for undo, or None."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    receipt: str | None = None


def restore(
    root: str, bin_: str, files: list[File], report: Report, left: Left, told: Back | None = None
) -> tuple[Purged, bool]:
    """Put the entries of a receipt back, as far as nothing has come into their place; what cannot
    be goes to ``left``, what is back to ``told``. Of a receipt that is empty then nothing stays.
    Returns what was done, and whether the disk was too full for all: no further entry is tried
    then.
    """
    folders = Folders.of(said_by(bin_))
    done = Purged(receipt=os.path.basename(bin_))
    back: list[File] = []
    paths: set[str] = set()
    items = items_of(bin_, files)
    number, full = 0, False
    # Lists last: PyTorch takes none of one of which a library is missing.
    for item in sorted(items, key=lambda item: any(is_list(file.path) for file in item.files)):
        try:
            back += _restore_item(root, bin_, item, folders, paths, left)
        except OSError as e:
            if e.errno in (errno.ENOSPC, errno.EDQUOT):
                full = True
                break
            left(item, Problem("cannot-restore", path=item.path, why=e.strerror))
        number += len(item.files)
        report.progress(number, len(files), "files")
    whole = [item for item in items if all(file.path in paths for file in item.files)]
    done.entries = len(whole)
    touched = {""}
    for path in paths:
        while (path := os.path.dirname(path)) and path not in touched:
            touched.add(path)
    if not trashed(bin_):
        # Also of what one that was cut off has put back.
        touched |= folders.said.keys()
        folders.restore_times(root, touched)
        discard(bin_)
    if paths or not files:
        folders.restore_times(root, touched)
    done.files = len(back)
    done.bytes = allocated(back)
    if told is not None:
        told(whole)
    return done, full


def _restore_item(
    root: str, bin_: str, item: Item, folders: Folders, paths: set[str], left: Left
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
            merged = is_list(file.path) and os.path.lexists(os.path.join(root, file.path))
            if merged:
                if not withdrawing.give_back(root, file.path, os.path.join(bin_, FILES)):
                    raise Problem("path-taken", path=file.path)
            else:
                _put_back(root, bin_, file, folders)
        except Problem as problem:
            left(item, problem)
            continue
        except OSError:
            for one in back:
                with contextlib.suppress(OSError):
                    os.rename(os.path.join(root, one.path), os.path.join(bin_, FILES, one.path))
                    paths.remove(one.path)
            raise
        if not merged:
            back.append(file)
        paths.add(file.path)
    return back


def _put_back(root: str, bin_: str, file: File, folders: Folders) -> None:
    target = os.path.join(root, file.path)
    folders.make(root, os.path.dirname(file.path))
    # A link fails where a rename would replace what PyTorch has written there meanwhile.
    source = os.path.join(bin_, FILES, file.path)
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
        with contextlib.suppress(OSError):  # it is back, and has two names, as above
            os.unlink(source)
