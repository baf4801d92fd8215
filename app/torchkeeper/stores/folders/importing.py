"""Placing entries of bundles and other places in a folder, without torch or running anything.

Every file is written under a temporary name beside its own, checked, synced and renamed; payloads
that name others come last, so that a torch process at work meanwhile never finds one whose needs
are missing. What PyTorch keeps in a list is put into that. Each step is in a journal before.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import steps
from torchkeeper.stores.folders.arriving import Arriving, Written
from torchkeeper.stores.folders.guard import changing
from torchkeeper.stores.folders.journal import Journal
from torchkeeper.stores.folders.locks import in_use, waited_for
from torchkeeper.stores.folders.placing import (
    Plan,
    Target,
    check_whole,
    deliver,
    in_order,
    missing_folders,
)
from torchkeeper.stores.folders.walking import Root
from torchkeeper.stores.items import File, Item, Offered
from torchkeeper.stores.pouring import Pouring, whole
from torchkeeper.stores.progress import Progress
from torchkeeper.stores.store import Lost

Offer = TypeVar("Offer", bound=Offered)
Placed = Callable[[Item, str], None]


@dataclass
class Imported:
    """What was placed, and what was there already."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    exists: int = 0


def import_bundle(
    offered: Offered,
    place: str,
    report: Report,
    left: Callable[[Item, Problem], None],
    placed: Placed | None = None,
) -> Imported:
    """``import_bundles`` of one."""
    return import_bundles(
        [offered], place, report, lambda _, item, problem: left(item, problem), placed
    )


def import_bundles(
    bundles: Sequence[Offer],
    place: str,
    report: Report,
    left: Callable[[Offer, Item, Problem], None],
    placed: Placed | None = None,
) -> Imported:
    """Place every entry of bundles, or of whatever offers some, in the folder, which is made if it
    is missing.

    An entry that is there with the same sha256 counts as ``exists``. A damaged entry and one
    whose place is taken by something else go to ``left``; the rest goes on. When the disk is
    full, the folder cannot be written, or the user cancels, what was placed is taken back.
    ``placed`` hears of each entry that was placed, and its path in the folder.

    Raises Problem("place-unwritable" | "disk-full" | "place-busy") and passes Cancelled on, and
    Lost, with its counts: what has wholly arrived stays then, so that the next time goes on there.
    """
    here = os.path.realpath(place)
    above: list[str] = []
    try:
        for folder in reversed(missing_folders(here)):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
                above.append(folder)
        with changing(place, report):
            root = Root(place).root
            journal = Journal(root, "import", report, above=above)
            try:
                return _import(bundles, root, journal, report, left, placed)
            except Lost:
                raise
            except BaseException:
                _take_back(root, journal, report)
                raise
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Problem("disk-full", place=place) from e
        raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
    finally:
        for folder in reversed(above):
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # unless something has come into it


def _settle(root: str, journal: Journal) -> None:
    """Say that what was placed stays. Raises OSError."""
    journal.done()
    steps.settle(root, journal.steps)
    journal.close()


def _take_back(root: str, journal: Journal, report: Report) -> None:
    """Take all back; what cannot be is left to the next one that comes (folders.recovering). What
    is gone and what is left ``report`` hears as ``taken_back={place, files, left, whole}``.
    """
    gone, whole = 0, True
    try:
        gone = steps.take_back(root, journal.steps, report)
        journal.close()
    except (OSError, Problem):
        whole = False
        journal.leave()
    with contextlib.suppress(OSError):  # the folder may be gone
        left = steps.there(root, journal.steps)
        told = {"place": root, "files": gone, "left": left, "whole": whole}
        report.finding(taken_back=told)


def _import(
    bundles: Sequence[Offer],
    root: str,
    journal: Journal,
    report: Report,
    left: Callable[[Offer, Item, Problem], None],
    placed: Placed | None,
) -> Imported:
    ordered = [in_order(offered) for offered in bundles]
    progress = Progress(report, sum(item.size for items in ordered for item, _ in items))
    target = Target(root, [item for items in ordered for item, _ in items])
    placing = _Placing(target, journal, Pouring(progress), placed, report)
    past = 0
    try:
        for offered, items in zip(bundles, ordered, strict=True):
            placing.left = functools.partial(left, offered)
            for item, problem in items:
                progress.begin(item)
                if problem is not None:
                    placing.left(item, problem)
                else:
                    placing.place(item, offered)
                past += item.size
                progress.reach(past)
            placing.arrive()
    except Lost as lost:
        placing.arrive()
        _settle(root, journal)
        lost.arrived = placing.done.entries + placing.done.exists
        lost.total = sum(map(len, ordered))
        raise
    finally:
        placing.close()
    _settle(root, journal)
    progress.end()
    return placing.done


