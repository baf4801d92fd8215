"""What differs between two inputs of a graph, field by field, as their key factors tell them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

#: Characters of an input's description that are looked at.
_MAX = 100_000
_SYMBOL = re.compile(r"\('?([a-zA-Z]\w{0,20})'?,?\)")
_SIZE = re.compile(r"torch\.Size\(\[([^\]]*)\]\)")
_DEVICE = re.compile(r"device\(type='(\w+)'(?:, index=(\d+))?\)")
#: The fields that people know, in the order in which they matter; others come after them.
_ORDER = ("shape", "dtype", "device", "stride", "requires_grad", "layout", "memory_format")
#: What follows from another shape or device.
_WITH_SHAPE = frozenset({"stride", "memory_format", "storage_bytes", "storage_offset"})


class Field(NamedTuple):
    """One field of an input that differs; None where one of both has no such field."""

    name: str
    a: str | None
    b: str | None


class Changed(NamedTuple):
    """An input that both have, and that is not the same: its place in each, and the fields."""

    at_a: int
    at_b: int
    fields: tuple[Field, ...]


def symbol(value: str) -> str | None:
    """The name of a size that an input stands for, where the input is no tensor: ``s77``."""
    match = _SYMBOL.fullmatch(value[:80].strip())
    return match[1] if match else None


def fields(value: str) -> dict[str, str]:
    """The fields of a ``TensorMetadata(…)`` as people write them; of anything else its value."""
    text = value[:_MAX].strip()
    if not text.startswith("TensorMetadata("):
        return {"value": text}
    found = {}
    for part in _parts(text[len("TensorMetadata(") :].removesuffix(")")):
        name, equals, said = part.strip().partition("=")
        if equals and name.isidentifier():
            found[name] = _plain(said)
    return found or {"value": text}


def _parts(text: str) -> list[str]:
    """What stands between the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for at, mark in enumerate(text):
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _plain(said: str) -> str:
    if match := _SIZE.fullmatch(said):
        return "x".join(size.strip() for size in match[1].split(",")) or "no dimensions"
    if match := _DEVICE.fullmatch(said):
        return match[1] + (f":{match[2]}" if match[2] else "")
    return said.removeprefix("torch.")


def differing(a: str, b: str) -> tuple[Field, ...]:
    """The fields in which two inputs differ, the one that matters most first."""
    own, other = fields(a), fields(b)
    names = [name for name in dict.fromkeys((*own, *other)) if own.get(name) != other.get(name)]
    if "shape" in names:
        names = [name for name in names if name not in _WITH_SHAPE]
    names.sort(key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return tuple(Field(name, own.get(name), other.get(name)) for name in names)


def batch(shapes: Field) -> Field | None:
    """The difference of two shapes as one of their first dimension, if it is nothing else."""
    own, other = (shapes.a or "").split("x"), (shapes.b or "").split("x")
    if len(own) == len(other) > 1 and own[0] != other[0] and own[1:] == other[1:]:
        return Field("batch", own[0], other[0])
    return None


def compare(a: Sequence[str], b: Sequence[str], static: frozenset[int]) -> list[Changed] | None:
    """The inputs that differ, given in order; None where one graph has more of them. What only
    names a size is passed over: a graph with dynamic shapes has such inputs besides. static: the
    places, in ``a``, of weights and of what forward keeps for backward: their first dimension is a
    batch only if that of another input changed in the same way.
    """
    own = [(at, value) for at, value in enumerate(a) if symbol(value) is None]
    other = [(at, value) for at, value in enumerate(b) if symbol(value) is None]
    if len(own) != len(other):
        return None
    found = [
        Changed(at_a, at_b, said)
        for (at_a, value_a), (at_b, value_b) in zip(own, other, strict=True)
        if value_a != value_b and (said := differing(value_a, value_b))
    ]
    shapes = [(one.at_a, field) for one in found for field in one.fields if field.name == "shape"]
    known = {batch(field) for at, field in shapes if at not in static}
    batches = {field: one for _, field in shapes if (one := batch(field)) and one in known}
    return [one._replace(fields=tuple(batches.get(x, x) for x in one.fields)) for one in found]


def one_cause(changed: Sequence[Changed]) -> bool:
    """Whether all that changed in the inputs is one thing: a batch, a dtype or a device."""
    told = {field for one in changed for field in one.fields if field.name not in _WITH_SHAPE}
    return len(told) == 1 and next(iter(told)).name in ("batch", "dtype", "device")
