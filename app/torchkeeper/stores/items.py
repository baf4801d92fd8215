"""What a store holds before anything is read: items of files, and how to get their bytes. Also
files that list several items: the kernels of an eager operator (artifacts.aoti_eager).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO, RawIOBase
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol, TypeVar

from torchkeeper.artifacts import aoti_eager, triton, vllm
from torchkeeper.artifacts.beside import is_known_link
from torchkeeper.artifacts.entry import KINDS, Problem, measured, tally
from torchkeeper.artifacts.layout import (
    JOURNAL,
    VLLM_INDEX,
    Located,
    eager_library,
    kernel_folder,
    locate,
)
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.walk_process import NUMBERS, SECOND

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount

CHUNK = 1 << 20


class File(NamedTuple):
    """One file of a store; a tuple, because a big folder has a million of them.

    path: relative to the place. size and allocated: bytes, apparent and on the disk. mtime_ns: None
    in bundles. inode: (device, number) where there is one, to count hard links once and to notice
    that a file was replaced. mode: permission bits. sha256: what a manifest promises, to be checked
    against the bytes. at: where the header of one in a bundle is; ``~at`` where it is packed. used
    and changed: when it was read last and when anything of it changed, in seconds, on a disk.
    """

    path: str
    size: int
    mtime_ns: int | None = None
    allocated: int = 0
    inode: tuple[int, int] | None = None
    mode: int = 0o644
    regular: bool = True
    sha256: str | None = None
    at: int | None = None
    used: float | None = None
    changed: float = 0.0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def stamp(status: os.stat_result) -> tuple[int, int, tuple[int, int]]:
    """Size, time and inode of a file, which tell whether it has changed."""
    return status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino)


class OnDisk:
    """Counts the files of some items, each once, and their bytes on the disk, hard links once. One
    bit is kept of each: a big folder has a million, with numbers that are near each other.
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.files = self.bytes = 0
        self._seen: dict[int, int] = {}
        self._paths: set[str] = set()
        self.count(items)

    def __contains__(self, inode: tuple[int, int]) -> bool:
        bits = self._seen.get(inode[0] << 64 | inode[1] >> 6, 0)
        return bool(bits >> (inode[1] & 63) & 1)

    def count(self, items: Iterable[Item]) -> None:
        """Count more, the files of some items."""
        rest, seen, size = list[Item](), self._seen, 0
        for item in items:
            if type(item) is not Packed:
                rest.append(item)
                continue
            self.files += item.count
            for _, _, _, allocated, device, number, *_ in NUMBERS.iter_unpack(item._numbers):
                block, bit = device << 64 | number >> 6, 1 << (number & 63)
                bits = seen.get(block, 0)
                if not bits & bit:
                    seen[block] = bits | bit
                    size += allocated
        self.bytes += size
        self.add(files_of(rest))

    def add(self, files: Iterable[File]) -> None:
        """Count more."""
        for _ in self.new(files):
            pass

    def new(self, files: Iterable[File]) -> Iterator[File]:
        """Count more; those of them that are met for the first time, by whatever name."""
        seen, paths = self._seen, self._paths
        for file in files:
            self.files += 1
            if inode := file[4]:
                block, bit = inode[0] << 64 | inode[1] >> 6, 1 << (inode[1] & 63)
                bits = seen.get(block, 0)
                if bits & bit:
                    continue
                seen[block] = bits | bit
            elif file[0] in paths:
                continue
            else:
                paths.add(file[0])
            self.bytes += file[3]
            yield file


def file_of(path: str, about: tuple[int, int, int, int, int, int, float, float, int, bool]) -> File:
    """The File of a path and its NUMBERS."""
    size, seconds, more, allocated, device, inode, used, changed, mode, regular = about
    where, mtime_ns = (device, inode), seconds * SECOND + more
    every = path, size, mtime_ns, allocated, where, mode, regular, None, None, used, changed
    return _new(File, every)  # as File(…) does, in half the time: a big folder has a million


_new = tuple.__new__


