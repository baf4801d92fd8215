"""Which of the caches in a place a program uses, and that it uses no other.

A program is led to one (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR). A folder of vLLM's holds those
of several programs, its ranks; each has two beside each other, that of PyTorch and that of Triton.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import ARTIFACT
from torchkeeper.settings.checks.about import URL, About, remotes
from torchkeeper.settings.known import BY_NAME
from torchkeeper.stores.items import Item

_GRAPHS = ("fxgraph", "aotautograd")
#: The kind of entries that a source looks for which makes no graphs.
_KINDS = {"triton": "triton", "eager": "aoti_eager"}
#: How vLLM calls the two (vllm/compilation/compiler_interface.py).
_INDUCTOR, _TRITON = "inductor_cache/", "triton_cache/"
#: Caches that a Problem names.
_NAMED = 10

#: Variables of the user's that would lead elsewhere for what is cached, or write there: other
#: folders, servers, traces (torch/_inductor/config.py, torch/_inductor/remote_cache.py,
#: torch/_dynamo/config.py, torch/_logging/_internal.py; triton/knobs.py).
_ELSEWHERE = frozenset({
    "TORCH_TRACE", "TORCH_DTRACE", "TORCH_COMPILE_DEBUG_DIR", "TORCHINDUCTOR_CACHE_DUMP_FILE_PATH",
    "TRITON_CACHE_DIR", "TRITON_DUMP_DIR", "TRITON_OVERRIDE_DIR", "TRITON_CACHE_MANAGER",
    "TRITON_REMOTE_CACHE_BACKEND",
})  # fmt: skip
_SERVERS = ("_REMOTE_", "_REDIS_")


class Used(NamedTuple):
    """The folders of a place that a program is led to, each with a slash at its end, or "" for the
    place itself. triton: None where it is left to PyTorch, which has it in the other.
    """

    inductor: str = ""
    triton: str | None = None


def used(place: str, items: Iterable[Item]) -> Used:
    """The one cache there. Raises Problem("nothing-to-verify" | "verify-which")."""
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
        # A rank is enough: what is in it is one program's.
        names = [one.removesuffix(_INDUCTOR).rstrip("/") or one.rstrip("/") for one in found]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        said = ", ".join(names[:_NAMED]) + more
        raise Problem("verify-which", place=place, folders=said, count=len(found))
    beside = found[0].removesuffix(_INDUCTOR) + _TRITON
    return Used(found[0], beside if beside in kernels else None)


def led_to(place: str, items: Iterable[Item], sources: Collection[str]) -> Used:
    """As ``used``; where there are no graphs, and what is asked for needs none, the place itself.
    sources: what is to be looked for there. Kernels that lie in it as in a cache of Triton's alone
    are looked for there. Raises Problem as ``used``.
    """
    listed = list(items)
    try:
        return used(place, listed)
    except Problem as problem:
        kinds = {_KINDS[source] for source in sources if source in _KINDS}
        there = [item for item in listed if item.kind in kinds]
        if problem.code != "nothing-to-verify" or not there:
            raise
        plain = any(item.kind == "triton" and item.path.count("/") == 0 for item in there)
        return Used(triton="" if plain else None)


def _above(path: str, folder: str) -> str:
    """What comes before a folder in a path, with its slash."""
    return path[: f"/{path}".rindex(f"/{folder}/")]


def alone(env: Mapping[str, str], temporary: str) -> dict[str, str]:
    """An environment with this temporary folder, led to no other cache than the one it names."""
    kept = {
        name: value
        for name, value in env.items()
        if name not in _ELSEWHERE
        and (
            (name in BY_NAME and BY_NAME[name].in_key)
            or not (name.startswith(("TORCH", "TRITON")) and any(x in name for x in _SERVERS))
        )
    }
    if remotes(kept, About()):
        # A cache on a server that is part of keys is on: with this it has no server at all.
        kept[URL] = ""
    # Triton has a cache in its home where nobody names one (knobs.cache in triton/knobs.py).
    return {**kept, "TMPDIR": temporary, "TRITON_HOME": temporary}
