"""The operation that copies between places, from any to any."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, chosen_of, place_of, tell_left, tell_refused
from torchkeeper.stores.bundle import Bundle
from torchkeeper.stores.copying import copy, plan_copy
from torchkeeper.stores.items import Item


def copy_(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Copy a selection of ``place`` to the place ``into``; a bundle that is there is replaced only
    with ``replace``. With ``dry``, only say what that would come to.

    The result is a stores.copying.Copied with the names of both.
    """
    place, into = place_of(params, "place"), place_of(params, "into")
    store = session.store(place, report)
    try:
        if isinstance(store, Bundle):
            tell_refused(store, report)
        chosen = chosen_of(session, store, params.get("select", {}), report)

        def left(item: Item, problem: Problem) -> None:
            tell_left(report, item, problem)

        password = session.secrets.get(into)
        if params.get("dry"):
            done = plan_copy(store, chosen, into, report, left, password)
        else:
            replace = bool(params.get("replace"))
            done = copy(store, chosen, into, report, left, replace, password)
    finally:
        store.close()
    return {**asdict(done), "place": place, "into": into}
