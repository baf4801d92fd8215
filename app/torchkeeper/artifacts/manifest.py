"""The manifest of a ``.torchcache`` bundle, and the checksums that its zip holds.

``{"format": "torchcache", "format_version", "made_by", "made_in", "entries": […]}``; an entry
has kind, key, sha256, size, path, and files ``[{path, size, sha256}]``. Paths are those in the
zip: ``files/…``, or ``mega-cache.bin`` for the payloads that a mega-cache holds. Such a payload has
a ``name`` where its file is not named after its digest (layout.is_only). ``made_in`` is the
environment as far as the entries tell, or null. ``native`` says where its objects were built, and
``built`` of an entry how its object was (artifacts.builds); both may be absent. ``mega_cache`` is
the sha256 of the mega-cache as a whole, for whoever gives it to PyTorch itself.

A file of another compiler says when it was written (``mtime_ns``), for what is older than its
sources is built again, and whether it is ``executable``; the first folder of its path says whose
cache it is of (artifacts.jits).

The version is 1, 2 where there are eager kernels, and 3 where there are entries of other compilers:
readers of an earlier one do not know these, and say so.
"""

from __future__ import annotations

import codecs
import io
import itertools
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _text
from typing import Any, BinaryIO, NamedTuple

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.builds import Build, MadeIn, Native, build_from, origin_from
from torchkeeper.artifacts.entry import PORTABLE, Problem

FORMAT = "torchcache"
VERSION = 3
#: Kinds that no manifest of an earlier version has.
_SINCE = {"aoti_eager": 2, "jit": 3}
NAME = "manifest.json"
#: What ``ssh-keygen -Y sign`` makes of it, in a bundle that is signed.
SIGNATURE = "manifest.json.sig"
MEGA_CACHE = "mega-cache.bin"
FILES = "files/"
#: Bytes of a manifest, which is some 50 MB for 100,000 entries; of one that is packed fewer, for it
#: may unpack to more than its file is worth.
MAX_SIZE, MAX_PACKED = 512 << 20, 64 << 20
#: Entries that wait to be packed, where a million of files is to be listed.
_WAITING = 256
#: Bytes of it parsed at once, which may take thirty times as much memory; those read at once; and
#: those of one entry, first what most have, which then have not to be looked for.
_AT_ONCE, _PIECE = 8 << 20, 256 << 10
_OF_ENTRY = (4 << 10, 64 << 10, 1 << 20)
#: What stands before and after the entries in a manifest of ours, and in no text within it.
_BEFORE, _AFTER = b'\n "entries": [', b"\n ]"
#: Characters of a key or path; the longest real ones have some 300.
_MAX_TEXT = 1024

_SHA256 = re.compile(r"[0-9a-f]{64}")
_BLANK = re.compile(r"[ \t\n\r]*")


class ListedFile(NamedTuple):
    """A file the manifest promises: its path in the zip, size in bytes, sha256; of another
    compiler's when it was written, and whether it is executable.
    """

    path: str
    size: int
    sha256: str
    mtime_ns: int | None = None
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry the manifest promises. ``files`` is empty for payloads in the mega-cache. built: how
    its object was made, if known. name: that of a payload's file if the manifest tells it, or "".
    """

    kind: str
    key: str
    sha256: str
    size: int
    path: str
    files: tuple[ListedFile, ...]
    built: Build | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself. native: as ``origin_from``; mega_cache: its sha256, or None.
    listing: the entries of one that is written, where they are listed already.
    """

    made_by: str
    made_in: MadeIn | None
    entries: Iterable[Listed]
    native: Native | None = None
    mega_cache: str | None = None
    listing: Listing | None = None

    def pieces(self) -> Iterator[bytes]:
        """The file, some of it at a time: JSON with one blank for each level. The same entries give
        the same bytes. Of a hundred thousand that is 50 MB, and its objects are several times that.
        """
        made_in, native = (
            json.dumps(said, indent=1).replace("\n", "\n ") for said in (self.made_in, self.native)
        )
        listing = self.listing or Listing(self.entries)
        version = max((_SINCE.get(kind, 1) for kind in listing.kinds), default=1)
        yield (
            f'{{\n "format": {_text(FORMAT)},\n "format_version": {version},\n'
            f' "made_by": {_text(self.made_by)},\n "made_in": {made_in},\n'
            f' "native": {native},\n "mega_cache": {json.dumps(self.mega_cache)},\n "entries": ['
        ).encode()
        between = b"\n"
        for some in listing.pieces():
            yield between + some
            between = b",\n"
        yield b"\n ]\n}\n" if listing.kinds else b"]\n}\n"


