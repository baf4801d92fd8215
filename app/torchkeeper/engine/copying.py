"""The operation that copies between places, from any to any."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.bundles import Rows, target
from torchkeeper.engine.session import Session, chosen_of, place_of, tell_left, tell_refused
from torchkeeper.stores.bundle import Bundle
from torchkeeper.stores.copying import Copied, copy, plan_copy
from torchkeeper.stores.items import Item
from torchkeeper.stores.space import space


def copy_(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Copy a selection of ``place`` to the place ``into``; a bundle that is there is replaced only
    with ``replace``. Rows say what was put into a folder: ``{kind, key, path}``, the path there.
    The result is a stores.copying.Copied with the names of both.

    With ``dry``, only say what that would come to: a Foretold with the names of both, and
    ``there``, what is at ``into`` as the operation ``target`` says it, None for a server. The
    space is that of the folder that is written into.
    """
    place, into = place_of(params, "place"), place_of(params, "into")
    store = session.store(place, report)
    rows = Rows(report)

    def left(item: Item, problem: Problem) -> None:
        tell_left(report, item, problem)

    def placed(item: Item, home: str) -> None:
        rows.add({"kind": item.kind, "key": item.key, "path": home})

    more: dict[str, Any] = {}
    try:
        if isinstance(store, Bundle):
            tell_refused(store, report)
        chosen = chosen_of(session, store, params.get("select", {}), report)
        if params.get("dry"):
            done: Copied = plan_copy(store, chosen, into, report, left)
            more["there"] = _there(session, into, done.what, report)
        else:
            replace = bool(params.get("replace"))
            done = copy(store, chosen, into, report, left, replace, placed)
            rows.send()
    finally:
        store.close()
    return {**asdict(done), **more, "place": place, "into": into}


def _there(session: Session, into: str, what: str, report: Report) -> dict[str, Any] | None:
    if what == "server":
        return None
    found = target(session, {"path": into}, report)
    return found if what == "bundle" else {**found, "space": asdict(space(into))}
