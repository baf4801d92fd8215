"""Two entries whose keys are not made of recorded factors: what they tell of themselves, compared.

A Triton kernel's JSON, a chosen configuration, what a precompiled function asks for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from torchkeeper.verdict import systems
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
#: Triton's sources, by a text as of ``systems.triton_version``.
_TRITON = "version.triton"
_MAX = 500
_VALUE = 2000


def values(kind: str, facts: Mapping[str, object]) -> dict[str, str]:
    """What an entry tells of itself, by name; empty where nothing is recorded."""
    found: dict[str, str] = {}
    for name in TELLING.get(kind, ()):
        value = facts.get(name)
        if name in ("metadata", "config") and isinstance(value, str):
            try:
                _flatten("", json.loads(value), found)
            except (ValueError, RecursionError):
                continue
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
    found = [
        _difference(name, a.get(name), b.get(name), follows=real and name in _MADE)
        for name in names
    ]
    # The backend's name and the whole target say the same.
    if any(one.factor.startswith("target.") for one in found):
        found = [one for one in found if one.factor not in ("backend_name", "arch", "warp_size")]
    found.sort(key=lambda one: (one.follows, GROUPS.index(one.group)))
    return Comparison(tuple(found))


def _difference(name: str, a: str | None, b: str | None, *, follows: bool) -> Difference:
    if name == _TRITON:
        a, b, versions = systems.tritons(a, b)
        name = "triton_version" if versions else name
    return Difference(_GROUPS.get(name, "configuration"), name, a, b, follows=follows)
