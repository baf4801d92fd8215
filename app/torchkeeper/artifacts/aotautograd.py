"""AOTAutograd entries: a pickled AOTAutogradResult, which names the FX graphs it needs.

Source: torch/_functorch/_aot_autograd/aot_autograd_result.py (2.9 to 2.13); older versions call
the class AOTAutogradCacheEntry. A bundled entry holds its graphs itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts import fxgraph, graphs, inert

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts


def facts(data: bytes, full: bool) -> Facts:
    """name, compile_s, fx_keys (keys of the FX graphs it needs, forward first), group and prints as
    of ``fxgraph.facts``; torch and device only where the entry holds its graphs itself. With
    ``full`` also its texts and key factors.

    Raises as ``fxgraph.facts`` does.
    """
    obj = inert.load(data)
    if not inert.class_name(obj).endswith(("AOTAutogradResult", "AOTAutogradCacheEntry")):
        raise TypeError(f"a pickle of {inert.class_name(obj)}")
    state = inert.fields(obj)
    halves = [inert.fields(state.get(half)) for half in ("compiled_fw", "compiled_bw")]
    infos = [half.get("fx_graph_cache_info") for half in halves]
    # torch before 2.8 kept the key alone, as fx_graph_cache_key.
    keys = [
        info[0] if isinstance(info, tuple) and info else half.get("fx_graph_cache_key")
        for info, half in zip(infos, halves, strict=True)
    ]
    forward = inert.text(state.get("aot_forward_graph_str")) or ""
    times = [
        inert.seconds(state.get(field))
        for field in ("forward_time_taken_ns", "backward_time_taken_ns")
    ]
    taken = [time for time in times if time is not None]
    direction = "forward and backward" if halves[1] else None
    found: Facts = {
        "name": graphs.title(graphs.function(forward), graphs.main_ops("", forward), direction),
        "direction": direction,
        "compile_s": sum(taken) if taken else None,
        "fx_keys": [key for key in keys if isinstance(key, str)],
    }
    factors = [
        fxgraph.key_factors(info[1] if isinstance(info, tuple) and len(info) > 1 else None)
        for half, info in zip(halves, infos, strict=True)
        if half
    ]
    # Of what is bundled, the graph itself tells.
    inner_factors = [
        fxgraph.key_factors(inert.fields(half.get("result")).get("_fx_graph_cache_debug_lines"))
        for half in halves
        if half
    ]
    factors = [own or inner for own, inner in zip(factors, inner_factors, strict=True)]
    found["group"] = fxgraph.group(factors)
    found["prints"] = fxgraph.prints(factors)
    for half in halves:
        bundled = inert.fields(half.get("result"))
        if bundled:
            inner = fxgraph.from_state(bundled, full=False)
            found["torch"], found["device"] = inner["torch"], inner["device"]
            found["made_in"] = inner["made_in"]
            if inner["libs"] is not None:
                found["libs"] = inner["libs"]
            found["kernels"] = found.get("kernels", []) + inner["kernels"]
            found["code_names"] = found.get("code_names", []) + inner["code_names"]
            found["triton_keys"] = found.get("triton_keys", []) + inner["triton_keys"]
            own_key = inner["code_key"]
            found["code_keys"] = found.get("code_keys", []) + ([own_key] if own_key else [])
            if inner["widths"] is not None:
                # Both halves are of one compile.
                either = (found.get("widths") or inner["widths"]).split()
                found["widths"] = " ".join(w for w in inner["widths"].split() if w in either)
            found["opaque"] = found.get("opaque") or inner["opaque"]
    if full:
        found["ops"] = graphs.main_ops("", forward, 40)
        found["guards"] = inert.text(state.get("guards_expr"))
        found["graph"] = forward
        found["backward_graph"] = inert.text(state.get("aot_backward_graph_str"))
        found["factors"] = [factor for some in factors for factor in some]
    return found
