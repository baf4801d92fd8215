"""Writing a bundle from a store: the same entries give the same bytes. How big it would be is known
to the byte before.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import BufferedRandom
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from torchkeeper.artifacts import layout, manifest, megacache
from torchkeeper.artifacts.builds import Build, MadeIn
from torchkeeper.artifacts.entry import KINDS, Problem
from torchkeeper.artifacts.manifest import Listed, ListedFile, Listing
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.version import VERSION
from torchkeeper.stores.atomic import AtomicFile
from torchkeeper.stores.bundles.parts import MAY_BE_BIG, Makers, Members, Record
from torchkeeper.stores.describe import Described, Singly
from torchkeeper.stores.folders.locks import remove_leftovers
from torchkeeper.stores.items import CHUNK, digest_of, is_group, payload_digest, portable_bytes
from torchkeeper.stores.offering import current, homes, mega_key
from torchkeeper.stores.pouring import Pouring, Progress, Take, drop, opened, unchanged
from torchkeeper.stores.preconditions import unwritable
from torchkeeper.stores.screening import Alarm, Screen

if TYPE_CHECKING:
    from torchkeeper.stores.items import File, Item, Left, Source

#: The kinds whose payloads a mega-cache holds, in the order of its sections.
MEGA = ("fxgraph", "aotautograd", "autotune", "pgo", "precompile")
#: The kinds that lie under files/. Autotune results are in both: a mega-cache serves torch.
FILES = frozenset({"code", "triton", "autotune", "aoti_eager", "jit"})
#: Bytes of small members that are written at once; a piece of a large one goes past it.
_BUFFER = CHUNK // 4
#: Bytes that a file takes besides its content, about: its headers, and its lines in the manifest.
_ABOUT = 512

_Value = TypeVar("_Value")


@dataclass
class Exported:
    """What went into a bundle; objects and described: as of ``parts.Record``; size: bytes of all of
    it. held: the file, where it is not to appear yet.
    """

    entries: int = 0
    files: int = 0
    bytes: int = 0
    objects: int = 0
    described: int = 0
    size: int = 0
    held: AtomicFile | None = None
    listed: Listing = field(default_factory=Listing)

    def add(self, one: Described, listed: Listed) -> None:
        """Count an entry, as the manifest lists it."""
        self.entries += 1
        self.files += one.item.count
        self.bytes += one.entry.size
        _list(self.listed, listed)


def export(
    chosen: list[Described],
    source: Source,
    output: str,
    report: Report,
    left: Left,
    replace: bool = True,
    makers: Makers | None = None,
    hold: bool = False,
    screen: Screen | None = None,
    mega: bool = False,
) -> Exported:
    """Write the entries to a bundle at ``output``, which appears when it is whole and on the disk.
    mega: to a mega-cache instead, as ``torch.compiler.load_cache_artifacts`` reads it.

    What a bundle cannot hold, what is broken, and what changes meanwhile goes to ``left``. Where
    nothing is left to write, nothing is written: what is there stays. Without ``replace``, a file
    that is there stays too. ``makers`` tell how objects were built. With ``hold`` it does not
    appear, and is for the caller to close. ``screen`` looks at what goes and holds back what should
    not, if it can while that is written: where nobody sees it before it is whole.
    Raises Problem("output-unwritable" | "output-full" | "output-exists"), as ``Screen.described``,
    and passes Cancelled on; nothing stays behind then. What an earlier one has left there is
    removed first.
    """
    remove_leftovers(os.path.dirname(output) or ".", report)
    if os.path.lexists(output) and not os.path.isfile(output):
        # A rename would replace a device or a folder by the bundle.
        raise Problem("output-unwritable", file=output, why="It is not a regular file")
    if not replace and os.path.lexists(output):
        raise Problem("output-exists", file=output)
    made: AtomicFile | None = None
    whence = Singly(source)
    whole = holdable(chosen, whence, left, mega)
    try:
        mode = None
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(output).st_mode)  # of the file that is replaced
        made = AtomicFile(output, mode, _BUFFER)
        out = cast(BufferedRandom, made.stream)

        stays: list[tuple[Item, Problem]] = []

        def stay(item: Item, problem: Problem) -> None:
            stays.append((item, problem))

        def write(taken: list[Described], alone: Singly, search: Screen | None) -> Exported:
            out.seek(0)
            out.truncate()
            done = Progress(report, sum(one.item.size for one in taken))
            write_all = _write_mega_cache if mega else _write
            written = write_all(taken, alone, out, done, report, stay, Record(makers), search)
            for what in stays:  # once, although a secret has it written again
                left(*what)
            done.end()
            return written

        exported = None
        if screen and screen.waits and made.is_nameless:
            # Nobody sees it yet, so that each file can be searched as it is written, read once.
            with contextlib.suppress(Alarm):
                exported = write(whole, whence, screen)
        if exported is None:
            stays.clear()
            if screen:
                some, origin = screen.described(_of(chosen, whole), source)
                whence = Singly(origin)
                whole = holdable(some, whence, stay, mega)
            exported = write(whole, whence, None)
        if exported.entries:
            made.stream.flush()
            exported.size = os.fstat(made.stream.fileno()).st_size
            if hold:
                exported.held, made = made, None
            else:
                made.commit(replace)
    except FileExistsError:
        raise Problem("output-exists", file=output) from None
    except OSError as e:
        if made is not None:
            made.close()  # or the room that is free would be without what it has taken
        needed = sum(one.item.size + _ABOUT * one.item.count for one in whole)
        raise unwritable(output, e, needed) from e
    finally:
        if made is not None:
            made.close()
    return exported


def holdable(
    chosen: Sequence[Described], alone: Singly, left: Left, mega: bool = False
) -> list[Described]:
    """Those that a bundle, or a mega-cache, can hold, each on its own, in its order; the others go
    to ``left``.
    """
    taken = []
    seen: set[tuple[str, str]] = set()
    for one in current(chosen, left):
        try:
            # Two of a place's may have one home, where caches lie inside it.
            home = one.entry.kind, layout.locate(homes(one)[0]).entry_path
            # What vLLM calls its pieces is no key of PyTorch's.
            piece = one.entry.kind == "precompile" and _in_tree(one)
            if mega and (one.entry.kind not in MEGA or piece):
                raise Problem("kind-not-in-mega-cache")
            if mega and _in_tree(one):  # two trees may hold one graph
                home = one.entry.kind, f"{mega_key(one)} {one.entry.sha256 or one.item.path}"
            if home in seen:
                raise Problem("same-place")
            taken.append(alone.of(one))
            seen.add(home)
        except Problem as problem:
            left(one.item, problem)
    # Sorted, so that the same entries give the same bytes whatever the folder's order was.
    return sorted(taken, key=_order)


def going(
    chosen: Sequence[Described], source: Source, left: Left, mega: bool = False
) -> list[Described]:
    """Those that are ``holdable``, as they are in their place: what stays is not searched."""
    return _of(chosen, holdable(chosen, Singly(source), left, mega))


def _of(chosen: Sequence[Described], taken: Iterable[Described]) -> list[Described]:
    kept = {id(one.origin or one.item) for one in taken}
    return [one for one in chosen if id(one.origin or one.item) in kept]


def _order(one: Described) -> tuple[str, str, str]:
    return one.entry.kind, one.entry.key, one.entry.sha256 or ""


def _write(
    taken: list[Described],
    source: Source,
    stream: BufferedRandom,
    done: Progress,
    report: Report,
    left: Left,
    record: Record,
    screen: Screen | None,
) -> Exported:
    exported = Exported()
    reading = _Reading(source, done, screen)
    taken = _settled(taken, reading, left)
    members = Members(stream)
    mega = [one for one in taken if in_mega_cache(one)]
    digest: str | None = None
    written: set[int] = set()
    if mega:

        def fill(stream: BufferedRandom) -> tuple[int, int]:
            nonlocal digest
            start = stream.tell()
            writer = megacache.Writer(stream)
            for one in _mega_cache(mega, reading, writer, left):
                written.add(id(one))
                if one.entry.kind not in FILES:  # or it is listed once, with its file
                    exported.add(one, _listed(one, one.entry.sha256 or ""))
            sums = writer.close(report)
            stream.seek(start)  # its counts and sizes are filled in by now
            digest = digest_of(stream, report)
            return sums

        members.add_written(manifest.MEGA_CACHE, fill)
    for one in taken:
        if as_files(one):
            reading.begin(one, again=id(one) in written)
            mark = members.mark()
            try:
                sha256, files = _files(one, reading, members)
            except Problem as problem:
                members.take_back(mark)
                left(one.item, problem)
            else:
                built = record.add(one.item, source, files)
                exported.add(one, _listed(one, sha256, tuple(files), built))
    if screen:
        screen.clear()
    exported.objects, exported.described = record.objects, record.described
    made = _manifest(taken, exported.listed, record, digest)

    def listing(take: Take) -> None:
        size = 0
        for piece in made.pieces():
            report.check()
            size += len(piece)
            if size > manifest.MAX_SIZE:
                raise OSError(errno.EFBIG, "There are more entries than a bundle can hold")
            take(piece)

    members.add(manifest.NAME, manifest.MAX_SIZE, listing)
    members.close()
    return exported


def _write_mega_cache(
    taken: list[Described],
    source: Source,
    stream: BufferedRandom,
    done: Progress,
    report: Report,
    left: Left,
    _: Record,
    screen: Screen | None,
) -> Exported:
    exported = Exported()
    writer = megacache.Writer(stream)
    for one in _mega_cache(taken, _Reading(source, done, screen), writer, left):
        exported.add(one, _listed(one, one.entry.sha256 or ""))
    if screen:
        screen.clear()
    writer.close(report)
    return exported


def _settled(taken: list[Described], reading: _Reading, left: Left) -> list[Described]:
    """The entries, with the digests of those whose order depends on them."""
    names = Counter((one.entry.kind, one.entry.key) for one in taken)
    found = []
    for one in taken:
        if one.unhashed and names[one.entry.kind, one.entry.key] > 1:
            try:
                parts = [(file.name, reading.pour(one, file, drop)) for file in one.item.files]
            except Problem as problem:
                left(one.item, problem)
                continue
            entry = one.entry._replace(sha256=payload_digest(parts))
            one = replace(one, entry=entry, unhashed=False)
        found.append(one)
    return sorted(found, key=_order)


def _listed(
    one: Described, sha256: str, files: tuple[ListedFile, ...] = (), built: Build | None = None
) -> Listed:
    """An entry as the manifest lists it; without files, it is in the mega-cache."""
    kind, key = one.entry.kind, one.entry.key
    name = "" if files else one.item.files[0].name
    path = manifest.MEGA_CACHE
    if files:
        path = files[0].path
        if kind != "jit" and (other := bundled(kind, one.item.path)) != path:
            path = other  # and else one text for both
    # What the bundle holds: a kernel's group file has another size in each folder.
    size = sum(file.size for file in files) if files else one.entry.size
    name = name if layout.is_only(kind, name) else ""
    return Listed(kind, key, sha256, size, path, files, built, name)


def _list(listing: Listing, entry: Listed) -> None:
    """List an entry; those with files come in order (``_order``)."""
    (listing.add_written if entry.files else listing.add)(entry)


def _manifest(
    taken: Iterable[Described], listed: Listing, record: Record, digest: str | None
) -> manifest.Manifest:
    """The manifest of these. digest: of the mega-cache, None without one."""
    made_by = f"torchkeeper {VERSION}"
    made_in = common_origin(one.facts.get("made_in") for one in taken)
    return manifest.Manifest(made_by, made_in, (), record.native, digest, listed)


def _mega_cache(
    mega: list[Described], reading: _Reading, writer: megacache.Writer, left: Left
) -> list[Described]:
    """Write the mega-cache; returns what is in it."""
    written = []
    for kind in MEGA:
        writer.section(megacache.TYPE_OF_KIND[kind])
        for one in mega:
            if one.entry.kind == kind:
                reading.begin(one)
                try:
                    writer.artifact(mega_key(one), partial(reading.payload, one))
                    written.append(one)
                except Problem as problem:
                    left(one.item, problem)
    return written


class _Reading:
    """Reads files as a bundle holds them; screen: searches what is read of entries that are begun.
    Each raises Problem("entry-changed" | "checksum-wrong") and as ``pouring.unreadable``.
    """

    def __init__(self, source: Source, done: Progress, screen: Screen | None) -> None:
        self._source, self._done, self._pouring = source, done, Pouring(done)
        self._screen = screen
        self._search: Screen | None = None

    def begin(self, one: Described, again: bool = False) -> None:
        """An entry is written; again: its bytes have been before."""
        self._done.begin(one.item)
        self._search = None if again else self._screen
        if self._search:
            self._search.begin(one.item)

    def payload(self, one: Described, take: Take) -> None:
        if self.pour(one, one.item.files[0], take) != one.entry.sha256:
            raise Problem("entry-changed")

    def pour(self, one: Described, file: File, take: Take) -> str:
        """One of an entry's files; returns its sha256."""
        small, group = file.size <= CHUNK, is_group(one.item.kind, file.name)
        search = None if small or not self._search else self._search.searching(file)
        data = b""
        with opened(self._source, file) as stream:
            if small and group:  # which has another size in each place
                data = self._pouring.read(stream, CHUNK - 1)[1]
                data = portable_bytes(one.item.kind, file.name, data)
                digest, size = hashlib.sha256(data).hexdigest(), file.size
            elif small:
                digest, data = self._pouring.read(stream, file.size)
                size = len(data)
            else:
                digest, size = self._pouring.pour(stream, file.size, take, beside=search)
            if size > file.size or (one.unhashed and size < file.size):
                raise Problem("entry-changed")
            if one.unhashed and not unchanged(file, stream):
                raise Problem("entry-changed")
        if file.sha256 not in (None, digest):
            raise Problem("checksum-wrong")
        if small:
            take(data)
            if self._search:
                self._search.search(file, data, digest)
        if search:
            search(b"")
        return digest


