"""Folders that nothing reads, and what lies in several: what only a look at more than one tells."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import COUNTED_APART, Problem
from torchkeeper.doctor.check import FolderLook, MachineLook
from torchkeeper.settings.finding import Finding
from torchkeeper.stores import places
from torchkeeper.stores.folders.in_use import users
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import Item, allocated

#: Reasons of stores.places for which programs read a folder that no environment's variable names.
_READ_ANYWAY = frozenset({"vllm", "ondisk"})
#: Entries that two folders must have in common to be worth saying.
_SOME = 2


def unread(look: MachineLook) -> Iterator[Finding]:
    """Folders with entries that no known environment uses, and no running process."""
    if not look.facts:
        raise Problem("interpreter-not-tried")
    reads = {*look.reads, *_triton(look)}
    known = {os.path.realpath(one.path) for one in places.find() if one.reason in _READ_ANYWAY}
    for one in [*look.folders, *(look.others or ())]:
        entries = [item for item in one.items if item.kind not in COUNTED_APART]
        if not entries or one.root in known or any(_within(one.root, path) for path in reads):
            continue
        look.report.check()
        if users(one.root, look.report).processes:
            continue
        newest = max((file.mtime_ns or 0 for item in entries for file in item.files), default=0)
        about = {"count": len(entries), "size_bytes": one.bytes, "newest": newest / 1e9}
        yield Finding("folder-unread", "advice", ("TORCHINDUCTOR_CACHE_DIR",), one.place, about)


def _triton(look: MachineLook) -> Iterator[str]:
    """Where Triton keeps what it compiles without PyTorch, also for environments not asked here."""
    for home in {look.values.get("TRITON_HOME") or "~", "~"}:
        yield os.path.realpath(os.path.join(os.path.expanduser(home), ".triton", "cache"))


def _within(root: str, path: str) -> bool:
    """Whether a folder is one that is read, or holds it, or is in it."""
    mine, theirs = root.rstrip("/") + "/", path.rstrip("/") + "/"
    return mine.startswith(theirs) or theirs.startswith(mine)


def duplicates(look: MachineLook) -> Iterator[Finding]:
    """Pairs of this user's folders that have the same entries."""
    folders = [*look.folders, *(look.others or ())]
    known = [(one, _contents(one, look)) for one in folders if one.items and _mine(one)]
    for number, (one, mine) in enumerate(known):
        for other, theirs in known[number + 1 :]:
            look.report.check()
            both = mine.keys() & theirs.keys()
            if len(both) >= _SOME and not _within(one.root, other.root):
                about = {"other": other.place, "count": len(both),
                         "size_bytes": sum(theirs[name] for name in both)}  # fmt: skip
                yield Finding("caches-alike", "advice", (), one.place, about)


def _mine(one: FolderLook) -> bool:
    try:
        return os.stat(one.root).st_uid == os.geteuid()
    except OSError:
        return False


def _contents(one: FolderLook, look: MachineLook) -> dict[str, int]:
    """Bytes on the disk of each entry, by what is in it, as far as nothing is to be read."""
    found: dict[str, int] = {}
    index = Index(one.root, look.index)
    try:
        for item in one.items:
            if name := _content(item, index):
                found[name] = allocated(item.files)
    finally:
        index.close()
    return found


def _content(item: Item, index: Index) -> str | None:
    name = item.path.rpartition("/")[2]
    if layout.is_named_by_content(item.kind, name):
        return name
    known = index.get(item) if item.kind not in COUNTED_APART else None
    return known.sha256 if known else None
