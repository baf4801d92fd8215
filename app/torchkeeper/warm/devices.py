"""What there is to compile for, and with: devices as torch sees them, and the C++ compiler."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.settings.checks.folders import UNQUOTED
from torchkeeper.warm.shapes import Device


def choose_device(torch: Any, wanted: str | None) -> tuple[str, Device]:
    """The device to compile for, and what to say of it: type, name, and why as a code. why:
    "asked", "accelerator", "no-accelerator", or "no-triton" where there is a GPU but no Triton that
    can compile for it. Raises Problem("device-missing").
    """
    seen = [kind for kind in ("cuda", "xpu", "mps") if _available(torch, kind)]
    if wanted:
        try:
            asked = torch.device(wanted)
        except RuntimeError as e:
            raise Problem("device-missing", device=wanted) from e
        count = getattr(getattr(torch, asked.type, None), "device_count", lambda: 1)
        if asked.type not in (*seen, "cpu") or (asked.index or 0) >= int(count()):
            raise Problem("device-missing", device=wanted)
        return wanted, {"type": asked.type, "name": _device_name(torch, wanted), "why": "asked"}
    device, why = "cpu", "no-accelerator"
    for kind in seen:
        if kind == "mps" or _has_triton(kind):
            device, why = kind, "accelerator"
            break
        why = "no-triton"
    return device, {"type": device, "name": _device_name(torch, device), "why": why}


def _available(torch: Any, kind: str) -> bool:
    module = getattr(torch.backends if kind == "mps" else torch, kind, None)
    with contextlib.suppress(Exception):
        return bool(module and module.is_available())
    return False


def _has_triton(kind: str) -> bool:
    try:
        from torch.utils._triton import has_triton  # noqa: TID251
    except ImportError:
        return importlib.util.find_spec("triton") is not None
    try:
        return bool(has_triton(kind))
    except TypeError:  # before it took a device
        return bool(has_triton())


def _device_name(torch: Any, device: str) -> str:
    if device == "cpu":
        return "CPU"
    with contextlib.suppress(Exception):
        return str(getattr(torch, torch.device(device).type).get_device_name(device))
    return device


def check_place(place: str) -> None:
    """Raises Problem("place-blank") where nothing can be built for the CPU in a folder. PyTorch
    writes the paths of what is built into a command and splits that as a shell would.
    """
    if UNQUOTED.search(place):
        raise Problem("place-blank", place=place)


def check_compiler() -> None:
    """Raises Problem("compiler-missing") where torch would find no C++ compiler."""
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: TID251
    except ImportError:
        return  # moved: the compile will say so itself
    try:
        get_cpp_compiler()
    except Exception as e:
        raise Problem("compiler-missing", cxx=os.environ.get("CXX")) from e
