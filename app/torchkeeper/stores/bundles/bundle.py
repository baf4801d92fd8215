"""A bundle as a store: a ``.torchcache`` file, or a raw mega-cache made by anyone.

Everything in it is hostile until checked: names become paths only through ``artifacts.layout``,
sizes and digests are compared with the manifest, and nothing is unpacked before it is asked for.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

from torchkeeper.artifacts import aoti_eager, layout, manifest, megacache
from torchkeeper.artifacts.builds import Build, Builder, Claims, MadeIn, Native
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.megacache import Artifact
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles import parts
from torchkeeper.stores.items import CHUNK, File, Item, Source, digest_of, in_order, payload_digest
from torchkeeper.stores.reader import Budget, present
from torchkeeper.stores.store import Refused, Store

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Beside

#: Refused as a bomb: more bytes than this, in one member or all, packed more than so many times.
BOMB_SIZE = 8 << 20
BOMB_RATIO = 100

#: Of a member in front of its bytes: a magic number, flags, and the lengths of two texts after it.
_LOCAL_HEADER = struct.Struct("<4s2xH18xHH")
#: What a manifest promises of a mega-cache, by kind, key, sha256 and name.
_Listed = dict[tuple[str, str, str, str], manifest.Listed]
#: Bytes of a name that one of ours may have.
_MAX_NAME = 2048
#: Bytes that are read at once where small members lie one after the other.
_WINDOW = 128 << 10


class Bundle(Store):
    """A bundle that is open for reading.

    format: "torchcache" or "mega-cache". made_in, native: as the manifest says, or None.
    built: how objects were made, by the paths of their items, as far as the manifest tells and
    what it says fits the files (``built_with``). refused: what no place can hold. signed: whether
    there is a signature, which nobody has checked yet (bundles.signing).

    Raises Problem when made: "file-missing", "bundle-unreadable", "bundle-damaged", "bundle-more",
    "bundle-altered", "bundle-newer", "mega-cache-damaged", "not-a-bundle".
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
        self._mega_start = 0
        # Where the headers of members are that are stored as they are, and the other members.
        self._stored: dict[str, int] = {}
        self._packed: dict[str, zipfile.ZipInfo] = {}
        # What was read last, and where it is in the file.
        self._window = (b"", 0)
        self._zip: zipfile.ZipFile | None = None
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
            raise Problem("bundle-damaged", why="Most of it is a hole, and not on the disk")
        head = self._file.read(12)
        if megacache.looks_like(head):
            self.format = "mega-cache"
            self._take_mega_cache(self._file, report, None)
            said = ascii([(item.path, item.files[0].sha256) for item in self._items])
            self.manifest_sha256 = hashlib.sha256(said.encode()).hexdigest()
        elif head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            self.format = "torchcache"
            self._take_bundle(report)
        else:
            raise Problem("not-a-bundle", file=self.path)
        self._items = in_order(self._items)
        self.total = len(self._items)

    def close(self) -> None:
        if self._zip:
            self._zip.close()
        self._file.close()

    def again(self) -> bool:
        """Open it once more that was closed; False where it is open, or its file is not as it was
        when it was read. Raises Problem("file-missing" | "bundle-unreadable").
        """
        if self._packed or not self._file.closed:
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
        assert self._zip
        try:
            header = self._stored.get(file.path)
            if header is not None:
                # Whoever reads it compares its sha256, which says more than the CRC of the zip.
                start = self._member_start(manifest.FILES + file.path, header)
                if file.size < _WINDOW // 2:
                    return io.BytesIO(self._read_at(start, file.size))
                return cast(BinaryIO, parts.Slice(self._file, start, file.size))
            return io.BufferedReader(parts.Member(self._zip.open(self._packed[file.path])), CHUNK)
        except (KeyError, Problem, *parts.ZIP_ERRORS) as e:
            why = e.params.get("why", e.code) if isinstance(e, Problem) else e
            raise OSError(f"the bundle cannot be read: {why}") from e

    def _take_bundle(self, report: Report) -> None:
        try:
            self._zip = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as e:
            why = "It is not a whole zip file, its end may be missing"
            raise Problem("bundle-damaged", why=why) from e
        members = members_of(self._zip)
        if manifest.NAME not in members:
            raise Problem("bundle-damaged", why="It has no manifest")
        check_size(members[manifest.NAME])
        whole = self._read_member(manifest.NAME)
        self.manifest_sha256 = hashlib.sha256(whole).hexdigest()
        said = manifest.begin(whole)
        del whole
        self.made_in, self.native = said.made_in, said.native
        promised: _Listed = {}
        more = set(members) - parts.OUR_OWN
        for entry in said.entries:
            report.check()
            more.difference_update(file.path for file in entry.files)
            if entry.files:
                self._take_files(entry, members)
            else:
                promised[entry.kind, entry.key, entry.sha256, entry.name] = entry
        for name in sorted(more):
            # Other programs write folders, too, when they pack again what they have unpacked.
            if not name.endswith("/") or members[name].file_size:
                raise Problem("bundle-more", part=name[:200])
        self.signed = manifest.SIGNATURE in members
        if manifest.MEGA_CACHE in members:
            info = members[manifest.MEGA_CACHE]
            if not _as_it_is(info):
                raise Problem("bundle-damaged", why=f"{info.filename} is compressed or encrypted")
            self._mega_start = self._member_start(info.filename, info.header_offset)
            part = parts.Slice(self._file, self._mega_start, info.file_size)
            self._take_mega_cache(io.BufferedReader(part, CHUNK), report, promised)
        found = {(item.kind, item.key) for item in self._items}
        for (kind, key, _, _), entry in promised.items():
            # A profile from a server has its key with colons, and one here that names a file.
            if (kind, layout.flat_pgo_key(key) if kind == "pgo" else key) not in found:
                self._refuse(kind, key, Problem("promised-but-missing", path=entry.path))
        # A hundred thousand of them are many; what is needed of them is known.
        self._zip.filelist.clear()
        self._zip.NameToInfo.clear()
        self._homes.clear()

    def _read_member(self, name: str) -> bytes:
        assert self._zip
        try:
            return self._zip.read(name)
        except (OSError, *parts.ZIP_ERRORS) as e:
            raise Problem("bundle-damaged", why=f"{name} cannot be read ({e})") from e

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
            header = self._read_at(offset, 30 + min(len(name) * 4, _MAX_NAME))
            magic, flags, length, extra = _LOCAL_HEADER.unpack_from(header)
        except (OSError, struct.error) as e:
            raise Problem("bundle-damaged", why=f"{name} cannot be read") from e
        code = "utf-8" if flags & 0x800 or name.isascii() else "cp437"
        if magic != b"PK\x03\x04" or header[30 : 30 + length] != name.encode(code, "replace"):
            raise Problem("bundle-damaged", why=f"{name} cannot be read")
        return offset + 30 + int(length) + int(extra)

    def _take_files(self, entry: manifest.Listed, members: dict[str, zipfile.ZipInfo]) -> None:
        files = []
        found: dict[str, layout.Located] = {}
        try:
            for file in entry.files:
                path = file.path
                if not path.startswith(manifest.FILES):
                    raise Problem("name-refused", kind=entry.kind, name=path[:200])
                path = layout.checked_path(entry.kind, path[len(manifest.FILES) :])
                info = members.get(file.path)
                if info is None:
                    raise Problem("promised-but-missing", path=file.path[:200])
                if info.file_size != file.size:
                    raise Problem("size-wrong", path=file.path[:200])
                files.append(File(path, file.size, sha256=file.sha256))
                found[path] = layout.locate(path)
            if entry.kind == "aoti_eager":
                found = dict.fromkeys(found, aoti_eager.located(list(found)))
            homes = {(at.kind, at.entry_path) for at in found.values()}
            if len(homes) != 1 or len(found) != len(files):
                raise Problem("name-refused", kind=entry.kind, name=entry.path[:200])
            kind, home = homes.pop()
            if (kind, home) in self._homes:
                raise Problem("listed-twice")
            if payload_digest([(file.name, file.sha256 or "") for file in files]) != entry.sha256:
                raise Problem("checksum-wrong")
            if kind != entry.kind or found[files[0].path].key != entry.key:
                raise Problem("name-refused", kind=entry.kind, name=entry.path[:200])
        except Problem as problem:
            self._refuse(entry.kind, entry.key, problem)
            return
        self._homes.add((kind, home))
        for part in files:
            info = members[manifest.FILES + part.path]
            if _as_it_is(info):
                self._stored[part.path] = info.header_offset
            else:
                self._packed[part.path] = info
        files.sort()
        path = files[0].path if kind == "code" else home
        self._items.append(Item(kind, entry.key, path, files))
        if entry.built and self.native:
            self._take_build(entry.built, self._items[-1], self.native)

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

    def _take_mega_cache(self, stream: BinaryIO, report: Report, promised: _Listed | None) -> None:
        """The artifacts of a mega-cache; with ``promised``, those in the manifest only."""
        known_paths = {item.path for item in self._items}
        try:
            artifacts = megacache.artifacts(stream, report)
        except Problem as damage:
            listed = self._read_member(manifest.NAME) if promised else None
            if listed and (part := parts.altered(stream, listed, report)):
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


