"""What is done to a folder, written down before it is done, so that nothing stays half done; the
steps of placing entries, noted, taken and taken back; and what shows that a journal was begun here,
by this user, in that very folder.

``<root>/.torchkeeper-journal-<uid>-<time>.jsonl`` lies there while an import, a purge, an undo or
an emptying of the trash lasts, under the lock of ``folders.guard``; whoever finds one with the lock
free finds an operation that was cut off (``folders.guard``). Its first line says what is done,
each other line is a step that is about to be taken, and the last one that all of them were. A
record outside of the folder shows that we began it there (below).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import pwd
import re
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Reversible, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.layout import JOURNAL, TRASH, locate
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import handle_of, no_room, sync_folder
from torchkeeper.stores.folders import locks, merging
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.locks import here, may_work, ours
from torchkeeper.stores.items import is_group

# What a journal says is carried out, and neither its name nor its owner tells where it is from: an
# archive brings any name, and what is unpacked belongs to whoever unpacked it. So each journal has
# a record in the state of this user, ``<state>/torchkeeper/begun/<folder>-<nonce>.json`` with
# <state> as in the XDG Base Directory Specification, outside of every place. It holds a number that
# nobody can guess (the nonce, which the journal says too), the digest of the journal's first line,
# and the identity of the folder and of the journal's file. An archive, a copy or a restored backup
# can carry the nonce, if it was made of this folder while its journal lay there, but no inode
# numbers.
#
# The device number counts only within one start of the machine, and for file systems that have a
# device: those of NFS, overlay and btrfs are given anew by every mount, and those of disks may be
# by every start, so that what a power cut has left would never be believed. The two inode numbers
# and the nonce stay. A folder that was renamed on its file system is still the same one.
#
# A record is written after its journal's file was made and goes after that: one without a journal
# is left over, and goes when the next operation begins in that folder, or in half a year.

#: Seconds for which a record stays whose folder is elsewhere or away.
_LONG = 180 * 86400.0
#: Bytes of a record that are read.
_PROOF_LARGEST = 1 << 16
_NONCE = re.compile(r"[0-9a-f]{32}")
_RECORD = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}\.json")


def keep(root: str, nonce: str, first: bytes, journal: os.stat_result) -> None:
    """Write down that a journal was begun in a folder; first: its first line. Raises OSError where
    there is no folder for it that is ours alone: nothing is believed later, then.
    """
    text = json.dumps({
        "version": 1, "boot": locks.boot(), "first": hashlib.sha256(first).hexdigest(),
        "root": _identity(os.stat(root)), "journal": _identity(journal),
    })  # fmt: skip
    failed: OSError | None = None
    for folder in _folders():
        try:
            os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            with _opened(folder) as handle:
                _clean(handle, root, _identity(journal))
                _proof_write(handle, f"{_of(root)}-{nonce}.json", text)
            sync_folder(folder)
            return
        except OSError as e:
            failed = failed or e
    raise failed or FileNotFoundError("There is no home folder")


def holds(root: str, nonce: object, first: bytes, journal: os.stat_result) -> bool:
    """Whether a journal is one that ``keep`` was told of, in the folder where it is now."""
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        return False
    digest = hashlib.sha256(first).hexdigest()
    for folder in _folders():
        with contextlib.suppress(OSError, ValueError, RecursionError), _opened(folder) as handle:
            for name in [name for name in os.listdir(handle) if name.endswith(f"-{nonce}.json")]:
                said = json.loads(_read(handle, name))
                if isinstance(said, dict) and said.get("first") == digest:
                    now = said.get("boot") == locks.boot() != ""
                    at = (("root", os.stat(root)), ("journal", journal))
                    if all(_same(said.get(which), status, now) for which, status in at):
                        return True
    return False


def forget(nonce: str) -> None:
    """A journal is gone, and so is its record."""
    for folder in _folders():
        with contextlib.suppress(OSError), _opened(folder) as handle:
            for name in os.listdir(handle):
                if name.endswith(f"-{nonce}.json"):
                    os.unlink(name, dir_fd=handle)


def _folders() -> Iterator[str]:
    """Where records may be, the usual place first."""
    homes = [os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    bases = [os.environ.get("XDG_STATE_HOME", "")]
    bases += [os.path.join(home, ".local", "state") for home in homes if home]
    for base in dict.fromkeys(bases):
        if os.path.isabs(base) and not _of_another(base):
            yield os.path.join(base, "torchkeeper", "begun")


def _of_another(path: str) -> bool:
    """Whether root would write into the home of somebody else, who gave it the name (sudo)."""
    if os.geteuid() != 0:
        return False
    while True:
        with contextlib.suppress(OSError):
            return os.stat(path).st_uid != 0
        if os.path.dirname(path) == path:
            return True
        path = os.path.dirname(path)


@contextlib.contextmanager
def _opened(folder: str) -> Iterator[int]:
    """A folder of ours that nobody else can write to. Raises OSError."""
    with handle_of(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as handle:
        at = os.fstat(handle)
        if at.st_uid != os.geteuid() or at.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"other users can write to {folder}")
        yield handle


def _proof_write(folder: int, name: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(text)
            out.flush()
            os.fsync(handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def _read(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as stream:
        at = os.fstat(stream.fileno())
        if not stat.S_ISREG(at.st_mode) or at.st_uid != os.geteuid():
            raise PermissionError(name)
        return stream.read(_PROOF_LARGEST)


def _clean(folder: int, root: str, new: list[int]) -> None:
    """Remove records of this place whose journals are gone, and what is very old. new: the identity
    of the journal that is begun. No other place is looked at: its disk may not answer.
    """
    begin, now = f"{_of(root)}-", time.time()
    here = _identity(os.stat(root))
    for name in filter(_RECORD.fullmatch, os.listdir(folder)):
        with contextlib.suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
            if now - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _LONG:
                os.unlink(name, dir_fd=folder)
            elif name.startswith(begin):
                said = json.loads(_read(folder, name))
                with os.scandir(root) as entries:
                    there = [_identity(one.stat(follow_symlinks=False)) for one in entries]
                # An earlier one may have had the number of the journal that is begun.
                gone = said["journal"] == new or said["journal"] not in there
                if said["root"] == here and gone:
                    os.unlink(name, dir_fd=folder)


def _of(root: str) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _identity(at: os.stat_result) -> list[int]:
    return [at.st_dev, at.st_ino]


def _same(said: Any, at: os.stat_result, now: bool) -> bool:
    """Whether a file is what was written down; now: in this start of the machine."""
    if not isinstance(said, list) or len(said) != 2 or said[1] != at.st_ino:
        return False
    return not (now and os.major(at.st_dev)) or said[0] == at.st_dev


#: A step: its name, and what it is done to; paths relative to the folder.
Step = list[Any]
#: Bytes of a journal that are read. An import of a million files writes a third of that.
_LARGEST = 1 << 30
#: More than what there is of a first line that was cut off while it was written.
_FIRST = 1 << 16
_DONE = ["done"]
#: Bytes of steps that are packed at a time, about.
_PACKED = 1 << 18
_NAME = re.compile(re.escape(JOURNAL) + r"[0-9]+-[0-9]+-[0-9a-f]{6}\.jsonl")
#: Permissions of one that its process has left behind: that says so even where there is no room.
_LEFT = 0o400


def in_folder(root: str, mine: bool = True) -> list[str]:
    """The journals of this user, or of others, in a folder, cut off or not; the oldest first."""
    try:
        names = sorted(filter(_NAME.fullmatch, os.listdir(root)))
    except OSError:
        return []
    return [os.path.join(root, name) for name in names if name.startswith(_begin()) == mine]


def lies_in(place: str) -> bool:
    """Whether there is any journal in a folder."""
    return bool(in_folder(place) or in_folder(place, mine=False))


def _begin() -> str:
    return f"{JOURNAL}{os.geteuid()}-"


class Steps:
    """Steps that were noted, packed: an import of a million files notes a gigabyte of objects."""

    def __init__(self) -> None:
        self._count = 0
        self._packed: list[bytes] = []
        self._last, self._size = list[bytes](), 0

    def add(self, count: int, lines: bytes) -> None:
        self._count, self._size = self._count + count, self._size + len(lines)
        self._last.append(lines)
        if self._size >= _PACKED:
            self._packed.append(zlib.compress(b"".join(self._last), 1))
            self._last, self._size = [], 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Step]:
        return iter(self.since(0))

    def __reversed__(self) -> Iterator[Step]:
        some = itertools.chain(reversed(self._last), map(zlib.decompress, reversed(self._packed)))
        return (json.loads(line) for lines in some for line in reversed(lines.splitlines()))

    def packed(self) -> Iterator[bytes]:
        """The lines of all of them, in order, many at a time."""
        yield from map(zlib.decompress, self._packed)
        yield b"".join(self._last)

    def since(self, mark: int) -> list[Step]:
        """The last of them, from one on, in order."""
        return [*itertools.islice(reversed(self), self._count - mark)][::-1]


class Journal:
    """The journal of an operation. ``about`` is said in its first line; the file is there from the
    first step on. ``report`` hears, as ``unproven``, where no record of it can be kept. steps:
    those noted so far. Raises OSError by ``open``, ``note``, ``sync`` and ``done``.
    """

    def __init__(self, root: str, what: str, report: Report | None = None, **about: object) -> None:
        self.steps = Steps()
        #: What the names of temporary files of the operation have in common.
        self.id = os.urandom(3).hex()
        self._numbers = itertools.count(int.from_bytes(os.urandom(3), "big"))
        self.root, self._report, self._nonce = root, report, os.urandom(16).hex()
        self._about = {"version": 2, "what": what, "id": self.id, "nonce": self._nonce,
                       **here(), **about}  # fmt: skip
        self._path = os.path.join(root, f"{_begin()}{time.time_ns()}-{self.id}.jsonl")
        self._handle: int | None = None

    def temporary_file(self, folder: str) -> str:
        """A path in a folder for a file until it is whole."""
        return os.path.join(folder, f"{_FILE}{self._own()}.tmp")

    def temporary_folder(self, folder: str) -> str:
        """A path in a folder for a kernel until it is whole."""
        return os.path.join(folder, f"{_FOLDER}{self._own()}")

    def _own(self) -> str:
        """Of thousands that lie there at a time, no two are the same."""
        return f"{self.id}{next(self._numbers) % (1 << 24):06x}"

    def open(self) -> int:
        """Begin it, if it is not begun: it is on the disk before anything happens."""
        if self._handle is not None:
            return self._handle
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        with _times_of(self.root):
            self._handle = os.open(self._path, flags, 0o600)
            if not _is_ours(os.fstat(self._handle)):
                # Where files are given other owners or permissions, nobody would believe it.
                self.close()
                self._handle = os.open(os.devnull, flags & ~(os.O_CREAT | os.O_EXCL))
        try:
            self._begin()
            self.sync()
            sync_folder(self.root)
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
                keep(self.root, self._nonce, first, os.fstat(self._handle))
            except OSError as e:
                # Nothing is lost: whoever is cut off now is completed by who is told to do it.
                if self._report is not None:
                    why = e.strerror or str(e)
                    self._report.finding(unproven={"place": self.root, "why": why})
        _write(self._handle, first)

    def note(self, *steps: Step) -> None:
        """Write down what is done next: it outlives this process, after ``sync`` a power cut."""
        handle = self.open()
        lines = _lines(steps)
        self.steps.add(len(steps), lines)
        _write(handle, lines)

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
    """A journal that is begun; None where there is no room, and it goes without. Raises OSError."""
    journal = Journal(root, what, report, **about)
    try:
        journal.open()
    except OSError as e:
        if no_room(e):
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
    whether we began it in this folder.
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
    """What a journal says. Only one of this user's that nobody else can write to: what it says may
    be carried out, if it is ``proven``. A line that was cut off is a step that was never taken;
    nothing was done yet where that is the first. Raises NotOurs for another one, and OSError.
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
            cut.proven = holds(os.path.dirname(path), said.get("nonce"), line + b"\n", at)
        elif said == _DONE:
            cut.done = True
        elif isinstance(said, list) and said and isinstance(said[0], str):
            cut.steps.append(said)
    cut.running = stat.S_IMODE(at.st_mode) != _LEFT and may_work(cut.about, at)
    return cut


