"""Autotune results of single kernels: ``.best_config`` JSON files.

Source: torch/_inductor/runtime/autotune_cache.py (AutotuneCache.save).
"""

from __future__ import annotations

import json
from typing import Any


def facts(data: bytes, full: bool) -> dict[str, Any]:
    """name: the chosen configuration; device where recorded. Raises ValueError if not JSON."""
    config = json.loads(data)
    if not isinstance(config, dict):
        raise TypeError("not a JSON object")
    blocks = [
        f"{key}={value}"
        for key, value in sorted(config.items())
        if key.isupper() and isinstance(value, int)
    ]
    extra = [f"{k}={config[k]}" for k in ("num_warps", "num_stages")
             if isinstance(config.get(k), int)]  # fmt: skip
    triton_hash = config.get("triton_cache_hash")
    found: dict[str, Any] = {
        "name": " ".join(blocks + extra)[:200] or None,
        "triton_keys": [triton_hash] if isinstance(triton_hash, str) else [],
    }
    if full:
        found["config"] = json.dumps(config, indent=2)
    return found
