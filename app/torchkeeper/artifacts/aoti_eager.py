"""Eager operators compiled ahead of time: ``aoti_eager/<ns>/<device>/<op>.json``.

A list of ``{meta_info, kernel_path}``: the inputs a kernel is for, and its library below the
folder of the list. PyTorch takes none of a list of which one library is missing, and cannot
register the operator where one item is not as it expects. It looks at nothing else: neither at the
torch that built a library nor at the CPU.
Sources: torch/_inductor/aoti_eager.py, torch/csrc/inductor/aoti_eager/kernel_holder.cpp.

Every place but a folder has a kernel on its own. That is a text of its operator, device and item,
at ``aoti_eager/<ns>/<device>/<op>.json#<digest>``, and the files of its library, which lie where
they do in a folder. A text is a stranger's: what PyTorch could not load would spoil the list that
it is put into.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts import builds
from torchkeeper.artifacts.code import needed_by
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.fxgraph import tensor
from torchkeeper.artifacts.layout import Located, canonical, checked_path, eager_library

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: A list of kernels is some kilobytes.
MAX_LIST = 4 << 20
#: Inputs that an operator may have; sizes and strides of one.
_MOST_INPUTS, _MOST_SIZES = 256, 64
#: PyTorch makes of a name whatever torch has under it, so that it had better be one of these.
_DTYPE = re.compile(
    r"torch\.(?:b?float\d{1,3}\w{0,16}|b?complex\d{1,3}|u?int\d{1,2}|bool|qu?int\w{1,8}|bits\w{1,8})"
)
_LAYOUT = re.compile(r"torch\.(?:strided|jagged|_mkldnn|sparse_[a-z]{3,4})")
_FORMAT = re.compile(r"torch\.(?:contiguous_format|preserve_format|channels_last(?:_3d)?)")
_DEVICE = re.compile(r"[a-z]{1,20}")
_WORD = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
_INT64 = 1 << 63


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
    instructions and requires: as of ``code.facts``, for the library. texts: the kernel on its own
    or a list that could not be taken apart, and the library, cut perhaps. names: the files there
    are. Raises ValueError or TypeError for what it is not.
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
    """One input as names say it: ``f32[4, 8]``, a value, or a list of tensors."""
    if not isinstance(meta, dict):
        raise TypeError("an input is not an object")
    if isinstance(tensors := meta.get("tensor_list"), list):
        return f"[{', '.join(_input(one) for one in tensors[:16])}]"
    for name in ("scalar_value", "string_value", "dtype_value", "layout_value"):
        if name in meta:
            return str(meta[name]).removeprefix("torch.")[:80]
    if "device_type_value" in meta:
        return str(meta["device_type_value"])[:80]
    dtype, sizes = str(meta.get("dtype")).removeprefix("torch.")[:80], meta.get("sizes")
    return tensor(dtype, str(sizes[:16])[1:-1]) if isinstance(sizes, list) else dtype


class Alone(NamedTuple):
    """A kernel on its own: the operator as ``ns::name``, the device, and the item of the list."""

    op: str
    device: str
    item: dict[str, object]


def alone(op: str, device: str, item: Mapping[str, object]) -> bytes:
    """The text of a kernel on its own: the same for the same kernel, wherever it was listed."""
    return json.dumps({"op": op, "device": device, "item": item}, sort_keys=True).encode("ascii")


def checked(data: bytes, path: str, library: Sequence[str]) -> Alone:
    """A kernel on its own, if PyTorch could load it: from its text, the path of that and those of
    its library's files, all checked. Raises Problem("kernel-unloadable", why=…).
    """
    try:
        about = json.loads(data) if len(data) <= MAX_LIST else None
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise _unloadable("it is not a JSON object")
    above, _, name = path.rpartition("/")
    operator, _, said = name.partition(".json#")
    space, device = above.split("/")[-2:]
    item = about.get("item")
    if (about.get("op"), about.get("device")) != (f"{space}::{operator}", device):
        raise _unloadable("its name says another operator or device")
    if not isinstance(item, dict) or not isinstance(named := item.get("kernel_path"), str):
        raise _unloadable("it names no library")
    if not named.endswith(".so") or eager_library(path, named) not in library:
        raise _unloadable(f"it names a wrong library, {named[:200]}")
    inputs = item.get("meta_info")
    if not isinstance(inputs, list) or len(inputs) > _MOST_INPUTS:
        raise _unloadable("it has no list of inputs")
    for field in sorted(item.keys() - {"meta_info", "kernel_path"}):
        if not _is_plain(item[field]):
            raise _unloadable(f"“{field[:40]}” is not known")
    for one in inputs:
        if why := _wrong(one):
            raise _unloadable(why)
    if digest(item) != said:
        raise _unloadable("its name says other inputs")
    return Alone(f"{space}::{operator}", device, item)


def _unloadable(why: str) -> Problem:
    return Problem("kernel-unloadable", why=why)


def _wrong(one: object) -> str:
    """Why PyTorch would not take an input of an item; "" where it would."""
    if not isinstance(one, dict):
        return "an input is not a JSON object"
    if "tensor_list" in one:
        # The types in it stay texts when it is loaded (torch 2.13), and registering fails.
        return "PyTorch cannot load inputs that are lists of tensors"
    if one.get("is_dynamic"):
        return "PyTorch cannot load inputs with dynamic shapes"
    for field, value in one.items():
        if not _FIELDS.get(field, _is_plain)(value):
            return f"“{field[:40]}” of an input is not as PyTorch writes it"
    needed = {"arg_order"}
    if "scalar_value" in one:
        needed |= {"dtype"}
    elif not one.keys() & _VALUES:
        needed |= _TENSOR
    if lacking := sorted(needed - one.keys()):
        return f"an input lacks {', '.join(lacking)}"
    if "scalar_value" in one and "int" in one["dtype"] and not _is_int(one["scalar_value"]):
        return "a number has a wrong type"
    return ""


def _is_within(least: int, end: int, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < end


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


_is_text, _is_int = partial(_matches, _WORD), partial(_is_within, 1 - _INT64, _INT64)
_is_index, _is_count = partial(_is_within, -1, 128), partial(_is_within, 0, 2 * _INT64)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float)) or _is_text(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_SIZES and all(map(_is_int, value))


#: What PyTorch writes of an input, and what each of it may be.
_FIELDS: Mapping[str, Callable[[object], bool]] = {
    "is_dynamic": _is_bool,
    "device_type": partial(_matches, _DEVICE),
    "device_index": _is_index,
    "dtype": partial(_matches, _DTYPE),
    "sizes": _are_sizes,
    "strides": _are_sizes,
    "requires_grad": _is_bool,
    "dispatch_key_set": _is_count,
    "arg_order": _is_count,
    "scalar_value": lambda value: isinstance(value, (bool, float)) or _is_int(value),
    "string_value": _is_text,
    "dtype_value": partial(_matches, _DTYPE),
    "device_type_value": partial(_matches, _DEVICE),
    "device_index_value": lambda value: value is None or _is_index(value),
    "layout_value": partial(_matches, _LAYOUT),
    "memory_format_value": partial(_matches, _FORMAT),
}
#: The fields that say that an input is no tensor, and those that a tensor needs
#: (init_aoti_kernel_cache in kernel_holder.cpp).
_VALUES = {"scalar_value", "string_value", "dtype_value", "device_type_value", "layout_value"}
_TENSOR = {"is_dynamic", "device_type", "device_index", "dtype", "sizes", "strides",
           "requires_grad", "dispatch_key_set"}  # fmt: skip


def text_path(item: str) -> str:
    """Where the text of an item would stand, whose path has a number if it is listed twice."""
    listed, mark, said = item.rpartition("#")
    return listed + mark + said.partition("-")[0]


def paths(item: str, library: str) -> tuple[str, str]:
    """The item of a list and a file of its library, at their paths in a folder, as they would lie
    in a cache of PyTorch alone. The first is ``<list>#<12 hexadecimal digits>``. Raises
    Problem("kernel-of-device") and as ``canonical`` and ``checked_path``.
    """
    _check_device(item)
    above = item.rpartition("/")[0]
    home = canonical(text_path(item))
    if not library.startswith(f"{above}/lib/"):
        raise Problem("name-refused", kind="aoti_eager", name=library[:200])
    below = f"{home.rpartition('/')[0]}{library[len(above) :]}"
    return checked_path("aoti_eager", home), checked_path("aoti_eager", below)


def located(paths: Collection[str]) -> Located:
    """What the checked paths of a kernel are together: its item, and the files of one library.
    Raises Problem("kernel-of-device" | "name-refused").
    """
    items = [path for path in paths if "#" in path]
    others = [path for path in paths if "#" not in path]
    for path in items:
        _check_device(path)
    if len(items) == 1 and others:
        above, _, name = items[0].rpartition("/")
        stems = {path.rpartition("/")[2].partition(".")[0] for path in others}
        folders = {path.rpartition("/")[0] for path in others}
        if len(stems) == len(folders) == 1 and folders.pop().startswith(f"{above}/lib/"):
            return Located("aoti_eager", name.replace(".json#", "#"), items[0])
    raise Problem("name-refused", kind="aoti_eager", name=", ".join(items + others)[:200])


def _check_device(item: str) -> None:
    """Raises Problem("kernel-of-device") for a kernel of another device than a CPU: its library
    names the files of its GPU code by their absolute paths (torch/_inductor/codegen/
    cpp_wrapper_gpu.py), as the folder of such files is given to no eager kernel.
    """
    device = item.split("/")[-2]
    if device != "cpu":
        raise Problem("kernel-of-device", device=device[:20])
