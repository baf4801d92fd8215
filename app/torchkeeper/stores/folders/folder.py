"""A cache folder as a store. Reading writes nothing into it, not even files' access times.

Links inside the folder are never followed; the folder itself may be given by a link.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.beside import WHOLE
from torchkeeper.artifacts.entry import READ, UNREAD, Problem, measured
from torchkeeper.artifacts.layout import TRASH, among
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.triton import is_common
from torchkeeper.stores import query
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import owners
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.folders.walk_process import scan
from torchkeeper.stores.folders.walking import Proving, Root, Walk
from torchkeeper.stores.items import (
    Found,
    amount_of,
    files_in,
    group,
    in_order,
    located,
    packed,
    taken_apart,
)
from torchkeeper.stores.needs import Living
from torchkeeper.stores.store import Removal, Store

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import MadeIn
    from torchkeeper.stores.items import File, Item, Left, Offered
    from torchkeeper.stores.shapes import Beside, Orphans, Owned, Trash
    from torchkeeper.stores.store import Going


# When entries of a folder were last used, as far as its file system tells.

#: What a last use rests on. "read": files say when they were read last; "day": the same, to the
#: day (relatime); "written": only when they were written (noatime, a disk that is read-only);
#: "server": a server says when it was last asked for them.
RESTS = ("read", "day", "written", "server")

#: Items between two looks at whether to go on.
_OFTEN = 256


def rests_on(root: str) -> str:
    """Which of RESTS holds for a folder."""
    try:
        flags = os.statvfs(root).f_flag
    except (OSError, AttributeError):
        return "written"
    # Not every system says; where it does not, most are as Linux is by itself.
    if flags & (getattr(os, "ST_NOATIME", 1024) | os.ST_RDONLY):
        return "written"
    return "day" if flags & getattr(os, "ST_RELATIME", 4096) else "read"


class Folder(Root, Store):
    """A place on the local disk. Made, and raises, as Root."""

    tells = frozenset({"age", query.OWNER})
    purgeable = on_disk = marked = True

    def __init__(self, place: str) -> None:
        super().__init__(place)
        #: Folders that could not be read on the last survey, as (path, why).
        self.unreadable: Sequence[tuple[str, str]] = []
        #: What of it is another user's, or others may write to, as far as the last survey is.
        self.seen = owners.Seen(self.root)

    def stream(self, report: Report, index: Index | None = None) -> Iterator[Item]:
        """Everything in it, unread: kernels as soon as their folder was looked at, then the rest
        in order. ``total`` is known when the rest begins. index: what it has ``glimpsed`` is left
        out.
        """
        self.seen = owners.Seen(self.root)
        looking = index if index and not index.proofs else None
        walk = Walk(self.root, report, self.seen.note, looking.glimpse if looking else None)
        proven = Proving(self.root, index)
        self.unreadable, self.total = walk.unreadable, None
        rest: list[File] = []
        count = 0
        try:
            for found in walk.folders():
                kernel = found.kernel(proven.among)
                if kernel is None:
                    rest += found.files
                else:
                    count += len(kernel)
                    # Of a name that others give folders, more than these files tells its kind.
                    if looking and len(kernel) == 1 and not is_common(kernel[0].key):
                        kernel[0].look = walk.look(found)
                    yield from kernel
        except FileNotFoundError as e:
            raise Problem("place-missing", place=self.place) from e
        except OSError as e:
            raise Problem("place-unreadable", place=self.place, why=e.strerror) from e
        every = located(rest, among(self.root), proven.among(rest), proven.known)
        items = in_order(taken_apart(every, files_in(rest), self))
        self.total = count + len(items) + (len(index.glimpsed) if index else 0)
        yield from items

    def items(self, report: Report) -> list[Item]:
        return in_order(packed(self.stream(report)))

    def items_beside(self, path: str, report: Report) -> list[Item]:
        """The items in the folder of one path, or in the folder that the path is, unread. Raises
        Problem("name-refused") for a path that leads elsewhere.
        """
        parts = path.split("/")
        if path.startswith("/") or {"", ".", ".."} & set(parts) or parts[0] == TRASH:
            raise Problem("name-refused", kind="unknown", name=path[:200])
        if self._links(parts[:-1]):
            raise Problem("link-in-place", path=path)
        here = os.path.join(self.root, path)
        below = path if os.path.isdir(here) and not os.path.islink(here) else "/".join(parts[:-1])
        every = path == below and WHOLE.fullmatch(path)
        files = self._files_below(path) if every else self._files_in(below)
        items = group(files, among(self.root), Proving(self.root))
        report.check()
        return taken_apart(items, self._files_in, self)

    def _files_below(self, folder: str) -> list[File]:
        """All files below a folder; none where a link leads there."""
        folders = [above for above, _, _ in os.walk(os.path.join(self.root, folder))]
        return [file for x in folders for file in self._files_in(os.path.relpath(x, self.root))]

    def _links(self, parts: list[str]) -> bool:
        return any(
            os.path.islink(os.path.join(self.root, *parts[:depth]))
            for depth in range(1, len(parts) + 1)
        )

    def _files_in(self, folder: str) -> list[File]:
        """The files of one folder; none where it cannot be read, or a link leads there."""
        if folder and self._links(folder.split("/")):
            return []
        try:
            _, names, about, _ = scan(self.root, folder)
        except OSError:
            return []
        return Found(folder, names, about).files

    @property
    def whole(self) -> bool:
        """Whether the last survey could read every folder."""
        return not self.unreadable

    def index(self, file: str | None, glimpsing: bool = False, proofs: bool = False) -> Index:
        return Index(self.root, file, glimpsing, proofs)

    def _own(self, batch: list[Described]) -> None:
        for one in batch if self.seen.foreign else ():
            # One that was glimpsed has no files, and nothing of another user's in its folder.
            paths = [file.path for file in one.item.files] or [f"{one.item.path}/"]
            if owner := self.seen.owner(paths):
                one.entry = one.entry._replace(owner=owner)

    def _foreign(self) -> int:
        return sum(map(hash, self.seen.foreign.items()))

    def uses(self, items: Sequence[Item], report: Report) -> tuple[list[float | None], str]:
        """That is when the last of its files was read or written, by whomever, when it was looked
        at: a backup reads them as well. Our own reading leaves no trace in files of one's own.
        """
        rests = rests_on(self.root)
        found: list[float | None] = []
        for number, item in enumerate(items):
            if number % _OFTEN == 0:
                report.check()
            last: float | None = None
            for file in item.files:
                written, read = (file[2] or 0) / 1e9, file[9] or 0.0
                used = written if written > read or rests == "written" else read
                if last is None or used > last:
                    last = used
            found.append(last)
        return found, rests

    def owners(self) -> list[Owned] | None:
        return owners.findings(self.place, self.seen)

    def tell_beside(self, told: Beside, origins: Sequence[MadeIn | None]) -> None:
        told["trash"], told["owners"] = self.trash(), self.owners()

    def trash(self) -> Trash | None:
        from torchkeeper.stores.folders import receipts

        return receipts.totals(self.root)

    def orphans(self, items: list[Item], index: str | None) -> Orphans | None:
        """What a listing has kept tells of entries; ``whole`` says whether it has of all of them.
        Of others only locks and temporary files are known to be left behind.
        """
        kept_in = Index(self.root, index if index and os.path.exists(index) else None)
        try:
            kept = [(item, kept_in.get(item) if item.kind in READ else None) for item in items]
        finally:
            kept_in.close()
        whole = self.whole and all(
            (known and known.problem not in UNREAD) or item.kind not in READ for item, known in kept
        )
        living = Living(lambda: whole)
        found = [item for item, known in kept if living.orphan(item, known.facts if known else {})]
        size, amount = sum(item.size for item in found), amount_of(found)
        return {**amount, **measured(size, on_disk=False), "disk_bytes": amount["bytes"],
                "whole": whole}  # fmt: skip

    def removal(self, insisted: bool) -> Removal:
        """To its trash; what processes use stays, unless insisted."""
        from torchkeeper.stores.folders.trash import FolderRemoval

        return FolderRemoval(self.place, self.root, insisted)

    def offer(
        self, chosen: Sequence[Described], report: Report, left: Left, to_server: bool = False
    ) -> Offered:
        """Under canonical names; with digests for a server, which does not find them."""
        from torchkeeper.stores.offering import FromFolder

        return FromFolder(*self.for_bundle(chosen, left), report, left, hashed=to_server)

    def for_bundle(self, chosen: Sequence[Described], left: Left) -> Going:
        """As of its base; what is of a key of a server, under its path in the folder of all."""
        from torchkeeper.stores.folders.keyed import from_above

        return from_above(self.root, chosen, self)
