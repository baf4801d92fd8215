"""What is told of cells on the wire, before and after it was checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchkeeper.warm.following import LOG_LINE, finite
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.traces import phases

if TYPE_CHECKING:
    from torchkeeper.verdict.shapes import GraphTold
    from torchkeeper.warm.shapes import Became, Proof, Summed, WarmCell

#: Bytes of all rows of a result, which goes in one line with the rest (engine/wire.py).
_MOST_SENT = 600_000


def told_of(cell: Cell) -> WarmCell:
    """What is told of a cell before anything is known of it."""
    return {
        "index": cell.index,
        "recipe": cell.recipe,
        "name": cell.name,
        "source": cell.source,
        "state": "queued",
    }


def graph_of(value: Any) -> GraphTold:
    """A graph as a process told it. Raises whatever it may where that is not as promised."""
    seconds, reason = value["seconds"], value.get("reason")
    told: GraphTold = {
        "id": line(value["id"]),
        "name": line(value["name"]),
        "outcome": line(value["outcome"]),
        "seconds": None if seconds is None else finite(seconds),
        "phases": phases.checked(value.get("phases") or []),
    }
    if reason:
        told["reason"] = line(reason)
    return told


def done_of(value: Any) -> Became:
    """What a cell came to, as a process told it. Raises as ``graph_of``."""
    proof, autograd = value["proof"], value["autograd"]
    return {
        "graphs": int(value["graphs"]),
        "hits": int(value["hits"]),
        "misses": int(value["misses"]),
        "bypasses": int(value["bypasses"]),
        "autograd": {"hits": int(autograd["hits"]), "misses": int(autograd["misses"])},
        "seconds": finite(value["seconds"]),
        "proof": None if proof is None else _proof_of(proof),
        "device": line(value["device"]),
        "threads": int(value["threads"]),
    }


def _proof_of(value: Any) -> Proof:
    """What a proof found, and why not all where it says so."""
    told: Proof = {"found": int(value["found"]), "of": int(value["of"])}
    if why := value.get("why"):
        told["why"] = line(why)
    return told


def line(value: object) -> str:
    """A text that a process told, cut."""
    return str(value)[:LOG_LINE]


def fitting(rows: Iterable[WarmCell]) -> list[WarmCell]:
    """Rows for a result, which is one line: without logs, and as many as fit; of all of them
    findings have told everything.
    """
    left, fit = _MOST_SENT, list["WarmCell"]()
    for row in rows:
        short = row.copy()
        short.pop("log", None)
        left -= len(json.dumps(short))
        if left < 0:
            break
        fit.append(short)
    return fit


def things(counts: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """How many things were looked up, of the source, the graphs and the lookups of each: "graphs",
    or of those whose cells make none "eager" for operators and "triton" for kernels. Only what
    there is.
    """
    found = Counter[str]()
    for source, graphs, lookups in counts:
        alone = source in ("eager", "triton")
        found[source if alone else "graphs"] += lookups if alone else graphs
    return {name: found[name] for name in ("graphs", "eager", "triton") if found[name]}


def summed(rows: Iterable[WarmCell], torch: str) -> Summed:
    """The result of a job, of what became of its cells."""
    rows = list(rows)
    done = [row for row in rows if row["state"] == "done"]
    return {
        "cells": fitting(rows),
        "graphs": sum(row["graphs"] for row in done),
        "hits": sum(row["hits"] for row in done),
        "misses": sum(row["misses"] for row in done),
        "bypasses": sum(row["bypasses"] for row in done),
        "autograd": {
            "hits": sum(row["autograd"]["hits"] for row in done),
            "misses": sum(row["autograd"]["misses"] for row in done),
        },
        "things": things(
            (row["source"], row["graphs"], row["hits"] + row["misses"]) for row in done
        ),
        "seconds": sum(row["seconds"] for row in done),
        "device": done[0]["device"] if done else "",
        "threads": done[0]["threads"] if done else 0,
        "torch": torch,
        "done": len(done),
        "failed": sum(row["state"] == "failed" for row in rows),
    }
