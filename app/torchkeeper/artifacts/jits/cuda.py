"""The cache of NVIDIA's driver, of kernels that it compiles from PTX (``CUDA_CACHE_PATH`` in CUDA's
programming guide). The driver is closed: what its files are called and how they begin is written
nowhere. So it is found and sized, and nothing in it is taken for an entry. SGLang sets the variable
to a folder of its own (srt/environ.py of 0.5.23).
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import Cache

CACHE = Cache(
    "CUDA driver",
    ("$CUDA_CACHE_PATH", "$SGLANG_CACHE_DIR/nv", "~/.nv/ComputeCache", "~/.cache/sglang/nv"),
    r"ComputeCache",
    "ComputeCache",
    (),
    r"/libcuda\.so",
)
