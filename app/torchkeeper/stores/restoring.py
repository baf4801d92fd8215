"""Putting back what a purge has moved to the trash, times included."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import withdrawing
from torchkeeper.stores.items import File, Item, is_group
from torchkeeper.stores.receipts import FILES, Folders, discard, items_of, said_by, trashed

Left = Callable[[Item, Problem], None]


@dataclass
class Purged:
    """What a purge or an undo did. bytes: allocated on the disk. receipt: for undo, or None."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    receipt: str | None = None


def allocated(files: Iterable[File]) -> int:
    """Bytes on the disk of some files, hard links once."""
    seen: dict[object, int] = {}
    for file in files:
        seen[file.inode or file.path] = file.allocated
    return sum(seen.values())


def restore(root: str, bin_: str, files: list[File], report: Report, left: Left) -> Purged:
    """Put the files of a receipt back, as far as nothing has come into their place; what cannot be
    goes to ``left``. Of one that is empty then nothing stays.
    """
    folders = Folders.of(said_by(bin_))
    done = Purged(receipt=os.path.basename(bin_))
    back: list[File] = []
    touched: set[str] = {""}
    paths: set[str] = set()
    items = items_of(bin_, files)
    # Last what says that the others are there: PyTorch takes none of a list of which a library is
    # missing, and Triton fails where a kernel lacks a file.
    parts = [(item, file, withdrawing.is_list(file.path)) for item in items for file in item.files]
    parts.sort(key=lambda part: (part[2], is_group(part[0].kind, part[1].name)))
    for number, (item, file, lists) in enumerate(parts):
        report.progress(number, len(parts), "files")
        if file.path in paths:
            continue  # it came with another entry that has it, too
        try:
            merged = lists and os.path.lexists(os.path.join(root, file.path))
            if merged:
                kept = os.path.join(bin_, FILES)
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
    if not trashed(bin_):
        # Also of what one that was cut off has put back.
        touched |= folders.said.keys()
        folders.restore_times(root, touched)
        discard(bin_)
    if paths or not files:
        folders.restore_times(root, touched)
    done.files = len(back)
    done.bytes = allocated(back)
    return done


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
        os.unlink(source)
