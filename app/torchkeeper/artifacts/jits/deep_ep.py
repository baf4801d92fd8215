"""DeepEP, which compiles as DeepGEMM does: csrc/jit/compiler.hpp of github.com/deepseek-ai/DeepEP,
and its deep_jit since 2026. Where no folder is called after it, the source of a kernel tells.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.deep_gemm import FORMS
from torchkeeper.artifacts.jits.form import Cache

CACHE = Cache(
    "DeepEP",
    ("$EP_JIT_CACHE_DIR", "$DJ_JIT_CACHE_DIR", "~/.deep_ep", "~/.dj"),
    r"\.?deep_ep",
    "deep_ep",
    FORMS,
    r"/deep_ep[/_]",
    r"#include <deep_ep/",
)