class _Placing:
    """Places one entry after the other; most get their names when some have come together.

    left: hears of what cannot be placed.
    """

    def __init__(
        self,
        target: Target,
        journal: Journal,
        pouring: Pouring,
        placed: Placed | None,
        report: Report,
    ) -> None:
        self.done = Imported()
        self.left: Callable[[Item, Problem], None] = lambda _item, _problem: None
        self._root, self._journal = target.root, journal
        self._pouring, self._placed, self._report = pouring, placed, report
        self._target, self._arriving = target, Arriving(target.root, journal)
        self._waiting: list[tuple[Plan, Item, Offered, Written]] = []

    def place(self, item: Item, offered: Offered) -> None:
        """Place one entry, or have it left.

        Raises Lost, after taking back what it wrote, and OSError for what concerns all.
        """
        mark = len(self._journal.steps)
        try:
            plan = self._target.plan(item, offered, self._pouring)
            if plan.listed or self._arriving.taken(_names(plan)):
                self.arrive()
                mark = len(self._journal.steps)
                plan = self._target.plan(item, offered, self._pouring)
            if self._was_being_built(plan):
                plan = self._target.plan(item, offered, self._pouring)
            if not plan.new:
                self.done.exists += 1
                return
            written = self._write(plan, item, offered)
            self._waiting.append((plan, item, offered, written))
            # Whether a list takes an item shows when it gets there.
            full = self._arriving.add(written)
            if plan.listed:
                self.arrive()
        except (Problem, Lost) as e:
            steps.take_back(self._root, self._journal.steps[mark:])
            if isinstance(e, Lost):
                raise
            self.left(item, e)
            return
        if full:
            self.arrive()

    def _was_being_built(self, plan: Plan) -> bool:
        """Whether PyTorch was at work on an object that is to be placed. Raises Problem("in-use")
        where it still is, and Cancelled.
        """
        waited = False
        for _, target in plan.todo:
            path = os.path.relpath(target, self._root)
            stem = os.path.basename(path).partition(".")[0]
            if path.endswith(".so") and in_use(self._root, "code", stem, path):
                if not waited_for(self._root, "code", stem, path, self._report):
                    raise Problem("in-use")
                waited = True
        return waited

    def arrive(self) -> None:
        """Give what was written its names.

        Raises OSError, and Problem as ``merging.put`` where an item of a list waits.
        """
        waiting, self._waiting = self._waiting, []
        late = self._arriving.arrive()
        for plan, item, offered, written in waiting:
            if any(written is one for one in late):
                # Triton has begun the same kernel meanwhile: only what is still missing is placed.
                self.place(item, offered)
                continue
            self.done.entries += 1
            self.done.files += len(item.files)
            self.done.bytes += item.size
            if self._placed:
                self._placed(item, plan.home)
        if late:
            self.arrive()

    def close(self) -> None:
        """Have all names on the disk. Raises OSError."""
        self._arriving.close()

    def _write(self, plan: Plan, item: Item, offered: Offered) -> Written:
        """Write the files of an entry under temporary names, and check them."""
        written = Written(replaced=plan.replaced, listed=plan.listed)
        if plan.whole:
            above = os.path.dirname(plan.folder)
            self._arriving.make_folders(above)
            written.folder = self._arriving.temporary_folder(above), plan.folder
        digests = []
        for file, target in plan.todo:
            if written.folder:
                path = os.path.join(written.folder[0], file.name)
                digest = _write(path, offered, item, file, self._pouring, plan.folder)
            else:
                path, digest = self._beside(target, plan, item, offered, file)
            digests.append(digest)
            written.files.append((path, target))
            written.size += file.size
        check_whole(plan, item, digests)
        return written

    def _beside(
        self, target: str, plan: Plan, item: Item, offered: Offered, file: File
    ) -> tuple[str, str]:
        """Write a file beside its path; its path until then, and its sha256."""
        folder = os.path.dirname(target)
        for last in (False, True):
            self._arriving.make_folders(folder)
            path = self._arriving.temporary(folder)
            try:
                return path, _write(path, offered, item, file, self._pouring, plan.folder)
            except FileNotFoundError:
                # Somebody who purges or mends a place around this one has taken the empty folder.
                if last:
                    raise
        raise AssertionError


def _names(plan: Plan) -> Iterator[str]:
    """The paths that come with what a plan says."""
    yield from (target for _, target in plan.todo)
    if plan.whole:
        yield plan.folder
    if plan.listed:
        yield plan.listed[0]


def _write(
    path: str, offered: Offered, item: Item, file: File, pouring: Pouring, group_folder: str
) -> str:
    """Write one file to a path where nothing is, and check it; returns its sha256.

    Raises Problem as ``deliver``, and OSError for what concerns the target.
    """
    mode = 0o755 if file.name.endswith(".so") else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb", buffering=0) as out:
        return deliver(offered, item, file, pouring, whole(out), group_folder)
