"""tvm-ffi: tvm_ffi/cpp/extension.py (build_inline, _build_impl, _generate_ninja_build) and
_optional_torch_c_dlpack.py of apache-tvm-ffi 0.1.15. It builds in the folder, under its lock, and
has no version in any name.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX16, Cache, Form

CACHE = Cache(
    "tvm-ffi",
    ("$TVM_FFI_CACHE_DIR", "~/.cache/tvm-ffi"),
    r"tvm-ffi",
    "tvm-ffi",
    (
        Form(rf"(?P<name>[^/]{{1,200}})_(?P<key>{HEX16})",
             r"build\.ninja|\.ninja_(?:log|deps)|lock|main\.cpp|cuda\.cu|"
             r"(?:c|cpp|cuda)_\d{1,3}\.o(?:\.d)?|{name}\.(?:so|o)",
             r"\g<entry>/build.ninja", r"ninja_required_version = 1\.3\n{rest}/tvm_ffi/",
             r"\g<entry>/lock"),
        Form("", r"libtorch_c_dlpack_addon_torch\d{2,3}-[a-z]+(?:-[0-9a-f]{8})?\.so",
             head=r"\x7fELF", each=True),
        Form("", r"libtorch_c_dlpack_addon_torch\d{2,3}-[a-z]+(?:-[0-9a-f]{8})?\.so\.lock",
             kind="lock", each=True),
    ),
    r"/tvm_ffi/",
)  # fmt: skip
