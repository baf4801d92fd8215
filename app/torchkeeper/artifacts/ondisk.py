"""Values of the generic caches of PyTorch: a 4-byte version prefix, then a pickle.

Sources: torch/_inductor/cache.py (OnDiskCache, version_prefix), and of memoizers, which do the
same, runtime/caching/implementations.py and interfaces.py (CacheDump).
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

_PREFIX = 4
#: Versions of OnDiskCache that there have been.
_VERSIONS = {hashlib.sha256(str(n).encode()).digest()[:_PREFIX]: n for n in range(100)}


def is_value(head: bytes) -> bool:
    """Whether a file that begins so is one that PyTorch's generic caches have written."""
    return head[:_PREFIX] in _VERSIONS


def facts(data: bytes) -> Facts:
    """name: the type of the value; prefix: of the version, hexadecimal; version where known. Raises
    as ``inert.load`` does, and ValueError for a file without a prefix.
    """
    from torchkeeper.artifacts import inert  # only here: names alone are told without

    prefix, value = data[:_PREFIX], data[_PREFIX:]
    if not value:
        raise ValueError("no value after the version")
    kind = inert.class_name(loaded := inert.load(value))
    if isinstance(loaded, (str, bytes, tuple, list, dict)):
        kind += f" of {len(loaded):,}"
    return {"name": kind, "prefix": prefix.hex(), "version": _VERSIONS.get(prefix)}


def memoized(data: bytes) -> Facts:
    """name: how many calls memoizers remembered, and of what. Raises ValueError or TypeError."""
    collections = json.loads(data).get("collections")
    if not isinstance(collections, dict):
        raise TypeError("not what a memoizer writes")
    held = [len(calls) for calls in collections.values() if isinstance(calls, dict)]
    named = sorted(name for name in collections if name != "null")[:5]
    said = f" of {', '.join(named)}" if named else ""
    return {"name": f"{sum(held):,} remembered calls{said}"}
