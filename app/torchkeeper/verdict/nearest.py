"""The entries that are nearest to one, by the hashes of what their keys were made of.

No value is looked at: ten thousand entries are compared in a moment. What graphs share with all
others of their program is held once for each group (``artifacts.fxgraph.group``).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from torchkeeper.artifacts import fxgraph

T = TypeVar("T")

#: What a difference weighs. A graph is what it computes: one of another torch is nearer than
#: another graph of this one.
_GRAPH, _BESIDE, _INPUTS, _TORCH, _SYSTEM, _SETTING = 400.0, 60.0, 150.0, 100.0, 60.0, 10.0
#: All settings together weigh no more than that.
_SETTINGS = 90.0


class Prints(NamedTuple):
    """What a key was made of, as hashes.

    shared: ``{name: hash}`` of the factors that all graphs of a program share, the same object for
    all of a group; None where that is not known. own: as of ``artifacts.fxgraph.prints``; empty
    where none are recorded.
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
    for name in a.keys() | b.keys():
        if a.get(name) == b.get(name):
            continue
        if name == "torch_version":
            weight += _TORCH
        elif name.startswith("system_info["):
            weight += _SYSTEM
        else:
            settings += _SETTING
    return weight + min(settings, _SETTINGS)


def _graphs(a: Sequence[str], b: Sequence[str]) -> float:
    weight = 0.0
    if a[0] != b[0]:
        weight += _GRAPH
    if a[1:2] != b[1:2]:
        weight += _BESIDE
    own, other = a[2:], b[2:]
    longest = max(len(own), len(other))
    if longest:
        same = sum(one == two for one, two in zip(own, other))  # noqa: B905
        weight += _INPUTS * (longest - same) / longest + min(longest - same, 9)
    return weight