class Listing:
    """Entries as a manifest lists them, ``written`` in order: of each kind in that of their keys,
    and packed, as the files of a million are half a gigabyte; others are put in order.
    """

    def __init__(self, entries: Iterable[Listed] = ()) -> None:
        self._others = list(entries)
        self._packed: dict[str, list[bytes]] = {}
        self._waiting: tuple[str, list[str]] = "", []

    def add(self, entry: Listed) -> None:
        self._others.append(entry)

    def add_written(self, entry: Listed) -> None:
        if self._waiting[0] != entry.kind or len(self._waiting[1]) >= _WAITING:
            self._pack()
            self._waiting = entry.kind, []
        self._waiting[1].append(_entry_text(entry))

    def _pack(self) -> None:
        kind, waiting = self._waiting
        if waiting:
            packed = zlib.compress(",\n".join(waiting).encode(), 1)
            self._packed.setdefault(kind, []).append(packed)
        self._waiting = "", []

    @property
    def kinds(self) -> set[str]:
        self._pack()
        return {*self._packed, *(entry.kind for entry in self._others)}

    def pieces(self) -> Iterator[bytes]:
        """Some entries at a time, without what stands between them."""
        others = sorted(self._others, key=lambda e: (e.kind, e.key, e.sha256, e.name))
        alike = {kind: list(some) for kind, some in itertools.groupby(others, lambda e: e.kind)}
        for kind in sorted(self.kinds):
            yield from map(zlib.decompress, self._packed.get(kind, ()))
            for entry in alike.get(kind, ()):
                yield _entry_text(entry).encode()


def _entry_text(entry: Listed) -> str:
    files = ",\n".join(
        f'    {{\n     "path": {_text(file.path)},\n     "size": {file.size},\n'
        f'     "sha256": {_text(file.sha256)}'
        + ("" if file.mtime_ns is None else f',\n     "mtime_ns": {file.mtime_ns}')
        + (',\n     "executable": true' if file.executable else "")
        + "\n    }"
        for file in entry.files
    )
    return (
        f'  {{\n   "kind": {_text(entry.kind)},\n   "key": {_text(entry.key)},\n'
        f'   "sha256": {_text(entry.sha256)},\n   "size": {entry.size},\n'
        f'   "path": {_text(entry.path)},\n   "files": ['
        + (f"\n{files}\n   ]" if files else "]")
        + (f',\n   "name": {_text(entry.name)}' if entry.name else "")
        + _built_text(entry.built)
        + "\n  }"
    )


def _built_text(built: Build | None) -> str:
    if built is None:
        return ""
    return (
        f',\n   "built": {{\n    "source": {_text(built.source)},\n'
        f'    "object": {_text(built.object)},\n'
        f'    "command": {"null" if built.command is None else built.command}'
        + (',\n    "elsewhere": true' if built.elsewhere else "")
        + "\n   }"
    )


