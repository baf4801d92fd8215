"""Whether a built object is whole: PyTorch loads any ``.so`` that exists, finished or not; and for
which GPUs it is.
"""

from __future__ import annotations

import struct

#: What stands in an object that launches kernels: the library that it needs or opens, and what it
#: calls of that (driver.c and driver.py of triton/backends, and of Intel's).
_RUNTIMES = {
    "hip": (b"libamdhip64.so", b"hipModuleLaunchKernel"),
    "cuda": (b"libcuda.so", b"cuLaunchKernel"),
    "xpu": (b"libze_loader.so", b"zeCommandListAppendLaunchKernel"),
}
#: Bytes from the start of a file that ``complete`` needs.
HEADER = 64


def complete(head: bytes, size: int) -> bool:
    """Whether a file of ``size`` bytes that starts with ``head`` is an ELF file to its end.

    The linker writes the section header table last and at the end, so a file that stops before
    that table ends was never finished, or was cut.
    """
    if len(head) < HEADER or head[:4] != b"\x7fELF" or head[4] not in (1, 2):
        return False
    order = "<" if head[5] == 1 else ">"
    if head[4] == 2:
        (offset,) = struct.unpack_from(order + "Q", head, 40)
        entry, count = struct.unpack_from(order + "HH", head, 58)
    else:
        (offset,) = struct.unpack_from(order + "I", head, 32)
        entry, count = struct.unpack_from(order + "HH", head, 46)
    return bool(offset and count and offset + entry * count <= size)


def backend(data: bytes) -> str | None:
    """For which sort of GPU an object is, as Triton names them; None where it does not tell."""
    if data[:4] != b"\x7fELF":
        return None
    told = [name for name, signs in _RUNTIMES.items() if any(sign in data for sign in signs)]
    return told[0] if len(told) == 1 else None
