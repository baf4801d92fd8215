"""Why Triton did not find a kernel in its cache: what those of the same name there are for."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping

from torchkeeper.artifacts import triton

#: Kernels of the name that are read, and bytes of their JSON.
_MOST, _BYTES = 200, 1 << 20
#: What Triton writes of itself and of the options that are in the hash (CompiledKernel in
#: triton/compiler/compiler.py), and what people call it.
_TOLD = {
    "triton_version": "Triton",
    "device": "the target",
    "num_warps": "num_warps",
    "num_stages": "num_stages",
    "num_ctas": "num_ctas",
    "maxnreg": "maxnreg",
    "enable_fp_fusion": "enable_fp_fusion",
}


def why(cache: str, name: str, there: Collection[str], wanted: Mapping[str, object]) -> str:
    """What the nearest kernel of a name is for instead, in a line. there: the folders of the
    kernels that were there, in ``cache``. wanted: Triton's metadata of what was looked for.
    """
    own = _told(wanted)
    found: list[list[str]] = []
    for folder in sorted(there):
        try:
            with open(os.path.join(cache, folder, f"{name[:150]}.json"), "rb") as file:
                told = json.loads(file.read(_BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        if not isinstance(told, dict):
            continue
        told = _told(told)
        found.append([
            f"{called} {told[key]} instead of {own[key]}"
            for key, called in _TOLD.items()
            if key in told and key in own and told[key] != own[key]
        ])  # fmt: skip
        if len(found) >= _MOST:
            break
    if not found:
        return f"No kernel of the name {name} was there"
    nearest = min(found, key=len)
    if not nearest:
        return (
            f"A kernel of the name {name} was there for the same target and options: its source, "
            "the signature, a constant, or an environment variable of Triton's is another"
        )
    return f"The nearest that was there is for {', '.join(nearest)}"


def _told(metadata: Mapping[str, object]) -> Mapping[str, object]:
    about: dict[str, object] = {**metadata, "device": triton.device(metadata)}
    return {
        key: about[key]
        for key in _TOLD
        if key in about and isinstance(about[key], (str, int, type(None)))
    }
