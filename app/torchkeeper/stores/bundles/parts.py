"""Parts of a file as streams of their own: of a bundle, what it holds; and its members, stored and
written once. Also which command built each object that goes into one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedRandom, BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeVar, cast

from torchkeeper.artifacts import forms, manifest, megacache
from torchkeeper.artifacts.builds import Build, Native, origin_from
from torchkeeper.artifacts.code import MAX_OBJECT, instruction_sets, key_of
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import begin_writing, no_room
from torchkeeper.stores.bundles.members import END, ENTRY, WIDE, Directory, Finder, Inflated, Member
from torchkeeper.stores.items import CHUNK, MARK, File, Item, Raw, Source, digest_of
from torchkeeper.stores.pouring import Progress, Take

if TYPE_CHECKING:
    from torchkeeper.artifacts.manifest import ListedFile


# Members of a zip, stored and written once: the same bytes that zipfile writes. zipfile
# itself cannot take a member back, and takes several times as long for a small one.

_EPOCH = (1980, 1, 1, 0, 0, 0)
#: A member that may come to more than zipfile's limit for small numbers has room for large ones.
MAY_BE_BIG = 1 << 30
#: What stands before the name of a small member where it is.
_HEADER = struct.Struct("<4s5H3L2H")
_VERSION = 20
#: Lines of the directory that wait to be packed: a million of them take much memory.
_LINES = 4096

Filled = TypeVar("Filled")


def info(name: str) -> zipfile.ZipInfo:
    """A member without anything of this machine or moment."""
    made = zipfile.ZipInfo(name, _EPOCH)
    made.external_attr = 0o644 << 16
    made.create_system = 3
    made.CRC = 0
    return made


class Members:
    """Adds members to an empty stream, and takes them back. It is a zip when it is closed."""

    def __init__(self, stream: BufferedRandom) -> None:
        self._stream, self._at = stream, 0
        # Of the directory: how many lines, how long, and those that are packed and that are not.
        self._count = self._size = 0
        self._packed: list[bytes] = []
        self._lines: list[bytes] = []

    def add(self, name: str, size: int, fill: Callable[[Take], Filled]) -> tuple[Filled, int]:
        """A member that ``fill`` gives the bytes of, some ``size`` of them; returns what it does,
        and how many there were. Where it raises, ``take_back`` is to be called.
        """
        if size <= CHUNK and name.isascii() and self._at <= zipfile.ZIP64_LIMIT:
            small: list[bytes] = []
            filled = fill(lambda data: small.append(bytes(data)))
            data = b"".join(small)
            crc, size = zlib.crc32(data), len(data)
            header = _small_header(name, crc, size)
            self._stream.write(header + data)
            self._lines.append(_small_line(name, crc, size, self._at))
            self._at += len(header) + size
            return filled, size
        made, roomy = info(name), size > MAY_BE_BIG

        def take(data: bytes | memoryview) -> None:
            made.CRC = zlib.crc32(data, made.CRC)
            self._stream.write(data)
            begin_writing(self._stream.fileno(), self._at + made.file_size, len(data))
            made.file_size += len(data)

        self._stream.write(_members_header(made, roomy))
        filled = fill(take)
        self._complete(made, roomy)
        return filled, made.file_size

    def add_written(self, name: str, fill: Callable[[BufferedRandom], tuple[int, int]]) -> None:
        """A member that ``fill`` writes to the stream itself, however large; it returns the CRC
        and the size of what it has written. Where it raises, the zip is of no use.
        """
        made = info(name)
        self._stream.write(_members_header(made, True))
        made.CRC, made.file_size = fill(self._stream)
        self._complete(made, True)

    def mark(self) -> tuple[int, int]:
        """What ``take_back`` goes back to."""
        if len(self._lines) >= _LINES:
            self._pack()
        return len(self._lines), self._at

    def take_back(self, mark: tuple[int, int]) -> None:
        """Forget the members added since, a part of one included."""
        count, self._at = mark
        del self._lines[count:]
        self._stream.seek(self._at)
        self._stream.truncate()

    def close(self) -> None:
        self._pack()
        for packed in self._packed:
            self._stream.write(zlib.decompress(packed))
        self._stream.write(end_of(self._count, self._size, self._at))

    def _pack(self) -> None:
        lines = b"".join(self._lines)
        self._packed.append(zlib.compress(lines, 1))
        self._count, self._size = self._count + len(self._lines), self._size + len(lines)
        self._lines.clear()

    def _complete(self, made: zipfile.ZipInfo, roomy: bool) -> None:
        """Write a header once more, when what it says is known."""
        end = self._stream.tell()
        self._stream.seek(self._at)
        self._stream.write(_members_header(made, roomy))
        self._stream.seek(end)
        made.header_offset, self._at = self._at, end
        self._lines.append(line_of(made))


def _members_header(made: zipfile.ZipInfo, roomy: bool) -> bytes:
    made.compress_size = made.file_size
    return made.FileHeader(roomy)


class Slice(Raw):
    """A part of a file, as a stream of its own."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        self._file, self._offset, self._size, self._at = file, offset, size, 0

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        # The file is shared with other parts and the zip, so its position is never used.
        some = memoryview(buffer)[: max(0, self._size - self._at)]
        got = os.preadv(self._file.fileno(), [some], self._offset + self._at) if some else 0
        self._at += got
        return got


