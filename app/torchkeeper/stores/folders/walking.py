"""Walking a place, folder by folder; a big one with the help of a second process. Also whether a
file is what its path says (artifacts.proofs), told by looking.

A walk is system calls and little else, and Python makes one at a time in a process.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import itertools
import json
import os
import re
import select
import stat
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, cast

from torchkeeper.artifacts import proofs
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.layout import TRASH, Located, among, locate
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import processes
from torchkeeper.stores.folders.index import Index, Proved
from torchkeeper.stores.folders.locks import is_local
from torchkeeper.stores.folders.walk_process import LENGTH, NUMBERS, SECOND, Odd, numbers, scan
from torchkeeper.stores.items import File, Found, file_of

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: The mode of a folder as mkdtemp makes it.
_PRIVATE = stat.S_IFDIR | 0o700
#: Names that are looked at for one proof.
_MOST = 10_000


def open_quietly(path: str) -> int:
    """A handle of a file; a link is not followed. Raises OSError. Looking is not using: access
    times are what tells an unused entry.
    """
    try:
        return os.open(path, _OPEN | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        return os.open(path, _OPEN)


class Proving:
    """Looks at the files of one folder, as it is now. Follows no link. index: what one file alone
    has told is kept there, and told again by how that file looked when it was walked.
    """

    def __init__(self, root: str, index: Index | None = None) -> None:
        self._root, self._index, self._above = root, index, among(root)
        self._before = time.time_ns() - _SETTLED
        self._local = functools.cache(is_local)
        self._insides: dict[str, bool] = {}
        self._marked = "", 0
        self._files: Sequence[File] = ()
        self._by_path: dict[str, File] | None = None
        self._names: dict[str, list[str]] = {}
        self._last = "", b""

    def among(self, files: Sequence[File]) -> Proving:
        """This, to be asked about some of these files, which were walked: one tells of others."""
        self._files, self._by_path = files, None
        return self

    def __call__(self, file: File) -> bool:
        """Whether a file is what its path says, if it says something. PyTorch's locks are empty."""
        path = file.path
        if path.endswith(".lock") and file.size:
            return False
        if self.known(file):
            return True
        wanted = proofs.wanted(path)
        telling = proofs.alone(path, wanted) if self._index else None
        # Of what it was before it is read: what changes meanwhile has another then.
        mark = 0 if telling is None else self._mark(file, telling)
        told = not wanted or any(map(self._is_there, [path] * len(wanted), wanted))
        if self._index and told and mark and telling is not None:
            at = locate(path, self._above)
            if at.kind in ("jit", "lock") and path.startswith(at.entry_path):
                self._index.prove(path, Proved(telling, mark, at))
        return told

    def known(self, file: File) -> Located | None:
        """What a file is, where that was proved before, and what told of it is still the same."""
        path = file[0]
        index = self._index
        if index is None or not file[6] or (file[1] and path.endswith(".lock")):
            return None
        kept = index.proved(path)
        if kept is None:
            return None
        telling, mark, at = kept
        # That of one file alone need not be remembered.
        if mark != (self._mark_of(file) if telling is path else self._mark(file, telling)):
            return None
        index.prove(path, kept)
        return at

    def _mark(self, file: File, telling: str) -> int:
        """A number that changes whenever what a file begins with can be another; 0 where more can:
        it was changed a moment ago, or is not surely on this machine, or a link leads there.
        """
        if telling != self._marked[0]:
            found = file if telling == file[0] else self._there(telling)
            self._marked = telling, self._mark_of(found) if found else 0
        return self._marked[1]

    def _there(self, path: str) -> File | None:
        """One of the files: no link has led to any of them."""
        if self._by_path is None:
            self._by_path = {file[0]: file for file in self._files}
        return self._by_path.get(path)

    def _mark_of(self, file: File) -> int:
        _, size, mtime_ns, _, inode, _, regular, _, _, _, changed = file
        if not (regular and inode and mtime_ns is not None and self._local(inode[0])):
            return 0
        if max(mtime_ns, changed * SECOND) >= self._before:
            return 0
        # Nobody can set ctime: a file in the place of another has its own.
        return hash((jits.edition(), inode, size, mtime_ns, changed))

    def _inside(self, folder: str) -> bool:
        """Whether no link leads to a folder."""
        if folder not in self._insides:
            here = os.path.join(self._root, folder) if folder else self._root
            self._insides[folder] = os.path.realpath(here) == here
        return self._insides[folder]

    def _is_there(self, path: str, proof: proofs.Proof) -> bool:
        if proof.also and not self._is_there(path, proof.also):
            return False
        if not proof.name:
            return self._begins(path, proof)
        if proof.exact:  # its folder may have many
            other = os.path.join(proof.folder, proof.name)
            return self._inside(proof.folder) and self._begins(other, proof)
        named = re.compile(proof.name)
        if proof.private:
            return self._is_private(proof.folder) and not any(
                map(named.fullmatch, self._in(proof.folder.rstrip("/")))
            )
        return any(
            named.fullmatch(name) and self._begins(os.path.join(folder, name), proof)
            for folder in self._folders(proof.folder.strip("/").split("/"))
            for name in self._in(folder)
        )

    def _begins(self, path: str, proof: proofs.Proof) -> bool:
        if proof.head is None:
            return True
        with contextlib.suppress(OSError):
            if not proof.name:
                return bool(proof.head(self._read(path, proofs.HEAD)))
            if self._last[0] != path:  # one file tells of many in its folder
                self._last = path, self._read(path, proofs.OTHER)
            return bool(proof.head(self._last[1]))
        return False

    def _read(self, path: str, most: int) -> bytes:
        handle = open_quietly(os.path.join(self._root, path))
        try:
            return os.read(handle, most)
        finally:
            os.close(handle)

    def _is_private(self, folder: str) -> bool:
        """Whether a folder, and no link to one, lets nobody but its owner in."""
        with contextlib.suppress(OSError):
            return os.lstat(os.path.join(self._root, folder.rstrip("/"))).st_mode == _PRIVATE
        return False

    def _folders(self, parts: list[str]) -> Iterator[str]:
        """The folders that a path with ``*`` means."""
        if "*" not in parts:
            yield "/".join(parts)
            return
        star = parts.index("*")
        for name in self._in("/".join(parts[:star])):
            yield from self._folders([*parts[:star], name, *parts[star + 1 :]])

    def _in(self, folder: str) -> list[str]:
        if folder not in self._names:
            here = os.path.join(self._root, folder) if folder else self._root
            found = list[str]()
            if self._inside(folder):
                with contextlib.suppress(OSError), os.scandir(here) as entries:
                    found = [entry.name for entry in itertools.islice(entries, _MOST)]
            self._names[folder] = found
        return self._names[folder]