def in_mega_cache(one: Described) -> bool:
    """Whether an entry goes into the mega-cache; what lies in a tree of vLLM's does not."""
    return one.entry.kind in MEGA and not _in_tree(one)


def as_files(one: Described) -> bool:
    """Whether an entry goes under files/."""
    return one.entry.kind in FILES or _in_tree(one)


def _in_tree(one: Described) -> bool:
    return one.entry.kind != "aoti_eager" and layout.in_tree(one.item.path)


def bundled(kind: str, path: str, title: object = None) -> str:
    """The path in the bundle of a file of a ``holdable`` entry that is at a path of the place.
    title: of the compiler whose it is.
    """
    if kind == "jit":
        return manifest.FILES + layout.compiled_path(path, title)
    stays = kind == "aoti_eager" or layout.in_tree(path)
    inner = "" if stays else layout.inner_cache(path)
    return manifest.FILES + path[len(inner) :]


def _files(one: Described, reading: _Reading, members: Members) -> tuple[str, list[ListedFile]]:
    """Write the files of an entry; returns its sha256, and them as the manifest lists them. Raises
    Problem as ``_Reading.pour``, also when some of them are written.
    """
    parts, listed = [], []
    for file in one.item.files:
        path = bundled(one.item.kind, file.path, one.facts.get("backend"))
        digest, size = members.add(path, file.size, partial(reading.pour, one, file))
        parts.append((file.name, digest))
        listed.append(_promise(one.item.kind, path, file, size, digest))
    sha256 = payload_digest(parts)
    if not one.unhashed and sha256 != one.entry.sha256:
        raise Problem("entry-changed")
    return sha256, sorted(listed, key=lambda file: file.path)