# Whether a bundle is, but for its files, byte by byte what an export would have written, so that of
# one that is signed no byte can be another: the mega-cache, which stock PyTorch may be given as it
# is, and all that is around the files.

#: Members that no entry of a manifest names.
OUR_OWN = frozenset({manifest.NAME, manifest.SIGNATURE, manifest.MEGA_CACHE})


#: Bytes of a manifest up to which its copy is held in memory.
_IN_MEMORY = 1 << 20
#: Characters of a name that one of ours may have.
_MAX_NAME = 2048
#: Of a member in front of its bytes: a magic number, flags, and the lengths of two texts after it.
_LOCAL_HEADER = struct.Struct("<4s2xH18xHH")


#: Why a zip cannot be read that was cut off.
INCOMPLETE = "It is not a complete zip file: its end may be missing"
#: What is said of a file that is a package of torch, by its form; members that are looked at.
_OTHERS: dict[forms.Form, str] = {"pt2": "bundle-is-package", "exported": "bundle-is-exported"}
_MOST_OF_PACKAGE = 20_000


class Opened:
    """A bundle with a manifest, open for reading.

    own: those of its members that are OUR_OWN; size: bytes of all; manifest, sha256: a copy of what
    says what is in it; ``close`` lets go of it. Raises Problem("bundle-damaged", why=…) when made,
    "bundle-is-package" and "bundle-is-exported" for what torch packed, and as
    ``Directory.checked``.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.own, self.size = stream, dict[str, Member](), 0
        try:
            self.directory = Directory(stream)
            for one in self.directory.checked():
                self.size += one.size
                if one.name in OUR_OWN:
                    self.own[one.name] = one
            form = None if manifest.NAME in self.own else self._form()
        except (zipfile.BadZipFile, OSError, UnicodeDecodeError) as e:
            raise Problem("bundle-damaged", why=INCOMPLETE) from e
        listed = self.own.get(manifest.NAME)
        if listed is None:
            if form:
                raise Problem(_OTHERS[form])
            raise Problem("bundle-damaged", why="It has no manifest")
        if listed.size > (manifest.MAX_SIZE if listed.as_it_is else manifest.MAX_PACKED):
            raise Problem("bundle-damaged", why="Its manifest is too large")
        self.manifest, self.sha256 = self.read(listed)

    @property
    def signed(self) -> bool:
        return manifest.SIGNATURE in self.own

    def close(self) -> None:
        self.manifest.close()

    def _form(self) -> forms.Form | None:
        """What it is without a manifest: a package of torch, by its mark; else None."""
        names = [one.name for one in islice(self.directory, _MOST_OF_PACKAGE)]
        root = names[0].partition("/")[0] + "/" if names else ""
        mark = next((one for one in self.directory if one.name == root + forms.MARK), None)
        if mark is None or mark.size > len(forms.MARKED) + 2:
            return None
        copy, _ = self.read(mark)
        with copy:
            marked = copy.read().strip() == forms.MARKED
        return forms.package([x.removeprefix(root) for x in names]).form if marked else None

    def read(self, one: Member) -> tuple[BinaryIO, str]:
        """A copy of a member that is not too large, and its sha256: whoever writes to the bundle
        meanwhile changes nothing of what is read, and checked, and handed to ssh-keygen.
        """
        name, found, crc = one.name, hashlib.sha256(), 0
        header = os.pread(self.stream.fileno(), header_of(name), one.offset)
        part = Slice(self.stream, start_of(header, name, one.offset), one.packed)
        stream = part if one.as_it_is else inflated(part)
        with contextlib.ExitStack() as ends:
            try:
                held = BytesIO() if one.size <= _IN_MEMORY else tempfile.TemporaryFile()  # noqa: SIM115
                copy = cast(BinaryIO, ends.enter_context(held))
                while (data := stream.read(CHUNK)) and copy.tell() <= one.size:
                    found.update(data)
                    crc = zlib.crc32(data, crc)
                    copy.write(data)
                size = copy.tell()
                copy.seek(0)
            except OSError as e:
                if no_room(e):
                    where = tempfile.gettempdir()
                    raise Problem("place-unwritable", place=where, why=e.strerror) from e
                raise Problem("bundle-damaged", why=f"{name} cannot be read ({e})") from e
            if (crc, size) != (one.crc, one.size):
                why = "it is damaged"
                raise Problem("bundle-damaged", why=f"{name} cannot be read ({why})")
            ends.pop_all()
        return copy, found.hexdigest()


def inflated(part: Slice) -> BinaryIO:
    """What is packed in a part of a file."""
    return cast(BinaryIO, io.BufferedReader(Inflated(part), CHUNK))


def header_of(name: str) -> int:
    """Bytes that the header of a member of a name has, or more."""
    return 30 + min(len(name) * 4, _MAX_NAME)


def start_of(header: bytes, name: str, offset: int) -> int:
    """Where in the file the bytes of a member start whose header is at an offset. Raises
    Problem("bundle-damaged") where that is not the header of a member of this name.
    """
    if len(header) >= 30:
        magic, flags, length, extra = _LOCAL_HEADER.unpack_from(header)
        code = "utf-8" if flags & 0x800 or name.isascii() else "cp437"
        if magic == b"PK\x03\x04" and header[30 : 30 + length] == name.encode(code, "replace"):
            return offset + 30 + int(length) + int(extra)
    raise Problem("bundle-damaged", why=f"{name} cannot be read")


def check(path: str, opened: Opened, report: Report, files: bool = False) -> None:
    """See that the members, their order and the directory are as they would be written.

    files: whether files are read, too, and their sha256 compared; the mega-cache always is. Raises
    Problem("bundle-altered", file=…, part=…), where part names the entry that is another,
    Problem("bundle-more", file=…, part=…), and as ``manifest.begin``.
    """
    stream, directory, listed = opened.stream, opened.directory, opened.manifest
    try:
        said = manifest.begin(listed)
        promised = Finder((x.path, x.sha256) for entry in said.entries for x in entry.files)
        _check(path, opened, report, files, said.mega_cache, promised)
        for _ in promised.rest():
            report.check()  # what is damaged in the manifest is to be told
    except Problem as problem:
        problem.params.setdefault("file", path)
        if problem.code == "bundle-altered":
            problem.params["part"] = _named(str(problem.params["part"]), listed, report)
        raise
    size = directory.end - directory.start
    expected = end_of(directory.count, size, directory.start)
    if os.pread(stream.fileno(), len(expected) + 1, directory.end) != expected:
        raise Problem("bundle-altered", file=path, part="the directory at its end")


def _check(
    path: str, opened: Opened, report: Report, files: bool, mega: str | None, promised: Finder[str]
) -> None:
    stream, directory = opened.stream, opened.directory
    done = Progress(report, opened.size)
    lines = io.BufferedReader(Slice(stream, directory.start, directory.end), CHUNK)
    end = 0
    for one in directory:
        report.check()
        name, sha256 = one.name, mega
        if name not in OUR_OWN:
            sha256 = promised.take(name)
            if sha256 is None:
                raise Problem("bundle-more", file=path, part=name[:200])
        found = as_written(stream, one) if one.offset == end else None
        if found is None:
            raise Problem("bundle-altered", part=name)
        size, line = found
        part = Slice(stream, end + size, one.size)
        if name == manifest.MEGA_CACHE:
            if mega != _digest(part, done):
                stream_ = io.BufferedReader(part, CHUNK)
                named = altered(cast(BinaryIO, stream_), opened.manifest, report)
                raise Problem("bundle-altered", part=named or name)
        elif files and name not in OUR_OWN and sha256 != _digest(part, done):
            raise Problem("bundle-altered", part=name)
        if lines.read(len(line)) != line:
            raise Problem("bundle-altered", part=name)
        end += size + one.size
    done.end()
    if end != directory.start:
        raise Problem("bundle-altered", part="the directory at its end")


def altered(stream: BinaryIO, listed: BinaryIO, report: Report) -> str | None:
    """The first artifact of a mega-cache that is not as promised, as ``kind key``, or None."""
    keys: dict[tuple[str, str, str], str] = {}
    for entry in manifest.begin(listed).entries:
        report.check()
        if entry.kind in megacache.TYPE_OF_KIND:
            # An autotune result is under files/, too; its key here is its path there.
            other = entry.kind == "autotune" and entry.files
            key = entry.path[len(manifest.FILES) :] if other else entry.key
            keys[entry.kind, key, entry.sha256] = f"{entry.kind} {entry.key}"[:200]
    stream.seek(0)
    if not megacache.looks_like(stream.read(12)):
        return None
    order = list(megacache.TYPE_OF_KIND)
    left = dict(sorted(keys.items(), key=lambda one: (order.index(one[0][0]), one[0])))
    try:
        for one in megacache.walk(stream, stream.seek(0, os.SEEK_END), report):
            kind = megacache.KIND_OF_TYPE.get(one.type, one.type)
            stream.seek(one.offset)
            digest = digest_of(stream, report, one.size)
            if (kind, one.key, digest) in keys:
                left.pop((kind, one.key, digest), None)
                continue
            same = (name for at, name in left.items() if at[:2] == (kind, one.key))
            alike = (name for at, name in left.items() if at[2] == digest)
            return next(same, None) or next(alike, None) or f"{kind} {one.key}"[:200]
    except Problem:
        pass  # what comes after that is the one
    return next(iter(left.values()), None)


def _digest(part: Slice, done: Progress) -> str:
    found = hashlib.sha256()
    while data := part.read(CHUNK):
        found.update(data)
        done.add(len(data))
    return found.hexdigest()


def _named(name: str, listed: BinaryIO, report: Report) -> str:
    """A member, with the kind and key of the entry that it is a file of, if there is one."""
    for entry in manifest.begin(listed).entries if name.startswith(manifest.FILES) else ():
        report.check()
        if any(file.path == name for file in entry.files):
            return f"{entry.kind} {entry.key}"[:200] + f" ({name[:200]})"
    return name[:200]


def end_of(count: int, size: int, start: int) -> bytes:
    """What stands after the directory of a zip that has so many lines, and so many bytes from
    ``start`` on.
    """
    wide = b""
    if count > zipfile.ZIP_FILECOUNT_LIMIT or max(start, size) > zipfile.ZIP64_LIMIT:
        whole = (44, 45, 45, 0, 0, count, count, size, start)
        wide = WIDE.pack(b"PK\6\6", *whole, b"PK\6\7", 0, start + size, 1)
        count, size, start = min(count, 0xFFFF), min(size, 0xFFFFFFFF), min(start, 0xFFFFFFFF)
    return wide + END.pack(b"PK\5\6", 0, 0, count, count, size, start, 0)


def line_of(made: zipfile.ZipInfo) -> bytes:
    """The line of a member in the directory."""
    name, most = made.filename, max(made.header_offset, made.file_size)
    if name.isascii() and most <= zipfile.ZIP64_LIMIT and made.extract_version == _VERSION:
        return _small_line(name, made.CRC, made.file_size, made.header_offset)
    alone = BytesIO()
    with zipfile.ZipFile(alone, "w") as archive:
        archive.filelist.append(made)
    return alone.getvalue()[: -END.size]


def _small_line(name: str, crc: int, size: int, at: int) -> bytes:
    head = (b"PK\1\2", _VERSION, 3, _VERSION, 0, 0, 0, 0, 33, crc, size, size, len(name))
    return ENTRY.pack(*head, 0, 0, 0, 0, 0o644 << 16, at) + name.encode()


def _small_header(name: str, crc: int, size: int) -> bytes:
    head = (b"PK\3\4", _VERSION, 0, 0, 0, 33, crc, size, size, len(name), 0)
    return _HEADER.pack(*head) + name.encode()


def as_written(stream: BinaryIO, one: Member) -> tuple[int, bytes] | None:
    """How long the header of a member is, and its line, as it is written here; None where the
    header that is there is another. Small members and large ones have different ones.
    """
    there = os.pread(stream.fileno(), 128 + len(one.name) * 4, one.offset)
    for header, line in _written(one):
        if there.startswith(header):
            return len(header), line
    return None


def _written(one: Member) -> Iterator[tuple[bytes, bytes]]:
    if one.name.isascii() and max(one.offset, one.size) <= zipfile.ZIP64_LIMIT:
        header = _small_header(one.name, one.crc, one.size)
        yield header, _small_line(one.name, one.crc, one.size, one.offset)
    for roomy in (False, True):
        made = info(one.name)
        made.CRC, made.file_size, made.compress_size = one.crc, one.size, one.size
        made.header_offset = one.offset
        with contextlib.suppress(zipfile.LargeZipFile):
            yield made.FileHeader(roomy), line_of(made)


# Which command built each object: an environment tells every command that its PyTorch builds CPU
# code with (verdict.commands). One of them and a source give a name (artifacts.code.key_of), and
# where that is the name of an object, it was this command. The library of an eager kernel is named
# after no command. Of it a bundle claims the environment that exports: PyTorch there would load it.
#
# It proves nothing of the CPU: ``-march=native`` is the same text on every one. A bundle claims the
# CPU of the machine that exports, but of an object that itself records more than this CPU can, as
# where a cluster shares a cache. One that records nothing may have been built elsewhere all the
# same: such a claim is as good as the cache was for the machine that exported it.

#: Bytes of the largest source whose name is looked for; real ones have some 100 KB.
MAX_SOURCE = 8 << 20

#: What PyTorch defines when it builds kernels, and only where it precompiles headers for them
#: (torch/_inductor/cpp_builder.py).
OF_KERNEL, HEADERS = "TORCH_INDUCTOR_CPP_WRAPPER", "TORCH_INDUCTOR_PRECOMPILE_HEADERS"


def is_pair(item: Item) -> bool:
    """Whether an item is a C++ source and the object built of it, and no more than that."""
    if item.kind != "code" or len(item.files) != 2:
        return False
    source, made = (file.name for file in item.files)
    return source.endswith(".cpp") and source[:-4] == made[:-3] and made.endswith(".so")


def has_object(item: Item) -> bool:
    """Whether an item holds something built."""
    return _object(item) is not None


def _object(item: Item) -> File | None:
    files = item.files if item.kind in ("code", "aoti_eager") else ()
    return next((file for file in files if file.name.endswith(".so")), None)


class Made(NamedTuple):
    """How an object was built: the portable text of the command, None of an eager kernel's
    library; and ``elsewhere`` as of Build.
    """

    command: str | None
    elsewhere: bool


class Makers(Protocol):
    """Tells how objects were built. ``origin``: as ``builds.origin_from``, commands left out."""

    @property
    def origin(self) -> Native | None:
        """Where, for all objects of which ``made`` tells something."""

    def made(self, item: Item, source: Source) -> Made | None:
        """How an item's object was built, or None."""


