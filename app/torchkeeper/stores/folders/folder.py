"""A cache folder as a store. Reading writes nothing into it, not even files' access times.

Links inside the folder are never followed; the folder itself may be given by a link.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import JOURNAL, TRASH, among
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.scratch import is_whole
from torchkeeper.stores.folders.owners import Seen
from torchkeeper.stores.folders.proving import Proving, open_quietly
from torchkeeper.stores.folders.walking import Walk, file_at
from torchkeeper.stores.items import File, Item, group, in_order, kernel_items, located
from torchkeeper.stores.lists import FilesIn, taken_apart


class Folder:
    """A place on the local disk.

    Raises Problem("place-missing" | "place-not-folder" | "place-unreadable") when made.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        try:
            self.root = os.path.realpath(place)  # fails at some links of /proc
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
        #: What of it is another user's, or others may write to, as far as the last survey is.
        self.seen = Seen(self.root)

    def items(self, report: Report) -> list[Item]:
        """Everything in it, unread, without the trash."""
        return in_order(self.stream(report))

    def stream(self, report: Report) -> Iterator[Item]:
        """Everything in it, unread: kernels as soon as their folder was looked at, then the rest
        in order. ``total`` is known when the rest begins.
        """
        self.seen = Seen(self.root)
        walk = Walk(self.root, report, self.seen.note)
        proven = Proving(self.root)
        self.unreadable, self.total = walk.unreadable, None
        rest: list[File] = []
        count = 0
        try:
            for folder, files in walk.folders():
                kernel = kernel_items(folder, files, proven)
                if kernel is None:
                    rest += files
                else:
                    count += len(kernel)
                    yield from kernel
        except FileNotFoundError as e:
            raise Problem("place-missing", place=self.place) from e
        except OSError as e:
            raise Problem("place-unreadable", place=self.place, why=e.strerror) from e
        found = located(rest, among(self.root), proven)
        items = in_order(taken_apart(found, _folders(rest), self))
        self.total = count + len(items)
        yield from items

    def items_beside(self, path: str, report: Report) -> list[Item]:
        """The items in the folder of one path, or in the folder that the path is, unread.

        Raises Problem("name-refused") for a path that leads elsewhere.
        """
        parts = path.split("/")
        if path.startswith("/") or {"", ".", ".."} & set(parts) or parts[0] == TRASH:
            raise Problem("name-refused", kind="unknown", name=path[:200])
        if self._links(parts[:-1]):
            raise Problem("link-in-place", path=path)
        here = os.path.join(self.root, path)
        below = path if os.path.isdir(here) and not os.path.islink(here) else "/".join(parts[:-1])
        files = self._files_below(path) if path == below and is_whole(path) else None
        if files is None:
            files = self._files_in(below)
        items = group(files, among(self.root), Proving(self.root))
        report.check()
        return taken_apart(items, self._files_in, self)

    def _files_below(self, folder: str) -> list[File]:
        """All files below a folder; none where a link leads there."""
        found = self._files_in(folder)
        for above, names, _ in os.walk(os.path.join(self.root, folder)):
            for name in names:
                found += self._files_in(os.path.relpath(os.path.join(above, name), self.root))
        return found

    def _links(self, parts: list[str]) -> bool:
        """Whether a link is on the way to a folder."""
        return any(
            os.path.islink(os.path.join(self.root, *parts[:depth]))
            for depth in range(1, len(parts) + 1)
        )

    def _files_in(self, folder: str) -> list[File]:
        """The files of one folder; none where it cannot be read, or a link leads there."""
        if folder and self._links(folder.split("/")):
            return []
        try:
            with os.scandir(os.path.join(self.root, folder)) as entries:
                return [
                    file_at(
                        f"{folder}/{e.name}" if folder else e.name, e.stat(follow_symlinks=False)
                    )
                    for e in entries
                    if not e.is_dir(follow_symlinks=False)
                    and (folder or not e.name.startswith(JOURNAL))
                ]
        except OSError:
            return []

    @property
    def whole(self) -> bool:
        """Whether the last survey could read every folder."""
        return not self.unreadable

    def close(self) -> None:
        """Nothing is kept open."""

    def open(self, file: File) -> BinaryIO:
        """One of its files. Raises OSError, also where the file has become something else."""
        path = f"{self.root}/{file.path}"
        handle = open_quietly(path)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", path)
        # Unbuffered: whoever reads a file reads it in large pieces.
        return cast(BinaryIO, io.FileIO(handle))


def _folders(files: list[File]) -> FilesIn:
    """The files in each folder, of those of a walk."""
    found: dict[str, list[File]] = {}

    def files_in(folder: str) -> list[File]:
        if not found:
            for file in files:
                found.setdefault(file.path.rpartition("/")[0], []).append(file)
        return found.get(folder, [])

    return files_in


def survey(place: str, report: Report | None = None) -> list[Item]:
    """The items of a folder, unread. Raises as Folder does."""
    return Folder(place).items(report or Report())