@dataclass(slots=True)
class Item:
    """The files of one entry, unread. about: what a file that lists several entries says of this
    one, for a reader. sha256: what its files are to come to (payload_digest), where that is not in
    each of them. torch: the version that a manifest claims it was made for, where the entry itself
    does not tell. look: of a folder as of Walk.look; None where nobody has asked.
    """

    kind: str
    key: str
    path: str
    files: list[File] = field(default_factory=list)
    about: bytes = b""
    sha256: str | None = None
    torch: str | None = None
    look: int | None = None

    @property
    def count(self) -> int:
        return len(self.files)

    @property
    def size(self) -> int:
        """Apparent bytes of all files."""
        return sum([file[1] for file in self.files])

    @property
    def folders(self) -> set[str]:
        """The folders that its files are in."""
        return {file[0].rpartition("/")[0] for file in self.files}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its files, each after a slash."""
        return tuple([f"/{file.name}" for file in self.files])

    @property
    def list_path(self) -> str:
        """The path of the list that it is an item of, if it is of one."""
        return self.path.partition(MARK)[0]

    @property
    def identity(self) -> tuple[str, str]:
        return self.kind, self.path


class Packed(Item):
    """A kernel of a folder, whose files take a tenth of the memory; a big folder has a million.
    They are made when somebody asks: their slot is not set, so that asking ends in ``__getattr__``.
    """

    __slots__ = ("_digests", "_hashed", "_names", "_numbers")
    _each = NUMBERS  # of which the first is the size

    def __init__(self, item: Item, names: tuple[str, ...] = (), numbers: bytes = b"") -> None:
        """names, each after a slash, and NUMBERS: of all files, where the item has none itself."""
        self.kind, self.key, self.path, self.look = item.kind, item.key, item.path, item.look
        self.about, self.sha256, self.torch = item.about, item.sha256, item.torch
        files, start = item.files, len(item.path)
        self._names = _shared(names or tuple([file[0][start:] for file in files]))
        about = [(x[1], *divmod(x[2] or 0, SECOND), x[3], *(x[4] or (0, 0))) for x in files]
        times = [(x[9] or 0.0, x[10]) for x in files]
        packed = [
            NUMBERS.pack(*a, *t, *x[5:7]) for a, t, x in zip(about, times, files, strict=True)
        ]
        self._numbers = numbers or b"".join(packed)
        # Those of few files are known.
        self._hashed = _shared(tuple([file[0][start:] for file in files if file[7]]))
        self._digests = b"".join([bytes.fromhex(file[7]) for file in files if file[7]])

    def __getattr__(self, name: str) -> object:
        if name != "files":
            raise AttributeError(name)
        about = zip(self._names, NUMBERS.iter_unpack(self._numbers), strict=True)
        path = self.path
        files = [file_of(path + one, numbers) for one, numbers in about]
        for number, one in enumerate(self._hashed):
            index, digest = self._names.index(one), self._digests[number * 32 :][:32]
            files[index] = files[index]._replace(sha256=digest.hex())
        return files

    @property
    def count(self) -> int:
        return len(self._names)

    @property
    def folders(self) -> set[str]:
        return {self.path}

    @property
    def size(self) -> int:
        return sum([numbers[0] for numbers in self._each.iter_unpack(self._numbers)])

    @property
    def names(self) -> tuple[str, ...]:
        return self._names


def packed(items: Iterable[Item]) -> Iterator[Item]:
    """The items of a folder, so small that all of them can be held; others as they are."""
    for x in items:
        yield Packed(x) if type(x) is Item and x.kind == "triton" and x.files[0][4] else x


def files_of(items: Iterable[Item]) -> Iterator[File]:
    """Each file of some items; one that lists several of them once."""
    seen = set[object]()
    for item in items:
        for file in item.files:
            if not item.about:
                yield file
            elif (file[0], file[4]) not in seen:
                seen.add((file[0], file[4]))
                yield file


def amount_of(items: Collection[Item], *, on_disk: bool = True) -> Amount:
    """How much some items are: ``tally``, ``measured`` and files."""
    counts, size = tally(item.kind for item in items), OnDisk(items if on_disk else ())
    if on_disk:
        return {**counts, "files": size.files, **measured(size.bytes, on_disk=True)}
    files = sum(item.count if item.kind == "triton" else 1 for item in items)
    return {**counts, "files": files, **measured(sum(x.size for x in items), on_disk=False)}


class Stowed(Packed):
    """The same of a bundle: an item whose files all have paths that begin as its own does, up to
    ``start``, and a sha256.
    """

    __slots__ = ("_start",)
    _each = struct.Struct("<qq32s")
    folders, names = Item.folders, Item.names

    def __init__(self, item: Item, start: int) -> None:
        self.kind, self.key, self.path, self.look = item.kind, item.key, item.path, item.look
        self.about, self.sha256, self.torch = item.about, item.sha256, item.torch
        self._start, self._names = start, _shared(tuple([file[0][start:] for file in item.files]))
        self._numbers = b"".join(
            [self._each.pack(x.size, x.at, bytes.fromhex(x.sha256 or "")) for x in item.files]
        )

    def __getattr__(self, name: str) -> object:
        if name != "files":
            raise AttributeError(name)
        begin = self.path[: self._start]
        about = zip(self._names, self._each.iter_unpack(self._numbers), strict=True)
        return [
            _new(File, (begin + x, size, None, 0, None, 0o644, True, sha256.hex(), at, None, 0.0))
            for x, (size, at, sha256) in about
        ]


class Found(NamedTuple):
    """A folder in which files were found: their names, and their NUMBERS. A journal is none."""

    folder: str
    names: list[str]
    numbers: bytes

    @property
    def files(self) -> list[File]:
        prefix = f"{self.folder}/" if self.folder else ""
        found = zip(self.names, NUMBERS.iter_unpack(self.numbers), strict=True)
        return [file_of(prefix + x, y) for x, y in found if prefix or not x.startswith(JOURNAL)]

    def kernel(
        self, among: Callable[[list[File]], Proven] = lambda _: lambda _: True
    ) -> Sequence[Item] | None:
        """As ``kernel_items``; without a look at each file where all are those of a kernel. among:
        gives what proves some of all files in the folder.
        """
        key, size, numbers = kernel_folder(self.folder), NUMBERS.size, self.numbers
        if key is None:
            return None
        order = _of_kernel(tuple(self.names)) if key and not triton.is_common(key) else {}
        # The last byte of each says whether it is a regular file.
        if not (key and order) or numbers[size - 1 :: size].count(1) < len(order):
            files = self.files
            return kernel_items(self.folder, files, among(files))
        numbers = b"".join([numbers[at * size : (at + 1) * size] for at in order.values()])
        return [Packed(Item("triton", key, self.folder), tuple(order), numbers)]


@functools.lru_cache(maxsize=1024)
def _of_kernel(names: tuple[str, ...]) -> dict[str, int]:
    """Where in a folder each of its files is, by their names in order, each after a slash; nothing
    where not all of them are a kernel's.
    """
    if len(triton.own("", names)) < len(names):
        return {}
    return {f"/{name}": at for name, at in sorted(zip(names, range(len(names)), strict=True))}


@functools.lru_cache(maxsize=1024)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Some names as the tuple that was made of them before: most kernels have the same few."""
    return names