class Environment:
    """The commands of an environment, against which names of objects are held."""

    def __init__(self, origin: Native, commands: Sequence[tuple[str, str]]) -> None:
        self.origin: Native | None = origin
        self._flags = set(origin["cpu_flags"])
        self._commands = list(commands)

    def made(self, item: Item, source: Source) -> Made | None:
        """As ``Makers``. What cannot be read is told by whoever copies it."""
        if item.kind == "aoti_eager":
            return Made(None, self._is_for_another(item, source)) if has_object(item) else None
        command = self._command(item, source)
        return None if command is None else Made(command, self._is_for_another(item, source))

    def _is_for_another(self, item: Item, source: Source) -> bool:
        """Whether an object records more than this CPU can."""
        made = _object(item)
        assert made
        try:
            with source.open(made) as stream:
                data = stream.read(MAX_OBJECT)
        except OSError:
            return False
        # What is behind a cut may say more.
        sets = instruction_sets(data) if len(data) < MAX_OBJECT else None
        return bool(sets and sets - self._flags)

    def _command(self, item: Item, source: Source) -> str | None:
        if not is_pair(item) or item.files[0].size > MAX_SOURCE:
            return None
        try:
            with source.open(item.files[0]) as stream:
                text = stream.read(MAX_SOURCE).decode()
        except (OSError, UnicodeDecodeError):
            return None
        for number, (extra, portable) in enumerate(self._commands):
            if key_of(text, extra) == item.key:
                # The next was built by the same, most likely.
                self._commands.insert(0, self._commands.pop(number))
                return portable
        return None


