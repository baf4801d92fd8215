"""Placing entries of bundles and other places in a folder, without torch or running anything.

Every file is written under a temporary name beside its own, checked and renamed; payloads that name
others come last, so that a torch process at work meanwhile never finds one whose needs are missing.
What PyTorch keeps in a list is put into that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import merging
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.guard import changing
from torchkeeper.stores.items import File, Item, Offered
from torchkeeper.stores.lost import Lost
from torchkeeper.stores.merging import Listed
from torchkeeper.stores.placing import Plan, Target, check_whole, deliver, in_order, missing_folders
from torchkeeper.stores.pouring import Pouring, whole
from torchkeeper.stores.progress import Progress

Offer = TypeVar("Offer", bound=Offered)
Placed = Callable[[Item, str], None]


@dataclass
class Imported:
    """What was placed, and what was there already."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    exists: int = 0


@dataclass
class _Trace:
    """What an import has made so far, to be taken back if it cannot be finished.

    replaced: what something broken was put aside as, and where it was. listed: the list, the item
    that was put into it, and those that it took the place of.
    """

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    replaced: list[tuple[str, str]] = field(default_factory=list)
    listed: list[tuple[str, Listed, list[Listed]]] = field(default_factory=list)

    def take(self, other: _Trace) -> None:
        """Answer for what another has made."""
        self.files += other.files
        self.folders += other.folders
        self.replaced += other.replaced
        self.listed += other.listed


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
    trace = _Trace()
    try:
        _make_folders(os.path.realpath(place), trace)
        with changing(place):
            done = _import(bundles, Folder(place).root, trace, report, left, placed)
    except BaseException as e:
        if isinstance(e, Lost):
            _settle(trace)
            raise
        _take_back(trace)
        if isinstance(e, OSError):
            if e.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Problem("disk-full", place=place) from e
            raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
        raise
    _settle(trace)
    return done


def _import(
    bundles: Sequence[Offer],
    root: str,
    trace: _Trace,
    report: Report,
    left: Callable[[Offer, Item, Problem], None],
    placed: Placed | None,
) -> Imported:
    done = Imported()
    ordered = [in_order(offered) for offered in bundles]
    progress = Progress(report, sum(item.size for items in ordered for item, _ in items))
    target, pouring = Target(root), Pouring(progress)
    past = 0
    for offered, items in zip(bundles, ordered, strict=True):
        for item, problem in items:
            progress.begin(item)
            try:
                if problem is not None:
                    raise problem
                plan = _placed(target, item, offered, trace, pouring)
            except Problem as e:
                left(offered, item, e)
            except Lost as lost:
                lost.arrived, lost.total = done.entries + done.exists, sum(map(len, ordered))
                raise
            else:
                if plan.new:
                    done.entries += 1
                    done.files += len(item.files)
                    done.bytes += item.size
                    if placed:
                        placed(item, plan.home)
                else:
                    done.exists += 1
            past += item.size
            progress.reach(past)
    progress.end()
    return done


def _placed(target: Target, item: Item, offered: Offered, trace: _Trace, pouring: Pouring) -> Plan:
    """Place one entry; returns what was to be done. Raises as ``Target.plan`` and ``_place``."""
    plan = target.plan(item, offered, pouring)
    try:
        _place(plan, item, offered, target.root, trace, pouring)
    except OSError as e:
        if not plan.whole or e.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        # Triton has begun the same kernel meanwhile: only what is still missing is placed.
        plan = target.plan(item, offered, pouring)
        _place(plan, item, offered, target.root, trace, pouring)
    return plan


def _place(
    plan: Plan, item: Item, offered: Offered, root: str, trace: _Trace, pouring: Pouring
) -> None:
    """Write what a plan says.

    Raises Problem and Lost as ``deliver``, after taking back what it wrote, and OSError for what
    concerns the whole target.
    """
    mine = _Trace()
    try:
        if plan.whole:
            _place_kernel(plan, item, offered, root, mine, pouring)
            return
        _place_files(plan, item, offered, root, mine, pouring)
    except (Problem, Lost):
        _take_back(mine)
        mine = _Trace()
        raise
    finally:
        trace.take(mine)


