"""A cache folder as a store. Reading writes nothing into it, not even files' access times.

Links inside the folder are never followed; the folder itself may be given by a link.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH, kernel_folder
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import File, Grouping, Item, group, in_order

#: Files between two looks at whether to go on, and seconds between two words about it.
_OFTEN = 32
_TELL = 0.1

_new_file = tuple.__new__
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """A place on the local disk.

    Raises Problem("place-missing" | "place-not-folder" | "place-unreadable") when made.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.root = os.path.realpath(place)
        try:
            with os.scandir(self.root):
                pass
        except FileNotFoundError as e:
            raise Problem("place-missing", place=place) from e
        except NotADirectoryError as e:
            raise Problem("place-not-folder", place=place) from e
        except OSError as e:
            raise Problem("place-unreadable", place=place, why=e.strerror) from e
        #: Folders that could not be read on the last survey, as (path, why).
        self.unreadable: list[tuple[str, str]] = []
        #: How many items the last survey found, once that is known.
        self.total: int | None = None

    def items(self, report: Report) -> list[Item]:
        """Everything in it, unread, without the trash."""
        return in_order(self.stream(report))

    def stream(self, report: Report) -> Iterator[Item]:
        """Everything in it, unread: kernels as soon as their folder was looked at, then the rest
        in order. ``total`` is known when the rest begins.
        """
        self.unreadable, self.total = [], None
        rest, kernels = Grouping(), Grouping()
        count = 0
        for folder, files in self._walk(report):
            if kernel_folder(folder):
                kernels.add(folder, files)
                for item in kernels.take():
                    count += 1
                    yield item
            else:
                rest.add(folder, files)
        items = in_order(rest.take())
        self.total = count + len(items)
        yield from items

    def items_beside(self, path: str, report: Report) -> list[Item]:
        """The items in the folder of one path, or in the folder that the path is, unread.

        Raises Problem("name-refused") for a path that leads elsewhere.
        """
        parts = path.split("/")
        if path.startswith("/") or {"", ".", ".."} & set(parts) or parts[0] == TRASH:
            raise Problem("name-refused", kind="unknown", name=path[:200])
        for depth in range(1, len(parts) + 1):
            if os.path.islink(os.path.join(self.root, *parts[:depth])) and depth < len(parts):
                raise Problem("link-in-place", path=path)
        here = os.path.join(self.root, path)
        below = path if os.path.isdir(here) and not os.path.islink(here) else "/".join(parts[:-1])
        try:
            with os.scandir(os.path.join(self.root, below)) as entries:
                files = [
                    file_at(f"{below}/{e.name}" if below else e.name, e.stat(follow_symlinks=False))
                    for e in entries
                    if not e.is_dir(follow_symlinks=False)
                ]
        except OSError:
            return []
        report.check()
        return group(files)

    def _walk(self, report: Report) -> Iterator[tuple[str, list[File]]]:
        """The files of each folder, most of a long listing's time: it is kept short."""
        pending = [""]
        looked, told = 0, time.monotonic()
        while pending:
            folder = pending.pop()
            report.check()
            prefix = f"{folder}/" if folder else ""
            files: list[File] = []
            try:
                with os.scandir(f"{self.root}/{folder}") as entries:
                    for entry in entries:
                        looked += 1
                        # A slow disk may take long for a few files, a big folder for many.
                        if not looked % _OFTEN:
                            report.check()
                            if (now := time.monotonic()) - told > _TELL:
                                report.progress(looked, None, "files")
                                told = now
                        path = prefix + entry.name
                        try:
                            if not entry.is_dir(follow_symlinks=False):
                                files.append(file_at(path, entry.stat(follow_symlinks=False)))
                            elif path != TRASH:
                                pending.append(path)
                        except FileNotFoundError:
                            continue  # it vanished meanwhile
            except FileNotFoundError:
                if not folder:
                    raise Problem("place-missing", place=self.place) from None
            except OSError as e:
                if not folder:
                    raise Problem("place-unreadable", place=self.place, why=e.strerror) from e
                self.unreadable.append((folder, e.strerror or str(e)))
            yield folder, files

    def open(self, file: File) -> BinaryIO:
        """One of its files. Raises OSError, also where the file has become something else."""
        path = f"{self.root}/{file.path}"
        try:
            # Looking is not using: access times are what tells an unused entry.
            handle = os.open(path, _FLAGS | getattr(os, "O_NOATIME", 0))
        except PermissionError:
            handle = os.open(path, _FLAGS)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", path)
        # Unbuffered: whoever reads a file reads it in large pieces.
        return cast(BinaryIO, io.FileIO(handle))


def file_at(path: str, status: os.stat_result) -> File:
    """The File for a path and its lstat."""
    mode = status.st_mode
    # As File(…) does, in half the time: a big folder has a million of them.
    return _new_file(
        File,
        (
            path,
            status.st_size,
            status.st_mtime_ns,
            status.st_blocks * 512,
            (status.st_dev, status.st_ino),
            mode & 0o7777,
            mode & 0o170000 == stat.S_IFREG,
            None,
        ),
    )


def survey(place: str, report: Report | None = None) -> list[Item]:
    """The items of a folder, unread. Raises as Folder does."""
    return Folder(place).items(report or Report())
