"""Autotune results: ``.best_config`` of single kernels, and GEMM choices of a whole system.

Both are JSON, as are lists of CUTLASS's operations; what AutoHeuristic collects is text.
Sources: torch/_inductor/runtime/autotune_cache.py (AutotuneCache.save), codecache.py (CacheBase,
PersistentCache: ``cache[op][inputs][precision][choice]`` is a time in milliseconds),
codegen/cutlass/cache.py, autoheuristic/autoheuristic.py, all below torch/_inductor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts


def facts(data: bytes, full: bool, file: str = "") -> Facts:
    """name: the chosen configuration; device, where it is recorded. file: the file's name, which
    tells a text that AutoHeuristic collected. Raises ValueError for what is not JSON.
    """
    if file.endswith(".txt"):
        return {"name": f"measurements for {file.removesuffix('.txt')}"}
    config = json.loads(data)
    if isinstance(config, list) and file.startswith("configs_"):
        return {"name": f"{len(config):,} operations of CUTLASS", "device": "cuda"}
    if not isinstance(config, dict):
        raise TypeError("not a JSON object")
    if isinstance(config.get("system"), dict) and isinstance(config.get("cache"), dict):
        return _choices(config["system"], config["cache"], full)
    blocks = [f"{k}={v}" for k, v in sorted(config.items()) if k.isupper() and isinstance(v, int)]
    extra = [f"{k}={config[k]}" for k in ("num_warps", "num_stages")
             if isinstance(config.get(k), int)]  # fmt: skip
    triton_hash = config.get("triton_cache_hash")
    found: Facts = {
        "name": " ".join(blocks + extra)[:200] or None,
        "triton_keys": [triton_hash] if isinstance(triton_hash, str) else [],
    }
    if full:
        found["config"] = json.dumps(config, indent=2)
    return found


def _choices(system: Mapping[str, object], cache: Mapping[str, object], full: bool) -> Facts:
    """name, gpu, triton key, cuda or hip version, and how many choices were timed for what."""
    device, version = system.get("device"), system.get("version")
    said = device if isinstance(device, dict) else {}
    versions = version if isinstance(version, dict) else {}
    gpu = said.get("name") if isinstance(said.get("name"), str) else None
    ops = {op: _leaves(about, 3) for op, about in list(cache.items())[:1000]}
    found: Facts = {
        "name": f"GEMM choices for {gpu or 'a system without a GPU'}",
        "device": next((name for name in ("cuda", "hip") if versions.get(name)), None),
        "gpu": gpu,
        "versions": {name: v[:80] for name, v in versions.items() if isinstance(v, str)},
        "choices": sum(ops.values()),
    }
    if full:
        found["config"] = json.dumps({"system": system, "choices": ops}, indent=2)
    return found


def _leaves(value: object, depth: int) -> int:
    """How many values there are, so many levels down."""
    if not depth or not isinstance(value, dict):
        return 1
    return sum(_leaves(inner, depth - 1) for inner in value.values())