def under_way(root: str) -> Mapping[str, object]:
    """What an operation of this user that may be under way in a folder says of itself, if any."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for path in reversed(in_folder(root)):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            with open(os.open(path, flags), "rb") as stream:
                at, about = os.fstat(stream.fileno()), json.loads(stream.readline(_FIRST))
            if _is_ours(at) and isinstance(about, dict) and may_work(about, at):
                return about
    return {}


def remove(path: str, nonce: str = "") -> None:
    """Remove the journal of an operation that is at its end, and its record. Raises OSError."""
    with _times_of(os.path.dirname(path)), contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    if nonce:
        forget(nonce)


@contextlib.contextmanager
def _times_of(root: str) -> Iterator[None]:
    """Leave a folder the times that it has: a journal is no change of a cache."""
    at = os.stat(root)
    yield
    with contextlib.suppress(OSError):  # somebody else's
        os.utime(root, ns=(at.st_atime_ns, at.st_mtime_ns))


# The steps of placing entries in a folder: noted in a journal, taken, and taken back.
#
# ``["new", path]``: a temporary file or folder of ours. ``["folder", path]``: one that was missing;
# ``["there", path]``: but somebody else was faster. ``["file", temporary, path, stamp, aside]``: a
# file that was written gets its name, and what is broken under that one goes aside, if it is not
# None. ``["kernel", temporary, path, stamp, {name: stamp}]``: the same for a kernel's folder.
# ``["lock", path]``: the lock of a list, where there was none; ``["list", path, item, before]``: an
# item comes into that list, in the place of others.
# A stamp tells whether what lies there is what was placed. No link is followed (folders.inside).

#: Steps that are taken back at a time, and of how many in a row.
_AT_ONCE, _TOGETHER = 8, 256
#: What names of temporary files and folders of ours begin with. PyTorch and Triton take no name
#: that begins with a dot, or a folder of Triton's with ``tmp.``, for an entry.
_FILE, _FOLDER = ".torchkeeper-", "tmp.torchkeeper-"
_TEMPORARY = re.compile(r"\.torchkeeper-[0-9a-f]{12}\.tmp|tmp\.torchkeeper-[0-9a-f]{12}")


def is_temporary(name: str, operation: str) -> bool:
    """Whether an operation gave a file or a folder this name until it was to get another."""
    begins = (f"{_FILE}{operation}", f"{_FOLDER}{operation}")
    return name.startswith(begins) and _TEMPORARY.fullmatch(name) is not None


def stamp_of(path: str) -> list[int]:
    """What tells a file from another that gets its name later: its number, size and time."""
    return _stamp(os.lstat(path))


def _stamp(at: os.stat_result) -> list[int]:
    return [at.st_ino, *([] if stat.S_ISDIR(at.st_mode) else [at.st_size, at.st_mtime_ns])]


def take_back(root: str, steps: Reversible[Step], report: Report | None = None) -> int:
    """Take steps back that were taken or were about to be, the last first; returns how many files
    that were in their place are gone. ``report`` hears how many steps are taken back, of how many.

    What somebody else has put there meanwhile stays. What cannot be removed stays too; but where an
    item cannot be taken off its list, nothing before is taken back, so that the list names nothing
    that is not there: raises Problem and OSError as ``merging.take``.
    """
    from concurrent.futures import ThreadPoolExecutor

    gone, done = 0, 0
    kept = {step[1] for step in reversed(steps) if step[0] == "there" and len(step) == 2}
    todo = [step for step in reversed(steps) if step[0] in _UNDO]
    with Inside(root) as inside, ThreadPoolExecutor(_AT_ONCE) as pool:

        def undo(step: Step) -> int:
            if step[0] == "folder" and step[1] in kept:
                return 0
            with contextlib.suppress(ValueError, TypeError):
                return _UNDO[step[0]](inside, *step[1:]) or 0
            return 0

        for some in _alike(todo):
            # The file system takes a moment for each that is on the disk, many at a time or one.
            gone += sum(pool.map(undo, some) if len(some) > 1 else map(undo, some))
            done += len(some)
            if report is not None:
                report.progress(done, len(todo), "taken-back")
    return gone


def _alike(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps in a row that nothing comes between when they are taken back, some at a time: files of
    one kind, kernels, folders of one depth, and what had not got its name yet.
    """

    def of(step: Step) -> object:
        path = step[2] if step[0] == "file" and len(step) > 2 else step[1] if step[1:] else None
        if not isinstance(path, str):
            return object()
        if step[0] == "file":
            return "file", locate(path).kind
        if step[0] == "folder":
            return "folder", path.count("/")
        return step[0] if step[0] in ("new", "kernel") else object()

    for _, same in itertools.groupby(steps, of):
        while some := list(itertools.islice(same, _TOGETHER)):
            yield some


