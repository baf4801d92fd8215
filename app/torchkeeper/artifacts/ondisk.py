"""Values of the generic caches of PyTorch: a 4-byte version prefix, then a pickle.

Source: torch/_inductor/cache.py (OnDiskCache, version_prefix).
"""

from __future__ import annotations

import hashlib
from typing import Any

from torchkeeper.artifacts import inert

_PREFIX = 4
#: Versions of OnDiskCache that there have been.
_VERSIONS = {hashlib.sha256(str(n).encode()).digest()[:_PREFIX]: n for n in range(100)}


def facts(data: bytes) -> dict[str, Any]:
    """name: the type of the value; prefix: of the version, hexadecimal; version where known.

    Raises as ``inert.load`` does, and ValueError for a file without a prefix.
    """
    prefix, value = data[:_PREFIX], data[_PREFIX:]
    if not value:
        raise ValueError("no value after the version")
    kind = inert.class_name(loaded := inert.load(value))
    if isinstance(loaded, (str, bytes, tuple, list, dict)):
        kind += f" of {len(loaded):,}"
    return {"name": kind, "prefix": prefix.hex(), "version": _VERSIONS.get(prefix)}
