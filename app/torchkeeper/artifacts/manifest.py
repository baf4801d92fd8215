"""The manifest of a ``.torchcache`` bundle.

``{"format": "torchcache", "format_version": 1, "made_by", "made_in", "entries": […]}``; an entry
has kind, key, sha256, size, path, and files ``[{path, size, sha256}]``. Paths are those in the
zip: ``files/…``, or ``mega-cache.bin`` for the payloads that a mega-cache holds. ``made_in`` is
the environment as far as the entries tell, or null.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from torchkeeper.artifacts.entry import PORTABLE, Problem

FORMAT = "torchcache"
VERSION = 1
NAME = "manifest.json"
MEGA_CACHE = "mega-cache.bin"
FILES = "files/"
#: A manifest of 100,000 entries is some 50 MB.
MAX_SIZE = 64 << 20
#: Characters of a key or path; the longest real ones have some 300.
_MAX_TEXT = 1024

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file the manifest promises: its path in the zip, size in bytes, sha256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry the manifest promises. ``files`` is empty for payloads in the mega-cache."""

    kind: str
    key: str
    sha256: str
    size: int
    path: str
    files: tuple[ListedFile, ...]

    def to_json(self) -> dict[str, Any]:
        """As it stands in the manifest."""
        files = [{"path": f.path, "size": f.size, "sha256": f.sha256} for f in self.files]
        return {
            "kind": self.kind,
            "key": self.key,
            "sha256": self.sha256,
            "size": self.size,
            "path": self.path,
            "files": files,
        }


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself."""

    made_by: str
    made_in: dict[str, Any] | None
    entries: tuple[Listed, ...]

    def to_bytes(self) -> bytes:
        """The file: the same entries give the same bytes."""
        entries = sorted(self.entries, key=lambda e: (e.kind, e.key, e.sha256))
        whole = {
            "format": FORMAT,
            "format_version": VERSION,
            "made_by": self.made_by,
            "made_in": self.made_in,
            "entries": [entry.to_json() for entry in entries],
        }
        return json.dumps(whole, indent=1).encode() + b"\n"


def parse(data: bytes) -> Manifest:
    """The manifest in a bundle; every field is checked.

    Raises Problem("bundle-damaged", why=…) and Problem("bundle-newer", version=…).
    """
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise Problem("bundle-damaged", why="Its manifest is not JSON") from e
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise Problem("bundle-damaged", why="Its manifest is of another format")
    version = whole.get("format_version")
    if not isinstance(version, int):
        raise Problem("bundle-damaged", why="Its manifest has no format version")
    if version > VERSION:
        raise Problem("bundle-newer", version=version)
    made_in, listed = whole.get("made_in"), whole.get("entries")
    if not isinstance(listed, list) or not isinstance(made_in, (dict, type(None))):
        raise Problem("bundle-damaged", why="Its manifest lacks a field")
    made_by = whole.get("made_by")
    entries = tuple(_entry(item) for item in listed)
    made_by = made_by[:80] if isinstance(made_by, str) else "?"
    return Manifest(made_by, origin(made_in), entries)


def origin(made_in: object) -> dict[str, Any] | None:
    """What something says of where it was made, with every field of its type, or None.

    torch, torch_git, cuda: text or None; gpus: a list of names; threads: a number or None.
    """
    if not isinstance(made_in, dict):
        return None
    found: dict[str, Any] = {}
    for name in ("torch", "torch_git", "cuda"):
        value = made_in.get(name)
        found[name] = value[:80] if isinstance(value, str) else None
    gpus, threads = made_in.get("gpus"), made_in.get("threads")
    listed = gpus[:16] if isinstance(gpus, list) else []
    found["gpus"] = [gpu[:80] for gpu in listed if isinstance(gpu, str)]
    is_count = isinstance(threads, int) and not isinstance(threads, bool) and 0 < threads < 1 << 20
    found["threads"] = threads if is_count else None
    return found


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
    return Listed(kind, key, sha256, _size(item), path, tuple(_file(file) for file in files))


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


def _size(item: dict[str, Any]) -> int:
    size = item.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Problem("bundle-damaged", why="A size in its manifest is no size")
    return size