def _promise(kind: str, path: str, file: File, size: int, sha256: str) -> ListedFile:
    """A file as the manifest lists it, with its path in the bundle."""
    listed = ListedFile(path, size, sha256)
    if kind != "jit":
        return listed
    return listed._replace(mtime_ns=file.mtime_ns, executable=bool(file.mode & 0o100))


def common_origin(made_in: Iterable[MadeIn | None]) -> MadeIn | None:
    """The environment the FX graphs say they were made in; None where they do not tell, or name
    several versions of torch. Other facts that differ are None.
    """
    said = [one for one in made_in if one]
    versions = {one["torch"] for one in said}
    if len(versions) != 1 or None in versions:
        return None
    return {
        "cuda": _common([one["cuda"] for one in said]),
        "gpus": _common([one["gpus"] for one in said]),
        "threads": _common([one["threads"] for one in said]),
        "torch": said[0]["torch"],
        "torch_git": _common([one["torch_git"] for one in said]),
    }


def _common(values: list[_Value]) -> _Value | None:
    return values[0] if values.count(values[0]) == len(values) else None


# What a bundle would hold and how big it would be, to the byte, without writing it.

#: From here on zipfile writes sizes and offsets in eight bytes (ZIP64_LIMIT), and member counts.
_BIG = (1 << 31) - 1
_MANY = (1 << 16) - 1


