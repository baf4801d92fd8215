"""FlashInfer: flashinfer/jit/env.py, core.py (JitSpecNvcc) and cpp_ext.py of 0.7.2. Its version and
the GPUs are folders; ninja tells what is stale. Sources that it generates are known by the build
that is made of them. What it downloads, and what CuTe makes for it, has names of any form.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import VERSION, Cache, Form

_HOME = rf"(?P<home>(?P<version>{VERSION})(?:/(?P<arch>\d{{2,3}}[a-z]?(?:_\d{{2,3}}[a-z]?)*))?)"
_NAME = r"(?P<name>(?!tmp/?$)[^/]{1,250})"
_CONFIG = (
    r"(?:batch_(?:attention|decode|pod|(?:prefill|mla)(?:_sm90)?)|single_(?:decode|prefill(?:_sm90)?)|"
    r"pod|mla|checkpointing_ssu|selective_state_update|replayssm_materialize|rmsnorm_silu)_config"
    r"\.inc"
)
_BUILD = r"\g<home>/cached_ops/\g<name>/build.ninja"
_NINJA = r"ninja_required_version = 1\.3\nname = {name}\n"

CACHE = Cache(
    "FlashInfer",
    ("$FLASHINFER_WORKSPACE_BASE/.cache/flashinfer", "$SGLANG_CACHE_DIR/.cache/flashinfer",
     "~/.cache/flashinfer", "~/.cache/sglang/.cache/flashinfer"),
    r"flashinfer",
    "flashinfer",
    (
        Form(rf"{_HOME}/cached_ops/{_NAME}",
             r"build\.ninja|\.ninja_(?:log|deps)|{name}\.so",
             _BUILD, _NINJA, r"\g<home>/cached_ops/tmp/\g<name>.lock"),
        # What is named in the build.
        Form(rf"{_HOME}/cached_ops/{_NAME}", r"[\w.+-]{1,250}\.o",
             _BUILD, _NINJA + "{rest}/{file}: "),
        Form(rf"{_HOME}/generated/{_NAME}", r"[\w.+-]{1,250}\.(?:cu|cpp|cc)",
             _BUILD, _NINJA + r"{rest}/generated/{name}/{file}\n"),
        Form(rf"{_HOME}/generated/{_NAME}", _CONFIG, _BUILD, _NINJA),
        Form(rf"{_HOME}/cached_ops/tmp", r"[^/]{1,250}\.lock",
             r"\g<home>/cached_ops/{stem}/build.ninja", _NINJA.replace("{name}", "{stem}"),
             kind="lock", each=True),
    ),
    r"/tvm_ffi/",
)  # fmt: skip
