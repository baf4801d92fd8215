"""Entries of one place as another can take them: names, digests and bytes as they are everywhere,
under the names that an environment will look for.

A bundle holds them so already; a folder's are given canonical names. That they are still what was
listed is seen when they are copied, or before where their digests are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import PORTABLE, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import describe
from torchkeeper.stores.describe import Described, Singly
from torchkeeper.stores.items import (
    File,
    Item,
    is_group,
    packed,
    payload_digest,
    portable_stream,
)
from torchkeeper.stores.pouring import Pouring, Progress, drop, unreadable

if TYPE_CHECKING:
    from torchkeeper.stores.items import Left, Offered, Source


class FromFolder:
    """Some entries of a folder under the names that every place gives them."""

    def __init__(
        self, chosen: Iterable[Described], source: Source, report: Report, left: Left, hashed: bool
    ) -> None:
        """What is broken, or of this machine only, goes to ``left``. hashed: every file gets its
        sha256, for a place that does not find it; what has changed since goes to ``left``, too.
        """
        self._source = Singly(source)
        self._hashed = hashed
        self._pouring = Pouring(Progress(report, 0))
        self._files: dict[tuple[str, str | None], tuple[str, File]] = {}
        # Kernels that lie where they do in every place, of which nothing more is kept.
        self._direct: set[str] = set()
        self._items: list[Item] = []
        for one in portable(chosen, left):
            report.check()
            try:
                self._take(self._source.of(one))
            except Problem as problem:
                left(one.item, problem)

    def items(self) -> list[Item]:
        return self._items

    def open(self, file: File) -> BinaryIO:
        """One of their files; Triton's group files name no folder."""
        if (file.path, file.sha256) in self._files:
            kind, original = self._files[file.path, file.sha256]
        else:
            kind, original = "triton", file
            assert file.path.rpartition("/")[0] in self._direct
        return portable_stream(kind, original, self._source.open(original))

    def _take(self, one: Described) -> None:
        """Raises Problem("name-refused" | "entry-vanished" | "entry-changed")."""
        item, every, sha256 = one.item, one.item.files, one.entry.sha256
        several = len(every) > 1
        paths = homes(one)
        digests = [None if several else sha256] * len(paths)
        home = paths[0].rpartition("/")[0] if item.kind == "triton" else paths[0]
        direct = item.kind == "triton" and home == item.path
        for number, (file, path) in enumerate(zip(every, paths, strict=True)):
            # Where two have one name, their bytes decide. Of a group the size is another.
            known = self._hashed or is_group(item.kind, file.name) or home in self._direct
            known = known or (path, None) in self._files
            digests[number] = digests[number] or file.sha256
            if digests[number] is None and known:
                digests[number] = self._digest(item.kind, file)
        if several and self._hashed and sha256:
            parts = [(f.name, digest or "") for f, digest in zip(every, digests, strict=True)]
            if payload_digest(parts) != sha256:
                raise Problem("entry-changed")
        if item.kind == "jit":
            home = layout.locate(home).entry_path
        files = []
        for old, digest, path in zip(every, digests, paths, strict=True):
            files.append(old._replace(path=path, allocated=0, sha256=digest, at=None))
            if not direct:
                self._files[path, digest] = (item.kind, old)
        if direct:
            home = item.path
            self._direct.add(home)
        whole = sha256 if several else None
        self._items += packed([Item(item.kind, item.key, home, files, sha256=whole)])

    def _digest(self, kind: str, file: File) -> str:
        try:
            stream = portable_stream(kind, file, self._source.open(file))
        except OSError as e:
            raise unreadable(e) from e
        with stream:
            return self._pouring.pour(stream, file.size, drop, counted=False)[0]


def portable(chosen: Iterable[Described], left: Left) -> list[Described]:
    """Those that another place can use; the others go to ``left``."""
    taken = []
    for one in chosen:
        try:
            check_portable(one)
            taken.append(one)
        except Problem as problem:
            left(one.item, problem)
    return taken


def current(chosen: Sequence[Described], left: Left) -> list[Described]:
    """Those without profiles that a later one of the same place takes the place of, which go to
    ``left``: a program saves one each time that it learns something.
    """
    last = {one.item.path: one for one in chosen if one.entry.kind == "pgo"}
    taken = []
    for one in chosen:
        if last.get(one.item.path, one) is one:
            taken.append(one)
        else:
            left(one.item, Problem("superseded"))
    return taken


