"""What an import has placed in a folder, so that undo can take exactly that away again.

Its receipt is one as of a purge (folders.receipts), and lies beside those. ``placed.jsonl`` in it
has a line of each file, ``[path, kind, sha256]``, and of each item of a list of eager kernels,
``[path, item, before]``; what had to give way lies under ``files``, as what a purge moves. It is
written before the import says that all was done, and the folders of what gave way are made then: on
a full disk that moves there, too. A path in it is never opened: it only names what is found in the
folder.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem, measured, tally
from torchkeeper.artifacts.layout import TRASH, among
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import merging, receipts
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.journal import Step, Steps, take_back
from torchkeeper.stores.folders.placing import digest_at
from torchkeeper.stores.folders.receipts import FILES, PLACED, Back, within
from torchkeeper.stores.items import Item, Left
from torchkeeper.stores.pouring import Pouring, Progress
from torchkeeper.stores.preconditions import needed

if TYPE_CHECKING:
    from collections.abc import Collection

    from torchkeeper.stores.folders.placing import Plan

#: A step of what undoes an import: all that it has placed is in the trash, and none of it stays.
WITHDRAWN: Step = ["withdrawn"]
#: Imports whose receipts are kept in a folder.
KEPT = 20
#: Lines of a receipt that are read, and bytes of one.
_MOST, _LONGEST = 2_000_000, 1 << 20


@dataclass
class Record:
    """What an import has placed so far. noted: whether it has a receipt, of this name."""

    root: str
    noted: bool = True
    name: str = field(default_factory=receipts.new_name)
    _lines: Steps = field(default_factory=Steps)
    _kinds: list[str] = field(default_factory=list)
    #: The folders of the receipt to which goes what gave way.
    _kept: set[str] = field(default_factory=set)
    _files: int = 0
    _bytes: int = 0

    def add(self, item: Item, plan: Plan, digests: Sequence[str], theirs: Collection[str]) -> None:
        """An entry has got its names. theirs: the paths that somebody else has taken meanwhile."""
        begin = len(self.root.rstrip("/")) + 1
        for (file, path), digest in zip(plan.todo, digests, strict=True):
            if path not in theirs:
                self._add([path[begin:], item.kind, digest])
                self._files += 1
                self._bytes += needed([file.size])
        self._kinds.append(item.kind)
        self._kept.update(f"{FILES}/{path[begin:]}".rpartition("/")[0] for path in plan.replaced)

    def put(self, path: str, item: merging.Listed, before: list[merging.Listed]) -> None:
        """An item has come into a list, in the place of others."""
        self._add([path, item, before])

    def _add(self, line: list[object]) -> None:
        self._lines.add(1, f"{json.dumps(line)}\n".encode())

    @property
    def folders(self) -> list[str]:
        """Those in which the receipt has given names."""
        bin_ = os.path.join(self.root, TRASH, self.name)
        kept = [os.path.join(bin_, folder) for folder in receipts.with_above(self._kept) - {""}]
        return [self.root, os.path.dirname(bin_), bin_, *kept]

    def write(self) -> str | None:
        """Write the receipt; its name, or None where none is wanted or nothing was placed. Its
        ``folders`` are still to be synced. Raises Problem where the trash is not this user's to
        change, and OSError where there is no room for it, or the disk fails.
        """
        if not len(self._lines) or not self.noted:
            return None
        amount = {**tally(self._kinds), "files": self._files, **measured(self._bytes, on_disk=True)}
        bin_ = os.path.join(self.root, TRASH, self.name)
        try:
            receipts.make(self.root, self.name, (), amount)
            with Inside(self.root) as inside:
                for folder in sorted(receipts.with_above(self._kept) - {""}):
                    inside.make_folder(f"{within(bin_)}/{folder}")
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                handle = inside.opened(f"{within(bin_)}/{PLACED}", flags, 0o666)
            with os.fdopen(handle, "wb") as out:
                out.writelines(self._lines.packed())
                out.flush()
                os.fsync(handle)
        except PermissionError as e:
            receipts.discard(bin_)
            trash = os.path.dirname(bin_)
            raise Problem("place-unwritable", place=trash, why=e.strerror) from e
        except (OSError, Problem):
            receipts.discard(bin_)
            raise
        return self.name


def thin(root: str) -> None:
    """Have no more receipts of imports than are kept; those that hold what gave way stay."""
    imports = [one for one in receipts.folders_of(root) if receipts.is_import(one)]
    for old in imports[:-KEPT]:
        if not receipts.count(old):
            receipts.discard(old)


def _said(bin_: str) -> Iterator[list[object]]:
    """The lines of a receipt that make sense."""
    try:
        with Inside(receipts.root_of(bin_)) as inside:
            handle = inside.opened(f"{within(bin_)}/{PLACED}", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(handle, "rb") as stream:
        for _ in range(_MOST):
            line = stream.readline(_LONGEST)
            if not line:
                return
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(said, list) and len(said) == 3 and isinstance(said[0], str):
                yield said


@dataclass
class Remains:
    """What of an import lies where it was put: going, as it was placed; changed, since then.
    steps: as of a journal, of the lists, with the items that were in the place of those.
    """

    going: list[Item] = field(default_factory=list)
    changed: list[Item] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def remains(root: str, bin_: str, report: Report) -> Remains:
    """What of an import is still there, by content; an entry that lost files is as it was."""
    files, listed = dict[str, tuple[str, str]](), dict[str, list[tuple[object, object]]]()
    for path, what, more in _said(bin_):
        if isinstance(what, str) and isinstance(more, str):
            files[str(path)] = (what, more)
        else:
            listed.setdefault(str(path), []).append((what, more))
    items = receipts.items_in(root, among(root), report)
    mine = [item for item in items if any(file.path in files for file in item.files)
            or item.list_path in listed]  # fmt: skip
    pouring = Pouring(Progress(report, sum(item.size for item in mine)))
    found = Remains()
    for item in mine:
        report.check()
        one = receipts.listed_of(item)
        here = [(was, before) for was, before in listed.get(item.list_path, ()) if was == one]
        if one is not None and not here:
            continue  # somebody else's, of the same library
        some = [file for file in item.files if file.path in files]
        if any(digest_at(os.path.join(root, file.path), files[file.path][0], pouring)
               != files[file.path][1] for file in some):  # fmt: skip
            found.changed.append(item)
            continue
        lists = (["list", item.list_path, None, _items(before)] for _, before in here)
        found.steps += [step for step in lists if one is not None and step[3]]
        some += [file for file in item.files if one is not None and file.path == item.list_path]
        whole = len(some) == item.count
        found.going.append(item if whole else Item(
            item.kind, item.key, item.path, some, item.about))  # fmt: skip
    return found


def _items(said: object) -> list[merging.Listed]:
    return [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []


def give_back(
    root: str, bin_: str, steps: Iterable[Step], report: Report, left: Left, told: Back | None
) -> None:
    """Have back what had to give way for an import of which nothing is there any more, and forget
    its receipt. steps: as of Remains; left and told: as of ``receipts.restore``. Raises OSError
    where there is no room, or the disk fails: it can be done again.
    """
    for step in steps:
        # Items whose libraries were gone already; in what is no list any more they are no loss.
        with contextlib.suppress(Problem):
            take_back(root, [step])
    _, full = receipts.restore(root, bin_, receipts.trashed(bin_, report), report, left, told)
    if full:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    forget(bin_)


def forget(bin_: str) -> None:
    """Have no import to undo by a receipt any more. What gave way and cannot be back, as something
    else has its path, stays in the trash as what a purge has moved. Raises OSError.
    """
    if not receipts.count(bin_):
        receipts.discard(bin_)
        return
    with Inside(receipts.root_of(bin_)) as inside, contextlib.suppress(FileNotFoundError):
        inside.unlink(f"{within(bin_)}/{PLACED}")