def _place_files(
    plan: Plan, item: Item, offered: Offered, root: str, trace: _Trace, pouring: Pouring
) -> None:
    """Place files one by one, when all of them are written and have proven sound."""
    written: list[tuple[str, str]] = []
    digests = []
    try:
        for file, target in plan.todo:
            folder = os.path.dirname(target)
            _make_folders(folder, trace, root)
            aside = _aside(folder)
            digests.append(_write(aside, offered, item, file, pouring, plan.folder))
            written.append((aside, target))
        check_whole(plan, item, digests)
        while written:
            _rename(*written[0], trace, written[0][1] in plan.replaced)
            del written[0]
        if plan.listed:
            _list(*plan.listed, trace, root)
    finally:
        for aside, _ in written:
            with contextlib.suppress(OSError):
                os.unlink(aside)


def _list(path: str, item: Listed, trace: _Trace, root: str) -> None:
    """Put an item into a list, now that its library is there."""
    lock = merging.lock_of(path)
    _make_folders(os.path.dirname(lock), trace, root)
    if not os.path.lexists(lock):
        trace.files.append(lock)
    trace.listed.append((path, item, merging.put(path, item)))


def _place_kernel(
    plan: Plan, item: Item, offered: Offered, root: str, trace: _Trace, pouring: Pouring
) -> None:
    """Place a kernel's folder at once."""
    above = os.path.dirname(plan.folder)
    _make_folders(above, trace, root)
    partial = os.path.join(above, f"tmp.torchkeeper-{secrets.token_hex(6)}")
    os.mkdir(partial)
    try:
        digests = [
            _write(os.path.join(partial, file.name), offered, item, file, pouring, plan.folder)
            for file, _ in plan.todo
        ]
        check_whole(plan, item, digests)
        os.rename(partial, plan.folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    trace.folders.append(plan.folder)
    trace.files += [target for _, target in plan.todo]


def _aside(folder: str) -> str:
    return os.path.join(folder, f".torchkeeper-{secrets.token_hex(6)}.tmp")


def _write(
    path: str, offered: Offered, item: Item, file: File, pouring: Pouring, group_folder: str
) -> str:
    """Write one file to a path where nothing is, and check it; returns its sha256.

    Raises Problem as ``deliver``, and OSError for what concerns the target; nothing is left then.
    """
    mode = 0o755 if file.name.endswith(".so") else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    out = os.fdopen(os.open(path, flags, mode), "wb", buffering=0)
    try:
        with out:
            return deliver(offered, item, file, pouring, whole(out), group_folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def _rename(partial: str, target: str, trace: _Trace, replaces: bool) -> None:
    """Give a file its name. What is broken is put aside, for the case that all is taken back."""
    if replaces:
        aside = _aside(os.path.dirname(target))
        os.rename(target, aside)
        trace.replaced.append((aside, target))
    os.rename(partial, target)
    trace.files.append(target)


def _make_folders(path: str, trace: _Trace, root: str | None = None) -> None:
    """Make a folder and what is missing above it; below ``root``, links are refused."""
    for folder in reversed(missing_folders(path, root)):
        try:
            os.mkdir(folder)
        except FileExistsError:
            # PyTorch, or another import, was faster; that it is no link is checked again.
            if os.path.islink(folder) or not os.path.isdir(folder):
                raise
        else:
            trace.folders.append(folder)


def _settle(trace: _Trace) -> None:
    """Keep what was placed, and no folder that was made for nothing."""
    for aside, _ in trace.replaced:
        with contextlib.suppress(OSError):
            os.unlink(aside)
    for folder in reversed(trace.folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _take_back(trace: _Trace) -> None:
    for path, item, before in reversed(trace.listed):
        with contextlib.suppress(OSError, Problem):
            merging.take(path, [item], before)
    for file in reversed(trace.files):
        with contextlib.suppress(OSError):
            os.unlink(file)
    for aside, target in reversed(trace.replaced):
        with contextlib.suppress(OSError):
            os.rename(aside, target)
    for folder in reversed(trace.folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
