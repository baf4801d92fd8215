"""What steers the caches on a Redis server.

Facts of torch 2.9.1 to 2.15.0, of each minor version, from the files that ``source`` names.
"""

from __future__ import annotations

from torchkeeper.settings.setting import Setting
from torchkeeper.settings.table.local import COMPILER, DYNAMO, FUNCTORCH, INDUCTOR, MASTER

_REMOTE = "torch/_inductor/remote_cache.py"
_JOB = ("TORCH_COMPILE_JOB_ID",)

SETTINGS: tuple[Setting, ...] = (
    Setting("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "tristate", "tristate", "remote",
            "Keeps compiled graphs on a Redis server, too.",
            (("2.9", None),), INDUCTOR, "torch._inductor.config.fx_graph_remote_cache", False,
            conflicts=(MASTER,)),
    Setting("TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", "tristate", "tristate", "remote",
            "Keeps what AOTAutograd made of a graph on a Redis server, too.",
            (("2.9", None),), FUNCTORCH, "torch._functorch.config.enable_remote_autograd_cache",
            False, needs=("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",), conflicts=(MASTER,),
            in_key=True),
    Setting("TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE", "tristate", "tristate", "remote",
            "Keeps the best configuration of each Triton kernel on a Redis server, too.",
            (("2.9", None),), INDUCTOR, "torch._inductor.config.autotune_remote_cache", False,
            conflicts=(MASTER,)),
    Setting("TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE", "tristate", "tristate", "remote",
            "Keeps the best configurations of all Triton kernels of a graph together on a Redis "
            "server; needs a GPU.",
            (("2.9", None),), INDUCTOR, "torch._inductor.config.bundled_autotune_remote_cache",
            False, in_key=True),
    Setting("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO", "tristate", "tristate", "remote",
            "Keeps the profile of a job, which sizes it has seen change, on a Redis server, too.",
            (("2.9", None),), DYNAMO, "torch._dynamo.config.automatic_dynamic_remote_pgo", False,
            needs=_JOB, conflicts=(MASTER,)),
    Setting("TORCHINDUCTOR_NON_BLOCKING_REMOTE_CACHE_WRITE", "switch", "config", "remote",
            "Has no effect in the PyTorch that is published, but is part of the keys of entries.",
            (("2.9", "1"),), INDUCTOR, "torch._inductor.config.non_blocking_remote_cache_write",
            True, in_key=True),
    Setting("TORCHINDUCTOR_REDIS_URL", "url", "text", "server",
            "The Redis server, as redis://host:port/0; it goes before host and port.",
            (("2.9", None),), _REMOTE,
            conflicts=("TORCHINDUCTOR_REDIS_HOST", "TORCHINDUCTOR_REDIS_PORT"), secret=True),
    Setting("TORCHINDUCTOR_REDIS_HOST", "host", "text", "server",
            "The host of the Redis server, where no password is asked for.",
            (("2.9", "localhost"),), _REMOTE, conflicts=("TORCHINDUCTOR_REDIS_URL",), secret=True),
    Setting("TORCHINDUCTOR_REDIS_PORT", "port", "number", "server",
            "The port of the Redis server.",
            (("2.9", "6379"),), _REMOTE, conflicts=("TORCHINDUCTOR_REDIS_URL",)),
    Setting("TORCH_COMPILE_STICKY_PGO_READ", "text", "config", "profiles",
            "A job whose profile on the server is read where this job has none yet.",
            (("2.9", None),), COMPILER, "torch.compiler.config.pgo_extra_read_key", False,
            needs=("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO", *_JOB)),
    Setting("TORCH_COMPILE_STICKY_PGO_WRITE", "text", "config", "profiles",
            "A job under whose name the profile is written to the server as well.",
            (("2.9", None),), COMPILER, "torch.compiler.config.pgo_extra_write_key", False,
            needs=("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO", *_JOB)),
)  # fmt: skip
