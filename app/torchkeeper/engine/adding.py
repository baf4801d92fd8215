"""What a selection takes and what compiling it took, added up by kind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import KINDS, counted, measured, tallied
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, chosen_of, place_of
from torchkeeper.engine.summing import Sum

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import SumKind, SumParams, SumResult


def add_up(session: Session, params: SumParams, report: Report) -> SumResult:
    """What the selection ``select`` of a place comes to.

    Files and bytes are of the entries, but in the row of a kind. A graph that is selected together
    with what names it counts once. Of a server the values are fetched: its keys tell no times.
    """
    with session.store(place_of(params["place"]), report) as store:
        chosen = chosen_of(session, store, params.get("select", {}), report)
    sums, files = Sum(time.time()), dict.fromkeys(KINDS, 0)
    # A server has its keys in no order, and graphs come before what names them.
    for one in sorted(chosen, key=lambda one: one.entry.kind == "aotautograd"):
        sums.add(one)
        files[one.entry.kind] += one.entry.files
    totals: dict[str, list[float]] = {}
    for (kind, *_), group in sums.groups.items():
        totals[kind] = [x + y for x, y in zip(totals.get(kind, [0, 0, 0.0, 0]), group, strict=True)]
    rows: list[SumKind] = [
        {
            "kind": kind, **tallied(int(entries), kind), "files": files[kind],
            **measured(int(size), on_disk=False), "compile_s": seconds, "timed": int(timed),
        }
        for kind in KINDS if kind in totals for entries, size, seconds, timed in [totals[kind]]
    ]  # fmt: skip
    own = [row for row in rows if row["entries"]]
    return {
        **counted({kind: int(total[0]) for kind, total in totals.items()}),
        "files": sum(row["files"] for row in own),
        **measured(sum(row["bytes"] for row in own), on_disk=False),
        "compile_s": sum((row["compile_s"] for row in rows), 0.0),
        "timed": sum(row["timed"] for row in rows),
        "kinds": rows,
    }
