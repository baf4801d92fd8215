"""TileLang: tilelang/cache/kernel_cache.py, binary_cache.py, autotuner/param.py (save_to_disk) and
jit/adapter/*/kernel_cache.py of 0.1.15. A whole folder is renamed into its place. What lies in
``py-cache`` is Python code of any name, which tells nothing of its writer.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX32, HEX64, VERSION, Cache, Form

_HOME = rf"(?P<version>{VERSION})/[a-z0-9]+-\w+"
_FILES = (
    r"(?:device|host)_kernel\.(?:cu|py)|executable\.so|kernel_lib\.so|launcher_lib\.so|"
    r"kernel\.(?:cubin|py)|params\.json|resource_usage\.json|manifest\.json"
)
_TUNED = r"best_config\.json|function\.pkl|out_idx\.json|latency\.json"
_BINARY = r"kernel\.(?:cubin|fatbin|aibin)|metadata\.json"

CACHE = Cache(
    "TileLang",
    ("$TILELANG_CACHE_DIR", "$SGLANG_CACHE_DIR/tilelang", "~/.tilelang/cache",
     "~/.cache/sglang/tilelang"),
    r"tilelang|\.tilelang/cache",
    "tilelang",
    (
        Form(rf"{_HOME}/kernels/(?P<key>{HEX64})", _FILES, r"\g<entry>/manifest.json",
             r'\{\s*"files": \{'),
        Form(rf"{_HOME}/autotuner/(?P<key>{HEX64})", rf"{_FILES}|{_TUNED}",
             r"\g<entry>/latency.json", r'\{"latency": '),
        Form(rf"(?P<version>{VERSION})/[a-z]+-binaries/(?P<key>{HEX64})", _BINARY,
             r"\g<entry>/metadata.json", r'\{\s*"format": "tilelang\.'),
        Form(rf"{_HOME}/\.staging/{HEX64}_\d{{1,10}}_[0-9a-f]{{8}}",
             rf"{_FILES}|{_TUNED}|\.[\w.]{{1,60}}_[0-9a-f]{{32}}\.tmp(?:\.so)?", kind="lock"),
        Form(rf"{VERSION}/\.staging/[a-z]+-binaries/{HEX64}\.\d{{1,10}}\.{HEX32}", _BINARY,
             kind="lock"),
    ),
    r"/libtilelang\.so",
)  # fmt: skip
