"""The manifest of a ``.torchcache`` bundle, and the checksums that its zip holds.

``{"format": "torchcache", "format_version", "made_by", "made_in", "entries": […]}``; an entry
has kind, key, sha256, size, path, and files ``[{path, size, sha256}]``. Paths are those in the
zip: ``files/…``, or ``mega-cache.bin`` for the payloads that a mega-cache holds. Such a payload has
a ``name`` where its file is not named after its digest (layout.is_only). ``made_in`` is the
environment as far as the entries tell, or null. ``native`` says where its objects were built, and
``built`` of an entry how its object was (artifacts.builds); both may be absent. ``mega_cache`` is
the sha256 of the mega-cache as a whole, for whoever gives it to PyTorch itself.

The version is 1, and 2 where there are eager kernels, which readers of 1 do not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _text
from typing import Any, NamedTuple

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.builds import Build, MadeIn, Native, build_from, origin_from
from torchkeeper.artifacts.entry import PORTABLE, Problem

FORMAT = "torchcache"
VERSION = 2
#: Kinds that no manifest of version 1 has.
_SINCE_2 = frozenset({"aoti_eager"})
NAME = "manifest.json"
#: What ``ssh-keygen -Y sign`` makes of it, in a bundle that is signed.
SIGNATURE = "manifest.json.sig"
MEGA_CACHE = "mega-cache.bin"
FILES = "files/"
#: Bytes of a manifest, which is some 50 MB for 100,000 entries; of one that is packed fewer, for it
#: may unpack to more than its file is worth.
MAX_SIZE, MAX_PACKED = 512 << 20, 64 << 20
#: Bytes of it parsed at once, which may take thirty times as much memory; and those of one entry,
#: first what most have, which then have not to be looked for.
_AT_ONCE = 8 << 20
_OF_ENTRY = (4 << 10, 64 << 10, 1 << 20)
#: What stands before and after the entries in a manifest of ours, and in no text within it.
_BEFORE, _AFTER = '\n "entries": [', "\n ]"
#: Characters of a key or path; the longest real ones have some 300.
_MAX_TEXT = 1024

_SHA256 = re.compile(r"[0-9a-f]{64}")


class ListedFile(NamedTuple):
    """A file the manifest promises: its path in the zip, size in bytes, sha256."""

    path: str
    size: int
    sha256: str


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
    """What a bundle says of itself. native: as ``origin_from``; mega_cache: its sha256, or None."""

    made_by: str
    made_in: MadeIn | None
    entries: Iterable[Listed]
    native: Native | None = None
    mega_cache: str | None = None

    def pieces(self) -> Iterator[bytes]:
        """The file, some of it at a time: JSON with one blank for each level. The same entries give
        the same bytes. Of a hundred thousand that is 50 MB, and its objects are several times that.
        """
        made_in, native = (
            json.dumps(said, indent=1).replace("\n", "\n ") for said in (self.made_in, self.native)
        )
        entries = sorted(self.entries, key=lambda e: (e.kind, e.key, e.sha256, e.name))
        newer = any(entry.kind in _SINCE_2 for entry in entries)
        yield (
            f'{{\n "format": {_text(FORMAT)},\n "format_version": {VERSION if newer else 1},\n'
            f' "made_by": {_text(self.made_by)},\n "made_in": {made_in},\n'
            f' "native": {native},\n "mega_cache": {json.dumps(self.mega_cache)},\n "entries": ['
        ).encode()
        between = "\n"
        for entry in entries:
            yield f"{between}{_entry_text(entry)}".encode()
            between = ",\n"
        yield b"\n ]\n}\n" if entries else b"]\n}\n"


def _entry_text(entry: Listed) -> str:
    files = ",\n".join(
        f'    {{\n     "path": {_text(file.path)},\n     "size": {file.size},\n'
        f'     "sha256": {_text(file.sha256)}\n    }}'
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


def begin(data: bytes) -> Manifest:
    """The manifest in a bundle, every field checked. Its entries are read one by one, as all at
    once take several times the memory. Raises, also while they are read, Problem("bundle-damaged",
    why=…) and Problem("bundle-newer", version=…).
    """
    whole, listed = _parts(data)
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


def _parts(data: bytes) -> tuple[Mapping[str, object], Iterable[object] | None]:
    """What a manifest says but for its entries, and those; None where it has no list of them."""
    try:
        text = data.decode()
        del data
        start, end = text.find(_BEFORE) + len(_BEFORE), text.rfind(_AFTER)
        if len(_BEFORE) <= start <= end:
            # As ``pieces`` has written it, in all likelihood.
            whole = _loaded(f"{text[:start]}{text[end:]}")
            if isinstance(whole, dict) and whole.get("entries") == []:
                return whole, _values(text, start, end)
        whole = _loaded(text)
    except (ValueError, RecursionError) as e:
        raise Problem("bundle-damaged", why="Its manifest is not JSON") from e
    if not isinstance(whole, dict):
        raise Problem("bundle-damaged", why="Its manifest is of another format")
    listed = whole.pop("entries", None)
    return whole, listed if isinstance(listed, list) else None


def _loaded(text: str) -> Any:
    if len(text) > _AT_ONCE:
        raise Problem("bundle-damaged", why="Its manifest is too large, or not as it is written")
    return json.loads(text)


def _values(text: str, at: int, end: int) -> Iterator[object]:
    """The values of a JSON list that lies between two places in a text."""
    decode = json.JSONDecoder().raw_decode
    blank = re.compile(r"[ \t\n\r]*")

    def after(at: int) -> int:
        found = blank.match(text, at, end)
        return found.end() if found else at

    try:
        at = after(at)
        while at < end:
            for most in _OF_ENTRY:
                part = text[at : min(at + most, end)]
                try:
                    value, length = decode(part)
                    break
                except ValueError:
                    # It may be cut off, but no more than that is an entry.
                    if len(part) < most or most == _OF_ENTRY[-1]:
                        raise
            yield value
            at = after(at + length)
            if at < end:
                if text[at] != ",":
                    raise ValueError("no comma")
                at = after(at + 1)
                if at >= end:
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
        raise Problem("bundle-damaged", why=f"Its manifest has a strange entry of kind {kind[:40]}")
    built = build_from(item.get("built"))
    name = item.get("name", "")
    if "name" in item and (files or not layout.is_only(kind, name)):
        raise Problem("bundle-damaged", why="A file name in its manifest is none of a payload")
    return Listed(kind, key, sha256, _size(item), path, tuple(map(_file, files)), built, name)


def _file(file: object) -> ListedFile:
    if (
        isinstance(file, dict)
        and isinstance(path := file.get("path"), str)
        and len(path) <= _MAX_TEXT
        and isinstance(sha256 := file.get("sha256"), str)
        and _SHA256.fullmatch(sha256)
    ):
        return ListedFile(path, _size(file), sha256)
    raise Problem("bundle-damaged", why="A file of its manifest lacks a field")


def _size(item: Mapping[str, object]) -> int:
    size = item.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 63:
        raise Problem("bundle-damaged", why="A size in its manifest is no size")
    return size


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
