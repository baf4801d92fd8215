"""What an interpreter and the machine under it are: the facts that decide who can use an entry."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from typing import Any, cast

from torchkeeper.settings import servers
from torchkeeper.stores import places
from torchkeeper.verdict import autograd, commands, constants, machine
from torchkeeper.verdict.probed import Compiler, Device, Env, Remote

# Where programs look for entries at all: which caches are on, and on which server remote ones are.

#: Of torch._dynamo.config, ``debug_…_override``: some graphs of a program are compiled otherwise.
_OVERRIDDEN = ("backend", "dynamo_config", "inductor_config")


def caches() -> dict[str, bool | None]:
    """Whether programs look into the folder for graphs at all, by kind; None where not known."""
    found: dict[str, bool | None] = {"fxgraph": None, "aotautograd": None}
    with contextlib.suppress(Exception):
        from torch._functorch import config as functorch  # noqa: TID251
        from torch._inductor import config as inductor  # noqa: TID251

        if (disabled := _disabled()) is None:
            return found
        # FxGraphCache.prepare_key is not called for a bundle (compile_fx_inner).
        bundled = getattr(functorch, "bundled_autograd_cache", False)
        found["fxgraph"] = not disabled and bool(inductor.fx_graph_cache) and not bundled
        # AOTAutograd's goes with any cache of graphs (check_cacheable in autograd_cache.py).
        graphs = inductor.fx_graph_cache or inductor.fx_graph_remote_cache
        on = not disabled and graphs and getattr(functorch, "enable_autograd_cache", False)
        found["aotautograd"] = bool(on)
    return found


def remote() -> Remote | None:
    """What programs look for on a server; None where not known. A remote cache is on as
    should_use_remote_fx_graph_cache in torch/_inductor/utils.py and its like say of a PyTorch that
    is published: only where that is said, by a variable or in Python.
    """
    try:
        from torch._dynamo import config as dynamo  # noqa: TID251
        from torch._functorch import config as functorch  # noqa: TID251
        from torch._inductor import config as inductor  # noqa: TID251

        if (disabled := _disabled()) is None:
            return None
        bundled = inductor.bundled_autotune_remote_cache
        return {
            "disabled": disabled,
            "redis": importlib.util.find_spec("redis") is not None,
            "server": servers.of_torch(os.environ),
            "triton_server": servers.of_triton(os.environ),
            "fxgraph": bool(inductor.fx_graph_remote_cache),
            "aotautograd": bool(functorch.enable_remote_autograd_cache),
            "autotune": bool(inductor.autotune_remote_cache),
            # Its results go through the local one (AutotuneCacheBundler in autotune_cache.py).
            "bundle": bool(bundled and inductor.autotune_local_cache),
            "pgo": bool(dynamo.automatic_dynamic_remote_pgo),
            "triton": servers.triton_asks(os.environ),
        }
    except Exception:  # noqa: BLE001  # an older or newer torch may be built otherwise
        return None


def _disabled() -> bool | None:
    """Whether nothing is looked for; None where only some graphs of a program are compiled so."""
    from torch._dynamo import config as dynamo  # noqa: TID251
    from torch._inductor import config as inductor  # noqa: TID251

    if any(getattr(dynamo, f"debug_{name}_override", "") for name in _OVERRIDDEN):
        return None
    # Where torch.compile itself is off, nothing is looked for.
    return bool(
        getattr(inductor, "force_disable_caches", False)
        or getattr(dynamo, "disable", False)
        or os.environ.get("TORCHDYNAMO_DISABLE") == "1"
    )


def probe() -> Env:
    """The environment of this process. Imports torch; starts no compile and creates no folder."""
    flags = machine.cpu_flags()
    # What torch does not tell stays unknown; of torch_error nothing is said unless there is one.
    told = dict.fromkeys(name for name in Env.__annotations__ if name != "torch_error")
    facts = cast("Env", told)
    cpu = machine.cpu_says("model name", "hardware", "cpu model")
    facts |= {
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
        # As its maker calls it, else its architecture.
        "cpu": cpu or platform.processor() or platform.machine(),
        "cxx": compiler(),
        "cache_dir": cache_dir(),
        "devices": [],
        "vector": machine.vector_instructions(flags),
        "cpu_flags": flags,
        "libc": machine.libc(),
        "driver": machine.driver(),
        "settings": machine.settings(cache_dir()),
    }
    torch = _torch(facts)
    if torch is not None:
        facts["torch"] = _text(getattr(torch, "__version__", None))
        version = getattr(torch, "version", None)
        facts["torch_git"], facts["cuda"], facts["hip"] = (
            _text(getattr(version, name, None)) for name in ("git_version", "cuda", "hip")
        )
        with contextlib.suppress(Exception):
            facts["threads"] = int(torch.get_num_threads())
        with contextlib.suppress(Exception):
            import triton  # noqa: TID251

            facts["triton"] = _text(getattr(triton, "__version__", None))
        facts["devices"] = _accelerators(torch)
        with contextlib.suppress(Exception):
            facts["cpu_capability"] = _text(torch.backends.cpu.get_cpu_capability())
        with contextlib.suppress(OSError), constants.private_folder():
            facts["torch_key"] = constants.torch_key()
            facts["triton_key"] = constants.triton_key()
            facts["triton_libs"] = constants.triton_libs()
            facts["system"] = constants.system()
            facts["key_factors"] = constants.constants()
            facts["caches"] = caches()
            facts["remote"] = remote()
            facts["autograd"] = autograd.settings()
            facts["vector_bits"] = constants.vector_bits()
            facts["native"] = commands.native(facts)
    facts["devices"].append({"type": "cpu", "name": facts["cpu"], "arch": facts["machine"]})
    return facts


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _torch(facts: Env) -> Any:
    try:
        if importlib.util.find_spec("torch") is None:
            return None
        import torch  # noqa: TID251
    except Exception as e:  # noqa: BLE001  # a broken install may raise anything
        said = [line.strip() for line in str(e).splitlines() if line.strip()]
        facts["torch_error"] = f"{type(e).__name__}: {said[0] if said else ''}"[:400]
        return None
    if getattr(torch, "__version__", None) is None:
        # A folder named torch is importable too, as a package of nothing.
        facts["torch_error"] = "ImportError: the package has no version"
        return None
    return torch


def _accelerators(torch: Any) -> list[Device]:
    """The devices that torch sees beside the CPU, in its order."""
    kinds, found = ["cuda", "xpu", "mps"], []
    with contextlib.suppress(Exception):
        # Such as "hpu" or "npu", which come with packages of their own.
        other = str(torch.accelerator.current_accelerator().type)
        kinds += [other] if other not in (*kinds, "cpu") else []
    for kind in kinds:
        with contextlib.suppress(Exception):
            module = getattr(torch, kind)
            usable = torch.backends.mps if kind == "mps" else module
            if usable.is_available():
                found += [_device(torch, kind, module, i) for i in range(module.device_count())]
    return found


def _device(torch: Any, kind: str, module: Any, index: int) -> Device:
    name, arch, memory, warp = kind, None, None, None
    with contextlib.suppress(Exception):
        name = str(module.get_device_name(index))
    with contextlib.suppress(Exception):
        properties = module.get_device_properties(index)
        memory = _count(properties, "total_memory")
        warp = _count(properties, "warp_size")
        if kind == "cuda" and torch.version.hip:
            # "gfx942:sramecc+:xnack-"; what follows the name are its modes.
            kind, arch = "hip", str(properties.gcnArchName).partition(":")[0]
        elif kind == "cuda":
            arch = f"{properties.major}{properties.minor}"
    return {"type": kind, "name": name, "arch": arch, "memory": memory, "warp": warp}


def _count(properties: Any, name: str) -> int | None:
    value = getattr(properties, name, None)
    return int(value) if isinstance(value, (int, float)) else None


def cache_dir() -> str:
    """The folder PyTorch would use, by the rules of torch/_inductor/runtime/cache_dir_utils.py."""
    return os.path.abspath(os.environ.get("TORCHINDUCTOR_CACHE_DIR") or places.default_folder())


def compiler() -> Compiler | None:
    """The C++ compiler: CXX, and only where that is not set g++ or clang++."""
    asked = os.environ.get("CXX")
    for name in [asked] if asked else ["g++", "clang++"]:
        path = shutil.which(name)
        version = _version_of([path]) if path else None
        with contextlib.suppress(ValueError):
            if path is None and len(words := shlex.split(name)) > 1 and shutil.which(words[0]):
                path, version = name, _version_of(words)  # as in CXX="ccache g++"
        if path is not None and version is not None:
            return {"path": path, "version": version}
    return None


def _version_of(command: list[str]) -> str | None:
    asked, nothing = [*command, "--version"], subprocess.DEVNULL
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.check_output(asked, stdin=nothing, stderr=subprocess.PIPE, timeout=10)
        return said.decode(errors="replace").partition("\n")[0].strip()[:200]
    return None
