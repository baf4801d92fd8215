"""Which of the caches in a place a program uses.

A program is led to one (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR). A folder of vLLM's holds those
of several programs, its ranks; each has two beside each other, that of PyTorch and that of Triton.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import ARTIFACT
from torchkeeper.stores.items import Item

_GRAPHS = ("fxgraph", "aotautograd")
#: How vLLM calls the two (vllm/compilation/compiler_interface.py).
_INDUCTOR, _TRITON = "inductor_cache/", "triton_cache/"
#: Caches that a Problem names.
_NAMED = 10


class Used(NamedTuple):
    """The folders of a place that a program is led to, each with a slash at its end, or "" for the
    place itself. triton: None where it is left to PyTorch, which has it in the other.
    """

    inductor: str = ""
    triton: str | None = None


def used(place: str, items: Iterable[Item]) -> Used:
    """The cache that a program uses which is to find what is in a place.

    Raises Problem("nothing-to-verify"), and Problem("verify-which", folders=…) where there are
    several.
    """
    graphs, kernels = set(), set()
    for item in items:
        if item.kind in _GRAPHS:
            graphs.add(_above(item.path, item.kind))
        elif item.kind == "triton" and f"/{_TRITON}" in f"/{item.path}":
            kernels.add(_above(item.path, _TRITON.rstrip("/")) + _TRITON)
    if not graphs:
        raise Problem("nothing-to-verify", place=place)
    if "" in graphs:
        return Used()
    # What vLLM keeps of a graph beside its caches, it finds without their keys.
    found = sorted(one for one in graphs if f"/{ARTIFACT}" not in f"/{one}") or sorted(graphs)
    if len(found) > 1:
        raise Problem("verify-which", place=place, folders=_named(found), count=len(found))
    beside = found[0].removesuffix(_INDUCTOR) + _TRITON
    return Used(found[0], beside if beside in kernels else None)


def _above(path: str, folder: str) -> str:
    """What comes before a folder in a path, with its slash."""
    return path[: f"/{path}".rindex(f"/{folder}/")]


def _named(found: list[str]) -> str:
    # A rank is enough: what is in it is one program's.
    names = [one.removesuffix(_INDUCTOR).rstrip("/") or one.rstrip("/") for one in found]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
