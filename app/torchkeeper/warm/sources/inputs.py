"""The inputs that a recipe describes, made: tensors of a shape, and plain values.

A description is a number, a text or a table (``checked`` in warm/recipes/recipe.py has held its
form): ``{shape, dtype, device, fill, low, high, requires_grad}``, ``{dtype}``, ``{device}``,
``{layout}``, ``{list}``, ``{tuple}``, ``{none = true}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.header import choose_device
from torchkeeper.warm.recipes.tables import Called

#: Devices that every torch has.
_EVERYWHERE = ("cpu", "meta")


def of(item: Called, device: str) -> tuple[list[Any], Mapping[str, Any]]:
    """An item's inputs, on ``device`` if they name none. Raises "input-type", "device-missing"."""
    inputs = [made(one, device) for one in item.get("inputs", ())]
    keywords = {name: made(one, device) for name, one in item.get("keywords", {}).items()}
    return inputs, keywords


def made(given: Any, device: str) -> Any:
    """One input. Raises Problem("input-type", found=…) and Problem("device-missing", device=…)."""
    if not isinstance(given, Mapping):
        return given
    if "shape" in given:
        return _tensor(given, str(given.get("device") or device))
    if "list" in given:
        return [made(one, device) for one in given["list"]]
    if "tuple" in given:
        return tuple(made(one, device) for one in given["tuple"])
    if "none" in given:
        return None
    if "dtype" in given:
        return dtype(given["dtype"])
    if "device" in given:
        return _device(str(given["device"]))
    if "layout" in given:
        return _named(given["layout"], "layout")
    raise Problem("input-type", found=str(dict(given))[:200])


def dtype(name: str) -> Any:
    """The torch.dtype of a name, such as "bfloat16". Raises Problem("input-type")."""
    return _named(name, "dtype")


def _named(name: Any, kind: str) -> Any:
    import torch  # noqa: TID251

    found = getattr(torch, str(name).removeprefix("torch."), None)
    if not isinstance(found, getattr(torch, kind)):
        raise Problem("input-type", found=str(name)[:200])
    return found


def _device(name: str) -> Any:
    import torch  # noqa: TID251

    try:
        return torch.device(name)
    except RuntimeError as e:
        raise Problem("device-missing", device=name) from e


def _tensor(given: Mapping[str, Any], device: str) -> Any:
    import torch  # noqa: TID251

    kind = dtype(given["dtype"])
    shape, fill = given["shape"], given["fill"]
    if _device(device).type not in _EVERYWHERE:
        choose_device(torch, device)
    if fill == "randint":
        tensor = torch.randint(given["low"], given["high"], shape, device=device).to(kind)
    elif fill in ("zeros", "ones"):
        tensor = getattr(torch, fill)(shape, dtype=kind, device=device)
    else:
        # Types of 8 bits have no random numbers of their own.
        wide = kind if kind.itemsize > 1 else torch.float32
        tensor = getattr(torch, fill)(shape, dtype=wide, device=device)
        low = given.get("low", 0)
        if fill == "rand" and ("low" in given or "high" in given):
            tensor = tensor * (given.get("high", low + 1) - low) + low
        tensor = tensor.to(kind)
    return tensor.requires_grad_() if given.get("requires_grad") else tensor
