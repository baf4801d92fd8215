"""What has come of files whose transfer broke off, so that the next one goes on from there: the two
ends compare pieces of the file by their digests, and only what is missing goes.

What has come lies in a folder for temporary files that nobody else can open. A bundle that is made
again need not be the same: where a member of it begins a piece does, too, so that what has not
changed is the same pieces.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import IO

from torchkeeper.stores.atomic import handle_of

#: Bytes of a file from which on it is worth it, and up to which; how many files of a machine are
#: kept at most, two for each of three transfers, and seconds; how they are called: by the machine
#: that they come from, for another is not to learn what is here of it.
LEAST, MOST, _FILES, _KEPT = 1 << 20, 1 << 38, 6, 7 * 86_400
_NAME = re.compile(r"(?:[0-9a-f]{16}-)?[0-9a-f]{16}")
#: Bytes of a piece at least, and how many pieces of that size a file has at most, as powers of two:
#: they fit into one message. How many times as long one may be, and where members have it end.
_PIECE, _PIECES, _LONGEST, _NEAR = 16, 13, 16, 4
#: How a member of a bundle begins, and in how many bytes it says what it is.
_MEMBER, _HEAD = b"PK\x03\x04", 64
#: Of how many of them one is chosen.
_TRIED = 4096
#: Bytes at once.
BLOCK = 1 << 18

#: The bytes of a piece and its SHA-256; where a stretch begins, and where it ends.
Piece = tuple[int, str]
Stretch = tuple[int, int]


def _folder() -> str:
    """The folder, which need not be there. Raises OSError where it is somebody else's."""
    path = os.path.join(tempfile.gettempdir(), f"torchkeeper-parts-{os.geteuid()}")
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o77:
            raise PermissionError
    return path


def _of(machine: str) -> str:
    return hashlib.sha256(machine.encode()).hexdigest()[:16]


def there(machine: str = "") -> list[str]:
    """The files that something has come of from a machine, the latest first; "" are all that ask
    this one. What is too old goes, wherever it is from.
    """
    found, count, kept = dict[str, float](), Counter[str](), list[str]()
    with contextlib.suppress(OSError), os.scandir(_folder()) as entries:
        for one in entries:
            with contextlib.suppress(OSError):  # it has just gone
                if _NAME.fullmatch(one.name) and one.is_file(follow_symlinks=False):
                    found[one.path] = one.stat(follow_symlinks=False).st_mtime
    late = time.time() - _KEPT
    for path in sorted(found, key=lambda path: -found[path]):
        count[of := os.path.basename(path).rpartition("-")[0]] += 1
        if count[of] > _FILES or found[path] < late:
            with contextlib.suppress(OSError):
                os.unlink(path)
        elif of == _of(machine):
            kept.append(path)
    return kept


def keep(file: str, machine: str = "") -> None:
    """Keep what comes, or has come, of a file; where that cannot be, the next time begins anew.
    machine: as of ``there``.
    """
    with contextlib.suppress(OSError):
        os.makedirs(folder := _folder(), 0o700, exist_ok=True)
        name = f"{_of(machine)}-{os.urandom(8).hex()}"
        try:
            with handle_of(folder, os.O_PATH | os.O_DIRECTORY) as at:
                # With a folder Python calls linkat(2), which follows the link of a descriptor.
                os.link(file, name, dst_dir_fd=at, follow_symlinks=True)
        except OSError:  # on another file system
            try:
                _copy(file, os.path.join(folder, name))
            except OSError:
                os.unlink(os.path.join(folder, name))
        there()


def _copy(file: str, kept: str) -> None:
    """Copy what there is of a file, and not the room for what is missing. Raises OSError, also
    where that takes more than a quarter of what is free.
    """
    room, begin = os.statvfs(os.path.dirname(kept)), 0
    with open(kept, "xb") as target, open(file, "rb") as source:
        about = os.fstat(source.fileno())
        if about.st_blocks * 512 > room.f_bavail * room.f_frsize // 4:
            raise OSError
        target.truncate(about.st_size)
        while True:
            try:
                begin = os.lseek(source.fileno(), begin, os.SEEK_DATA)
            except OSError:  # no more is there
                return
            end = os.lseek(source.fileno(), begin, os.SEEK_HOLE)
            scatter(blocks(source, [(begin, end)]), [(begin, end)], target)
            begin = end


