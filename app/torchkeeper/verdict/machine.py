"""The machine under an interpreter, and what PyTorch's variables are set to: no torch needed."""

from __future__ import annotations

import contextlib
import os
import re

from torchkeeper.settings import known
from torchkeeper.verdict.probed import Switch

#: Flags of a processor that stand for vector instructions compilers use.
_VECTOR = re.compile(
    r"(sse4_[12]|avx\w*|fma|f16c|bmi[12]|amx\w*|asimd\w*|sve\w*|neon|i8mm|bf16|vsx)$"
)
#: What decides whether a cache is used, and where it is: names and variables.
_SWITCHES = (
    ("fx_graph_cache", "TORCHINDUCTOR_FX_GRAPH_CACHE"),
    ("autograd_cache", "TORCHINDUCTOR_AUTOGRAD_CACHE"),
    ("fx_graph_remote_cache", "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"),
    ("autograd_remote_cache", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE"),
    ("autotune_remote_cache", "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE"),
    ("bundled_autotune_remote_cache", "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE"),
    ("job_id", "TORCH_COMPILE_JOB_ID"),
    ("force_disable_caches", "TORCHINDUCTOR_FORCE_DISABLE_CACHES"),
)
#: These may hold a password, so that only whether they are set is told.
_SECRET = (
    ("redis", "TORCHINDUCTOR_REDIS_URL"),
    ("triton_remote_cache", "TRITON_REMOTE_CACHE_BACKEND"),
)


def cpu_says(*names: str) -> str:
    """What Linux says of this CPU under one of these names; "" where it does not."""
    with (
        contextlib.suppress(OSError),
        open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file,
    ):
        for line in file:
            name, _, value = line.partition(":")
            if name.strip().lower() in names:
                return value.strip()
    return ""


def cpu_flags() -> list[str]:
    """All that this CPU can do, as Linux calls it; none where it does not say."""
    return sorted(set(cpu_says("flags", "features").split()))


def vector_instructions(flags: list[str]) -> list[str]:
    return [flag for flag in flags if _VECTOR.match(flag)]


def libc() -> str | None:
    """The C library under this process, as in "glibc 2.36"; None for another than the GNU one."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.confstr("CS_GNU_LIBC_VERSION") or None
    return None


def driver() -> str | None:
    """The version of NVIDIA's or AMD's kernel driver, or None."""
    for path, pattern in (
        ("/proc/driver/nvidia/version", r"Module\s+(?:for \S+\s+)?([\d.]+)"),
        ("/sys/module/amdgpu/version", r"(\S+)"),
    ):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            if found := re.search(pattern, file.read()):
                return found[1]
    return None


def settings(cache_dir: str) -> list[Switch]:
    """The cache folders and switches; the value None: nobody set it, it is torch's own default."""
    env = os.environ
    by = "TORCHINDUCTOR_CACHE_DIR" if env.get("TORCHINDUCTOR_CACHE_DIR") else None
    found: list[Switch] = [{"name": "cache_dir", "value": cache_dir, "by": by}]
    triton = env.get("TRITON_CACHE_DIR")
    home = env.get("TRITON_HOME") or os.path.expanduser("~")
    alone = os.path.abspath(triton or os.path.join(home, ".triton", "cache"))
    decided = "TRITON_CACHE_DIR" if triton else "TRITON_HOME" if env.get("TRITON_HOME") else None
    led = "TRITON_CACHE_DIR" if triton else by
    within = triton or os.path.join(cache_dir, "triton")
    found.append({"name": "triton_cache_dir", "value": within, "by": led})
    found.append({"name": "triton_alone_cache_dir", "value": alone, "by": decided})
    for name, variable in _SWITCHES:
        decided = known.decides(env, variable)
        told = known.value(known.BY_NAME[variable], env[decided]) if decided else None
        told = told[:80] if isinstance(told, str) else told
        found.append({"name": name, "value": told, "by": decided})
    for name, variable in _SECRET:
        value, decided = ("set", variable) if variable in env else (None, None)
        found.append({"name": name, "value": value, "by": decided})
    return found
