"""Whether the next start on each node will find what it needs, and what has changed there since."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.client.kept import whole
from torchkeeper.fleet.told import kind_title

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import CellFinding, NodeFinding

#: What is counted of a node.
COUNTS: tuple[Literal["cells", "proven", "warm"], ...] = ("cells", "proven", "warm")
_FILE, _MOST = "nodes.json", 64 << 20


class Standing(TypedDict):
    """A node. hits: whether the next start finds all: every cell that it could do is in the place.
    cells: how many those are; proven, warm: how many of them are; changed: what differs there from
    when the fleet was last run, in words; why: it could not be asked.
    """

    node: str
    hits: bool
    cells: int
    proven: int
    warm: int
    changed: Sequence[str]
    why: Fault | None


def keep(folder: str, nodes: Sequence[NodeFinding]) -> None:
    """Remember what the nodes of a run were, beside its state."""
    there = {one["name"]: {"kind": one["kind"], "torch": one["torch"], "devices": one["devices"]}
             for one in nodes if one["state"] == "ready"}  # fmt: skip
    with contextlib.suppress(OSError):  # the next status says less
        whole.write(os.path.join(folder, _FILE), {**_kept(folder), **there})


def _kept(folder: str) -> Mapping[str, object]:
    try:
        found = json.loads(whole.read(os.path.join(folder, _FILE), _MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def standing(
    rows: Sequence[CellFinding], nodes: Sequence[NodeFinding], folder: str
) -> list[Standing]:
    """How each node stands. rows: the cells, as nothing but looking tells. folder: of the state."""
    before = _kept(folder)
    return [_of(one, rows, before.get(one["name"])) for one in nodes]


def _of(node: NodeFinding, rows: Sequence[CellFinding], before: object) -> Standing:
    there = node["state"] == "ready"
    mine = [row for row in rows if row["kind"] in ("", node["kind"]) and there]
    mine = [row for row in mine if row["state"] != "impossible"]
    proven = sum(row["state"] == "proven" for row in mine)
    warm = sum(row["state"] == "warm" for row in mine)
    return {
        "node": node["name"], "hits": bool(mine) and proven + warm == len(mine),
        "cells": len(mine), "proven": proven, "warm": warm,
        "changed": _changed(node, before) if there and isinstance(before, dict) else [],
        "why": node["why"],
    }  # fmt: skip


def _changed(node: NodeFinding, before: Mapping[str, Any]) -> list[str]:
    said = []
    if before.get("torch") != node["torch"]:
        said.append(f"torch {before.get('torch')} → {node['torch']}")
    devices = [str(one) for one in before.get("devices") or ()]
    if devices != [*node["devices"]]:
        said.append(f"devices {', '.join(devices)} → {', '.join(node['devices'])}")
    if not said and before.get("kind") != node["kind"]:
        kinds = kind_title(str(before.get("kind"))), kind_title(node["kind"])
        said.append(
            "its driver, Triton, threads or CPU" if kinds[0] == kinds[1] else " → ".join(kinds)
        )
    return said
