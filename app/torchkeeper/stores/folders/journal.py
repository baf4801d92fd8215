"""What is done to a folder, written down before it is done, so that nothing stays half done.

``<root>/.torchkeeper-journal-<uid>-<time>.jsonl`` lies there while an import, a purge, an undo or
an emptying of the trash lasts, under the lock of ``folders.guard``; whoever finds one with the lock
free finds an operation that was cut off (``folders.guard``). Its first line says what is done,
each other line is a step that is about to be taken, and the last one that all of them were. A
record outside of the folder shows that we began it there (``folders.proof``).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.layout import JOURNAL
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atrest import here, may_work
from torchkeeper.stores.durable import sync_folder
from torchkeeper.stores.folders import proof

#: A step: its name, and what it is done to; paths relative to the folder.
Step = list[Any]
#: Bytes of a journal that are read. An import of a million files writes a third of that.
_LARGEST = 1 << 30
#: More than what there is of a first line that was cut off while it was written.
_FIRST = 1 << 16
_DONE = ["done"]
_NAME = re.compile(re.escape(JOURNAL) + r"[0-9]+-[0-9]+-[0-9a-f]{6}\.jsonl")
#: Permissions of one that its process has left behind: that says so even where there is no room.
_LEFT = 0o400


def in_folder(root: str) -> list[str]:
    """The paths of all journals of this user in a folder, the oldest first: of what is at work
    there, and of what was cut off.
    """
    return [path for path in _all(root) if os.path.basename(path).startswith(_begin())]


def lies_in(place: str) -> bool:
    """Whether there is any journal in a folder."""
    return bool(_all(place))


def of_others(root: str) -> list[str]:
    """The paths of the journals of other users in a folder."""
    return [path for path in _all(root) if not os.path.basename(path).startswith(_begin())]


def _all(root: str) -> list[str]:
    try:
        names = sorted(filter(_NAME.fullmatch, os.listdir(root)))
    except OSError:
        return []
    return [os.path.join(root, name) for name in names]


def _begin() -> str:
    return f"{JOURNAL}{os.geteuid()}-"


class Journal:
    """The journal of an operation. ``about`` is said in its first line; the file is there from the
    first step on. ``report`` hears, as ``unproven``, where no record of it can be kept: cut off,
    the operation is then completed by nobody who is not told to.

    steps: those noted so far. Raises OSError by ``open``, ``note``, ``sync`` and ``done``.
    """

    def __init__(self, root: str, what: str, report: Report | None = None, **about: object) -> None:
        self.steps: list[Step] = []
        #: What the names of temporary files of the operation have in common.
        self.id = os.urandom(3).hex()
        self._root, self._report, self._nonce = root, report, proof.new_nonce()
        self._about = {"version": 2, "what": what, "id": self.id, "nonce": self._nonce,
                       **here(), **about}  # fmt: skip
        self._path = os.path.join(root, f"{_begin()}{time.time_ns()}-{self.id}.jsonl")
        self._handle: int | None = None

    def open(self) -> int:
        """Begin it, if it is not begun: it is on the disk before anything happens."""
        if self._handle is not None:
            return self._handle
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        with _times_of(self._root):
            self._handle = os.open(self._path, flags, 0o600)
            if not _is_ours(os.fstat(self._handle)):
                # A file system that gives files other owners or permissions: nobody would believe
                # it, so there is none.
                self.close()
                self._handle = os.open(os.devnull, flags & ~(os.O_CREAT | os.O_EXCL))
        try:
            self._begin()
            self.sync()
            sync_folder(self._root)
        except BaseException:
            self.close()
            raise
        return self._handle

    def _begin(self) -> None:
        """Write the first line, after the record that this is the journal it belongs to."""
        assert self._handle is not None
        first = _lines([{**self._about, "made": time.time()}])
        if self._is_file:
            try:
                proof.keep(self._root, self._nonce, first, os.fstat(self._handle))
            except OSError as e:
                # Nothing is lost: whoever is cut off now is completed by who is told to do it.
                if self._report is not None:
                    why = e.strerror or str(e)
                    self._report.finding(unproven={"place": self._root, "why": why})
        _write(self._handle, first)

    def note(self, *steps: Step) -> None:
        """Write down what is done next: it outlives this process, after ``sync`` a power cut."""
        handle = self.open()
        self.steps += steps
        _write(handle, _lines(steps))

    def sync(self) -> None:
        """Have all of it on the disk."""
        if self._handle is not None and self._is_file:
            os.fsync(self._handle)

    @property
    def _is_file(self) -> bool:
        return self._handle is not None and stat.S_ISREG(os.fstat(self._handle).st_mode)

    def done(self) -> None:
        """Write down that all was done: from here on nothing is taken back."""
        if self._handle is not None:
            _write(self._handle, _lines([_DONE]))
            self.sync()

    def close(self) -> None:
        """Remove it: there is nothing left to be done. Where it cannot be, the next one will."""
        if self._handle is not None:
            self._end()
            with contextlib.suppress(OSError):
                remove(self._path, self._nonce)

    def leave(self) -> None:
        """Leave it where it is, for the next one that comes: not all could be done."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                if self._is_file:
                    os.fchmod(self._handle, _LEFT)
            self._end()

    def _end(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _lines(lines: Sequence[object]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def begun(root: str, what: str, report: Report, **about: object) -> Journal | None:
    """A journal that is begun, or None where there is no room for one, and the operation can do
    without. Raises OSError.
    """
    journal = Journal(root, what, report, **about)
    try:
        journal.open()
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            return None
        raise
    return journal


def _is_ours(at: os.stat_result) -> bool:
    mine = at.st_uid == os.geteuid() and not at.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return mine and stat.S_ISREG(at.st_mode)


class NotOurs(Exception):
    """A journal that others can have written, or that is no file."""


@dataclass
class CutOff:
    """What a journal says that was left: ``about`` is its first line; done: whether all steps were
    taken; running: whether the operation may still be under way, where locks do not tell; proven:
    whether we began it in this folder (folders.proof).
    """

    about: Mapping[str, object] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    done: bool = False
    running: bool = False
    proven: bool = False

    @property
    def nonce(self) -> str:
        """By which its record goes."""
        said = self.about.get("nonce")
        return said if isinstance(said, str) else ""


def said(path: str) -> CutOff:
    """What a journal says.

    Only one of this user's that nobody else can write to: what it says may be carried out, if it
    is ``proven``. A line that was cut off is a step that was never taken; nothing was done yet
    where that is the first. Raises NotOurs for another one, and OSError.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags)
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENXIO, errno.EACCES):
            raise NotOurs(path) from e
        raise
    at = os.fstat(handle)
    if not _is_ours(at):
        os.close(handle)
        raise NotOurs(path)
    with os.fdopen(handle, "rb") as stream:
        if at.st_size > _LARGEST:
            raise OSError(errno.EFBIG, "It is too large")
        lines = stream.read().split(b"\n")[:-1]
    cut = CutOff(proven=not lines and at.st_size < _FIRST)
    for number, line in enumerate(lines):
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            break
        if number == 0 and isinstance(said, dict):
            cut.about = said
            first = line + b"\n"
            cut.proven = proof.holds(os.path.dirname(path), said.get("nonce"), first, at)
        elif said == _DONE:
            cut.done = True
        elif isinstance(said, list) and said and isinstance(said[0], str):
            cut.steps.append(said)
    cut.running = stat.S_IMODE(at.st_mode) != _LEFT and may_work(cut.about, at)
    return cut


def remove(path: str, nonce: str = "") -> None:
    """Remove the journal of an operation that is at its end, and its record. Raises OSError."""
    with _times_of(os.path.dirname(path)), contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    if nonce:
        proof.forget(nonce)


@contextlib.contextmanager
def _times_of(root: str) -> Iterator[None]:
    """Leave a folder the times that it has: a journal is no change of a cache."""
    at = os.stat(root)
    yield
    with contextlib.suppress(OSError):  # somebody else's
        os.utime(root, ns=(at.st_atime_ns, at.st_mtime_ns))