class Sized(Protocol):
    """What takes some bytes."""

    @property
    def size(self) -> int: ...


_Sized = TypeVar("_Sized", bound=Sized)


def batches(some: Iterable[_Sized], most_bytes: int, most: int) -> Iterator[list[_Sized]]:
    """Some at a time, in order; a single one may be larger than ``most_bytes``."""
    batch: list[_Sized] = []
    waiting = 0
    for one in some:
        size = one.size
        if batch and (waiting + size > most_bytes or len(batch) >= most):
            yield batch
            batch, waiting = [], 0
        batch.append(one)
        waiting += size
    if batch:
        yield batch


class Raw(RawIOBase):
    """A stream to read from; what derives from it says what there is (``readinto``)."""

    def readable(self) -> bool:
        return True


#: Told of an item that is left, and why.
Left = Callable[[Item, Problem], None]
#: Whether a file is what its path says, where that alone does not tell.
Proven = Callable[[File], bool]
#: What stands between the path of a list and the digest of an item.
MARK = "#"

#: The files in a folder of the place.
FilesIn = Callable[[str], list[File]]


class Source(Protocol):
    """Where the bytes of an item's files come from."""

    def open(self, file: File) -> BinaryIO:
        """The file, open for reading. Raises OSError."""


class Offered(Source, Protocol):
    """Entries that another place can take as they are: under paths of a folder (artifacts.layout),
    with the bytes of every place (``portable_bytes``). A file whose sha256 is not known has the
    time and inode of one that was listed, and must still be that.
    """

    def items(self) -> list[Item]:
        """The entries."""


