"""A file that appears under its name when it is whole and on the disk, and of which an end by force
leaves nothing. Also temporary folders, which may hold gigabytes and are to leave nothing.

Where the file system can do so (O_TMPFILE of open(2)), it has no name until then: whoever writes it
may be killed at any moment. Elsewhere it lies beside its place under a name of ours, locked, so
that who comes later can tell what is being written from what was left (``folders.locks``).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from typing import IO, cast


def no_room(e: OSError) -> bool:
    """Whether the disk is full, or what this user may have of it."""
    return e.errno in (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def handle_of(path: str, flags: int) -> Iterator[int]:
    """A handle that is closed at the end. Raises OSError."""
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def sync_folder(path: str) -> None:
    """Have the names in a folder on the disk. Raises OSError, but not where the file system can do
    no such thing, or the folder is gone or may not be read.
    """
    gone = contextlib.suppress(FileNotFoundError, PermissionError)
    with gone, handle_of(path, os.O_RDONLY | os.O_DIRECTORY) as handle:
        try:
            os.fsync(handle)
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):
                raise


def begin_writing(handle: int, start: int = 0, count: int = 0) -> None:
    """Have a part of a file, or all of it, begin to go to the disk: less is left for fsync."""
    with contextlib.suppress(OSError):
        os.posix_fadvise(handle, start, count, os.POSIX_FADV_DONTNEED)


#: What a file is called until it has its name, with eight characters in between.
PREFIX, SUFFIX = ".torchkeeper-", ".tmp"
#: Bytes that are copied at once.
_CHUNK = 1 << 20
#: How often it is tried to remove a folder, and seconds in between.
_TRIES = 20
_BETWEEN = 0.05


class AtomicFile(contextlib.AbstractContextManager["AtomicFile"]):
    """A new file for the path ``output``, in whose folder it is made; ``stream`` writes and reads
    it. Left without ``commit``, nothing of it stays. mode: its permissions; None for those of any
    new file of the user's. buffering: as of ``open``. Raises OSError where none can be made there.
    """

    def __init__(self, output: str, mode: int | None = None, buffering: int = -1) -> None:
        self.output = output
        self._folder = os.path.dirname(output) or "."
        self._mode = mode
        self._name: str | None = None
        self._buffering = buffering
        self._first = 0o666 if mode is None else 0o600  # less the umask, which the system takes off
        handle = _nameless(self._folder, self._first)
        if handle is None:
            handle, self._name = _named(self._folder, self._first)
        self.stream = self._opened(handle)

    def _opened(self, handle: int) -> IO[bytes]:
        return cast("IO[bytes]", os.fdopen(handle, "w+b", buffering=self._buffering))

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def path(self) -> str:
        """Where this process can open it until it appears."""
        return self._name or _descriptor(self.stream.fileno())

    @property
    def is_nameless(self) -> bool:
        """Whether nobody else can see it until it appears, and it is gone with this process."""
        return self._name is None

    def commit(self, replace: bool = True) -> None:
        """Give it its name, in place of a file that has it with ``replace``. Raises OSError,
        FileExistsError among them; it has not appeared then, unless all that failed was to have the
        folder on the disk.
        """
        self._settle()
        if self._name is None:
            try:
                _link(self.stream.fileno(), self.output)
            except FileExistsError:
                if not replace:
                    raise
                self._name = self._beside()
            except OSError:
                self._copy()  # a file system, or a policy, that has no such links
            else:
                sync_folder(self._folder)
                return
        self._rename(self._name or "", replace)
        self._name = None
        sync_folder(self._folder)

    def _settle(self) -> None:
        self.stream.flush()
        if self._mode is not None and self._mode != 0o600:
            os.fchmod(self.stream.fileno(), self._mode)
        os.fsync(self.stream.fileno())

    def _beside(self) -> str:
        """A name beside the output, of what had none."""
        while True:
            name = _free(self._folder)
            with contextlib.suppress(FileExistsError):
                _link(self.stream.fileno(), name)
                return name

    def _copy(self) -> None:
        """Become a file that has a name beside the output."""
        handle, self._name = _named(self._folder, self._first)
        with self.stream as old:
            self.stream = self._opened(handle)
            old.seek(0)
            while data := old.read(_CHUNK):
                self.stream.write(data)
        self._settle()

    def _rename(self, name: str, replace: bool) -> None:
        if not replace:
            try:
                # Unlike a rename, a link never replaces what has come meanwhile.
                os.link(name, self.output)
            except FileExistsError:
                raise
            except OSError:
                if os.path.lexists(self.output):
                    raise FileExistsError from None
            else:
                os.unlink(name)
                return
        os.replace(name, self.output)

    def close(self) -> None:
        """Let go of it; what has not appeared is gone."""
        if self._name is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._name)
            self._name = None
        with contextlib.suppress(OSError):  # of what there was no room for
            self.stream.close()


@contextlib.contextmanager
def atomic_write(output: str, mode: int | None = None, replace: bool = True) -> Iterator[IO[bytes]]:
    """A file that appears at the end, unless that is an exception. Raises as ``AtomicFile`` and its
    ``commit``.
    """
    with AtomicFile(output, mode) as made:
        yield made.stream
        made.commit(replace)


def hold(handle: int) -> bool:
    """Lock what is being written until it is closed; whether nobody else had, and it is there."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks, such as some NFS: nobody removes what is there
    return os.fstat(handle).st_nlink > 0


def _nameless(folder: str, mode: int) -> int | None:
    """A new file without a name; None where there is no such thing, or no way to name it later."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag:
        return None
    try:
        handle = os.open(folder, flag | os.O_RDWR | os.O_CLOEXEC, mode)
    except OSError:
        return None  # where nothing can be written at all, the other way says why
    if not os.path.exists(_descriptor(handle)):
        os.close(handle)
        return None
    # From the moment that it has a name beside the output, it must not look like one that was left.
    hold(handle)
    return handle


def _named(folder: str, mode: int) -> tuple[int, str]:
    """A new file with a name beside the output, locked."""
    while True:
        name = _free(folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(name, flags, mode)
        except FileExistsError:
            continue
        if hold(handle):
            return handle, name
        os.close(handle)  # somebody took it for one that was left, before it was locked


def _free(folder: str) -> str:
    return os.path.join(folder, f"{PREFIX}{os.urandom(4).hex()}{SUFFIX}")


def _descriptor(handle: int) -> str:
    return f"/proc/self/fd/{handle}"


def _link(handle: int, path: str) -> None:
    """Give an open file without a name a name. Raises OSError."""
    with handle_of(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY) as folder:
        # Only with a folder does Python call linkat(2), which can follow the descriptor's link.
        name = os.path.basename(path)
        os.link(_descriptor(handle), name, dst_dir_fd=folder, follow_symlinks=True)


def remove(folder: str) -> bool:
    """Remove a folder and all that is in it; whether it is gone. A process that is being ended may
    still write there, so it is tried for a second. Raises nothing.
    """
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return True
        time.sleep(_BETWEEN)
    return False