def check_portable(one: Described) -> None:
    """Raises Problem("kind-not-portable" | "entry-unread" | "entry-broken")."""
    if one.entry.kind not in PORTABLE:
        raise Problem("kind-not-portable", kind=one.entry.kind)
    if one.entry.put_off:
        # Nobody could tell what it would run, or which secrets it holds.
        raise Problem(one.entry.problem or "entry-unread")
    if one.entry.broken or (one.entry.sha256 is None and not one.unhashed):
        raise Problem("entry-broken", problem=one.entry.problem or "file-unreadable")


def homes(one: Described) -> list[str]:
    """Where each of an entry's files lies in every folder that has no caches inside. Raises Problem
    as ``check_portable`` and ``describe.homes``, "name-refused", and "part-of-artifact" for what is
    of use only where it is.
    """
    check_portable(one)
    kind, sha256 = one.entry.kind, one.entry.sha256 or ""
    if layout.in_tree(one.item.path) and kind != "aoti_eager":
        return [layout.checked_path(kind, file.path) for file in one.item.files]
    if kind in ("fxgraph", "aotautograd", "pgo"):
        return [layout.payload_path(kind, mega_key(one), sha256, one.item.files[0].name)]
    if kind == "aoti_eager":
        return describe.homes(one.item)
    found = [file.path for file in one.item.files]
    if kind == "triton" and (alone := layout.canonical_kernel(found)):
        return alone
    if kind == "jit":
        return [layout.compiled_path(path, one.facts.get("backend")) for path in found]
    paths = [layout.canonical(path) for path in found]
    if kind == "precompile":
        if paths != [layout.payload_path(kind, mega_key(one), sha256)]:
            raise Problem("part-of-artifact", path=one.item.path)
        return paths
    return [layout.checked_path(kind, path) for path in paths]


def mega_key(one: Described) -> str:
    """Its key in a mega-cache."""
    return layout.canonical(one.item.path) if one.entry.kind == "autotune" else one.entry.key


# PyTorch computes the name of a built object anew whenever it loads a graph, and no graph names
# one: to give an object and its source another name is enough for them to be found.


class Named:
    """Entries of ``offered``, some of them under new names. names: the new key of an item, by its
    path in what is offered; one that no folder could hold is as if it were not there. why: why an
    item is to be left out, by the same path.
    """

    def __init__(self, offered: Offered, names: dict[str, str], why: dict[str, Problem]) -> None:
        self._offered, self._why = offered, why
        # By identity: two of a bundle may come to one name, or one to that of another.
        self._origins: dict[int, Item] = {}
        self._files: dict[tuple[str, str | None], File] = {}
        self._items = [self._renamed(item, names.get(item.path)) for item in offered.items()]

    def items(self) -> list[Item]:
        """The entries, those that are to be left out among them (``why_not``)."""
        return self._items

    def open(self, file: File) -> BinaryIO:
        return self._offered.open(self._files.get((file.path, file.sha256), file))

    def why_not(self, item: Item) -> Problem | None:
        """Why an item must not be placed, if it must not."""
        return self._why.get(self.origin(item).path)

    def origin(self, item: Item) -> Item:
        """An item as what is offered has it."""
        return self._origins.get(id(item), item)

    def is_renamed(self, item: Item) -> bool:
        """Whether an item has another name than where it comes from."""
        return id(item) in self._origins

    def _renamed(self, item: Item, key: str | None) -> Item:
        if key is None or key == item.key or item.kind != "code" or item.path in self._why:
            return item
        files, above = [], layout.inner_cache(item.path)
        for file in item.files:
            path = f"{above}{key[1:3]}/{key}{file.name[len(item.key) :]}"
            try:
                path = layout.checked_path(item.kind, path)
            except Problem:
                return item
            files.append(file._replace(path=path))
        named = Item(item.kind, key, files[0].path, files, item.about, item.sha256)
        self._origins[id(named)] = item
        for new, old in zip(files, item.files, strict=True):
            self._files[new.path, new.sha256] = old
        return named
