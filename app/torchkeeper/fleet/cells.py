"""The cells of a matrix: each variant once for each kind of node that it can be compiled on, and
once where its entries are the same on all; and which node can do which.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.placing.target import Node, Target
from torchkeeper.warm.shapes import SentRecipe

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.client.words.problems import UserError
    from torchkeeper.engine.messages.compiling import VariantsRow
    from torchkeeper.engine.messages.fleet import NodeFinding
    from torchkeeper.verdict.probed import Env

#: What becomes of a cell, in this order. warm: its entries are in the place; proven: another node
#: found all of them there, and built nothing; partly: one did not find all.
STATES = (
    "proven", "warm", "partly", "failed", "impossible", "waiting", "compiling", "proving",
)  # fmt: skip
#: Factors of an environment that the keys of entries are made of (``verdict.environment.probe``).
_FACTORS = (
    "machine", "torch_key", "triton_key", "threads", "vector_bits", "system", "cuda", "hip",
)  # fmt: skip

#: What people call those of them, and what else entries may come from, that they know.
_SAID = {
    "torch": "torch", "triton": "Triton", "cuda": "CUDA", "hip": "HIP", "driver": "driver",
    "machine": "processor", "vector_bits": "vector bits",
}  # fmt: skip
#: Characters of a factor.
_LONG = 40
#: Characters of what a node says of itself and of a problem, and how many devices and labels.
_NAME, _TOLD, _MOST = 200, 4000, 64

#: What a recipe says that no entry is made of, or that its variants tell.
_NOT_MADE_OF = frozenset({"name", "about", "machine", "matrix", "limits"})
#: What is told of a variant that its entries do not come from.
_NOT_OF_CELL = frozenset({"index", "folder", "problem", "seconds", "memory"})


class Place(NamedTuple):
    """A node of a target, as units are sent to it. kind: of those whose entries are alike."""

    target: Target
    node: Node
    kind: str

    @property
    def name(self) -> str:
        """As people know it, among all targets."""
        one = self.node.name
        return one if one.startswith(self.target.name) else f"{self.target.name}/{one}"

    @property
    def jobs(self) -> int:
        """How many cells one compile job does there at a time."""
        return self.node.slots if self.target.alone else 1


@dataclass(frozen=True)
class Cell:
    """ident: the same as long as nothing changes that its entries are made of. row: its variant.
    kind: of the nodes that it is for, "" for any. group: of cells that are compiled together.
    """

    ident: str
    row: VariantsRow
    kind: str
    group: str
    problem: Fault | None = None


def kind_of(facts: Env | None) -> str:
    """What is the same for environments whose entries are alike: a name, and a hash."""
    if not facts or not facts.get("torch"):
        return ""
    told = json.dumps([facts.get(name) for name in _FACTORS], sort_keys=True)
    devices = [one["name"] for one in facts.get("devices") or () if one["type"] != "cpu"]
    title = devices[0] if devices else f"CPU {facts.get('cpu_capability') or facts.get('machine')}"
    # That others are told apart by the hash alone is enough.
    named = f"{title[:_NAME]}, torch {str(facts['torch'])[:_NAME]}"
    return f"{named} · {hashlib.sha256(told.encode()).hexdigest()[:8]}"


def lacking(row: VariantsRow, facts: Env) -> Problem | None:
    """Which factor a node lacks for a variant."""
    if row["source"] == "triton":
        return None if facts.get("triton") else Problem("fleet-lacks", what="Triton")
    if not facts.get("torch"):
        return Problem("fleet-lacks", what="torch")
    kind, _, number = (row["device"] or "").partition(":")
    if not kind:
        return None
    there = [one for one in facts.get("devices") or () if one["type"] == kind]
    if (int(number) if number.isdigit() else 0) >= len(there):
        return Problem("fleet-lacks", what=row["device"] or kind)
    memory = [one.get("memory") or 0 for one in there]
    if kind != "cpu" and row["memory"] and max(memory) and row["memory"] > max(memory):
        return Problem("fleet-lacks-memory", needs=row["memory"], has=max(memory))
    return None


def cells_of(
    rows: Sequence[VariantsRow], digests: Mapping[str, str], places: Sequence[Place]
) -> list[Cell]:
    """The cells of variants on nodes. digests: for the name of each recipe, a hash of all that it
    is made of. A variant that no node can do is a cell with the problem that is nearest.
    """
    kinds: dict[str, Env] = {}
    for place in places:
        if place.node.facts:
            kinds.setdefault(place.kind, place.node.facts)
    found: list[Cell] = []
    for row in rows:
        if row["problem"] is not None:
            found.append(_cell(row, "", digests, row["problem"]))
            continue
        why = {kind: lacking(row, facts) for kind, facts in kinds.items()}
        able = [kind for kind, problem in why.items() if problem is None]
        if able and row["source"] == "triton":
            able = [""]  # the same wherever it is compiled
        found += [_cell(row, kind, digests, None) for kind in able]
        if not able:
            nearest = next(filter(None, why.values()), Problem("fleet-no-nodes"))
            fault: Fault = {"code": nearest.code, "params": nearest.params}
            found.append(_cell(row, "", digests, fault))
    return found


def can(cell: Cell, place: Place) -> bool:
    """Whether a cell can be compiled on a node."""
    if cell.problem or not place.node.facts:
        return False
    if cell.kind:
        return cell.kind == place.kind
    return lacking(cell.row, place.node.facts) is None


def _cell(row: VariantsRow, kind: str, digests: Mapping[str, str], problem: Fault | None) -> Cell:
    told = {
        name: value for name, value in row.items() if name not in ("index", "folder", "problem")
    }
    made = json.dumps([digests.get(row["recipe"], ""), told, kind], sort_keys=True)
    ident = hashlib.sha256(made.encode()).hexdigest()[:16]
    return Cell(ident, row, kind, f"{row['recipe']}\0{kind}", problem)


def digests_of(
    rows: Sequence[VariantsRow], recipes: Sequence[str | SentRecipe], files: Mapping[str, str]
) -> dict[str, str]:
    """For the name of each recipe, a hash of what it compiles, and of the files beside it: not of
    its matrix, of which each variant tells its own. files: for each folder, a hash of those that
    recipes in it need.
    """
    said = [
        json.dumps(
            one
            if isinstance(one, str)
            else [
                {name: what for name, what in one["data"].items() if name not in _NOT_MADE_OF},
                files.get(one["folder"], ""),
            ],
            sort_keys=True,
            default=str,
        )
        for one in recipes
    ]
    # Variants come recipe by recipe; one that has none leaves nobody to tell which is whose.
    names = list(dict.fromkeys(row["recipe"] for row in rows))
    told = said if len(names) == len(said) else ["".join(said)] * len(names)
    return {
        name: hashlib.sha256(text.encode()).hexdigest()
        for name, text in zip(names, told, strict=True)
    }


def told_of(place: Place, state: str, why: Fault | None = None) -> NodeFinding:
    """What is told of a node."""
    facts = place.node.facts or {}
    return {
        "target": place.target.name, "name": place.name, "state": state, "kind": place.kind,
        "torch": (facts.get("torch") or "")[:_NAME], "slots": place.node.slots,
        "devices": [one["name"][:_NAME] for one in (facts.get("devices") or ())[:_MOST]],
        "labels": {name: one[:_NAME] for name, one in islice(place.node.labels.items(), _MOST)},
        "why": why, "factors": {} if why else factors_of(place.node.facts),
    }  # fmt: skip


def factors_of(facts: Env | None) -> dict[str, str]:
    """The factors of an environment by what people call them; a short hash of what is long."""
    told = {_SAID.get(name, name): (facts or {}).get(name) for name in (*_FACTORS, *_SAID)}
    return {name: _short(value) for name, value in told.items() if value is not None}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONG else hashlib.sha256(text.encode()).hexdigest()[:_LONG]


def fault_of(error: UserError | None) -> Fault | None:
    """As it goes over the wire; in words where it has words of its own."""
    if error is None:
        return None
    params = dict(error.params)
    if error.code in CATALOGUE and len(json.dumps(params, default=str)) < _TOLD:
        return {"code": error.code, "params": params}
    words = {"what": error.what, "why": error.why, "remedy": error.remedy}
    return {"code": "fleet-told", "params": {name: one[:_TOLD] for name, one in words.items()}}