class OfKind(NamedTuple):
    kind: str
    entries: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Planned:
    """What would go into a bundle. bytes: of the entries; size: of the whole bundle, which the disk
    needs while it is written. kinds: in the order of KINDS. torches, devices: how many entries were
    made by and for which, the most first; None is not among them. made_in: as the bundle will say.
    objects, described: as of ``parts.Record``.
    """

    entries: int
    files: int
    bytes: int
    size: int
    kinds: list[OfKind]
    torches: list[tuple[str, int]]
    devices: list[tuple[str, int]]
    made_in: MadeIn | None
    objects: int = 0
    described: int = 0


def plan(
    chosen: Sequence[Described],
    source: Source,
    report: Report,
    left: Left,
    makers: Makers | None = None,
    only_mega: bool = False,
) -> Planned:
    """What exporting these entries comes to, to a bundle or only a mega-cache. What would stay out
    goes to ``left``.
    """
    record, alone = Record(makers), Singly(source)
    taken = holdable(chosen, alone, left, only_mega)
    alike = [one for one in taken if only_mega or in_mega_cache(one)]
    sections = [
        (megacache.TYPE_OF_KIND[kind], ones)
        for kind in MEGA
        if (ones := [(mega_key(x), x.entry.size) for x in alike if x.entry.kind == kind])
    ]
    mega = megacache.size_of(sections) if sections else 0
    members, listed = _Members(), Listing()
    if mega:
        members.add(manifest.MEGA_CACHE, mega, True)
    for one in taken:
        report.check()
        files = tuple(_planned_files(one, alone)) if as_files(one) and not only_mega else ()
        for file in files:
            members.add(file.path, file.size, file.size > MAY_BE_BIG)
        built = record.add(one.item, alone, files)
        # A digest is as long as any other.
        _list(listed, _listed(one, one.entry.sha256 or "", files, built))
    whole = _manifest(taken, listed, record, "0" * 64 if mega else None)
    members.add(manifest.NAME, sum(map(len, whole.pieces())), False)
    entries = [one.entry for one in taken]
    by_kind = [(kind, [one for one in entries if one.kind == kind]) for kind in KINDS]
    return Planned(
        entries=len(taken),
        files=sum(one.item.count for one in taken),
        bytes=sum(entry.size for entry in entries),
        size=mega if only_mega else members.size,
        kinds=[
            OfKind(kind, len(some), sum(one.files for one in some), sum(one.size for one in some))
            for kind, some in by_kind
            if some
        ],
        torches=Counter(entry.torch for entry in entries if entry.torch).most_common(),
        devices=Counter(entry.device for entry in entries if entry.device).most_common(),
        made_in=whole.made_in,
        objects=record.objects,
        described=record.described,
    )


