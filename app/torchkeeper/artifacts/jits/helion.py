"""Helion: LocalAutotuneCache.put of helion/autotuner/local_cache.py, and the backward kernels of
helion/experimental/autodiff.py in 1.5.1. What it tunes for is in the file, not in its name. By
default it is in PyTorch's folder, ``helion`` there. Below ``triton/<device>`` are Triton's kernels
(layout), below ``cute/<device>`` those of CuTe DSL.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX32, HEX64, Cache, Form

CACHE = Cache(
    "Helion",
    ("$HELION_CACHE_DIR",),
    r"helion",
    "helion",
    (
        Form("", rf"{HEX64}\.best_config", head=r'\{\s*"config": "\{', each=True),
        Form("backward", rf"(?P<name>helion_bwd)_{HEX32}\.py",
             head=r'"""\nAuto-generated Helion backward kernel', each=True),
    ),
    r"/helion/",
)  # fmt: skip
