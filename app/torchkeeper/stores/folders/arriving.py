"""Entries on their way into a folder: written under temporary names, synced, and then renamed.

To have a file on the disk takes as long as to write it, but many at a time take little longer than
one: so some are written first, and get their names together, in order.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.stores.durable import sync_folder
from torchkeeper.stores.folders import merging, steps
from torchkeeper.stores.folders.journal import Journal
from torchkeeper.stores.folders.merging import Listed
from torchkeeper.stores.folders.placing import missing_folders

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Files that wait for each other, and bytes of them, at most; and how many are synced at a time.
_FILES, _BYTES, _AT_ONCE = 64, 64 << 20, 8


@dataclass
class Written:
    """An entry that was written. files: temporary path and path of each, in order. folder: the
    temporary path of a kernel's folder, and its path. listed: the list that it comes into then, and
    as what.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    folder: tuple[str, str] | None = None
    replaced: frozenset[str] = frozenset()
    listed: tuple[str, Listed] | None = None
    size: int = 0

    @property
    def names(self) -> Iterable[str]:
        """The paths that are taken by then."""
        yield from (path for _, path in self.files)
        if self.folder:
            yield self.folder[1]
        if self.listed:
            yield self.listed[0]


class Arriving:
    """Entries that were written to a folder and wait for their names. Raises OSError."""

    def __init__(self, root: str, journal: Journal) -> None:
        self._root, self._journal = root, journal
        self._waiting: list[Written] = []
        self._names: set[str] = set()
        self._touched: set[str] = set()
        self._pool: ThreadPoolExecutor | None = None

    def make_folders(self, path: str) -> None:
        """Make a folder and what is missing above it; links are refused."""
        for folder in reversed(missing_folders(path, self._root)):
            where = self._relative(folder)
            self._journal.note(["folder", where])
            try:
                os.mkdir(folder)
            except FileExistsError:
                # PyTorch, or another import, was faster; that it is no link is checked again.
                if os.path.islink(folder) or not os.path.isdir(folder):
                    raise
                self._journal.note(["there", where])
            else:
                self._touched.add(os.path.dirname(folder))

    def temporary(self, folder: str) -> str:
        """The path of a file that is about to be written into a folder."""
        path = steps.temporary_file(folder, self._journal.id)
        self._journal.note(["new", self._relative(path)])
        return path

    def temporary_folder(self, folder: str) -> str:
        """A new folder in a folder, for a kernel."""
        path = steps.temporary_folder(folder, self._journal.id)
        self._journal.note(["new", self._relative(path)])
        os.mkdir(path)
        return path

    def taken(self, names: Iterable[str]) -> bool:
        """Whether an entry that waits is to have one of these names."""
        return not self._names.isdisjoint(names)

    def add(self, written: Written) -> bool:
        """Have an entry wait; whether as many do as should."""
        self._waiting.append(written)
        self._names.update(written.names)
        count = sum(len(one.files) for one in self._waiting)
        return count >= _FILES or sum(one.size for one in self._waiting) >= _BYTES

    def arrive(self) -> list[Written]:
        """Give all that wait their names, in order; returns the kernels that Triton has begun
        meanwhile, of which nothing was placed. Raises Problem as ``merging.put``.
        """
        waiting, self._waiting, self._names = self._waiting, [], set()
        self._sync([temporary for one in waiting for temporary, _ in one.files], _sync_file)
        self._sync([one.folder[0] for one in waiting if one.folder], sync_folder)
        noted = [(one, self._steps(one)) for one in waiting]
        self._journal.note(*(step for _, all_ in noted for step in all_))
        self._journal.sync()
        late = []
        for one, all_ in noted:
            if one.folder and not self._rename_kernel(*one.folder):
                late.append(one)
            elif not one.folder:
                for (temporary, path), step in zip(one.files, all_, strict=True):
                    self._rename(temporary, path, step[4])
                if one.listed:
                    self._list(*one.listed)
        return late

    def close(self) -> None:
        """Have all names on the disk."""
        self._sync(self._touched, sync_folder)
        if self._pool:
            self._pool.shutdown()

    def _steps(self, one: Written) -> list[list[object]]:
        if one.folder:
            temporary, path = one.folder
            stamps = {os.path.basename(file): steps.stamp_of(at) for at, file in one.files}
            names = self._relative(temporary), self._relative(path)
            return [["kernel", *names, steps.stamp_of(temporary)[:1], stamps]]
        found: list[list[object]] = []
        for temporary, path in one.files:
            names = self._relative(temporary), self._relative(path)
            aside = None
            if path in one.replaced:
                aside = self._relative(
                    steps.temporary_file(os.path.dirname(path), self._journal.id)
                )
            found.append(["file", *names, steps.stamp_of(temporary), aside])
        return found

    def _rename(self, temporary: str, path: str, aside: object) -> None:
        """Give a file its name. What is broken is put aside, for the case that all is taken back;
        what PyTorch has written there meanwhile stays, which is the same, or newer.
        """
        if isinstance(aside, str):
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, os.path.join(self._root, aside))
        try:
            # Unlike a rename, a link replaces nothing.
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError:
            os.unlink(temporary)
        except OSError:
            os.rename(temporary, path)  # a file system without hard links
        else:
            os.unlink(temporary)
        self._touched.add(os.path.dirname(path))

    def _rename_kernel(self, temporary: str, path: str) -> bool:
        try:
            os.rename(temporary, path)
        except OSError:
            if not os.path.isdir(path):
                raise
            shutil.rmtree(temporary, ignore_errors=True)
            return False
        self._touched |= {path, os.path.dirname(path)}
        return True

    def _list(self, path: str, item: Listed) -> None:
        """Put an item into a list, now that its library is there."""
        lock = merging.lock_of(path)
        self.make_folders(os.path.dirname(lock))
        if not os.path.lexists(lock):
            self._journal.note(["lock", self._relative(lock)])
            self._journal.sync()

        def note(before: list[Listed]) -> None:
            self._journal.note(["list", self._relative(path), item, before])
            self._journal.sync()

        merging.put(path, item, note)
        self._touched.add(os.path.dirname(path))

    def _sync(self, paths: Iterable[str], sync: Callable[[str], None]) -> None:
        if not self._pool:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_AT_ONCE)
        for _ in self._pool.map(sync, paths):
            pass

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root)


def _sync_file(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