def remaining(root: str, steps: Reversible[Step]) -> int:
    """How many of the files that steps have placed have something in their place."""
    count = 0
    with Inside(root) as inside:
        for step in reversed(steps):
            with contextlib.suppress(ValueError, TypeError, AttributeError, IndexError):
                if step[0] == "file" and step[4] is None:
                    count += inside.is_file(_path(step[2]))
                elif step[0] == "kernel":
                    folder = _path(step[2])
                    names = step[4] if inside.there(folder) else ()
                    count += sum(inside.is_file(f"{folder}/{_plain(n)}") for n in names)
    return count


def settle(root: str, steps: Reversible[Step], kept: str | None = None) -> set[str]:
    """Keep what was placed; what had to give way goes, and folders that were made for nothing.
    kept: the folder of a receipt, to which goes what gave way; without one it is removed. Returns
    the folders in which something has a name now that had none there. Raises OSError where what
    gave way cannot go there now: it stays where it is, for the next one that comes.
    """
    came = set[str]()
    with Inside(root) as inside:
        for step in reversed(steps):
            with contextlib.suppress(ValueError, TypeError):
                if step[0] == "file" and step[4] is not None:
                    aside, there = _path(step[4], _FILE), f"{kept}/{_path(step[2])}"
                    if not inside.there(aside):
                        continue
                    if kept and _moved(inside, aside, there):
                        came.add(os.path.dirname(there))
                    else:
                        inside.unlink(aside)
                elif step[0] == "folder":
                    with contextlib.suppress(OSError):
                        inside.remove_folder(_path(step[1]))
    return came