class Taken:
    """Entries that another place can take as they are; ``open``: as their source has it."""

    def __init__(self, items: list[Item], source: Source) -> None:
        self._items = items
        self.open = source.open

    def items(self) -> list[Item]:
        return self._items


def kernel_items(folder: str, files: list[File], proven: Proven) -> list[Item] | None:
    """The items in a kernel's folder, given all its files; None where it is no kernel's."""
    key = kernel_folder(folder)
    if key is None:
        return None
    start = len(folder) + 1
    # By position, for the million of them.
    mine = sorted([file for file in files if file[6]])
    common = triton.is_common(key)
    if common:
        mine = [file for file in mine if proven(file)]
    own = triton.own(key if common else "", tuple([file[0][start:] for file in mine]))
    others: list[File] = []
    if len(own) < len(files):
        mine = [file for file in mine if file[0][start:] in own]
        others = [file for file in files if file[0][start:] not in own or not file[6]]
    if not key:
        items = [Item("lock", file.name, file[0], [file]) for file in mine]
    else:
        items = [Item("triton", key, folder, mine)] if mine else []
    for file in others:
        # It is being written, another compiler's, or a stranger's.
        at = locate(file[0])
        if at.kind not in ("lock", "jit") or not file[6] or not proven(file):
            at = Located("unknown", file.name, file[0])
        items.append(Item(at.kind, at.key, at.entry_path, [file]))
    return items


def located(
    files: Iterable[File], above: str = "", proven: Proven = lambda _: True,
    known: Callable[[File], Located | None] = lambda _: None,
) -> list[Item]:  # fmt: skip
    """Files as items, by their paths and what is seen of them. above: as of ``layout.locate``;
    known: tells of those that need not be looked at.
    """
    found: dict[tuple[str, str], Item] = {}
    for file in files:
        at = known(file)
        if at is None and (file[6] or is_known_link(file[0])):
            at = locate(file[0], above)
            if at.kind != "unknown" and not proven(file):
                at = None
        kind, key, path = at or ("unknown", file.name, file[0])
        item = found.get((kind, path))
        if item is None:
            found[kind, path] = Item(kind, key, path, [file])
        else:
            item.files.append(file)
    for item in found.values():
        if len(item.files) > 1:
            item.files.sort()
        if item.kind == "code":
            item.path = item.files[0].path  # a path that exists: source sorts before object
    return list(found.values())


#: The order in which kinds are read: what may need code comes before it.
_READING = tuple(dict.fromkeys(("fxgraph", "aotautograd", "precompile", "aoti_eager", *KINDS)))


def in_order(items: Iterable[Item]) -> list[Item]:
    """Items in the order in which they are read, what tells about others first; then by path."""
    by_kind: dict[str, list[Item]] = {kind: [] for kind in _READING}
    for item in items:
        by_kind[item.kind].append(item)
    for some in by_kind.values():
        some.sort(key=attrgetter("path"))
    # A kernel's name is in the module of its graph.
    by_kind["code"].sort(key=lambda item: not any(f.path.endswith(".py") for f in item.files))
    return [item for some in by_kind.values() for item in some]


def group(files: Iterable[File], above: str = "", proven: Proven = lambda _: True) -> list[Item]:
    """The files as items, in order; ``above`` and ``proven`` as of ``located``."""
    folders: dict[str, list[File]] = {}
    for file in files:
        folders.setdefault(file[0].rpartition("/")[0], []).append(file)
    items, rest = list[Item](), list[File]()
    for folder, some in folders.items():
        kernel = kernel_items(folder, some, proven)
        items += packed(kernel or ())
        rest += some if kernel is None else ()
    return in_order([*items, *located(rest, above, proven)])