def _as_it_is(info: zipfile.ZipInfo) -> bool:
    """Whether a member's bytes lie in the file as they are."""
    return info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1


def check_size(listed: zipfile.ZipInfo) -> None:
    """Raises Problem("bundle-damaged") for a manifest that is too large to be read."""
    most = manifest.MAX_SIZE if _as_it_is(listed) else manifest.MAX_PACKED
    if listed.file_size > most:
        raise Problem("bundle-damaged", why="Its manifest is too large")


def _is_bomb(size: int, packed: int) -> bool:
    return size > BOMB_SIZE and size > BOMB_RATIO * packed


def members_of(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members of a zip by name. Raises Problem("bundle-damaged") for what none of ours has."""
    found: dict[str, zipfile.ZipInfo] = {}
    end = -1
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    if _is_bomb(sum(i.file_size for i in infos), sum(i.compress_size for i in infos)):
        raise Problem("bundle-damaged", why="It unpacks out of proportion")
    for info in infos:
        name = info.filename
        if name in found:
            raise Problem("bundle-damaged", why=f"It holds {name[:200]} twice")
        if name.startswith("/") or "\\" in name or ".." in name.split("/") or "\x00" in name:
            raise Problem("bundle-damaged", why=f"It holds the path {name[:200]}")
        if info.header_offset < end:
            raise Problem("bundle-damaged", why="Parts of it overlap, as in a zip bomb")
        if _is_bomb(info.file_size, info.compress_size):
            raise Problem("bundle-damaged", why=f"{name[:200]} unpacks out of proportion")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Problem("bundle-damaged", why=f"{name[:200]} is compressed in an unusual way")
        end = info.header_offset + info.compress_size
        if info.header_offset < 0 or end > archive.start_dir:
            raise Problem("bundle-damaged", why=f"{name[:200]} would lie outside of it")
        found[name] = info
    return found
