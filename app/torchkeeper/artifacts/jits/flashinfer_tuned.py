"""What FlashInfer has tuned: AutoTuner.save_configs of flashinfer/autotuner/autotuner.py and
ManagedAutotuneCache of autotune_cache.py in 0.7.2, under the names that SGLang 0.5.23
(srt/model_executor/runner/flashinfer_autotune.py, multimodal_gen) and vLLM 0.33.0
(model_executor/warmup/flashinfer_autotune_cache.py) give it. Each file tells the versions and the
GPU that it is for; FlashInfer takes none of a file that is for others.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX16, HEX64, VERSION, Cache, Form

_HEAD = r'\{\s*"_metadata": \{'
_GPU = r"sm(?P<arch>\d{2,3})"

CACHE = Cache(
    "FlashInfer tuning",
    ("$FLASHINFER_AUTOTUNE_CACHE_DIR", "$VLLM_FLASHINFER_AUTOTUNE_CACHE_DIR",
     "$FLASHINFER_WORKSPACE_BASE/.cache/flashinfer/autotune",
     "$SGLANG_CACHE_DIR/flashinfer/autotune", "$VLLM_CACHE_ROOT/flashinfer_autotune_cache",
     "~/.cache/flashinfer/autotune", "~/.cache/sglang/flashinfer/autotune",
     "~/.cache/sglang/.cache/flashinfer/autotune", "$XDG_CACHE_HOME/vllm/flashinfer_autotune_cache",
     "~/.cache/vllm/flashinfer_autotune_cache"),
    r"flashinfer/autotune|flashinfer_autotune_cache",
    "flashinfer_autotune_cache",
    (
        Form(rf"(?P<version>{VERSION})/{_GPU}/{HEX16}(?:/runs)?",
             r"(?P<name>rank_tp\d{1,4}_pp\d{1,4}_dp\d{1,4})(?:_gpu[\w-]{1,80})?"
             r"(?:\.\d{8}_\d{6}\.[0-9a-f]{32})?\.json", head=_HEAD, each=True),
        Form(rf"flux3_prims_ts/[\w.-]{{1,100}}/{HEX16}", r"(?P<name>rank\d{1,4})\.json",
             head=_HEAD, each=True),
        Form(rf"(?:(?P<version>{VERSION})/(?P<arch>\d{{2,3}}[a-z]?(?:_\d{{2,3}}[a-z]?)*)/)?{HEX64}",
             r"autotune_configs(?:_(?P<name>dp\d{1,4}_rank\d{1,4}))?\.json", head=_HEAD, each=True),
        Form(rf"v2/{HEX16}", r"(?P<name>manifest)\.json", head=r'\{[^{}]*"cache_schema": "v2"',
             each=True),
        Form(rf"v2/{HEX16}/entries", r"[0-9a-f]{24}\.json", head=r'\{\s*"key": "',
             each=True),
    ),
    r"/flashinfer/",
)  # fmt: skip