def portable_bytes(kind: str, name: str, data: bytes) -> bytes:
    """A file's bytes as in every place: what names its folder, if readable, without that."""
    if is_group(kind, name):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            return moved(kind, data, "")
    return data


def moved(kind: str, data: bytes, folder: str) -> bytes:
    """The bytes of an ``is_group`` in a folder. Raises ValueError or TypeError for what is none."""
    return triton.group_for(data, folder) if kind == "triton" else vllm.index_for(data, folder)


def portable_stream(kind: str, file: File, stream: BinaryIO) -> BinaryIO:
    """The stream of a file as it is in every place (``portable_bytes``). Raises OSError."""
    if not is_group(kind, file.name) or file.size > CHUNK:
        return stream
    with stream:
        return BytesIO(portable_bytes(kind, file.name, stream.read(CHUNK)))


def is_group(kind: str, name: str) -> bool:
    """Whether a file's bytes depend on its folder: Triton's group files, and vLLM's lists."""
    if kind == "triton":
        return name.startswith(triton.GROUP_PREFIX)
    return kind == "code" and name == VLLM_INDEX


def digest_of(stream: BinaryIO | RawIOBase, report: Report, size: int | None = None) -> str:
    """The sha256 of what comes next in a stream: so many bytes, or all to its end."""
    found = hashlib.sha256()
    left = size
    while left != 0 and (data := stream.read(CHUNK if left is None else min(CHUNK, left))):
        report.check()
        found.update(data)
        left = None if left is None else left - len(data)
    return found.hexdigest()


def payload_digest(parts: list[tuple[str, str]]) -> str:
    """The sha256 of an item from (name, sha256) of its files: of one file its own, which is what
    PyTorch names payloads after; of several that of the sorted list of these as JSON.
    """
    if len(parts) == 1:
        return parts[0][1]
    return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()


def files_in(files: list[File]) -> FilesIn:
    """The files in each folder, of these."""
    found: dict[str, list[File]] = {}

    def of(folder: str) -> list[File]:
        if not found:
            for file in files:
                found.setdefault(file.path.rpartition("/")[0], []).append(file)
        return found.get(folder, [])

    return of


def taken_apart(items: list[Item], files_in: FilesIn, source: Source) -> list[Item]:
    """The items with each list as the items it lists, and their libraries not again as code. A list
    that cannot be read stays as it is.
    """
    if not any(item.kind == "aoti_eager" for item in items):
        return items
    found: list[Item] = []
    for item in items:
        found += _parts(item, files_in, source) if item.kind == "aoti_eager" else [item]
    taken = {file.path for item in found if item.about for file in item.files}
    for item in found:
        if item.kind == "code":
            item.files = [file for file in item.files if file.path not in taken]
    return [item for item in found if item.files]


def _parts(item: Item, files_in: FilesIn, source: Source) -> list[Item]:
    (conf,) = item.files
    if not conf.regular or conf.size > aoti_eager.MAX_LIST:
        return [item]
    try:
        with source.open(conf) as stream:
            listed = aoti_eager.items(stream.read(aoti_eager.MAX_LIST))
    except (OSError, ValueError, TypeError, RecursionError):
        return [item]
    namespace, device = item.path.split("/")[-3:-1]
    parts: list[Item] = []
    seen: dict[str, int] = {}
    for one in listed:
        digest = aoti_eager.digest(one)
        seen[digest] = seen.get(digest, 0) + 1
        mark = MARK + digest + (f"-{seen[digest]}" if seen[digest] > 1 else "")
        files = _library(conf.path, one, files_in)
        if not parts or not files:
            files = [conf, *files]
        said = aoti_eager.alone(f"{namespace}::{item.key}", device, one)
        parts.append(Item(item.kind, item.key + mark, item.path + mark, files, said))
    return parts or [item]


def _library(conf: str, one: dict[str, object], files_in: FilesIn) -> list[File]:
    """The library an item names, and what lies beside it under the same name."""
    named = one.get("kernel_path")
    path = eager_library(conf, named) if isinstance(named, str) else None
    if path is None:
        return []
    folder, name = os.path.split(path)
    stem = name.partition(".")[0] + "."
    return sorted(f for f in files_in(folder) if f.regular and f.name.startswith(stem))
