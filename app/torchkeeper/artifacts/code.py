"""Generated sources and built objects (PyCodeCache, CppCodeCache in torch/_inductor/codecache.py).

A C++ source does not say which kernel it is: its function is always called ``kernel``. The Python
module that PyTorch generated for the graph holds the same text under the kernel's name, so both
are reduced to a digest that joins them.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from torchkeeper.artifacts.layout import VLLM_FACTORS, is_vllm

_KERNEL = re.compile(
    r"^(\w{1,300}) = async_compile\.cpp\w*\((?:\[[^\]]*\], )?r?'''(.*?)'''",
    re.DOTALL | re.MULTILINE,
)
_TRITON = re.compile(r"^def (triton_\w{1,300})\(", re.MULTILINE)
_TRITON_CC = re.compile(r"DeviceProperties\(type='(\w{1,20})'.{0,200}?cc='?(\w{1,20})'?", re.DOTALL)
_AOT_ID = re.compile(r"^# AOT ID: \['(\w{1,80})'\]", re.MULTILINE)
_CHECK = re.compile(r"\b_*(\w+?)_chk_kernel")
_BINDINGS = "\n// Python bindings to call"
_DEVICES = (("empty_strided_cuda(", "cuda"), ("empty_strided_xpu(", "xpu"))

#: The last is vLLM's; other JSON beside code is AOTInductor's and says nothing.
SOURCES = (".py", ".cpp", ".h", ".cu", ".metal", VLLM_FACTORS)


def digest(text: str) -> str:
    """What joins a kernel's text in a Python module with its C++ source."""
    return hashlib.sha256(
        text.partition(_BINDINGS)[0].strip().encode("utf-8", "replace")
    ).hexdigest()[:24]


def kernels(module: str) -> list[tuple[str, str]]:
    """(name, digest) of every C++ kernel in a generated Python module."""
    return [(match[1], digest(match[2])) for match in _KERNEL.finditer(module)]


def facts(texts: dict[str, bytes], full: bool) -> dict[str, Any]:
    """What the sources of one stem are: name, device where the text tells, kernels, digest.

    texts: the source files by name, each possibly cut.
    """
    found: dict[str, Any] = {"name": None, "device": None, "kernels": []}
    for name, data in sorted(texts.items()):
        text = data.decode("utf-8", "replace")
        if name.endswith(".py"):
            found |= _module(text)
        elif name.endswith((".cpp", ".cu")):
            found["digest"] = digest(text)
            if check := _CHECK.search(text):
                found["name"] = f"check for {check[1].upper()}"
                found["device"] = "cpu"
    if any(map(is_vllm, texts)):
        found["name"] = "vLLM's graph and key factors"
    if full:
        found["sources"] = {n: d.decode("utf-8", "replace") for n, d in sorted(texts.items())}
    return found


def _module(text: str) -> dict[str, Any]:
    if triton := _TRITON.search(text):
        target = _TRITON_CC.search(text)
        return {"name": triton[1], "device": f"{target[1]}:{target[2]}" if target else None}
    graph = _AOT_ID.search(text)
    device = next((name for call, name in _DEVICES if f" = {call}" in text), "cpu")
    return {
        "name": f"graph {graph[1]}" if graph else None,
        "device": device if graph else None,
        "kernels": kernels(text),
    }