def _planned_files(one: Described, source: Source) -> Iterator[ListedFile]:
    """The files as the manifest will list them; a digest is as long as any other."""
    for file in sorted(one.item.files):
        size = file.size
        if is_group(one.item.kind, file.name) and size <= CHUNK:
            with contextlib.suppress(OSError), source.open(file) as stream:
                size = len(portable_bytes(one.item.kind, file.name, stream.read(CHUNK)))
        path = bundled(one.item.kind, file.path, one.facts.get("backend"))
        yield _promise(one.item.kind, path, file, size, "0" * 64)


@dataclass
class _Members:
    """The size of a zip of stored members. Local header 30 bytes, entry of the directory 46, its
    end 22; eight-byte numbers come on top.
    """

    count: int = 0
    at: int = 0
    directory: int = 0

    def add(self, name: str, size: int, roomy: bool) -> None:
        """roomy: whether its header has room for more."""
        length = len(name.encode())
        big = 2 * (size > _BIG) + (self.at > _BIG)
        self.directory += 46 + length + (4 + 8 * big if big else 0)
        self.at += 30 + length + 20 * roomy + size
        self.count += 1

    @property
    def size(self) -> int:
        wide = self.count > _MANY or self.at > _BIG or self.directory > _BIG
        return self.at + self.directory + 22 + (56 + 20 if wide else 0)
