"""What lies below a folder, reached without following any link on the way.

Each part of a path is opened in the one above it (openat(2) with O_NOFOLLOW), so that nothing which
others have put in place of a folder, before or meanwhile, leads out of it. Paths are relative to
the folder, which is "" itself; what a path names at its end is never followed either.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Folders that are kept open: most paths are in the same one as the last.
_OPEN = 32


class Inside(contextlib.AbstractContextManager["Inside"]):
    """A folder by its handle, whose methods do as those of ``os``. Every one raises OSError, also
    where a link is on the way, and ValueError for a path that is none below it.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._handle = os.open(root, _FOLDER)
        self._open: dict[str, int] = {}
        self._lock = threading.Lock()

    def __exit__(self, *_: object) -> None:
        self._forget()
        os.close(self._handle)

    def stat(self, path: str) -> os.stat_result:
        with self._above(path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def mode(self, path: str) -> int:
        """What is there, as of stat: 0 for nothing, and where a link is on the way."""
        with contextlib.suppress(OSError):
            return self.stat(path).st_mode
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
        with self._above(path) as (folder, name):
            return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)

    def make_folder(self, path: str, mode: int = 0o777) -> None:
        with self._above(path) as (folder, name):
            os.mkdir(name, mode, dir_fd=folder)

    def unlink(self, path: str) -> None:
        with self._above(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: str) -> None:
        self._forget(path)
        with self._above(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def rename(self, path: str, other: str) -> None:
        self._forget(path)
        with self._above(path) as (one, name), self._above(other) as (two, named):
            os.rename(name, named, src_dir_fd=one, dst_dir_fd=two)

    def link(self, path: str, other: str) -> None:
        """As link, of what is there itself."""
        with self._above(path) as (one, name), self._above(other) as (two, named):
            os.link(name, named, src_dir_fd=one, dst_dir_fd=two, follow_symlinks=False)

    def set_mode(self, path: str, mode: int) -> None:
        """As chmod, of a folder."""
        handle = self.opened(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchmod(handle, mode)
        finally:
            os.close(handle)

    def set_times(self, path: str, times: tuple[int, int]) -> None:
        """As utime: last access and last change, in nanoseconds since the epoch."""
        if not path:
            os.utime(self._handle, ns=times)
            return
        with self._above(path) as (folder, name):
            os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)

    def walk(self, path: str = "") -> Iterator[tuple[str, list[str], list[str], int]]:
        """As os.fwalk, what is deepest first: the path of each folder, the names of the folders and
        of everything else in it, and its handle. Nothing where no folder is.
        """
        with contextlib.ExitStack() as stack:
            if not path:
                folder, name = self._handle, "."
            else:
                try:
                    folder, name = stack.enter_context(self._above(path))
                    os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError:
                    return
            steps = os.fwalk(name, topdown=False, dir_fd=folder, follow_symlinks=False)
            for above, folders, files, handle in steps:
                below = above[len(name) :].lstrip("/")
                links = [one for one in folders if not _is_folder(one, handle)]
                here = "/".join(filter(None, (path, below)))
                yield here, [one for one in folders if one not in links], [*files, *links], handle

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all in it. Raises OSError for what stays, after trying the rest."""
        failed: OSError | None = None
        for _, folders, files, handle in self.walk(path):
            for remove, names in ((os.unlink, files), (os.rmdir, folders)):
                for name in names:
                    try:
                        remove(name, dir_fd=handle)
                    except OSError as e:
                        failed = failed or e
        if failed:
            raise failed
        self.remove_folder(path)

    @contextlib.contextmanager
    def _above(self, path: str) -> Iterator[tuple[int, str]]:
        """A handle of the folder that a path is in, and its name there."""
        above, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            raise ValueError(path)
        with self._lock:
            # What is closed when others are opened may be in use elsewhere.
            handle = os.dup(self._folder(above))
        try:
            yield handle, name
        finally:
            os.close(handle)

    def _folder(self, path: str) -> int:
        if not path:
            return self._handle
        if (known := self._open.get(path)) is not None:
            return known
        handle = os.dup(self._handle)
        for part in path.split("/"):
            try:
                if part in ("", ".", ".."):
                    raise ValueError(path)
                below = os.open(part, _FOLDER, dir_fd=handle)
            finally:
                os.close(handle)
            handle = below
        if len(self._open) >= _OPEN:
            os.close(self._open.pop(next(iter(self._open))))
        self._open[path] = handle
        return handle

    def _forget(self, path: str = "") -> None:
        """Close what is open at a path and below it: another one may be there soon."""
        with self._lock:
            for known in list(self._open):
                if not path or known == path or known.startswith(f"{path}/"):
                    os.close(self._open.pop(known))


def _is_folder(name: str, handle: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except OSError:
        return False
