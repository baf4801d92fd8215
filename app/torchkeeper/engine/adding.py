"""What a selection takes and what compiling it took, added up by kind."""

from __future__ import annotations

import time
from typing import Any

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, chosen_of, place_of
from torchkeeper.engine.summing import Sum

_NAMES = ("entries", "files", "bytes", "compile_s", "timed")


def add_up(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """What the selection ``select`` of a place comes to.

    The result is ``{entries, files, bytes, compile_s, timed, kinds: [{kind, and the same}]}``;
    ``compile_s`` is of the ``timed`` entries that say how long they took. As of an overview, a
    graph that is selected together with what names it counts once. Of a server the values of what
    is selected are fetched: its keys tell no times.
    """
    store = session.store(place_of(params, "place"), report)
    try:
        chosen = chosen_of(session, store, params.get("select") or {}, report)
    finally:
        store.close()
    sums, files = Sum(time.time()), dict.fromkeys(KINDS, 0)
    # A server has its keys in no order, and graphs come before what names them.
    for one in sorted(chosen, key=lambda one: one.entry.kind == "aotautograd"):
        sums.add(one)
        files[one.entry.kind] += one.entry.files
    kinds: dict[str, dict[str, Any]] = {}
    for (kind, *_), (entries, size, seconds, timed) in sums.groups.items():
        told = kinds.setdefault(kind, {"kind": kind, **dict.fromkeys(_NAMES, 0)})
        told["entries"] += int(entries)
        told["files"] = files[kind]
        told["bytes"] += int(size)
        told["compile_s"] += seconds
        told["timed"] += int(timed)
    rows = [kinds[kind] for kind in KINDS if kind in kinds]
    return {**{name: sum(row[name] for row in rows) for name in _NAMES}, "kinds": rows}
