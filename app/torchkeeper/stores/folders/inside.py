"""What lies below a folder, reached without following any link on the way.

Each part of a path is opened in the one above it (openat(2) with O_NOFOLLOW), so that nothing which
others have put in place of a folder, before or meanwhile, leads out of it. Paths are relative to
the folder, which is "" itself; what a path names at its end is never followed either.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator

from torchkeeper.stores.folders.walk_process import FOLDER, looked_into

#: Folders that are kept open: most paths are in the same one as the last.
_OPEN = 32


class Handle:
    """An open folder, until nobody has it any more: what is forgotten may be in use elsewhere."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)

    def inodes(self) -> dict[str, int]:
        """The numbers of all that is in it now, by name."""
        with os.scandir(self.number) as entries:
            return {entry.name: entry.inode() for entry in entries}


class Inside(contextlib.AbstractContextManager["Inside"]):
    """A folder by its handle, whose methods do as those of ``os``. Every one raises OSError, also
    where a link is on the way, and ValueError for a path that is none below it.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._handle = Handle(os.open(root, FOLDER))
        self._open: dict[str, Handle] = {}
        self._lock = threading.Lock()

    def __exit__(self, *_: object) -> None:
        self._forget()
        del self._handle

    def stat(self, path: str) -> os.stat_result:
        folder, name = self._above(path)
        return os.stat(name, dir_fd=folder.number, follow_symlinks=False)

    def mode(self, path: str) -> int:
        """What is there, as of stat: 0 for nothing, and where a link is on the way."""
        try:
            return self.stat(path).st_mode
        except OSError:
            return 0

    def there(self, path: str) -> bool:
        """Whether anything is there, a link that leads nowhere too, and no link is on the way."""
        return self.mode(path) != 0

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there, and no link."""
        return stat.S_ISDIR(self.mode(path))

    def is_file(self, path: str) -> bool:
        return stat.S_ISREG(self.mode(path))

    def opened(self, path: str, flags: int, mode: int = 0o600) -> int:
        """A handle of what is there."""
        folder, name = self._above(path)
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder.number)

    def make_folder(self, path: str, mode: int = 0o777) -> None:
        folder, name = self._above(path)
        os.mkdir(name, mode, dir_fd=folder.number)

    def unlink(self, path: str) -> None:
        folder, name = self._above(path)
        os.unlink(name, dir_fd=folder.number)

    def remove_folder(self, path: str) -> None:
        self._forget(path)
        folder, name = self._above(path)
        os.rmdir(name, dir_fd=folder.number)

    def rename(self, path: str, other: str) -> None:
        """As rename: of a folder it replaces nothing but one that is empty."""
        self._forget(path)
        self._forget(other)
        (one, name), (two, named) = self._above(path), self._above(other)
        os.rename(name, named, src_dir_fd=one.number, dst_dir_fd=two.number)

    def link(self, path: str, other: str) -> None:
        """As link, of what is there itself."""
        (one, name), (two, to) = self._above(path), self._above(other)
        os.link(name, to, src_dir_fd=one.number, dst_dir_fd=two.number, follow_symlinks=False)

    def set_mode(self, path: str, mode: int) -> None:
        """As chmod, of a folder."""
        handle = Handle(self.opened(path, os.O_RDONLY | os.O_DIRECTORY))
        os.fchmod(handle.number, mode)

    def set_times(self, path: str, times: tuple[int, int]) -> None:
        """Have a folder's last access and last change, in nanoseconds since the epoch, be these."""
        if not path:
            os.utime(self._handle.number, ns=times)
            return
        at = self.stat(path)
        if (at.st_atime_ns, at.st_mtime_ns) != times:
            folder, name = self._above(path)
            os.utime(name, ns=times, dir_fd=folder.number, follow_symlinks=False)

    def looked_into(self, path: str) -> Handle:
        """A folder, open to be looked into wherever it is moved, of which nobody sees that."""
        folder, name = self._above(path)
        return Handle(looked_into(name, folder.number))

    def walk(self, path: str = "") -> Iterator[tuple[str, list[str], list[str], int]]:
        """Each folder below a path, what is deepest first: its path, the names of the folders and
        of everything else in it, and its handle. Nothing where no folder is.
        """
        with contextlib.suppress(OSError):
            folder, name = self._above(path) if path else (self._handle, ".")
            yield from _walk(folder.number, name, path)

    def remove_tree(self, path: str, ours: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Remove a folder with all in it that is ours; returns what is not, and stays. Raises
        OSError for what cannot be removed, after trying the rest.
        """
        failed: OSError | None = None
        kept: list[str] = []
        for above, folders, files, handle in self.walk(path):
            if failed and above == path:
                break  # what tells what is ours goes last
            others = [name for name in files if not ours(f"{above}/{name}")]
            kept += [f"{above}/{name}" for name in others]
            for remove, names in ((os.unlink, {*files} - {*others}), (os.rmdir, folders)):
                for name in names:
                    try:
                        remove(name, dir_fd=handle)
                    except OSError as e:
                        if not (kept and e.errno == errno.ENOTEMPTY):
                            failed = failed or e
        if failed:
            raise failed
        if not kept:
            self.remove_folder(path)
        return kept

    def _above(self, path: str) -> tuple[Handle, str]:
        """The folder that a path is in, and its name there."""
        above, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            raise ValueError(path)
        if known := self._open.get(above):
            return known, name
        with self._lock:
            return self._folder(above), name

    def _folder(self, path: str) -> Handle:
        if not path:
            return self._handle
        handle = self._handle
        for part in path.split("/"):
            if part in ("", ".", ".."):
                raise ValueError(path)
            handle = Handle(os.open(part, FOLDER, dir_fd=handle.number))
        if len(self._open) >= _OPEN:
            del self._open[next(iter(self._open))]
        self._open[path] = handle
        return handle

    def _forget(self, path: str = "") -> None:
        """Close what is open at a path and below it: another one may be there soon."""
        with self._lock:
            for known in list(self._open):
                if not path or known == path or known.startswith(f"{path}/"):
                    del self._open[known]


def _walk(above: int, name: str, path: str) -> Iterator[tuple[str, list[str], list[str], int]]:
    folders: list[str] = []
    others: list[str] = []
    try:
        handle = Handle(looked_into(name, above))
        with os.scandir(handle.number) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
    except OSError:
        return
    for one in folders:
        yield from _walk(handle.number, one, f"{path}/{one}" if path else one)
    yield path, folders, others, handle.number
