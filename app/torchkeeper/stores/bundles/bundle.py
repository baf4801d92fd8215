"""A bundle as a store: a ``.torchcache`` file, or a raw mega-cache made by anyone.

Everything in it is hostile until checked: names become paths only through ``artifacts.layout``,
sizes and digests are compared with the manifest, and nothing is unpacked before it is asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

from torchkeeper.artifacts import aoti_eager, layout, manifest, megacache
from torchkeeper.artifacts.builds import Build, Builder, Claims, MadeIn, Native
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.megacache import Artifact
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles import parts
from torchkeeper.stores.bundles.members import Directory, Finder, Member
from torchkeeper.stores.items import (
    CHUNK,
    File,
    Item,
    Source,
    Stowed,
    digest_of,
    in_order,
    payload_digest,
)
from torchkeeper.stores.reader import Budget, present
from torchkeeper.stores.store import Refused, Store

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Beside

#: What a manifest promises of a mega-cache, by kind, key, sha256 and name.
_Listed = dict[tuple[str, str, str, str], manifest.Listed]
#: Bytes that are read at once where small members lie one after the other.
_WINDOW = 128 << 10


class Bundle(Store):
    """A bundle that is open for reading.

    format: "torchcache" or "mega-cache". made_in, native: as the manifest says, or None.
    built: how objects were made, by the paths of their items, as far as the manifest tells and
    what it says fits the files (``built_with``). refused: what no place can hold. signed: whether
    there is a signature, which nobody has checked yet (bundles.signing).

    Raises Problem when made: "file-missing", "bundle-unreadable", "bundle-damaged", "bundle-more",
    "bundle-altered", "bundle-newer", "mega-cache-damaged", "not-a-bundle", "bundle-no-package" for
    what is called as a package of torch and is none, and as ``parts.Opened``.
    """

    signable = True

    def __init__(self, path: str, report: Report) -> None:
        #: Its path, as which it is named.
        self.path = self.place = path
        self.made_in: MadeIn | None = None
        self.native: Native | None = None
        self.built: dict[str, Build] = {}
        self.refused: list[Refused] = []
        #: Of a mega-cache, which has none, that of what one would say.
        self.manifest_sha256 = ""
        self.signed = False
        self._items: list[Item] = []
        self._homes: set[tuple[str, str]] = set()
        self._offsets: dict[tuple[str, str], tuple[int, int]] = {}
        self._mega_start = self._end = 0
        # What was read last, and where it is in the file.
        self._window = (b"", 0)
        self._file = open_file(path)
        self._version = _version(self._file)
        try:
            self._read(report)
        except BaseException as e:
            self.close()
            if isinstance(e, Problem):
                # Of several that are read, this is the one.
                e.params.setdefault("file", path)
            raise

    def _read(self, report: Report) -> None:
        status, budget = os.fstat(self._file.fileno()), Budget()
        budget.brings(present(self._file.fileno(), status.st_size, status.st_blocks * 512))
        if not budget.hashes(status.st_size):  # it would take too long to be read
            raise Problem("bundle-damaged", why="Most of its bytes are not on the disk")
        head = self._file.read(12)
        if megacache.looks_like(head):
            self.format = "mega-cache"
            self._take_mega_cache(self._file, report)
            said = ascii([(item.path, item.files[0].sha256) for item in self._items])
            self.manifest_sha256 = hashlib.sha256(said.encode()).hexdigest()
        elif head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            self.format = "torchcache"
            self._take_bundle(report)
        else:
            package = self.path.endswith(".pt2")
            raise Problem("bundle-no-package" if package else "not-a-bundle", file=self.path)
        self._items = in_order(self._items)
        self.total = len(self._items)

    def close(self) -> None:
        self._file.close()

    def again(self) -> bool:
        """Open it once more that was closed; False where it is open, or its file is not as it was
        when it was read. Raises Problem("file-missing" | "bundle-unreadable").
        """
        if not self._file.closed:
            return False
        self._file, self._window = open_file(self.path), (b"", 0)
        if _version(self._file) != self._version:
            self.close()
            return False
        return True

    def items(self, _report: Report | None = None) -> list[Item]:
        return self._items

    def stream(self, _report: Report, _index: object = None) -> Iterator[Item]:
        return iter(self._items)

    def items_beside(self, _path: str, _report: Report) -> list[Item]:
        """All of it: nothing is nearer than anything else."""
        return self._items

    @property
    def whole(self) -> bool:
        """Whether a place can hold everything in it."""
        return not self.refused

    def tell_beside(self, told: Beside, origins: Sequence[MadeIn | None]) -> None:
        """Where it was made, and what it says of its objects."""
        from torchkeeper.stores.bundles.export import common_origin

        # What the payloads say weighs more than what a manifest claims.
        told["format"], told["made_in"] = self.format, common_origin(origins) or self.made_in
        said = claims(self)
        told["native"], told["objects"] = said["native"], said["objects"]
        told["built"], told["portable"] = said["built"], said["portable"]
        told["unportable"] = said["unportable"]

    def makers(self) -> Told:
        """It tells itself, as its objects were built elsewhere."""
        return Told(self)

    def open(self, file: File) -> BinaryIO:
        """One of its files. Raises OSError where the zip does not hold what it says."""
        # Unbuffered, as those of a folder: whoever reads a file reads it in large pieces.
        place = self._offsets.get((file.path, file.sha256 or ""))
        if place is not None:
            offset, size = place
            return cast(BinaryIO, parts.Slice(self._file, self._mega_start + offset, size))
        assert file.at is not None
        try:
            header = file.at if file.at >= 0 else ~file.at
            # Whoever reads it compares its sha256, which says more than the CRC of the zip.
            start = self._member_start(manifest.FILES + file.path, header)
        except Problem as e:
            raise OSError(f"the bundle cannot be read: {e.params.get('why', e.code)}") from e
        if file.at < 0:
            return parts.inflated(parts.Slice(self._file, start, self._end - start))
        if file.size < _WINDOW // 2:
            return io.BytesIO(self._read_at(start, file.size))
        return cast(BinaryIO, parts.Slice(self._file, start, file.size))

    def _take_bundle(self, report: Report) -> None:
        with contextlib.closing(parts.Opened(self._file)) as opened:
            self._take(opened, report)

    def _take(self, opened: parts.Opened, report: Report) -> None:
        self.signed, self._end = opened.signed, opened.directory.start
        self.manifest_sha256 = opened.sha256
        said = manifest.begin(opened.manifest)
        self.made_in, self.native = said.made_in, said.native
        promised: _Listed = {}
        members = Finder((one.name, one) for one in opened.directory)
        for entry in said.entries:
            report.check()
            if entry.files:
                self._take_files(entry, opened.directory, members)
            else:
                promised[entry.kind, entry.key, entry.sha256, entry.name] = entry
        for name, one in members.rest():
            # Other programs write folders, too, when they pack again what they have unpacked.
            if name not in parts.OUR_OWN and (not name.endswith("/") or one.size):
                raise Problem("bundle-more", part=name[:200])
        if info := opened.own.get(manifest.MEGA_CACHE):
            if not info.as_it_is:
                raise Problem("bundle-damaged", why=f"{info.name} is compressed or encrypted")
            self._mega_start = self._member_start(info.name, info.offset)
            part = parts.Slice(self._file, self._mega_start, info.size)
            mega = cast(BinaryIO, io.BufferedReader(part, CHUNK))
            self._take_mega_cache(mega, report, promised, opened.manifest)
        found = {(item.kind, item.key) for item in self._items}
        for (kind, key, _, _), entry in promised.items():
            # A profile from a server has its key with colons, and one here that names a file.
            if (kind, layout.flat_pgo_key(key) if kind == "pgo" else key) not in found:
                self._refuse(kind, key, Problem("promised-but-missing", path=entry.path))
        self._homes.clear()

    def _read_at(self, offset: int, size: int) -> bytes:
        """So many bytes of the file, or all that there are. Raises OSError."""
        window, at = self._window
        if not at <= offset <= offset + size <= at + len(window):
            window, at = os.pread(self._file.fileno(), _WINDOW, offset), offset
            self._window = window, at
        return window[offset - at : offset - at + size]

    def _member_start(self, name: str, offset: int) -> int:
        """Where in the file the bytes of a stored member start whose header is at an offset. Raises
        Problem("bundle-damaged") where the header is not that of a member of this name.
        """
        try:
            header = self._read_at(offset, parts.header_of(name))
        except OSError as e:
            raise Problem("bundle-damaged", why=f"{name} cannot be read") from e
        return parts.start_of(header, name, offset)

    def _take_files(
        self, entry: manifest.Listed, directory: Directory, members: Finder[Member]
    ) -> None:
        files = []
        found: dict[str, layout.Located] = {}
        taken = {
            path: members.take(path) if directory.may_hold(path) else None
            for path, *_ in entry.files
        }
        try:
            paths = [path[len(manifest.FILES) :] for path in taken]
            for path in taken:
                if not path.startswith(manifest.FILES):
                    raise Problem("name-refused", kind=entry.kind, name=path[:200])
            kernel = layout.checked_kernel(paths) if entry.kind == "triton" else None
            for path in paths:
                found[path] = kernel or layout.locate(layout.checked_path(entry.kind, path))
            if entry.kind == "aoti_eager":
                found = dict.fromkeys(found, aoti_eager.located(list(found)))
            homes = {(at.kind, at.entry_path) for at in set(found.values())}
            if homes <= self._homes:
                raise Problem("listed-twice")
            for listed, size, sha256, mtime_ns, executable in entry.files:
                path, info = listed[len(manifest.FILES) :], taken[listed]
                if info is None:
                    raise Problem("promised-but-missing", path=listed[:200])
                if info.size != size:
                    raise Problem("size-wrong", path=listed[:200])
                at = info.offset if info.as_it_is else ~info.offset
                mode = 0o755 if executable else 0o644
                files.append(File(path, size, mtime_ns, mode=mode, sha256=sha256, at=at))
            if len(homes) != 1 or len(found) != len(files):
                raise Problem("name-refused", kind=entry.kind, name=entry.path[:200])
            kind, home = homes.pop()
            if payload_digest([(file.name, file.sha256 or "") for file in files]) != entry.sha256:
                raise Problem("checksum-wrong")
            if kind != entry.kind or found[files[0].path].key != entry.key:
                raise Problem("name-refused", kind=entry.kind, name=entry.path[:200])
        except Problem as problem:
            members.spare |= {name: one for name, one in taken.items() if one}
            self._refuse(entry.kind, entry.key, problem)
            return
        if kind == "aoti_eager":  # several may have one library
            members.spare |= {name: one for name, one in taken.items() if one}
        self._homes.add((kind, home))
        files.sort()
        item = Item(kind, entry.key, files[0].path if kind == "code" else home, files)
        if kind != "jit" and all(file.path.startswith(home) for file in files):
            item = Stowed(item, len(home))
        self._items.append(item)
        if entry.built and self.native:
            self._take_build(entry.built, item, self.native)

    def _take_build(self, built: Build, item: Item, native: Native) -> None:
        """Remember how an object was made, where that can be so; else nobody has said it."""
        paths = [manifest.FILES + file.path for file in item.files]
        if item.kind == "aoti_eager":
            text, library = manifest.FILES + item.path, built.object
            if built.command is None and built.source == text and library in paths:
                self.built[item.path] = built
                item.torch = native["torch"]
            return
        named = [built.source, built.object] == paths and parts.is_pair(item)
        if named and built.command is not None and built.command < len(native["commands"]):
            self.built[item.path] = built

    def built_with(self, item: Item) -> tuple[File, str] | None:
        """The source of an item's object and the command that built it, as the manifest claims."""
        built = self.built.get(item.path)
        if built is None or built.command is None or self.native is None:
            return None
        return item.files[0], self.native["commands"][built.command]

    def claim(self, item: Item) -> Mapping[str, object] | None:
        """What the manifest claims of where an item's object was made, if it tells."""
        built = self.built.get(item.path)
        if built is None or self.native is None:
            return None
        return {**self.native, "cpu_flags": None} if built.elsewhere else self.native

    def _take_mega_cache(
        self,
        stream: BinaryIO,
        report: Report,
        promised: _Listed | None = None,
        listed: BinaryIO | None = None,
    ) -> None:
        """The artifacts of a mega-cache; with ``promised``, those in the manifest only."""
        known_paths = {item.path for item in self._items}
        try:
            artifacts = megacache.artifacts(stream, report)
        except Problem as damage:
            if promised and listed and (part := parts.altered(stream, listed, report)):
                raise Problem("bundle-altered", file=self.path, part=part) from damage
            raise
        known = _known(artifacts, promised or {})
        for artifact in artifacts:
            report.check()
            kind = megacache.KIND_OF_TYPE.get(artifact.type)
            if kind is None:
                problem = Problem("type-unknown", type=artifact.type[:80])
                self._refuse("unknown", artifact.key, problem)
                continue
            if kind == "autotune" and artifact.key in known_paths:
                continue  # also under files/, for places without torch
            key = artifact.key
            sha256 = known.get((kind, key, artifact.size)) or _digest(stream, artifact, report)
            told = [""]
            if promised is not None:
                told = [n for n in ("", layout.ONLY) if (kind, key, sha256, n) in promised]
            if not told:
                self._refuse(kind, key, Problem("not-in-manifest"))
            pieces = _pieces(stream, artifact, report)
            for name in told:
                try:
                    found = name or layout.file_name(kind, sha256, pieces)
                    path = layout.payload_path(kind, key, sha256, found)
                except Problem as problem:
                    self._refuse(kind, key, problem)
                    continue
                if (path, sha256) in self._offsets:
                    continue
                self._offsets[path, sha256] = (artifact.offset, artifact.size)
                at = layout.locate(path)
                file = File(path, artifact.size, sha256=sha256)
                self._items.append(Item(kind, at.key, at.entry_path, [file]))

    def _refuse(self, kind: str, key: str, problem: Problem) -> None:
        self.refused.append(Refused(kind, key[:200], problem.code, problem.params))


