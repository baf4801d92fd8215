"""Mending what the doctor found, where a program can: files go to the trash, and can come back."""

from __future__ import annotations

from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import purging
from torchkeeper.engine.session import Session, place_of

#: What is asked of a purge for each fix.
_SELECTS: dict[str, dict[str, Any]] = {
    "trash-broken": {"broken": True},
    "trash-orphans": {"orphans": True},
    "trash-stale": {"stale": True},
}


def mend(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Do a fix, a name of Finding.fix, in a place.

    With ``dry`` nothing is done: the result has ``plan``, a number, and what would be, {entries,
    files, bytes}. With ``plan``, such a number, that is done; the result is then that of a purge.
    Raises Problem("fix-unknown"), and as ``purging.plan_purge`` and ``purging.purge``.
    """
    fix = params["fix"]
    place = place_of(params, "place")
    if fix not in _SELECTS:
        raise Problem("fix-unknown", fix=str(fix)[:80])
    plan = params.get("plan")
    if plan is None:
        select = {**_SELECTS[fix], "envs": params.get("envs") or []}
        planned = purging.plan_purge(session, {"place": place, "select": select}, report)
        if params.get("dry"):
            return planned
        plan = planned["plan"]
    return purging.purge(session, {"plan": plan}, report)