def forget(*files: str) -> None:
    """Remove files, and what was kept of them."""
    for file in files:
        for one in [*there(), file]:
            with contextlib.suppress(OSError):
                if os.path.samefile(one, file):
                    os.unlink(one)
    with contextlib.suppress(OSError):
        os.rmdir(_folder())


def leave(file: str) -> None:
    """Remove a file, but not what was kept of it if enough has come."""
    with contextlib.suppress(OSError):
        (os.unlink if worth(os.stat(file)) else forget)(file)


def worth(about: os.stat_result) -> bool:
    """Whether so much has come of a file that the next time is to go on with it: what is on the
    disk, not what was said to come.
    """
    return about.st_blocks * 512 >= LEAST


def cut(stream: IO[bytes], size: int) -> Iterator[Piece]:
    """The pieces of a file; size: of the whole, of which there may be only the beginning."""
    least = 1 << max(_PIECE, size.bit_length() - _PIECES)
    most, data = least * _LONGEST, bytearray()
    while True:
        while len(data) < most and (more := stream.read(min(BLOCK, most - len(data)))):
            data += more
        if not data:
            return
        # Not the first one: after something new, the same ones are to be chosen again soon.
        near = islice(_members(data, least, least * _NEAR), _TRIED)
        first = min(((zlib.crc32(data[x : x + _HEAD]), x) for x in near), default=None)
        piece = bytes(data[: first[1] if first else next(_members(data, least, most), most)])
        yield len(piece), hashlib.sha256(piece).hexdigest()
        del data[: len(piece)]


def _members(data: bytearray, begin: int, end: int) -> Iterator[int]:
    """Where members begin."""
    while (begin := data.find(_MEMBER, begin, end)) > 0:
        yield begin
        begin += 1


def fill(
    pieces: Sequence[Piece], stream: IO[bytes], machine: str = ""
) -> tuple[list[Stretch], set[str]]:
    """Put what is there of a file into one of this size; what is missing, and the files that most
    was taken of: another transfer may want the others. machine: as of ``there``. Raises OSError.
    """
    at, missing, taken = 0, list[Stretch](), Counter[IO[bytes]]()
    known = dict[Piece, tuple[IO[bytes], int]]()
    size = sum(length for length, _ in pieces)
    with ExitStack() as opened:
        for path in there(machine):
            begin = 0
            with contextlib.suppress(OSError):  # it has just gone; what is open stays
                part: IO[bytes] = opened.enter_context(open(path, "rb"))
                for piece in cut(part, size):
                    known.setdefault(piece, (part, begin))
                    begin += piece[0]
        stream.truncate(size)
        for piece in pieces:
            end = at + piece[0]
            try:
                part, begin = known[piece]
                scatter(blocks(part, [(begin, begin + piece[0])]), [(at, end)], stream)
                taken[part] += piece[0]
            except (KeyError, ValueError):  # it is not there, or has become shorter
                joins = missing and missing[-1][1] == at
                missing.append((missing.pop()[0] if joins else at, end))
            at = end
        sizes = {one: os.fstat(one.fileno()).st_blocks * 512 for one in taken}
    return missing, {one.name for one in taken if taken[one] * 2 > sizes[one]}


def blocks(stream: IO[bytes], stretches: Iterable[Stretch]) -> Iterator[bytes]:
    """What is in these stretches of a file, one after the other."""
    for begin, end in stretches:
        stream.seek(begin)
        while begin < end and (data := stream.read(min(BLOCK, end - begin))):
            begin += len(data)
            yield data


def scatter(data: Iterable[bytes], stretches: Iterable[Stretch], stream: IO[bytes]) -> None:
    """Put what comes into these stretches of a file. Raises ValueError where it is more or less."""
    blocks, block = iter(data), b""
    for begin, end in stretches:
        stream.seek(begin)
        while begin < end and (block := block or next(blocks, b"")):
            some, block = block[: end - begin], block[end - begin :]
            begin += stream.write(some)
        if begin < end:
            raise ValueError("less has come than is missing")
    if block or next(blocks, b""):
        raise ValueError("more has come than is missing")
