"""What the runs of a verification come to: each cell, and all of them together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchkeeper.warm.options import JUDGED, RUNS
from torchkeeper.warm.ran import MAX_BUILT, MAX_GRAPHS, Ran
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.told import things

_COUNTS = ("graphs", "hits", "misses", "bypasses", "rebuilt")
#: Bytes that the cells, and the graphs, of a result take at most, which is one line of the wire;
#: findings tell all of them.
MAX_BYTES = 400_000

Answer = dict[str, Any]
Runs = Mapping[str, Ran]


def of_cell(cell: Cell, runs: Runs, problem: Answer | None) -> Answer:
    """What became of a cell. why: of the first of its graphs that was no hit, if that is known.

    problem: why it failed; then it is not good, whatever runs there were.
    """
    one = _last(runs)
    about = {name: getattr(cell, name) for name in ("index", "recipe", "name", "source")}
    why = [graph["why"] for graph in (one.graphs if one else ()) if "why" in graph]
    counts = one.to_json() if one else dict.fromkeys(_COUNTS, 0)
    return {
        **about,
        "good": problem is None and good([runs]),
        "seconds": {name: ran.result["seconds"] for name, ran in runs.items()},
        "ratios": _ratios({name: ran.result["seconds"] for name, ran in runs.items()}),
        **{name: counts[name] for name in ("hits", "misses", "rebuilt")},
        "proof": {name: one.proof[name] for name in ("found", "of")} if one and one.proof else None,
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


def told(cells: Sequence[Runs], rows: Sequence[Answer]) -> Answer:
    """The result of a verification: of a single cell what that is, of several the sums."""
    last = [(at, one) for at, runs in enumerate(cells) if (one := _last(runs))]
    runs = {name: _sum([one[name] for one in cells if name in one]) for name in RUNS}
    runs = {name: total for name, total in runs.items() if total}
    # What took no time for want of a run is not faster than what had one.
    whole = [one for one, row in zip(cells, rows, strict=True) if row["problem"] is None]
    spent = {
        name: sum(one[name].result["seconds"] for one in whole if name in one) for name in runs
    }
    several = len(cells) > 1
    graphs = [
        {**graph, **({"cell": rows[at]["index"]} if several else {})}
        for at, one in last
        for graph in one.graphs
    ]
    built = [path for _, one in last for path in one.built]
    totals = _sum([one for _, one in last]) or {**dict.fromkeys(_COUNTS, 0), **_NO_AUTOGRAD}
    first = last[0][1].result if last else {"device": "", "threads": 0, "torch": ""}
    return {
        **{name: totals[name] for name in _COUNTS},
        "autograd": totals["autograd"],
        "things": things((rows[at]["source"], one.to_json()) for at, one in last),
        "whole": {"cells": len(rows), "good": sum(row["good"] for row in rows)},
        "built": built[:MAX_BUILT],
        "rows": _fitting(graphs[:MAX_GRAPHS]),
        "seconds": {name: total["seconds"] for name, total in runs.items()},
        "ratios": _ratios(spent),
        "runs": runs,
        "good": all(row["good"] for row in rows),
        **{name: first[name] for name in ("device", "threads", "torch")},
        "cells": _fitting(rows),
    }


def _fitting(rows: Sequence[Answer]) -> list[Answer]:
    """As many of them, from the first, as fit."""
    room, fit = MAX_BYTES, []
    for row in rows:
        room -= len(json.dumps(row)) + 2
        if room < 0:
            break
        fit.append(row)
    return fit


_NO_AUTOGRAD = {"autograd": {"hits": 0, "misses": 0}}


def _last(runs: Runs) -> Ran | None:
    """The last run with the target."""
    judged = [runs[name] for name in JUDGED if name in runs]
    return judged[-1] if judged else None


def _sum(ran: Sequence[Ran]) -> Answer:
    """The counts and seconds of runs, added up; nothing for none."""
    all_of_them = [one.to_json() for one in ran]
    if not all_of_them:
        return {}
    return {
        **{name: sum(one[name] for one in all_of_them) for name in (*_COUNTS, "seconds")},
        "autograd": {
            name: sum(one["autograd"][name] for one in all_of_them) for name in ("hits", "misses")
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
