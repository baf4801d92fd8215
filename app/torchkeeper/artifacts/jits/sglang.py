"""SGLang's own: JITPersistentCache and get_jit_cache of sglang/kernels/jit/cute_aot_cache.py in
0.5.23, objects of CuTe DSL below a hash of their sources, Python, CUDA and GPU. Other compilers'
caches it has below its folder (srt/environ.py, third_party_cache_defaults).
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX64, Cache, Form

_ENTRY = rf"{HEX64}/(?P<name>[a-z]\w{{0,100}})"

CACHE = Cache(
    "SGLang",
    ("$SGLANG_CUTE_AOT_CACHE_DIR", "$SGLANG_CACHE_DIR/cute_aot", "~/.cache/sglang/cute_aot"),
    r"cute_aot",
    "cute_aot",
    (
        Form(_ENTRY, rf"{HEX64}\.o", head=r"\x7fELF", each=True),
        Form(_ENTRY, rf"{HEX64}\.lock", r"\g<entry>/{stem}.o", r"\x7fELF", kind="lock", each=True),
    ),
    r"/sgl_kernel/",
)
