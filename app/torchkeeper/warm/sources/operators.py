"""Operators of PyTorch by their names, and their inputs as its dispatcher passes them on."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from torchkeeper.artifacts.entry import Problem


def found(op: str) -> tuple[str, str, Any]:
    """The namespace of an operator, its name there with the overload, and itself.

    The default overload goes without a name, as in PyTorch's own lists. Raises
    Problem("name-missing").
    """
    import torch  # noqa: TID251

    space, _, named = op.partition("::")
    name, _, overload = named.partition(".")
    packet = getattr(getattr(torch.ops, space), name, None)
    if packet is None:
        near = difflib.get_close_matches(name, dir(getattr(torch.ops, space)), 3)
        said = ", ".join(near) or "—"
        raise Problem("name-missing", name=name, module=f"torch.ops.{space}", near=said)
    known = packet.overloads()
    overload = overload or "default"
    if overload not in known:
        raise Problem(
            "name-missing",
            name=overload,
            module=f"torch.ops.{space}.{name}",
            near=", ".join(f"{name}.{one}" for one in known[:20]),
        )
    function = getattr(packet, overload)
    return space, name if overload == "default" else f"{name}.{overload}", function


def in_order(
    function: Any, args: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], Mapping[str, Any]]:
    """The inputs as PyTorch's dispatcher passes them on: by position where that can be, and none
    that is what it would be anyway. Raises Problem("inputs-refused").
    """
    schema = function._schema.arguments
    names = [one.name for one in schema]
    strange = [name for name in keywords if name not in names]
    if strange or len(args) > sum(not one.kwarg_only for one in schema):
        why = f"it has no input {strange[0]}" if strange else f"{len(args)} inputs are too many"
        raise Problem("inputs-refused", why=why, where=str(function._schema))
    values = {**dict(zip(names, args, strict=False)), **keywords}
    told = {
        one.name: values[one.name]
        for one in schema
        if one.name in values and not _is_default(one, values[one.name])
    }
    placed: list[Any] = []
    for one in schema:
        if one.kwarg_only or one.name not in told:
            break
        placed.append(told.pop(one.name))
    return placed, told


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default_value() or not isinstance(
        value, (bool, int, float, str, type(None))
    ):
        return False
    return type(argument.default_value) is type(value) and bool(argument.default_value == value)


def check_type(value: Any) -> None:
    """Raises Problem("input-type") for what PyTorch cannot compile an eager operator for."""
    import torch  # noqa: TID251

    kinds = (torch.Tensor, bool, int, float, str, torch.dtype, torch.device, torch.layout)
    if isinstance(value, kinds):
        return
    if isinstance(value, list) and all(isinstance(one, torch.Tensor) for one in value):
        return
    found = type(value).__name__
    if isinstance(value, (list, tuple)):
        found += f" of {type(value[0]).__name__}" if value else ", empty"
    raise Problem("input-type", found=found)


def as_text(meta: Any) -> Any:
    """A description of inputs with every dtype and the like as a text, as it is on the disk."""
    if isinstance(meta, dict):
        return {key: as_text(value) for key, value in meta.items()}
    if isinstance(meta, list):
        return [as_text(one) for one in meta]
    return meta if isinstance(meta, (bool, int, float, str, type(None))) else str(meta)
