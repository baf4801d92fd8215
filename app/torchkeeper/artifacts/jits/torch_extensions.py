"""PyTorch's C++ extensions: _get_build_directory, _jit_compile and _write_ninja_file of
torch/utils/cpp_extension.py in torch 2.13.0. The default has a folder for each Python and CUDA;
``TORCH_EXTENSIONS_DIR`` has none, and a source there may be a user's own (``build_directory``).
ninja tells what is stale. The file ``lock`` has no holder: whoever finds it waits, for ever if a
crash has left it; so it stays a user's.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import Cache, Form

_NAME = r"(?P<name>[A-Za-z_]\w{0,199})"
_DEFAULT = rf"(?P<version>py\d{{2,4}}t?_(?:cpu|cu\d{{2,4}}|rocm\w{{2,20}}))/{_NAME}"
_BUILD = r"\g<entry>/build.ninja"
_NINJA = (
    r"ninja_required_version = 1\.3\ncxx = [^\n]*\n{rest}-DTORCH_EXTENSION_NAME={name}(?:_v\d+)?\s"
)
_MADE = r"build\.ninja|\.ninja_(?:log|deps)|{name}(?:_v\d{1,4})?(?:\.so)?"
_OBJECT, _NAMED = r"[\w.+-]{1,250}\.o", "{rest}build {file}: "

CACHE = Cache(
    "PyTorch extensions",
    ("$TORCH_EXTENSIONS_DIR", "$XDG_CACHE_HOME/torch_extensions", "~/.cache/torch_extensions"),
    r"torch_extensions",
    "torch_extensions",
    (
        Form(_DEFAULT, rf"{_MADE}|main\.cpp|cuda\.cu|sycl\.sycl", _BUILD, _NINJA,
             named=False),
        Form(_DEFAULT, _OBJECT, _BUILD, _NINJA + _NAMED, named=False),
        Form(_NAME, _MADE, _BUILD, _NINJA, named=True),
        Form(_NAME, _OBJECT, _BUILD, _NINJA + _NAMED, named=True),
    ),
    r"/torch_extensions/",
)  # fmt: skip