def begin(data: bytes | BinaryIO) -> Manifest:
    """The manifest in a bundle, every field checked. Its entries are read one by one, also from the
    disk, as all at once take several times the memory. Raises, also while they are read,
    Problem("bundle-damaged", why=…) and Problem("bundle-newer", version=…).
    """
    whole, listed = _parts(io.BytesIO(data) if isinstance(data, bytes) else data)
    if whole.get("format") != FORMAT:
        raise Problem("bundle-damaged", why="Its manifest is of another format")
    version = whole.get("format_version")
    if type(version) is not int or version < 1:
        raise Problem("bundle-damaged", why="Its manifest has no format version")
    if version > VERSION:
        raise Problem("bundle-newer", version=version)
    made_in = whole.get("made_in")
    if listed is None or not isinstance(made_in, (dict, type(None))):
        raise Problem("bundle-damaged", why="Its manifest lacks a field")
    by, said = whole.get("made_by"), whole.get("mega_cache")
    made_by = by[:80] if isinstance(by, str) else "?"
    mega_cache = said if isinstance(said, str) and _SHA256.fullmatch(said) else None
    native = origin_from(whole.get("native"))
    return Manifest(made_by, origin(made_in), map(_entry, listed), native, mega_cache)


def _parts(stream: BinaryIO) -> tuple[Mapping[str, object], Iterable[object] | None]:
    """What a manifest says but for its entries, and those; None where it has no list of them."""
    try:
        size = stream.seek(0, os.SEEK_END)
        for most in (_PIECE, _AT_ONCE):
            behind = max(0, size - most)
            head, tail = _read(stream, 0, most), _read(stream, behind, most)
            start, end = head.find(_BEFORE) + len(_BEFORE), behind + tail.rfind(_AFTER)
            if len(_BEFORE) <= start <= end and tail.rfind(_AFTER) >= 0:
                # As ``pieces`` has written it, in all likelihood.
                whole = _loaded(head[:start] + tail[end - behind :])
                if isinstance(whole, dict) and whole.get("entries") == []:
                    return whole, _values(_Text(stream, start, end))
        whole = _loaded(_read(stream, 0, _AT_ONCE + 1))
    except (ValueError, RecursionError) as e:
        raise Problem("bundle-damaged", why="Its manifest is not JSON") from e
    if not isinstance(whole, dict):
        raise Problem("bundle-damaged", why="Its manifest is of another format")
    listed = whole.pop("entries", None)
    return whole, listed if isinstance(listed, list) else None


def _loaded(data: bytes) -> Any:
    if len(data) > _AT_ONCE:
        raise Problem("bundle-damaged", why="Its manifest is too large, or has a strange form")
    return json.loads(data.decode())


def _read(stream: BinaryIO, at: int, size: int) -> bytes:
    stream.seek(at)
    try:
        return stream.read(size)
    except OSError as e:
        raise Problem("bundle-damaged", why=f"{NAME} cannot be read ({e})") from e


class _Text:
    """A part of a stream as text, of which only what comes next is held."""

    def __init__(self, stream: BinaryIO, start: int, end: int) -> None:
        self._stream, self._next, self._end = stream, start, end
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self.text, self.at = "", 0

    def has(self, most: int = 1) -> bool:
        """Whether there is more; so many characters of it are held, if there are."""
        while len(self.text) - self.at < most and self._next < self._end:
            data = _read(self._stream, self._next, min(_PIECE, self._end - self._next))
            self._next = self._next + len(data) if data else self._end
            more = self._decode(data, self._next >= self._end)
            self.text, self.at = self.text[self.at :] + more, 0
        return self.at < len(self.text)

    def skip(self, most: int = 0) -> bool:
        """Go past some characters and the blanks that follow; whether there is more."""
        self.at += most
        while self.has():
            found = _BLANK.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return True
        return False


