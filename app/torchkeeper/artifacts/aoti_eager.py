"""Eager operators compiled ahead of time: ``aoti_eager/<ns>/<device>/<op>.json``.

A list of ``{meta_info, kernel_path}``: the inputs a kernel is for, and its library below the
folder of the list. PyTorch takes none of a list of which one library is missing.
Source: torch/_inductor/aoti_eager.py.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def items(data: bytes) -> list[dict[str, Any]]:
    """The kernels of a list. Raises ValueError or TypeError for what is no such list."""
    listed = json.loads(data)
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise TypeError("not a list of kernels")
    return listed


def digest(item: dict[str, Any]) -> str:
    """What tells a kernel from others of its list, whatever its position: its inputs."""
    inputs = json.dumps(item.get("meta_info"), sort_keys=True)
    return hashlib.sha256(inputs.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def facts(data: bytes, names: list[str]) -> dict[str, Any]:
    """name: the operator and its inputs; op, device, inputs; library, and whether it is there.

    data: ``{"op", "device", "item"}`` as JSON, or a list that could not be taken apart.
    names: the files there are. Raises ValueError or TypeError for what it is not.
    """
    about = json.loads(data)
    if about == []:
        return {"name": names[0].removesuffix(".json") + " (no kernels)"}
    if not isinstance(about, dict) or not isinstance(item := about.get("item"), dict):
        raise TypeError("not a list of kernels")
    meta, library = item.get("meta_info"), item.get("kernel_path")
    if not isinstance(meta, list) or not isinstance(library, str):
        raise TypeError("a kernel lacks a field")
    inputs = [_input(one) for one in meta[:64]]
    found: dict[str, Any] = {
        "name": f"{about.get('op')}({', '.join(inputs)})",
        "op": about.get("op"),
        "device": about.get("device"),
        "inputs": inputs,
        "library": library,
    }
    if library.rpartition("/")[2] not in names:
        found["problem"] = "library-missing"
    return found


def _input(meta: object) -> str:
    """One input as people write it: ``float32[4, 8]``, a value, or a list of tensors."""
    if not isinstance(meta, dict):
        raise TypeError("an input is not an object")
    if isinstance(tensors := meta.get("tensor_list"), list):
        return f"[{', '.join(_input(one) for one in tensors[:16])}]"
    for name in ("scalar_value", "string_value", "dtype_value", "layout_value"):
        if name in meta:
            return str(meta[name]).removeprefix("torch.")[:80]
    if "device_type_value" in meta:
        return str(meta["device_type_value"])[:80]
    dtype = str(meta.get("dtype")).removeprefix("torch.")[:80]
    sizes = meta.get("sizes")
    return f"{dtype}{sizes[:16]}" if isinstance(sizes, list) else dtype
