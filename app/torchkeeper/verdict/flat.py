"""Two entries whose keys are not made of recorded factors, compared by what they tell of
themselves; and the entries that are nearest to one.

A Triton kernel's JSON, a chosen configuration, what a precompiled function asks for.
"""

from __future__ import annotations

import contextlib
import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from torchkeeper.artifacts import fxgraph
from torchkeeper.verdict import constants
from torchkeeper.verdict.comparing import GROUPS, Comparison, Difference

#: The kinds that tell something, and the facts that do; a text is JSON.
TELLING = {
    "triton": ("metadata",),
    "autotune": ("config",),
    "precompile": ("torch", "python", "gpu", "device", "backend", "format", "functions"),
    "aoti_eager": ("op", "inputs", "device"),
}
_GROUPS = {
    "torch": "torch", "triton_version": "triton", "version.triton": "triton",
    "target.backend": "gpu", "target.arch": "gpu", "target.warp_size": "gpu", "arch": "gpu",
    "backend_name": "gpu", "backend": "gpu", "warp_size": "gpu", "gpu": "gpu", "device": "gpu",
    "device.name": "gpu", "version.cuda": "gpu", "version.hip": "gpu", "inputs": "inputs",
    "name": "graph", "hash": "graph", "functions": "graph", "op": "graph",
}  # fmt: skip
#: What differs whenever anything does.
_MADE = frozenset({"hash", "triton_cache_hash", "time_taken_ms", "found_by_coordesc"})
#: Triton's sources, by a text as of ``constants.triton_version``.
_TRITON = "version.triton"
_MAX = 500
_VALUE = 2000


def values(kind: str, facts: Mapping[str, object]) -> dict[str, str]:
    """What an entry tells of itself, by name; empty where nothing is recorded."""
    found: dict[str, str] = {}
    for name in TELLING.get(kind, ()):
        value = facts.get(name)
        if name in ("metadata", "config") and isinstance(value, str):
            with contextlib.suppress(ValueError, RecursionError):
                _flatten("", json.loads(value), found)
        elif value is not None and value != []:
            _flatten(name, value, found)
    return found


def _flatten(name: str, value: object, found: dict[str, str]) -> None:
    if len(found) >= _MAX:
        return
    if isinstance(value, dict) and name.count(".") < 4:
        for key, inner in value.items():
            # GEMM choices are of a system; the system itself is what is told.
            path = f"{name}.{key}" if name and name != "system" else str(key)
            _flatten(path, inner, found)
    else:
        text = value if isinstance(value, str) else json.dumps(value)
        found[name] = "none" if value is None else text[:_VALUE]


def compare(a: Mapping[str, str], b: Mapping[str, str]) -> Comparison:
    """What differs between two such entries."""
    if not (a and b):
        return Comparison(recorded=(bool(a), bool(b)))
    names = [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]
    real = any(name not in _MADE for name in names)
    found = []
    for name in names:
        one, two, factor = a.get(name), b.get(name), name
        if name == _TRITON:
            one, two, versions = constants.tritons(one, two)
            factor = "triton_version" if versions else name
        group, follows = _GROUPS.get(factor, "configuration"), real and name in _MADE
        found.append(Difference(group, factor, one, two, follows=follows))
    # The backend's name and the whole target say the same.
    if any(one.factor.startswith("target.") for one in found):
        found = [one for one in found if one.factor not in ("backend_name", "arch", "warp_size")]
    found.sort(key=lambda one: (one.follows, GROUPS.index(one.group)))
    return Comparison(tuple(found))


# The entries that are nearest to one, by the hashes of what their keys were made of.
# No value is looked at: ten thousand entries are compared in a moment. What graphs share with all
# others of their program is held once for each group (``artifacts.fxgraph.group``).

T = TypeVar("T")

#: What a difference weighs: a graph of another torch is nearer than another graph of this one.
_GRAPH, _BESIDE, _INPUTS, _TORCH, _SYSTEM, _SETTING = 400.0, 60.0, 150.0, 100.0, 60.0, 10.0
#: All settings together weigh no more than that.
_SETTINGS = 90.0


class Prints(NamedTuple):
    """What a key was made of, as hashes. shared: ``{name: hash}`` of the factors that all graphs of
    a program share, the same object for all of a group; None where that is not known. own: as of
    ``artifacts.fxgraph.prints``; empty where none are recorded.
    """

    shared: Mapping[str, str] | None
    own: Sequence[str]


def prints(factors: Sequence[Sequence[str]]) -> Prints:
    """Those of a list of factors, of AOTAutograd of its graphs after each other."""
    shared = {name: digest for digest, name, _ in factors if not fxgraph.of_graph(name)}
    return Prints(shared, fxgraph.prints([[(h, n, v) for h, n, v in factors]]))


def nearest(of: Prints, candidates: Iterable[tuple[T, Prints]], limit: int = 1) -> list[T]:
    """The candidates that are nearest, at most ``limit``, the nearest first; of those that are as
    near, the first. Those of which nothing is recorded are passed over.
    """
    known: dict[int, float] = {}
    weighed: list[tuple[float, int, T]] = []
    for number, (one, its) in enumerate(candidates):
        if not its.own:
            continue
        name = id(its.shared)
        if name not in known:
            known[name] = _settings(of.shared, its.shared)
        entry = (-(known[name] + _graphs(of.own, its.own)), -number, one)
        if len(weighed) < limit:
            heapq.heappush(weighed, entry)
        elif entry[:2] > weighed[0][:2]:
            heapq.heapreplace(weighed, entry)
    return [one for _, _, one in sorted(weighed, key=lambda x: x[:2], reverse=True)]


def _settings(a: Mapping[str, str] | None, b: Mapping[str, str] | None) -> float:
    if a is None or b is None:
        return _SETTINGS
    weight = settings = 0.0
    for name in (one for one in a.keys() | b.keys() if a.get(one) != b.get(one)):
        if name == "torch_version":
            weight += _TORCH
        elif name.startswith("system_info["):
            weight += _SYSTEM
        else:
            settings += _SETTING
    return weight + min(settings, _SETTINGS)


def _graphs(a: Sequence[str], b: Sequence[str]) -> float:
    weight = (_GRAPH if a[0] != b[0] else 0.0) + (_BESIDE if a[1:2] != b[1:2] else 0.0)
    own, other = a[2:], b[2:]
    if longest := max(len(own), len(other)):
        same = sum(one == two for one, two in zip(own, other))  # noqa: B905
        weight += _INPUTS * (longest - same) / longest + min(longest - same, 9)
    return weight
