"""What the runs of a verification come to: each cell, and all of them together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from torchkeeper.warm.options import JUDGED, RUNS
from torchkeeper.warm.ran import MAX_BUILT, MAX_GRAPHS, Ran
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.told import things

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.warm.shapes import Run, Verified, VerifiedCell, VerifiedGraph

#: Bytes that the cells, and the graphs, of a result take at most, which is one line of the wire;
#: findings tell all of them.
MAX_BYTES = 400_000

Runs = Mapping[str, Ran]
Row = TypeVar("Row")


def of_cell(cell: Cell, runs: Runs, problem: Fault | None) -> VerifiedCell:
    """What became of a cell. why: of the first of its graphs that was no hit, if that is known.

    problem: why it failed; then it is not good, whatever runs there were.
    """
    one = _last(runs)
    why = [graph["why"] for graph in (one.graphs if one else ()) if "why" in graph]
    counts = _sum([one] if one else [])
    seconds = {name: ran.result["seconds"] for name, ran in runs.items()}
    proof = one.proof if one else None
    return {
        "index": cell.index,
        "recipe": cell.recipe,
        "name": cell.name,
        "source": cell.source,
        "good": problem is None and good([runs]),
        "seconds": seconds,
        "ratios": _ratios(seconds),
        "hits": counts["hits"],
        "misses": counts["misses"],
        "rebuilt": counts["rebuilt"],
        "proof": {"found": proof["found"], "of": proof["of"]} if proof else None,
        "why": why[0] if why else None,
        "problem": problem,
    }


def good(cells: Iterable[Runs]) -> bool:
    """Whether every run of every cell with the target was good, and there was one."""
    return all(
        any(name in JUDGED for name in runs)
        and all(ran.good for name, ran in runs.items() if name in JUDGED)
        for runs in cells
    )


def told(cells: Sequence[Runs], rows: Sequence[VerifiedCell]) -> Verified:
    """The result of a verification: of a single cell what that is, of several the sums."""
    last = [(at, one) for at, runs in enumerate(cells) if (one := _last(runs))]
    made = {name: [one[name] for one in cells if name in one] for name in RUNS}
    runs = {name: _sum(some) for name, some in made.items() if some}
    # What took no time for want of a run is not faster than what had one.
    whole = [one for one, row in zip(cells, rows, strict=True) if row["problem"] is None]
    spent = {
        name: sum(one[name].result["seconds"] for one in whole if name in one) for name in runs
    }
    graphs: list[VerifiedGraph] = []
    for at, one in last:
        for graph in one.graphs[: MAX_GRAPHS - len(graphs)]:
            graphs.append({**graph, "cell": rows[at]["index"]} if len(cells) > 1 else graph)
    built = [path for _, one in last for path in one.built]
    totals = _sum([one for _, one in last])
    first = last[0][1].result if last else None
    return {
        "graphs": totals["graphs"],
        "hits": totals["hits"],
        "misses": totals["misses"],
        "bypasses": totals["bypasses"],
        "rebuilt": totals["rebuilt"],
        "autograd": totals["autograd"],
        "things": things(_looked_up(rows[at], one) for at, one in last),
        "whole": {"cells": len(rows), "good": sum(row["good"] for row in rows)},
        "built": built[:MAX_BUILT],
        "rows": _fitting(graphs),
        "seconds": {name: total["seconds"] for name, total in runs.items()},
        "ratios": _ratios(spent),
        "runs": runs,
        "good": all(row["good"] for row in rows),
        "device": first["device"] if first else "",
        "threads": first["threads"] if first else 0,
        "torch": first["torch"] if first else "",
        "cells": _fitting(rows),
    }


def _looked_up(row: VerifiedCell, one: Ran) -> tuple[str, int, int]:
    """What a cell looked up, as ``things`` takes it."""
    return row["source"], one.result["graphs"], one.result["hits"] + one.result["misses"]


def _fitting(rows: Sequence[Row]) -> list[Row]:
    """As many of them, from the first, as fit."""
    room, fit = MAX_BYTES, list[Row]()
    for row in rows:
        room -= len(json.dumps(row)) + 2
        if room < 0:
            break
        fit.append(row)
    return fit


def _last(runs: Runs) -> Ran | None:
    """The last run with the target."""
    judged = [runs[name] for name in JUDGED if name in runs]
    return judged[-1] if judged else None


def _sum(ran: Sequence[Ran]) -> Run:
    """The counts and seconds of runs, added up."""
    some = [one.to_json() for one in ran]
    return {
        "graphs": sum(one["graphs"] for one in some),
        "hits": sum(one["hits"] for one in some),
        "misses": sum(one["misses"] for one in some),
        "bypasses": sum(one["bypasses"] for one in some),
        "rebuilt": sum(one["rebuilt"] for one in some),
        "seconds": sum(one["seconds"] for one in some),
        "autograd": {
            "hits": sum(one["autograd"]["hits"] for one in some),
            "misses": sum(one["autograd"]["misses"] for one in some),
        },
    }


def _ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """How many times as long as with the target the other runs took."""
    return {
        f"{name}_{other}": seconds[other] / max(seconds[name], 1e-9)
        for name in JUDGED
        if name in seconds
        for other in ("cold", "mega")
        if other in seconds
    }
