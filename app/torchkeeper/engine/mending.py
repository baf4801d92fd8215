"""Mending what the doctor found, where a program can: files go to the trash, and can come back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.doctor import clock, leftovers, modes
from torchkeeper.doctor.check import FolderLook
from torchkeeper.engine import purging
from torchkeeper.engine.session import Session, items_of, path_of
from torchkeeper.stores.folders.folder import Folder

#: What is asked of a purge for each fix that is one; of leftovers, what ``doctor.leftovers`` says.
_SELECTS: dict[str, dict[str, Any]] = {
    "trash-broken": {"broken": True},
    "trash-orphans": {"orphans": True},
    "trash-stale": {"stale": True},
    "trash-leftovers": {},
}


class _Files(NamedTuple):
    """A fix of files where they are, as it was planned."""

    fix: str
    paths: list[str]


def mend(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Do a fix, a name of Finding.fix, in a folder.

    ``dry``: only plan it: the result has ``plan``, a number, and what would be done, {entries,
    files, bytes}. ``plan``: such a number, which is then carried out; the result is that of a purge
    for what goes to the trash, and else {files, failed}, those that were changed, and that could
    not be. ``envs``: for what is stale, the names of environments that ``know`` told.
    Raises Problem("fix-unknown"), and as ``purging.plan_purge`` and ``purging.purge``.
    """
    fix, number = params["fix"], params.get("plan")
    if number is None:
        planned = _plan(session, params, fix, report)
        if params.get("dry"):
            return planned
        number = planned["plan"]
    if isinstance(session.plans.get(number), _Files):
        plan = session.plans.pop(number)
        assert isinstance(plan, _Files)
        return _change(plan, report)
    return purging.purge(session, {"plan": number}, report)


def _plan(session: Session, params: dict[str, Any], fix: str, report: Report) -> dict[str, Any]:
    place = path_of(params, "place")
    if fix in _SELECTS:
        select = {**_SELECTS[fix], "envs": params.get("envs") or []}
        if fix == "trash-leftovers":
            locks, temporary = leftovers.dead(_look(session, place, report))
            select["items"] = [item.identity for item in (*locks, *temporary)]
        elif fix == "trash-orphans":
            # Locks are looked at by themselves: those of PyTorch's stay.
            select["filter"] = "-kind:lock"
        return purging.plan_purge(session, {"place": place, "select": select}, report)
    if fix not in _PLANS:
        raise Problem("fix-unknown", fix=str(fix)[:80])
    paths = _PLANS[fix](session, params, place, report)
    number = next(session.numbers)
    session.plans[number] = _Files(fix, paths)
    return {"plan": number, "entries": 0, "files": len(paths), "bytes": 0}


def _look(session: Session, place: str, report: Report) -> FolderLook:
    store = session.store(place, report)
    assert isinstance(store, Folder)
    return FolderLook(place, store.root, report, True, store=store, items=items_of(store, report))


def _modes(_: Session, params: dict[str, Any], place: str, report: Report) -> list[str]:
    """What others may write to: the folder and what is in it, or a folder on the way to it."""
    one = (params.get("params") or {}).get("owned") or {}
    if one.get("what") == "above":
        path = str(one.get("path"))
        real = os.path.realpath(place)
        # Only what the place is in: a request names no other.
        above = f"{real}/".startswith(path.rstrip("/") + "/")
        return list(modes.writable(path, False, report)) if above else []
    return list(modes.writable(os.path.realpath(place), True, report))


def _future(session: Session, _: dict[str, Any], place: str, report: Report) -> list[str]:
    look = _look(session, place, report)
    return [os.path.join(look.root, file.path) for file in clock.future(look)]


_PLANS: dict[str, Callable[[Session, dict[str, Any], str, Report], list[str]]] = {
    "chmod": _modes,
    "touch": _future,
}


def _change(plan: _Files, report: Report) -> dict[str, Any]:
    if plan.fix == "chmod":
        left = modes.close(plan.paths, report)
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
