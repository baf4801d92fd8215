"""NVIDIA's CuTe DSL: save_ir and dump_cache_to_path of base_dsl/cache_helpers.py, and
get_module_hash of base_dsl/dsl.py, as FlashInfer 0.7.2 has them below data/cutlass. A compiled
module is MLIR's bytecode; that of an import is renamed from a folder that names its process. Helion
has a cache for each device (helion_cute_cache_dir of its autotuner/local_cache.py).
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX64, Cache, Form

_MODULE, _UUID = rf"cute_dsl_{HEX64}\.mlir", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

CACHE = Cache(
    "CuTe DSL",
    ("$CUTE_DSL_CACHE_DIR", "{tmp}/{user}/cutlass_python_cache"),
    r"cutlass_python_cache|(?:helion/)?cute/\d{1,3}",
    "cutlass_python_cache",
    (
        Form("", _MODULE, head=r"ML\xefR", each=True),
        Form(rf"tmp\.pid_\d{{1,10}}_{_UUID}", _MODULE, kind="lock"),
    ),
    r"/nvidia_cutlass_dsl/",
)
