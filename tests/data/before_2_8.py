"""AOTAutograd entries as torch before 2.8 writes them, made of those of torch 2.9.1.

They have the class, the fields and the file name of torch/_functorch/_aot_autograd/
autograd_cache.py in torch 2.7: ``aotautograd/<key>/entry``, without guards and with the key of each
graph alone. Their metadata, which nothing here reads, is left out, so no torch would load them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.data.pickles import made, pickled

from torchkeeper.artifacts import fxgraph

_MODULE = "torch._functorch._aot_autograd.autograd_cache"


def payload(newer: bytes) -> bytes:
    """An entry of torch 2.9.1 as torch 2.7 has it."""
    told: Any = fxgraph.aot_facts(newer, full=True)
    halves = [
        made(_MODULE, name, {"fx_graph_cache_key": key})
        for name, key in zip(("CompiledForward", "CompiledBackward"), told["fx_keys"], strict=False)
    ]
    fields = {
        "compiled_fw": halves[0],
        "compiled_bw": halves[1] if len(halves) > 1 else None,
        "aot_joint_graph_str": None,
        "aot_forward_graph_str": told["graph"],
        "aot_backward_graph_str": told["backward_graph"],
        "runtime_metadata": None,
        "dispatch_wrappers": [],
        "maybe_subclass_meta": None,
        "num_fw_outs_saved_for_bw": None,
        "indices_of_inps_to_detach": [],
        "forward_time_taken_ns": int(told["compile_s"] * 1e9),
        "backward_time_taken_ns": 0,
    }
    return pickled(*halves, made(_MODULE, "AOTAutogradCacheEntry", fields))


def rewrite(cache: Path) -> list[Path]:
    """Give a cache of torch 2.9.1 the entries that torch 2.7 would have; returns their paths."""
    made = []
    for path in sorted(p for p in cache.glob("aotautograd/*/*") if p.is_file()):
        data = payload(path.read_bytes())
        path.unlink()
        path.with_name("entry").write_bytes(data)
        made.append(path.with_name("entry"))
    return made
