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
from itertools import islice
from typing import IO

from torchkeeper.stores.atomic import handle_of

#: Bytes of a file from which on it is worth it, and up to which; how many files are kept at most,
#: two for each of three transfers, and seconds; how they are called: by the machine that they come
#: from, for another is not to learn what is here of it.
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
    found = {}
    with contextlib.suppress(OSError), os.scandir(_folder()) as entries:
        ours = (x for x in entries if _NAME.fullmatch(x.name) and x.is_file(follow_symlinks=False))
        found = {one.path: one.stat(follow_symlinks=False).st_mtime for one in ours}
    latest = sorted(found, key=lambda path: -found[path])
    late = time.time() - _KEPT
    for path in [one for n, one in enumerate(latest) if n >= _FILES or found[one] < late]:
        latest.remove(path)
        with contextlib.suppress(OSError):
            os.unlink(path)
    return [path for path in latest if os.path.basename(path).startswith(_of(machine))]


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
        with contextlib.suppress(OSError):
            for one in [*(kept for kept in there() if os.path.samefile(kept, file)), file]:
                os.unlink(one)
    with contextlib.suppress(OSError):
        os.rmdir(_folder())


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
    size, at, missing, taken = (
        sum(length for length, _ in pieces),
        0,
        list[Stretch](),
        Counter[str](),
    )
    known = dict[Piece, tuple[str, int]]()
    for path in there(machine):
        begin = 0
        with open(path, "rb") as part:
            for piece in cut(part, size):
                known.setdefault(piece, (path, begin))
                begin += piece[0]
    stream.truncate(size)
    for piece in pieces:
        end = at + piece[0]
        if piece in known:
            path, begin = known[piece]
            taken[path] += piece[0]
            with open(path, "rb") as part:
                scatter(blocks(part, [(begin, begin + piece[0])]), [(at, end)], stream)
        elif missing and missing[-1][1] == at:
            missing[-1] = missing[-1][0], end
        else:
            missing.append((at, end))
        at = end
    return missing, {one for one in taken if taken[one] * 2 > os.stat(one).st_blocks * 512}


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
