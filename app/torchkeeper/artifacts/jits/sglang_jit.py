"""SGLang's own kernels: build_key_dir, commit_build and _publish of sglang/kernels/jit/utils/
compile/cache.py, generate of ninja.py and load_jit of loader.py in 0.5.23. A folder is named after
what is known before a build, and the one in it after all that the compiler has read; SGLang looks
whether that is still so. Where packages and the cache lie is no part of either.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX16, HEX32, Cache, Form

_TARGET = r"(?:sm(?P<arch>\d{2,3}[a-z]?)|mp\d{2,3}|gfx[0-9a-f]{3,5}|sail_[\w.-]{1,60})"
_SCOPE = rf"(?P<scope>{_TARGET}/(?P<name>sgl_kernel_jit_[^/]{{1,200}})/build-{HEX16})"
_FILES = r"build\.ninja|\.ninja_(?:log|deps)|sgl_deps\.json|main\.cpp|cuda\.cu|{name}\.so"
_OBJECT = r"[\w.+-]{1,200}_\d{1,3}\.o"
_ENTRY, _BUILD = rf"{_SCOPE}/deps-(?P<key>{HEX16})", r"\g<entry>/build.ninja"
_BEGIN, _LINK = r"ninja_required_version = 1\.3\ncxx = {rest}", r"\nbuild {name}\.so: link "

CACHE = Cache(
    "SGLang JIT",
    ("$SGLANG_JIT_CACHE_DIR", "~/.cache/sglang/jit"),
    r"sglang/jit|sglang_jit",
    "sglang_jit",
    (
        Form(_ENTRY, _FILES, _BUILD, _BEGIN + _LINK, r"\g<scope>/.lock"),
        # What is named in the build.
        Form(_ENTRY, _OBJECT, _BUILD, _BEGIN + r"\nbuild {file}: {rest}" + _LINK),
        Form(_ENTRY, rf"{_OBJECT}\.d", _BUILD, _BEGIN + r"\nbuild {stem}: {rest}" + _LINK),
        Form(_SCOPE, r"\.lock", kind="lock"),
        Form(rf"{_SCOPE}/\.staging-{HEX32}", rf"{_FILES}|{_OBJECT}(?:\.d)?", kind="lock"),
    ),
    r"/sgl_kernel_jit_",
)
