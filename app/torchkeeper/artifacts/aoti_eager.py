"""Eager operators compiled ahead of time: ``aoti_eager/<ns>/<device>/<op>.json``.

A list of ``{meta_info, kernel_path}``: the inputs a kernel is for, and its library below the
folder of the list. PyTorch takes none of a list of which one library is missing, and cannot
register the operator where one item is not as it expects. It looks at nothing else: neither at the
torch that built a library nor at the CPU.
Sources: torch/_inductor/aoti_eager.py, torch/csrc/inductor/aoti_eager/kernel_holder.cpp.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchkeeper.artifacts import builds
from torchkeeper.artifacts.code import needed_by

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts

#: A list of kernels is some kilobytes.
MAX_LIST = 4 << 20


def items(data: bytes) -> list[dict[str, object]]:
    """The kernels of a list. Raises ValueError or TypeError for what is no such list."""
    listed = json.loads(data)
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise TypeError("not a list of kernels")
    return listed


def digest(item: Mapping[str, object]) -> str:
    """What tells a kernel from others of its list, whatever its position: its inputs."""
    inputs = json.dumps(item.get("meta_info"), sort_keys=True)
    return hashlib.sha256(inputs.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def facts(texts: dict[str, bytes], names: list[str]) -> Facts:
    """name: the operator and its inputs; op, device, inputs; library, and whether it is there;
    instructions and requires: as of ``code.facts``, for the library.

    texts: the kernel on its own or a list that could not be taken apart, and the library, cut
    perhaps. names: the files there are. Raises ValueError or TypeError for what it is not.
    """
    objects = {name: data for name, data in texts.items() if name.endswith(".so")}
    data = next(data for name, data in texts.items() if name not in objects)
    if not data:
        return {"problem": "payload-empty"}
    about = json.loads(data)
    if about == []:
        return {"name": names[0].removesuffix(".json") + " (no kernels)"}
    if not isinstance(about, dict) or not isinstance(item := about.get("item"), dict):
        raise TypeError("not a list of kernels")
    meta, library = item.get("meta_info"), item.get("kernel_path")
    if not isinstance(meta, list) or not isinstance(library, str):
        raise TypeError("a kernel lacks a field")
    inputs = [_input(one) for one in meta[:64]]
    found: Facts = {
        "name": f"{about.get('op')}({', '.join(inputs)})",
        "op": about.get("op"),
        "device": about.get("device"),
        "inputs": inputs,
        "library": library,
    }
    if library.rpartition("/")[2] not in names:
        found["problem"] = "library-missing"
    elif objects:
        found.update(needed_by(list(objects.values())))
        if found["device"] == "cuda" and any(builds.backend(d) == "hip" for d in objects.values()):
            found["device"] = "hip"
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