class Told:
    """What a bundle says, for a bundle that is made of it."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle, native = bundle, bundle.native
        self.origin: Native | None = None if native is None else {**native, "commands": []}

    def made(self, item: Item, _: Source) -> parts.Made | None:
        built = self._bundle.built.get(item.path)
        if built is None:
            return None
        found = self._bundle.built_with(item)
        return parts.Made(found[1] if found else None, built.elsewhere)


def claims(bundle: Bundle) -> Claims:
    """What a bundle says of its objects."""
    said, native, commands = bundle.native, None, list[str]()
    if said is not None:
        commands = said["commands"]
        native = cast(Builder, {name: one for name, one in said.items() if name != "commands"})
    kernels = [
        text
        for one in bundle.built.values()
        if one.command is not None and parts.OF_KERNEL in (text := commands[one.command])
    ]
    unportable = sum(parts.HEADERS in text for text in kernels)
    return {
        "native": native,
        "objects": sum(map(parts.has_object, bundle.items())),
        "built": len(bundle.built),
        "unportable": unportable,
        "portable": len(kernels) - unportable,
    }


def _known(artifacts: Sequence[Artifact], promised: _Listed) -> dict[tuple[str, str, int], str]:
    """The sha256 that a manifest promises of artifacts, by kind, key and size, where no other has
    the same name. Whoever reads one of them compares it.
    """
    counts = Counter((artifact.type, artifact.key) for artifact in artifacts)
    names = Counter((kind, key) for kind, key, _, _ in promised)
    return {
        (kind, key, entry.size): sha256
        for (kind, key, sha256, _), entry in promised.items()
        if names[kind, key] == counts[megacache.TYPE_OF_KIND.get(kind, ""), key] == 1
    }


def _pieces(stream: BinaryIO, artifact: Artifact, report: Report) -> Iterator[bytes]:
    stream.seek(artifact.offset)
    left = artifact.size
    while left and (data := stream.read(min(CHUNK, left))):
        report.check()
        left -= len(data)
        yield data


def _digest(stream: BinaryIO, artifact: Artifact, report: Report) -> str:
    here = stream.tell()
    stream.seek(artifact.offset)
    digest = digest_of(stream, report, artifact.size)
    stream.seek(here)
    return digest


def open_file(path: str) -> BinaryIO:
    """A file that may be a bundle. Raises Problem("file-missing" | "bundle-unreadable")."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise Problem("file-missing", file=path) from e
    except OSError as e:
        raise Problem("bundle-unreadable", file=path, why=e.strerror) from e
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Problem("bundle-unreadable", file=path, why="It is not a regular file")
    try:
        os.pread(handle, 1, 0)  # there are files of the system that look like others until then
    except OSError as e:
        os.close(handle)
        raise Problem("bundle-unreadable", file=path, why=e.strerror) from e
    return os.fdopen(handle, "rb")


def _version(file: BinaryIO) -> tuple[int, ...]:
    at = os.fstat(file.fileno())
    return at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns
