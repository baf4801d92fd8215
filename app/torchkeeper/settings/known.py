"""All the settings that steer caches, each described once; tests/settings holds it to torch.

Facts of torch 2.9.1, 2.11.0 and 2.13.0, and of Triton 3.7.1, from the files that ``source`` names.
"""

from __future__ import annotations

from torchkeeper.settings.setting import Setting

_INDUCTOR = "torch/_inductor/config.py"
_FUNCTORCH = "torch/_functorch/config.py"
_DYNAMO = "torch/_dynamo/config.py"
_COMPILER = "torch/compiler/config.py"
_REMOTE = "torch/_inductor/remote_cache.py"
_FOLDER = "torch/_inductor/runtime/cache_dir_utils.py"
_KNOBS = "triton/knobs.py"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "TORCHINDUCTOR_FX_GRAPH_CACHE", "switch", "config", "local",
        "Keeps compiled graphs in the cache folder, and looks for them there.",
        (("2.9", "1"),), _INDUCTOR, "torch._inductor.config.fx_graph_cache", True,
    ),
    Setting(
        "TORCHINDUCTOR_AUTOGRAD_CACHE", "switch", "config", "local",
        "Keeps what AOTAutograd made of a graph, so that tracing its backward is saved, too.",
        (("2.9", "1"),), _FUNCTORCH, "torch._functorch.config.enable_autograd_cache", True,
        needs=("TORCHINDUCTOR_FX_GRAPH_CACHE",),
    ),
    Setting(
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "switch", "config", "local",
        "The master switch: no cache is read or written, whatever else is set.",
        (("2.9", "0"),), _COMPILER, "torch.compiler.config.force_disable_caches", True,
    ),
    Setting(
        "TORCHINDUCTOR_CACHE_DIR", "folder", "text", "folders",
        "The cache folder.", (("2.9", None),), _FOLDER,
    ),
    Setting(
        "TRITON_CACHE_DIR", "folder", "text", "folders",
        "The folder of Triton's kernels; without it, a folder in the cache folder.",
        (("3.0", None),), _KNOBS,
    ),
    Setting(
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "tristate", "tristate", "remote",
        "Keeps compiled graphs on a Redis server, too.",
        (("2.9", None),), _INDUCTOR, "torch._inductor.config.fx_graph_remote_cache", False,
    ),
    Setting(
        "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", "tristate", "tristate", "remote",
        "Keeps what AOTAutograd made of a graph on a Redis server, too.",
        (("2.9", None),), _FUNCTORCH, "torch._functorch.config.enable_remote_autograd_cache", False,
        needs=("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",),
    ),
    Setting(
        "TORCHINDUCTOR_REDIS_URL", "url", "text", "server",
        "The Redis server, as redis://host:port/0.",
        (("2.9", None),), _REMOTE,
        conflicts=("TORCHINDUCTOR_REDIS_HOST", "TORCHINDUCTOR_REDIS_PORT"), secret=True,
    ),
)  # fmt: skip

BY_NAME = {one.name: one for one in SETTINGS}
