"""What a selection takes and what compiling it took, added up by kind."""

from __future__ import annotations

import time

from torchkeeper.artifacts.entry import KINDS, measured, tallied, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, chosen_of, place_of
from torchkeeper.engine.summing import Sum
from torchkeeper.stores.store import Json

_NOTHING = {**tally(()), "compile_s": 0.0, "timed": 0}


def add_up(session: Session, params: Json, report: Report) -> Json:
    """What the selection ``select`` of a place comes to.

    The result is ``{entries, locks, headers, unknown, files, bytes, content_bytes, compile_s,
    timed, kinds: [{kind, and the same}]}``: files and bytes are of the entries, but in the row of
    a kind, and ``compile_s`` is of the ``timed`` that say how long they took. As of an overview, a
    graph that is selected together with what names it counts once. Of a server the values of what
    is selected are fetched: its keys tell no times.
    """
    with session.store(place_of(params, "place"), report) as store:
        chosen = chosen_of(session, store, params.get("select") or {}, report)
    sums, files = Sum(time.time()), dict.fromkeys(KINDS, 0)
    # A server has its keys in no order, and graphs come before what names them.
    for one in sorted(chosen, key=lambda one: one.entry.kind == "aotautograd"):
        sums.add(one)
        files[one.entry.kind] += one.entry.files
    kinds: dict[str, Json] = {}
    for (kind, *_), (entries, size, seconds, timed) in sums.groups.items():
        told = kinds.setdefault(kind, {"count": 0, "bytes": 0, "compile_s": 0.0, "timed": 0})
        told["count"] += int(entries)
        told["bytes"] += int(size)
        told["compile_s"] += seconds
        told["timed"] += int(timed)
    rows: list[Json] = [
        {
            "kind": kind, **tallied(kinds[kind]["count"], kind), "files": files[kind],
            **measured(kinds[kind]["bytes"], on_disk=False),
            "compile_s": kinds[kind]["compile_s"], "timed": kinds[kind]["timed"],
        }
        for kind in KINDS if kind in kinds
    ]  # fmt: skip
    names = rows[0].keys() - {"kind"} if rows else ()
    every = {name: sum(row[name] for row in rows) for name in names}
    own = [row for row in rows if row["entries"]]
    of_entries = {"files": sum(row["files"] for row in own),
                  **measured(sum(row["bytes"] for row in own), on_disk=False)}  # fmt: skip
    return {**_NOTHING, **every, **of_entries, "kinds": rows}