def environment(builders: object) -> Environment | None:
    """What an environment builds with, as its probe tells it (``native``: as ``origin_from``, but
    with commands ``[{extra, portable}]``); None where that tells nothing of use.
    """
    if not isinstance(builders, Mapping):
        return None
    said = builders.get("commands")
    commands = [
        (one["extra"], one["portable"])
        for one in (said if isinstance(said, list) else ())
        if isinstance(one, dict)
        and isinstance(one.get("extra"), str)
        and isinstance(one.get("portable"), str)
    ]
    origin = origin_from({**builders, "commands": [portable for _, portable in commands]})
    return Environment({**origin, "commands": []}, commands) if origin and commands else None


@dataclass
class Record:
    """What a manifest will say of the objects of a bundle. objects: how many entries hold one;
    described: of how many it is known how they were built.
    """

    makers: Makers | None = None
    objects: int = 0
    described: int = 0
    _commands: dict[str, int] = field(default_factory=dict)

    def add(self, item: Item, source: Source, files: Sequence[ListedFile]) -> Build | None:
        """Note an entry that goes into the bundle, and its files as the manifest lists them."""
        if not has_object(item):
            return None
        self.objects += 1
        made = self.makers.made(item, source) if self.makers else None
        if made is None or (made.command is not None and len(files) != 2):
            return None
        self.described += 1
        if made.command is None:
            text = next(file.path for file in files if MARK in file.path)
            library = next(file.path for file in files if file.path.endswith(".so"))
            return Build(text, library, None, made.elsewhere)
        number = self._commands.setdefault(made.command, len(self._commands))
        return Build(files[0].path, files[1].path, number, made.elsewhere)

    @property
    def native(self) -> Native | None:
        """Where the objects were built, with the commands that are meant; None of none."""
        origin = self.makers.origin if self.makers and self.described else None
        return None if origin is None else {**origin, "commands": list(self._commands)}