def _moved(inside: Inside, path: str, other: str) -> bool:
    """Move a file to where its folder may be missing; False where that is on another disk. Raises
    OSError.
    """
    try:
        try:
            inside.rename(path, other)
        except FileNotFoundError:
            os.makedirs(os.path.join(inside.root, os.path.dirname(other)), exist_ok=True)
            inside.rename(path, other)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        return False
    return True


def _take_new(inside: Inside, path: object) -> None:
    here = _path(path, _FILE, _FOLDER)
    with contextlib.suppress(OSError):
        if inside.is_folder(here):
            inside.remove_tree(here)
        else:
            inside.unlink(here)


def _take_folder(inside: Inside, path: object) -> None:
    with contextlib.suppress(OSError):
        inside.remove_folder(_path(path))


def _take_file(inside: Inside, _new: object, path: object, stamp: object, aside: object) -> int:
    """Take a file away from its name, and give that back to what had it."""
    here = _path(path)
    gone = _unlink(inside, here, stamp)
    if aside is not None:
        there = _path(aside, _FILE)
        with contextlib.suppress(OSError):
            if inside.there(here):
                inside.unlink(there)  # PyTorch was faster: what was there is of no use to anybody
            else:
                inside.rename(there, here)
    return gone


def _take_kernel(
    inside: Inside, _new: object, path: object, stamp: object, files: dict[str, object]
) -> int:
    """Take away the files of a kernel, those that say that the others are there first."""
    folder = _path(path)
    gone = 0
    with contextlib.suppress(OSError):
        if _stamp(inside.stat(folder)) == stamp:
            names = sorted(files, key=lambda name: not is_group("triton", name))
            gone = sum(_unlink(inside, f"{folder}/{_plain(name)}", files[name]) for name in names)
            inside.remove_folder(folder)
    return gone


