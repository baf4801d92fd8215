"""What a store holds before anything is read: items of files, and how to get their bytes."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import BinaryIO, NamedTuple, Protocol

from torchkeeper.artifacts import triton
from torchkeeper.artifacts.entry import KINDS
from torchkeeper.artifacts.layout import Located, is_scratch, kernel_folder, locate

CHUNK = 1 << 20


class File(NamedTuple):
    """One file of a store.

    path: relative to the place. size and allocated: bytes, apparent and on the disk.
    mtime_ns: None in bundles. inode: (device, number) where there is one, to count hard links
    once and to notice that a file was replaced. mode: permission bits. sha256: what a manifest
    promises, to be checked against the bytes.

    A tuple, because a big folder has a million of them.
    """

    path: str
    size: int
    mtime_ns: int | None = None
    allocated: int = 0
    inode: tuple[int, int] | None = None
    mode: int = 0o644
    regular: bool = True
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(slots=True)
class Item:
    """The files of one entry, unread."""

    kind: str
    key: str
    path: str
    files: list[File] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Apparent bytes of all files."""
        return sum([file[1] for file in self.files])

    @property
    def identity(self) -> tuple[str, str]:
        """As Entry.identity."""
        return self.kind, self.path


class Source(Protocol):
    """Where the bytes of an item's files come from."""

    def open(self, file: File) -> BinaryIO:
        """The file, open for reading. Raises OSError."""


class Grouping:
    """Sorts files into items, folder by folder."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Item] = {}

    def add(self, folder: str, files: list[File]) -> None:
        """Some files of one folder."""
        if not files:
            return
        others = files
        # Most files of the biggest caches are a kernel's, whose folder tells all.
        if key := kernel_folder(folder):
            start = len(folder) + 1
            # By position, for the million of them.
            kernel = [file for file in files if file[6] and not is_scratch(file[0][start:])]
            if kernel:
                item = self._found.setdefault(("triton", folder), Item("triton", key, folder))
                item.files += kernel
            if len(kernel) == len(files):
                return
            others = [file for file in files if not file[6] or is_scratch(file[0][start:])]
        for file in others:
            at = locate(file[0]) if file[6] else Located("unknown", file.name, file[0])
            identity = (at.kind, at.entry_path)
            if identity not in self._found:
                self._found[identity] = Item(at.kind, at.key, at.entry_path)
            self._found[identity].files.append(file)

    def take(self) -> list[Item]:
        """What was added since the last time, in no order; nothing may be added to it later."""
        items = list(self._found.values())
        self._found.clear()
        for item in items:
            if len(item.files) > 1:
                item.files.sort()
            if item.kind == "code":
                item.path = item.files[0].path  # a path that exists: source sorts before object
        return items


def in_order(items: Iterable[Item]) -> list[Item]:
    """Items in the order of KINDS, then by path; of code, what names others comes first.

    So that whatever tells something about another entry is read before that.
    """
    by_kind: dict[str, list[Item]] = {kind: [] for kind in KINDS}
    for item in items:
        by_kind[item.kind].append(item)
    for some in by_kind.values():
        some.sort(key=attrgetter("path"))
    # A kernel's name is in the module of its graph.
    by_kind["code"].sort(key=lambda item: not any(f.path.endswith(".py") for f in item.files))
    return [item for some in by_kind.values() for item in some]


def group(files: Iterable[File]) -> list[Item]:
    """The files as items, in order."""
    grouping = Grouping()
    for folder, some in itertools.groupby(files, lambda file: file.path.rpartition("/")[0]):
        grouping.add(folder, list(some))
    return in_order(grouping.take())


def portable_bytes(kind: str, name: str, data: bytes) -> bytes:
    """The bytes of a file as they are in every place: Triton's group files without their folder.

    A group file that cannot be read is left as it is.
    """
    if kind == "triton" and name.startswith(triton.GROUP_PREFIX):
        try:
            return triton.group_for(data, "")
        except (ValueError, TypeError, RecursionError):
            return data
    return data


def is_group(kind: str, name: str) -> bool:
    """Whether a file's bytes depend on its folder."""
    return kind == "triton" and name.startswith(triton.GROUP_PREFIX)


def payload_digest(parts: list[tuple[str, str]]) -> str:
    """The sha256 of an item from (name, sha256) of its files.

    Of one file it is the file's own, which is what PyTorch names payloads after; of several that
    of the sorted list of names and digests as JSON.
    """
    if len(parts) == 1:
        return parts[0][1]
    return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()
