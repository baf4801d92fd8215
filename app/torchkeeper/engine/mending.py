"""Mending what the doctor found, where a program can: files go to the trash, and can come back."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.doctor import folders
from torchkeeper.doctor.check import FolderLook
from torchkeeper.engine import purging
from torchkeeper.engine.session import Session, path_of
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.preconditions import strange_in

if TYPE_CHECKING:
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.dead import PlanPurgeResult, PurgeResult
    from torchkeeper.engine.messages.doctor import MendParams, MendResult

#: What is asked of a purge for each fix that is one; of leftovers, what ``doctor.folders`` says.
_SELECTS: dict[str, Select] = {
    "trash-broken": {"broken": True},
    "trash-orphans": {"orphans": True},
    "trash-stale": {"stale": True},
    "trash-leftovers": {},
}
#: Paths that a plan names.
_NAMED = 5


class _Files(NamedTuple):
    fix: str
    paths: list[str]
    modes: list[int]


def mend(session: Session, params: MendParams, report: Report) -> MendResult:
    """Do a fix, a name of Finding.fix, in a folder; ``dry``: only plan it. Raises
    Problem("fix-unknown"), Problem("place-no-cache") where files would be changed in a folder in
    which nothing is recognised, and as ``purging.plan_purge`` and ``purging.purge``.
    """
    fix, number = params["fix"], params.get("plan")
    if number is None:
        planned = _plan(session, params, fix, report)
        if params.get("dry"):
            return planned
        number = planned["plan"]
    if isinstance(plan := session.plans.get(number), _Files):
        del session.plans[number]
        return _change(plan, report)
    done = purging.purge(session, {"place": params["place"], "plan": number}, report)
    return {**_amount(done), "unknown": done["unknown"], "receipt": done["receipt"]}


def _plan(session: Session, params: MendParams, fix: str, report: Report) -> MendResult:
    place = path_of(params["place"])
    if fix in _SELECTS:
        select: Select = {**_SELECTS[fix], "envs": params.get("envs") or []}
        if fix == "trash-leftovers":
            look = _look(session, place, report)
            purging.check_is_cache(place, strange_in(look.items))
            locks, temporary = folders.dead(look)
            select["items"] = [item.identity for item in (*locks, *temporary)]
        elif fix == "trash-orphans":
            # Locks are looked at by themselves: those of PyTorch's stay.
            select["filter"] = "-kind:lock"
        told = purging.plan_purge(session, {"place": place, "select": select}, report)
        planned: MendResult = {
            **_amount(told), "plan": told["plan"], "unknown": told["unknown"]["goes"],
            "in_use": told["in_use"],
        }  # fmt: skip
        if "shared" in told:
            planned["shared"] = told["shared"]
        return planned
    if fix not in ("chmod", "touch"):
        raise Problem("fix-unknown", fix=fix[:80])
    above = _above(params, place) if fix == "chmod" else None
    if above is not None:
        found = list(writable(above, [above], report))
    else:
        look = _look(session, place, report)
        purging.check_is_cache(place, strange_in(look.items))
        found = [(os.path.join(look.root, file.path), 0) for file in folders.future(look)]
        if fix == "chmod":
            found = list(writable(look.root, of_cache(look.root, look.items), report))
    number = next(session.numbers)
    files = _Files(fix, [path for path, _ in found], [mode for _, mode in found])
    session.plans[number] = files
    return {
        "plan": number, "files": len(found), "above": above, "paths": files.paths[:_NAMED],
        "modes": sorted({f"{mode:o}" for mode in files.modes}),
    }  # fmt: skip


def _amount(told: PlanPurgeResult | PurgeResult) -> MendResult:
    return {
        "entries": told["entries"], "locks": told["locks"], "headers": told["headers"],
        "files": told["files"], "bytes": told["bytes"], "disk_bytes": told["bytes"],
    }  # fmt: skip


def _look(session: Session, place: str, report: Report) -> FolderLook:
    store = session.store(place, report)
    if not isinstance(store, Folder):
        raise Problem("place-not-folder", place=place)
    return FolderLook(place, store.root, report, True, store=store, items=store.survey(report))


def _above(params: MendParams, place: str) -> str | None:
    """The folder on the way to a place that the finding is about, None where it is about another.
    Raises Problem("fix-unknown") for one that the place is not in.
    """
    one = params.get("params", {}).get("owned")
    if not isinstance(one, dict) or one.get("what") != "above":
        return None
    path = str(one.get("path"))
    if not os.path.realpath(place).startswith(path.rstrip("/") + "/"):
        raise Problem("fix-unknown", fix="chmod")
    return path


def _change(plan: _Files, report: Report) -> MendResult:
    if plan.fix == "chmod":
        left = take_away(plan.paths, report)
    else:
        left, now = [], time.time()
        for path in plan.paths:
            report.check()
            try:
                os.utime(path, (os.lstat(path).st_atime, now), follow_symlinks=False)
            except OSError as e:
                left.append((path, e.strerror or str(e)))
    for path, why in left:
        report.finding(left={"path": path, "code": "unchanged", "params": {"why": why}})
    return {"files": len(plan.paths) - len(left), "failed": len(left)}


# Taking from others the right to write to a cache folder: what “chmod go-w” does, on what is known
# in it and belongs to this user, or, for root, to the owner of the folder, and on no link.

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def writable(root: str, paths: Iterable[str], report: Report) -> Iterator[tuple[str, int]]:
    """Those of some paths to which others may write, and that belong to this user; for root, to
    whom the folder ``root`` belongs. Each with its mode. Lists of access (ACL) are left alone.
    """
    try:
        owner = os.lstat(root).st_uid if os.geteuid() == 0 else os.geteuid()
    except OSError:
        return
    for number, path in enumerate(paths):
        if number % 256 == 0:
            report.check()
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISLNK(status.st_mode) or status.st_uid != owner:
            continue
        if status.st_mode & _OTHERS:
            yield path, stat.S_IMODE(status.st_mode)


def of_cache(root: str, items: Iterable[Item]) -> Iterator[str]:
    """A cache folder, what is recognised in it, and the folders that lead there; each once."""
    told = {root}
    yield root
    for item in items:
        if item.kind == "unknown":
            continue
        for file in item.files:
            path = os.path.join(root, file.path)
            yield path
            above = os.path.dirname(path)
            while above not in told and len(above) > len(root):
                told.add(above)
                yield above
                above = os.path.dirname(above)


def take_away(paths: list[str], report: Report) -> list[tuple[str, str]]:
    """Take from others the right to write to some paths; what could not be changed, and why."""
    left = []
    for path in paths:
        report.check()
        try:
            handle = os.open(path, _OPEN)
            try:
                mode = stat.S_IMODE(os.fstat(handle).st_mode)
                os.fchmod(handle, mode & ~_OTHERS)
            finally:
                os.close(handle)
        except OSError as e:
            left.append((path, e.strerror or str(e)))
    return left
