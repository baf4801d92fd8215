"""What is told of cells on the wire, before and after it was checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from torchkeeper.warm.following import LOG_LINE, finite
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.traces import phases

#: What is counted of a cell, and summed over all.
COUNTS = ("graphs", "hits", "misses", "bypasses")
#: Bytes of all rows of a result, which goes in one line with the rest (engine/wire.py).
_MOST_SENT = 600_000

Answer = dict[str, Any]


def told_of(cell: Cell) -> Answer:
    """What is told of a cell before anything is known of it."""
    about = {"recipe": cell.recipe, "name": cell.name, "source": cell.source}
    return {"index": cell.index, **about, "state": "queued"}


def graph_of(value: Any) -> Answer:
    """A graph as a process told it. Raises whatever it may where that is not as promised."""
    seconds, reason = value["seconds"], value.get("reason")
    return {
        **{key: str(value[key])[:LOG_LINE] for key in ("id", "name", "outcome")},
        "seconds": None if seconds is None else finite(seconds),
        "phases": phases.checked(value.get("phases") or []),
        **({"reason": str(reason)[:LOG_LINE]} if reason else {}),
    }


def done_of(value: Any) -> Answer:
    """What a cell came to, as a process told it. Raises as ``graph_of``."""
    proof = value["proof"]
    return {
        **{key: int(value[key]) for key in COUNTS},
        "autograd": {key: int(value["autograd"][key]) for key in ("hits", "misses")},
        "seconds": finite(value["seconds"]),
        "proof": None if proof is None else _proof_of(proof),
        "device": str(value["device"])[:LOG_LINE],
        "threads": int(value["threads"]),
    }


def _proof_of(value: Any) -> Answer:
    """What a proof found, and why not all where it says so."""
    why = value.get("why")
    counts = {key: int(value[key]) for key in ("found", "of")}
    return {**counts, "why": str(why)[:LOG_LINE]} if why else counts


def fitting(rows: list[Answer]) -> list[Answer]:
    """Rows for a result, which is one line: without logs, and as many as fit; of all of them
    findings have told everything.
    """
    left, fit = _MOST_SENT, list[Answer]()
    for row in rows:
        short = {name: value for name, value in row.items() if name != "log"}
        left -= len(json.dumps(short))
        if left < 0:
            break
        fit.append(short)
    return fit


def things(counts: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, int]:
    """How many things were looked up, of what each source is and counted: "graphs", or of those
    whose cells make none "eager" for operators and "triton" for kernels. Only what there is.
    """
    found = Counter[str]()
    for source, one in counts:
        alone = source in ("eager", "triton")
        found[source if alone else "graphs"] += (
            one["hits"] + one["misses"] if alone else one["graphs"]
        )
    return {name: found[name] for name in ("graphs", "eager", "triton") if found[name]}


def summed(rows: list[Answer], torch: str) -> Answer:
    """The result of a job, of what became of its cells."""
    done = [row for row in rows if row["state"] == "done"]
    first = done[0] if done else {"device": "", "threads": 0}
    return {
        "cells": fitting(rows),
        **{name: sum(row[name] for row in done) for name in COUNTS},
        "autograd": {
            name: sum(row["autograd"][name] for row in done) for name in ("hits", "misses")
        },
        "things": things((row["source"], row) for row in done),
        "seconds": sum(row["seconds"] for row in done),
        "device": first["device"],
        "threads": first["threads"],
        "torch": torch,
        "done": len(done),
        "failed": sum(row["state"] == "failed" for row in rows),
    }
