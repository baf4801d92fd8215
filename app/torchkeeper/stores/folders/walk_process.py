"""Looking at folders; as a process of its own, for a second one of a big place at a time.

It imports next to nothing, so that it is there in 15 ms. The first line it reads is the place as
JSON, every further one a list of folders below it. To each of those it answers with two pieces,
each after its length in four bytes, big endian: JSON ``[[folder, folders, names of files, why it
could not be read or null, what is odd], …]``, and NUMBERS of all those files in the same order.
What is odd (folders.owners) is ``[path, uid, gid, mode]``.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable

#: Size, seconds and nanoseconds of mtime, which can be beyond 64 bits together, allocated bytes,
#: device, inode, seconds of atime and of ctime, mode, whether it is a regular file.
NUMBERS = struct.Struct("<qqIqQQddH?")
SECOND = 1_000_000_000
LENGTH = struct.Struct(">I")

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNSEEN = FOLDER | getattr(os, "O_NOATIME", 0)
_FORMAT, _REGULAR = 0o170000, 0o100000
#: Modes with which others may write.
_OTHERS = 0o022

#: What another user owns, or others may write to: its path, owner, group and mode.
Odd = tuple[str, int, int, int]


def looked_into(path: str, above: int | None = None) -> int:
    """A handle of a folder, of which nobody sees that it is read; what is another user's cannot be
    so. A link is not followed. Raises OSError.
    """
    try:
        return os.open(path, _UNSEEN, dir_fd=above)
    except PermissionError:
        return os.open(path, FOLDER, dir_fd=above)


def scan(
    root: str,
    folder: str,
    each: Callable[[], object] | None = None,
    hear: Callable[[str, os.stat_result], object] | None = None,
) -> tuple[list[str], list[str], bytes, list[Odd]]:
    """(folders, names of files, their NUMBERS, what is odd) in one folder of a place; links are
    files, and what vanishes is left out. each: called before each name is looked at. hear: told of
    each folder and its lstat. Raises OSError where the folder cannot be read.
    """
    prefix = f"{folder}/" if folder else ""
    folders: list[str] = []
    names: list[str] = []
    packed: list[bytes] = []
    found: list[Odd] = []
    me = os.geteuid()
    handle = looked_into(f"{root}/{folder}")
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                if each is not None:
                    each()
                path = prefix + entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                        status = entry.stat(follow_symlinks=False)
                        if hear is not None:
                            hear(path, status)
                    else:
                        status = entry.stat(follow_symlinks=False)
                        names.append(entry.name)
                        packed.append(numbers(status))
                except FileNotFoundError:
                    continue  # it vanished meanwhile
                except OSError:
                    if folders[-1:] == [path]:
                        continue  # whoever looks into it is told why
                    raise
                uid = status.st_uid
                if (uid != me and uid) or status.st_mode & _OTHERS:
                    found.append((path, uid, status.st_gid, status.st_mode))
    finally:
        os.close(handle)
    return folders, names, b"".join(packed), found


def numbers(status: os.stat_result) -> bytes:
    """The NUMBERS of a file."""
    mode, (seconds, more) = status.st_mode, divmod(status.st_mtime_ns, SECOND)
    about = status.st_size, seconds, more, status.st_blocks * 512, status.st_dev, status.st_ino
    times = status.st_atime, status.st_ctime
    return NUMBERS.pack(*about, *times, mode & 0o7777, mode & _FORMAT == _REGULAR)


def main() -> None:
    lines = iter(sys.stdin.buffer.readline, b"")
    root = json.loads(next(lines, b'""'))
    for line in lines:
        said: list[tuple[str, list[str], list[str], str | None, list[Odd]]] = []
        packed: list[bytes] = []
        for folder in json.loads(line):
            try:
                folders, names, numbers_, found = scan(root, folder)
            except OSError as e:
                why = None if isinstance(e, FileNotFoundError) else e.strerror or str(e)
                said.append((folder, [], [], why, []))
            else:
                said.append((folder, folders, names, None, found))
                packed.append(numbers_)
        for piece in (json.dumps(said).encode(), b"".join(packed)):
            sys.stdout.buffer.write(LENGTH.pack(len(piece)) + piece)
        sys.stdout.buffer.flush()