def _values(source: _Text) -> Iterator[object]:
    """The values of a JSON list."""
    decode = json.JSONDecoder().raw_decode
    try:
        more = source.skip()
        while more:
            for most in _OF_ENTRY:
                source.has(most)
                part = source.text[source.at : source.at + most]
                try:
                    value, length = decode(part)
                    break
                except ValueError:
                    # It may be cut off, but no more than that is an entry.
                    if len(part) < most or most == _OF_ENTRY[-1]:
                        raise
            yield value
            more = source.skip(length)
            if more:
                if source.text[source.at] != ",":
                    raise ValueError("no comma")
                if not source.skip(1):
                    raise ValueError("nothing after a comma")
    except (ValueError, RecursionError) as e:
        raise Problem("bundle-damaged", why="Its manifest is not JSON") from e


def origin(made_in: object) -> MadeIn | None:
    """What something says of where it was made, with every field of its type, or None."""
    if not isinstance(made_in, dict):
        return None
    torch, torch_git, cuda = (
        value[:80] if isinstance(value := made_in.get(name), str) else None
        for name in ("torch", "torch_git", "cuda")
    )
    gpus, threads = made_in.get("gpus"), made_in.get("threads")
    listed = gpus[:16] if isinstance(gpus, list) else []
    is_count = type(threads) is int and 0 < threads < 1 << 20
    return {
        "torch": torch,
        "torch_git": torch_git,
        "cuda": cuda,
        "gpus": [gpu[:80] for gpu in listed if isinstance(gpu, str)],
        "threads": threads if is_count else None,
    }


def _entry(item: object) -> Listed:
    if not isinstance(item, dict):
        raise Problem("bundle-damaged", why="An entry of its manifest is not an object")
    files = item.get("files")
    texts = [item.get(name) for name in ("kind", "key", "sha256", "path")]
    if not isinstance(files, list) or not all(isinstance(text, str) for text in texts):
        raise Problem("bundle-damaged", why="An entry of its manifest lacks a field")
    kind, key, sha256, path = (str(text) for text in texts)
    if max(len(key), len(path)) > _MAX_TEXT:
        raise Problem("bundle-damaged", why="A name in its manifest is too long")
    if kind not in PORTABLE or not _SHA256.fullmatch(sha256):
        raise Problem("bundle-damaged", why=f"Its manifest has a wrong entry of kind {kind[:40]}")
    built = build_from(item.get("built"))
    name = item.get("name", "")
    if "name" in item and (files or not layout.is_only(kind, name)):
        raise Problem("bundle-damaged", why="A file name in its manifest is wrong")
    return Listed(kind, key, sha256, _size(item), path, tuple(map(_file, files)), built, name)


def _file(file: object) -> ListedFile:
    if (
        isinstance(file, dict)
        and isinstance(path := file.get("path"), str)
        and len(path) <= _MAX_TEXT
        and isinstance(sha256 := file.get("sha256"), str)
        and _SHA256.fullmatch(sha256)
    ):
        mtime_ns = _whole(file, "mtime_ns") if "mtime_ns" in file else None
        return ListedFile(path, _size(file), sha256, mtime_ns, file.get("executable") is True)
    raise Problem("bundle-damaged", why="A file of its manifest lacks a field")


def _size(item: Mapping[str, object]) -> int:
    return _whole(item, "size")


def _whole(item: Mapping[str, object], name: str) -> int:
    number = item.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 63:
        raise Problem("bundle-damaged", why="A size in its manifest is wrong")
    return number


# CRC-32 of something whose parts were summed up apart, as ``crc32_combine`` of zlib.

_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31


def _times(a: int, b: int) -> int:
    """The product of two polynomials by that of the CRC; the highest bit is that of x⁰."""
    product = 0
    bit = _ONE
    while bit:
        if a & bit:
            product ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
        bit >>= 1
    return product


def combined(first: int, second: int, length: int) -> int:
    """The CRC of two parts from those of each; ``length``: bytes of the second."""
    # What follows the first part shifts it: by x⁸ for each byte.
    shift, power = _ONE, _ONE >> 8
    while length:
        if length & 1:
            shift = _times(shift, power)
        power = _times(power, power)
        length >>= 1
    return _times(shift, first) ^ second