def _take_lock(inside: Inside, path: object) -> None:
    """Remove the lock of a list that nobody holds."""
    here = _path(path)
    if here.endswith(".lock") and inside.is_file(here):
        with ours(os.path.join(inside.root, here)) as mine, contextlib.suppress(OSError):
            if mine:
                inside.unlink(here)


def _take_listed(
    inside: Inside, path: object, item: merging.Listed, before: list[merging.Listed]
) -> None:
    """Take an item off a list, and give back what was there in its place."""
    here = _path(path)
    # PyTorch locks a list by its path; that no link is on it is seen before.
    if inside.there(here) or (before and inside.is_folder(os.path.dirname(here))):
        merging.take(os.path.join(inside.root, here), [item], before)


_UNDO: dict[str, Callable[..., int | None]] = {
    "new": _take_new,
    "folder": _take_folder,
    "file": _take_file,
    "kernel": _take_kernel,
    "lock": _take_lock,
    "list": _take_listed,
}


def _unlink(inside: Inside, path: str, stamp: object) -> int:
    """Remove a file that is the one of a stamp; 1 if it is gone."""
    with contextlib.suppress(OSError):
        if _stamp(inside.stat(path)) == stamp:
            inside.unlink(path)
            return 1
    return 0


def _plain(name: str) -> str:
    if "/" in name or name in ("", ".", ".."):
        raise ValueError(name)
    return name


def _path(path: object, *begins: str) -> str:
    """A path of a step, if it is one in the folder, and its name begins as it has to. Raises
    ValueError: what was noted is only as good as whoever can write it.
    """
    if not isinstance(path, str):
        raise ValueError(path)
    parts = path.split("/")
    if {"", ".", "..", TRASH} & set(parts) or parts[0].startswith(JOURNAL):
        raise ValueError(path)
    if begins and not parts[-1].startswith(begins):
        raise ValueError(path)
    return path
