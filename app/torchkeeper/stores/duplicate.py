"""A copy of a whole cache folder, for a program that may do with it as it likes.

Nothing is parsed, and nothing of the original is changed, nor shared with the copy: a program
that writes to an object would otherwise write to the original's, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import BinaryIO

from torchkeeper.artifacts import triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import no_room
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import CHUNK, File, Item, is_group
from torchkeeper.stores.pouring import Progress
from torchkeeper.stores.preconditions import needed

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
    """Copy the items of a folder to ``target``, which must not exist yet.

    Group files of Triton's kernels name the new folder. A file that has just gone, or that cannot
    be read, is passed over: a program will miss it in the original, too. Raises Problem("disk-full"
    | "place-unwritable") and passes Cancelled on; what was copied by then stays.
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
                _copy(stream, is_group(item.kind, file.name), path, progress)
    except OSError as e:
        if no_room(e):
            raise Problem("disk-full", place=os.path.dirname(target)) from e
        raise Problem("place-unwritable", place=target, why=e.strerror or str(e)) from e
    progress.end()


def _copy(stream: BinaryIO, group: bool, path: str, progress: Progress) -> None:
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
                    data = triton.group_for(data, os.path.dirname(path))
            out.write(data)
