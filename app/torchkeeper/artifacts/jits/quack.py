"""QuACK: jit_cache and get_cache_path of quack/cache/jit.py in 0.6.5. The folder is a hash of the
sources, Python, CUTLASS and tvm-ffi; an object that cannot be loaded is removed. What it tunes
(quack/autotuner.py) is in the form of Triton's cache.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX64, Cache, Form

CACHE = Cache(
    "QuACK",
    ("$QUACK_CACHE_DIR", "{tmp}/{user}/quack_cache"),
    r"quack_cache",
    "quack_cache",
    (
        Form(HEX64, rf"{HEX64}\.o", head=r"\x7fELF", each=True),
        Form(HEX64, rf"{HEX64}\.lock", r"\g<entry>/{stem}.o", r"\x7fELF", kind="lock", each=True),
    ),
    r"/nvidia_cutlass_dsl/",
)
