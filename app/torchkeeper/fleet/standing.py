"""Whether the next start on each node will find what it needs, and what has changed since the fleet
was last run: there, in the recipes, and in the code beside them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes import sending
from torchkeeper.fleet.state import State
from torchkeeper.fleet.told import kind_title

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import CellFinding, NodeFinding
    from torchkeeper.warm.shapes import SentRecipe

    Recipes = Sequence[str | SentRecipe]

#: What is counted of a node.
COUNTS: tuple[Literal["cells", "proven", "warm"], ...] = ("cells", "proven", "warm")
_NODES, _MADE, _MOST = "nodes.json", "made.json", 64 << 20
#: Changes that are named.
_NAMED = 12
#: Characters of what a file says.
_LONG = 200
#: What is told of a factor whose values say nothing to people.
_HASHES = {"torch_key": "torch’s own code", "triton_key": "Triton’s own code",
           "system": "what torch sees of the system"}  # fmt: skip


class Standing(TypedDict):
    """A node. hits: whether the next start finds all: every cell that it could do is in the place.
    cells: how many those are; proven, warm: how many of them are; changed: what differs there, or
    in the recipes of what it misses, from when the fleet was last run, in words; why: it could not
    be asked.
    """

    node: str
    hits: bool
    cells: int
    proven: int
    warm: int
    changed: Sequence[str]
    why: Fault | None


def keep(folder: str, nodes: Sequence[NodeFinding], recipes: Recipes) -> None:
    """Remember what the nodes of a run were, and what its cells were made of, beside its state."""
    there = {one["name"]: {"kind": one["kind"], "torch": one["torch"], "devices": one["devices"],
                           "factors": one.get("factors", {})}
             for one in nodes if one["state"] == "ready"}  # fmt: skip
    made = _made_of(recipes)
    with contextlib.suppress(OSError):  # the next status says less
        whole.write(os.path.join(folder, _NODES), {**_kept(folder, _NODES), **there})
        whole.write(os.path.join(folder, _MADE), made)


def _kept(folder: str, name: str) -> Mapping[str, object]:
    try:
        found = json.loads(whole.read(os.path.join(folder, name), _MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _made_of(recipes: Recipes) -> dict[str, str]:
    """What cells are made of: a hash of each recipe, and of each file that recipes need."""
    mine = [one for one in recipes if not isinstance(one, str)]
    found = {}
    for one in mine:
        data = json.dumps(one["data"], sort_keys=True, default=str)
        found[f"recipe {one['name']}"] = hashlib.sha256(data.encode()).hexdigest()
    for folder in dict.fromkeys(one["folder"] for one in mine):
        for path, digest in sending.digests(mine, folder).items():
            # Not the whole path: a checkout of CI is elsewhere each time.
            found[os.path.join(os.path.basename(folder), path)] = digest
    return found


def standing(
    rows: Sequence[CellFinding], nodes: Sequence[NodeFinding], folder: str, recipes: Recipes = ()
) -> list[Standing]:
    """How each node stands. rows: the cells, as nothing but looking tells. folder: of the state.
    recipes: what is asked for.
    """
    before, state = _kept(folder, _NODES), State(folder)
    state.read()
    made = [*_differs(_kept(folder, _MADE), _made_of(recipes))]
    return [_of(one, rows, before.get(one["name"]), made, state.done) for one in nodes]


def _differs(before: Mapping[str, object], now: Mapping[str, str]) -> Iterator[str]:
    for name, digest in now.items() if before else ():
        if before.get(name) != digest:
            called = name if name.startswith("recipe ") else os.path.basename(name)
            yield called if name in before else f"{called} is new"
    for name in before:
        if name not in now:
            yield f"{name if name.startswith('recipe ') else os.path.basename(name)} is gone"


def _of(
    node: NodeFinding, rows: Sequence[CellFinding], before: object, made: Sequence[str],
    done: Collection[str],
) -> Standing:  # fmt: skip
    there = node["state"] == "ready"
    mine = [row for row in rows if row["kind"] in ("", node["kind"]) and there]
    mine = [row for row in mine if row["state"] != "impossible"]
    proven = sum(row["state"] == "proven" for row in mine)
    warm = sum(row["state"] == "warm" for row in mine)
    missing = [row for row in mine if row["state"] not in ("proven", "warm", "partly")]
    misses = proven + warm < len(mine)
    changed = [*_changed(node, before)] if there and isinstance(before, dict) else []
    if misses:
        changed += made
    if misses and not changed:
        gone = any(row["cell"] in done for row in missing)
        gone_or_new = "entries are gone from the place" if gone else "never compiled for it"
        changed.append(gone_or_new if missing else "a proof did not find all")
    if len(changed) > _NAMED:
        changed = [*changed[:_NAMED], f"{len(changed) - _NAMED:,} more"]
    return {
        "node": node["name"], "hits": bool(mine) and not misses,
        "cells": len(mine), "proven": proven, "warm": warm, "changed": changed,
        "why": node["why"],
    }  # fmt: skip


def _changed(node: NodeFinding, before: Mapping[str, Any]) -> Iterator[str]:
    said = False
    if before.get("torch") != node["torch"]:
        said = True
        yield f"torch {_text(before.get('torch'))} → {node['torch']}"
    told = before.get("devices")
    devices = [_text(one) for one in told] if isinstance(told, list) else []
    if devices != [*node["devices"]]:
        said = True
        yield f"devices {', '.join(devices)} → {', '.join(node['devices'])}"
    kept, now = before.get("factors"), node.get("factors", {})
    known = kept if isinstance(kept, dict) else now
    for name in now:
        one, other = _text(known.get(name, "")), now[name]
        if one != other and name != "torch":
            # With another torch its code is another, too.
            if name not in _HASHES:
                yield f"{name} {one or '–'} → {other or '–'}"
            elif not said:
                yield _HASHES[name]
            said = True
    if not said and before.get("kind") != node["kind"]:
        kinds = kind_title(_text(before.get("kind"))), kind_title(node["kind"])
        yield "something of its keys" if kinds[0] == kinds[1] else " → ".join(kinds)


def _text(value: object) -> str:
    return str(value)[:_LONG]
