"""What shows that a journal in a folder was begun here, by this user, in that very folder.

What a journal says is carried out, and neither its name nor its owner tells where it is from: an
archive brings any name, and what is unpacked belongs to whoever unpacked it. So each journal has a
record in the state of this user, ``<state>/torchkeeper/begun/<folder>-<nonce>.json`` with <state>
as in the XDG Base Directory Specification, outside of every place. It holds a number that nobody
can guess (the nonce, which the journal says too), the digest of the journal's first line, and the
identity of the folder and of the journal's file. An archive, a copy or a restored backup can carry
the nonce, if it was made of this folder while its journal lay there, but no inode numbers.

The device number counts only within one start of the machine, and for file systems that have a
device: those of NFS, overlay and btrfs are given anew by every mount, and those of disks may be by
every start, so that what a power cut has left would never be believed. The two inode numbers and
the nonce stay. A folder that was renamed on its file system is still the same one.

A record is written after its journal's file was made and goes after that: one without a journal is
left over, and goes when the next operation begins in that folder, or in half a year.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
import re
import stat
import time
from collections.abc import Iterator
from typing import Any

from torchkeeper.stores import atrest
from torchkeeper.stores.durable import sync_folder

#: Seconds for which a record stays whose folder is elsewhere or away.
_LONG = 180 * 86400.0
#: Bytes of a record that are read.
_LARGEST = 1 << 16
_NONCE = re.compile(r"[0-9a-f]{32}")
_RECORD = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}\.json")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def new_nonce() -> str:
    """A number that nobody can guess."""
    return os.urandom(16).hex()


def keep(root: str, nonce: str, first: bytes, journal: os.stat_result) -> None:
    """Write down that a journal was begun in a folder; first: its first line. Raises OSError where
    there is no folder for it that is ours alone: nothing is believed later, then.
    """
    text = json.dumps({
        "version": 1, "boot": atrest.boot(), "first": _digest(first),
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
                _write(handle, _name(root, nonce), text)
            sync_folder(folder)
        except OSError as e:
            failed = failed or e
        else:
            return
    raise failed or FileNotFoundError("There is no home folder")


def holds(root: str, nonce: object, first: bytes, journal: os.stat_result) -> bool:
    """Whether a journal is one that ``keep`` was told of, in the folder where it is now."""
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        return False
    for folder in _folders():
        with contextlib.suppress(OSError, ValueError, RecursionError), _opened(folder) as handle:
            names = [name for name in os.listdir(handle) if name.endswith(f"-{nonce}.json")]
            for name in names:
                said = json.loads(_read(handle, name))
                if isinstance(said, dict) and said.get("first") == _digest(first):
                    now = said.get("boot") == atrest.boot() != ""
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
    handle = os.open(folder, _FOLDER)
    try:
        at = os.fstat(handle)
        if at.st_uid != os.geteuid() or at.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{folder} is not this user's alone")
        yield handle
    finally:
        os.close(handle)


def _write(folder: int, name: str, text: str) -> None:
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
        return stream.read(_LARGEST)


def _clean(folder: int, root: str, new: list[int]) -> None:
    """Remove records of this place whose journals are gone, and what is very old. new: the identity
    of the journal that is begun, whose number an earlier one may have had. No other place is looked
    at, which may be on a disk that does not answer.
    """
    begin, now = f"{_of(root)}-", time.time()
    here = _identity(os.stat(root))
    for name in filter(_RECORD.fullmatch, os.listdir(folder)):
        with contextlib.suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
            if now - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _LONG:
                os.unlink(name, dir_fd=folder)
            elif name.startswith(begin):
                said = json.loads(_read(folder, name))
                there = said["journal"] != new and _lies(root, said["journal"])
                if said["root"] == here and not there:
                    os.unlink(name, dir_fd=folder)


def _lies(root: str, journal: object) -> bool:
    """Whether a file with the identity of a journal is in a folder."""
    with os.scandir(root) as entries:
        return any([one.stat(follow_symlinks=False).st_dev, one.inode()] == journal
                   for one in entries)  # fmt: skip


def _name(root: str, nonce: str) -> str:
    return f"{_of(root)}-{nonce}.json"


def _of(root: str) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _digest(first: bytes) -> str:
    return hashlib.sha256(first).hexdigest()


def _identity(at: os.stat_result) -> list[int]:
    return [at.st_dev, at.st_ino]


def _same(said: Any, at: os.stat_result, now: bool) -> bool:
    """Whether a file is what was written down; now: in this start of the machine."""
    if not isinstance(said, list) or len(said) != 2 or said[1] != at.st_ino:
        return False
    return not (now and os.major(at.st_dev)) or said[0] == at.st_dev
