"""What stands for tensors, numbers and the GPU in a launch of a Triton kernel that only compiles.

How Triton sees an argument: ``specialize_impl`` in triton/runtime/jit.py,
``get_tensor_specialization`` of its backends.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_ARGUMENT = re.compile(r"(?P<pointer>\*k?)?(?P<type>\w+?)(?::(?P<known>16|1))?")
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([0-9, ]+)\]>")
#: The names of torch.dtype for Triton's types that have others there (triton/_utils.py).
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
_SAME = {"i1": "u1"}


@dataclass(frozen=True)
class _Dtype:
    """A dtype: Triton looks at its name, and asks for what follows where a tensor is described."""

    name: str
    itemsize: int
    is_floating_point: bool

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Tensor:
    """A tensor of which only the address is looked at, and how many bytes lie behind it."""

    dtype: _Dtype
    address: int

    def data_ptr(self) -> int:
        return self.address

    @staticmethod
    def ptr_range() -> int:
        """Of AMD's backend: below 2 GiB, as almost all tensors are."""
        return 0


class Driver:
    """Takes the place of the GPU's driver, which Triton asks what it is to compile for."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        return self._target

    @staticmethod
    def get_current_device() -> int:
        return 0

    @staticmethod
    def get_current_stream(_: int) -> int:
        return 0

    @classmethod
    @contextlib.contextmanager
    def active(cls, target: Any) -> Iterator[None]:
        """While it lasts, Triton compiles for this target."""
        from triton.runtime import driver  # noqa: TID251

        # Asking for the active one would look for a GPU.
        before = driver._active
        driver.set_active(cls(target))
        try:
            yield
        finally:
            driver._active = before


def given(text: str) -> Any:
    """What stands for an argument of a signature such as ``*fp32:16``, ``i32``, ``i32:1``.

    A number that is not known to be a multiple of 16 is none, nor 1. Raises ValueError.
    """
    described = _DESCRIPTOR.fullmatch(text)
    if described:
        return _descriptor(described[1], [int(one) for one in described[2].split(",")])
    matched = _ARGUMENT.fullmatch(text)
    if matched is None:
        raise ValueError(text)
    kind, known = matched["type"], matched["known"]
    if matched["pointer"]:
        return _Tensor(_dtype(kind), 4096 if known else 4104)
    if kind in ("i1", "u1"):
        return True
    if kind.startswith(("fp", "bf")):
        return 1.5
    if known == "1":
        return 1
    least = {"i64": 1 << 32, "u64": 1 << 63}.get(kind, 16)
    return least if known else least + 3


def taken(value: Any) -> Any:
    """A constant as the kernel takes it: ``"tl.float16"`` is Triton's own dtype."""
    if isinstance(value, str) and value.startswith("tl."):
        import triton.language as tl  # noqa: TID251

        found = getattr(tl, value[3:], None)
        if isinstance(found, tl.dtype):
            return found
    return value


def unlike(asked: str, made: Any) -> bool:
    """Whether a launch gives an argument another type than was asked for."""
    if made == "constexpr":
        return not asked.endswith(":1")
    wanted = asked.partition(":")[0].replace(" ", "")
    return str(made).replace(" ", "") != _SAME.get(wanted, wanted).replace("*i1", "*u1")


def _dtype(name: str) -> _Dtype:
    bits = re.search(r"\d+", name)
    size = _BYTES.get(bits[0] if bits else "", 1)
    return _Dtype(name, size, name.startswith(("fp", "bf")))


def _descriptor(kind: str, block: list[int]) -> Any:
    """A tensor that is described to the GPU, of any shape that its block fits in."""
    from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: TID251

    strides = [1]
    for size in reversed(block[1:]):
        strides.insert(0, strides[0] * max(size, 16))
    return TensorDescriptor(_Tensor(_dtype(kind), 4096), list(block), strides, list(block))
