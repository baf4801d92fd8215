"""What steers Triton's own cache. Versions are Triton's.

Facts of Triton 3.5.1, 3.6.0 and 3.7.1, from triton/knobs.py, triton/runtime/cache.py,
triton/runtime/autotuner.py and triton/compiler/compiler.py.
"""

from __future__ import annotations

from torchkeeper.settings.setting import Setting

_KNOBS = "triton/knobs.py"
_BACKEND = ("TRITON_REMOTE_CACHE_BACKEND",)

SETTINGS: tuple[Setting, ...] = (
    Setting("TRITON_CACHE_DIR", "folder", "text", "folders",
            "The folder of Triton's kernels; without it, a folder in the cache folder.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.dir", False),
    Setting("TRITON_HOME", "folder", "text", "folders",
            "Where Triton that is used without torch.compile has its .triton/cache.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.home_dir", False,
            conflicts=("TRITON_CACHE_DIR",)),
    Setting("TRITON_CACHE_MANAGER", "class", "text", "triton",
            "The class that keeps kernels; for a server, triton.runtime.cache:RemoteCacheManager.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.manager_class", False),
    Setting("TRITON_REMOTE_CACHE_BACKEND", "class", "text", "triton",
            "The class that reaches the server; for Redis, "
            "triton.runtime.cache:RedisRemoteCacheBackend.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.remote_manager_class", False,
            needs=("TRITON_CACHE_MANAGER",)),
    Setting("TRITON_REDIS_KEY_FORMAT", "text", "text", "triton",
            "How Triton names its keys on the server.",
            (("3.5", "triton:{key}:{filename}"),), _KNOBS, "triton.knobs.redis.key_format", False,
            needs=_BACKEND),
    Setting("TRITON_REDIS_HOST", "host", "text", "triton",
            "The host of Triton's Redis server.",
            (("3.5", "localhost"),), _KNOBS, "triton.knobs.redis.host", False, needs=_BACKEND,
            secret=True),
    Setting("TRITON_REDIS_PORT", "port", "number", "triton",
            "The port of Triton's Redis server.",
            (("3.5", "6379"),), _KNOBS, "triton.knobs.redis.port", False, needs=_BACKEND),
    Setting("TRITON_ALWAYS_COMPILE", "switch", "triton", "triton",
            "Compiles every kernel anew, whatever the cache has.",
            (("3.5", "0"),), _KNOBS, "triton.knobs.compilation.always_compile", False),
    Setting("TRITON_STORE_BINARY_ONLY", "switch", "triton", "triton",
            "Keeps of each kernel only what runs, without the steps before.",
            (("3.5", "0"),), _KNOBS, "triton.knobs.compilation.store_binary_only", False),
    Setting("TRITON_CACHE_AUTOTUNING", "switch", "triton", "triton",
            "Keeps what triton.autotune of a program's own kernels found.",
            (("3.5", "0"),), _KNOBS, "triton.knobs.autotuning.cache", False),
    Setting("TRITON_INTERPRET", "switch", "triton", "triton",
            "Interprets kernels on the CPU: none is compiled, and none is kept.",
            (("3.5", "0"),), _KNOBS, "triton.knobs.runtime.interpret", False),
)  # fmt: skip