#: Files between two looks at whether to go on, and seconds between two words about it.
_OFTEN = 32
_TELL = 0.1
#: With so many folders to come, a second process is worth starting: below, one has seen them all
#: by the time that the other can begin, and a third process on two cores holds the window up.
_MANY = 1200
#: What it is given at a time, and how often at once: folders, and bytes of their names. More than
#: a pipe holds would make each wait for the other.
_FOLDERS, _BYTES, _AHEAD = 64, 8192, 4
#: Seconds it has to end.
_GRACE = 1.0
#: Nanoseconds after which every file system's clock has gone on: a change has another time then.
_SETTLED = 3_000_000_000

#: The folders in a folder, its files, why it could not be read, and what is odd in it.
Scanned = tuple[list[str], Found, str | None, list[Odd]]


def file_at(path: str, status: os.stat_result) -> File:
    return file_of(path, NUMBERS.unpack(numbers(status)))


class Root:
    """A folder on the local disk, and the files below it.

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

    def open(self, file: File) -> BinaryIO:
        """One of its files. Raises OSError, also where the file has become something else."""
        path = f"{self.root}/{file.path}"
        handle = open_quietly(path)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", path)
        # Unbuffered: whoever reads a file reads it in large pieces.
        return cast(BinaryIO, io.FileIO(handle))


class Walk:
    """One walk over a place.

    unreadable: folders that could not be read, as (path, why). note: hears of what is odd. known:
    whether a folder need not be looked into, given its path and how it looks; with it, looks count.
    """

    def __init__(
        self,
        root: str,
        report: Report,
        note: Callable[[str, int, int, int], object] | None = None,
        known: Callable[[str, int], bool] | None = None,
    ) -> None:
        self.unreadable: list[tuple[str, str]] = []
        self._root, self._report, self._note, self._known = root, report, note, known
        self._looks: dict[str, int] = {}
        self._before = divmod(time.time_ns() - _SETTLED, SECOND)
        self._local = functools.cache(is_local)
        self._pending = deque([""])
        self._looked, self._told = 0, time.monotonic()

    def folders(self) -> Iterator[Found]:
        """Each folder and its files, in no order. Raises OSError where the place itself cannot be
        read, and Cancelled.
        """
        helper: _Helper | None = None
        try:
            while self._pending or (helper and helper.busy):
                self._report.check()
                if helper is None and len(self._pending) > _MANY and (os.cpu_count() or 1) > 1:
                    helper = _Helper(self._root)
                if helper:
                    helper.give(self._pending)
                    seconds = 0.0 if self._pending else 0.05
                    for folders, found, why, odd in helper.take(self._pending, seconds):
                        self._looked += len(folders) + len(found.names)
                        self._tell()
                        if why is not None:
                            self.unreadable.append((found.folder, why))
                        for path in folders if self._known else ():
                            with contextlib.suppress(OSError):
                                self._hear(path, os.lstat(f"{self._root}/{path}"))
                        self._take(found.folder, folders, odd)
                        yield found
                if self._pending:
                    yield self._scan(self._pending.pop())
        finally:
            if helper:
                helper.close()

    def _scan(self, folder: str) -> Found:
        try:
            hear = self._hear if self._known else None
            folders, names, about, odd = scan(self._root, folder, self._look, hear)
        except FileNotFoundError:
            if not folder:
                raise
            return Found(folder, [], b"")  # it vanished meanwhile
        except OSError as e:
            if not folder:
                raise
            self.unreadable.append((folder, e.strerror or str(e)))
            return Found(folder, [], b"")
        self._take(folder, folders, odd)
        return Found(folder, names, about)

    def _hear(self, path: str, status: os.stat_result) -> None:
        times = status.st_mtime_ns, status.st_ctime_ns
        # What is on a server is told late, and has the time of another clock.
        if divmod(max(times), SECOND) < self._before and self._local(status.st_dev):
            self._looks[path] = hash((status.st_dev, status.st_ino, *times, os.geteuid()))

    def look(self, found: Found) -> int:
        """A number that changes whenever a file in this folder appears, goes or is replaced by
        another, as PyTorch and Triton write; to be asked once, with all its files. 0 where more can
        change: it has folders, or what others own or may write to, was changed a moment ago, or is
        not surely on this machine.
        """
        look = self._looks.pop(found.folder, 0)
        times = (about[1:3] for about in NUMBERS.iter_unpack(found.numbers))
        return look if all(time < self._before for time in times) else 0

    def _take(self, above: str, folders: list[str], odd: list[Odd]) -> None:
        if folders or odd:
            self._looks.pop(above, None)
        known, looks = self._known, self._looks
        for folder in folders:
            if folder != TRASH and not (known and known(folder, looks.get(folder, 0))):
                self._pending.append(folder)
        if self._note is not None:
            for one in odd:
                self._note(*one)

    def _look(self) -> None:
        self._looked += 1
        # A slow disk may take long for a few files, a big folder for many.
        if not self._looked % _OFTEN:
            self._report.check()
            self._tell()

    def _tell(self) -> None:
        if (now := time.monotonic()) - self._told > _TELL:
            self._report.progress(self._looked, None, "files")
            self._told = now


class _Helper:
    """The second process, and what it was asked."""

    def __init__(self, root: str) -> None:
        self._given: deque[list[str]] = deque()
        self._rest = bytearray()
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._process = processes.begin("torchkeeper.stores.folders.walk_process")
            self._send(root)

    def _send(self, what: object) -> None:
        assert self._process and self._process.stdin
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    @property
    def busy(self) -> bool:
        return bool(self._given)

    def give(self, pending: deque[str]) -> None:
        """Let it look at some folders, which are taken away; those that have waited longest."""
        while self._process and len(self._given) < _AHEAD and len(pending) > 1:
            batch: list[str] = []
            size = 0
            while len(pending) > 1 and len(batch) < _FOLDERS and size < _BYTES:
                batch.append(pending.popleft())
                size += len(batch[-1])
            self._given.append(batch)
            try:
                self._send(batch)
            except OSError:
                self._lost(pending)

    def take(self, pending: deque[str], seconds: float) -> Iterator[Scanned]:
        """What it has found, waiting so long at most. If it has died, its folders come back."""
        if not self._given or self._process is None:
            return
        assert self._process.stdout
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return
        data = os.read(self._process.stdout.fileno(), 1 << 20)
        if not data:
            self._lost(pending)
        self._rest += data
        while (answer := self._answer()) is not None:
            self._given.popleft()
            yield from answer

    def _answer(self) -> list[Scanned] | None:
        pieces, at = [], 0
        for _ in range(2):
            if len(self._rest) < at + LENGTH.size:
                return None
            (length,) = LENGTH.unpack_from(self._rest, at)
            at += LENGTH.size + length
            if len(self._rest) < at:
                return None
            pieces.append(bytes(self._rest[at - length : at]))
        del self._rest[:at]
        found: list[Scanned] = []
        start = 0
        for folder, folders, names, why, odd in json.loads(pieces[0]):
            end = start + len(names) * NUMBERS.size
            found.append((folders, Found(folder, names, pieces[1][start:end]), why, odd))
            start = end
        return found

    def _lost(self, pending: deque[str]) -> None:
        self.close()
        for batch in self._given:
            pending.extend(batch)
        self._given.clear()

    def close(self) -> None:
        """End it. One that hangs on a dead mount is left to itself."""
        process, self._process = self._process, None
        if process is not None:
            processes.end(process, _GRACE)
