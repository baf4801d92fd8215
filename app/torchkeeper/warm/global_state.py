"""What a process has set for everything that it compiles, kept and put back.

A recipe's code sets what it likes: a default dtype, Inductor's options, an environment variable.
All of it is in PyTorch's keys, or decides over what is in them; the next variant in the same
process must find what a fresh process has. Nothing here is a promise of PyTorch: what a version
lacks is passed over.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

#: Modules made by install_config_module (torch/utils/_config_module.py).
_CONFIGS = (
    "torch._inductor.config",
    "torch._dynamo.config",
    "torch._functorch.config",
    "torch.fx.experimental._config",
    "torch.compiler.config",
)
#: Flags of torch (torch/_C/__init__.pyi), which the key of a graph holds (FxGraphHashDetails in
#: torch/_inductor/codecache.py) or a guard asks for: what reads one, and what sets it.
_FLAGS = (
    ("get_default_dtype", "set_default_dtype"),
    ("get_num_threads", "set_num_threads"),
    ("is_grad_enabled", "_C._set_grad_enabled"),
    ("_C._get_float32_matmul_precision", "_C._set_float32_matmul_precision"),
    ("_C._get_cublas_allow_fp16_accumulation", "_C._set_cublas_allow_fp16_accumulation"),
    ("_C._get_cudnn_enabled", "_C._set_cudnn_enabled"),
    ("_C._get_cudnn_benchmark", "_C._set_cudnn_benchmark"),
    ("_C._get_cudnn_deterministic", "_C._set_cudnn_deterministic"),
    ("_C._get_mkldnn_enabled", "_C._set_mkldnn_enabled"),
    ("_C._get_flash_sdp_enabled", "_C._set_sdp_use_flash"),
    ("_C._get_mem_efficient_sdp_enabled", "_C._set_sdp_use_mem_efficient"),
    ("_C._get_math_sdp_enabled", "_C._set_sdp_use_math"),
    ("_C._get_cudnn_sdp_enabled", "_C._set_sdp_use_cudnn"),
    ("is_anomaly_enabled", "set_anomaly_enabled"),
    ("get_rng_state", "set_rng_state"),
)
#: Reductions in lower precision: two flags each (torch/backends/cuda/__init__.py).
_REDUCED = ("fp16_reduced_precision_reduction", "bf16_reduced_precision_reduction")
#: Where TF32 and its like are allowed (torch/backends/__init__.py); what has its own comes last.
_PRECISIONS = (
    ("generic", "all"), ("cuda", "all"), ("mkldnn", "all"),
    ("cuda", "conv"), ("cuda", "rnn"), ("cuda", "matmul"),
    ("mkldnn", "conv"), ("mkldnn", "rnn"), ("mkldnn", "matmul"),
)  # fmt: skip


@contextlib.contextmanager
def put_back(torch: Any) -> Iterator[None]:
    """What is set is set again afterwards, and what was compiled is forgotten."""
    undo = _python() if torch is None else [*_python(), *_torch(torch), *_configs()]
    try:
        yield
    finally:
        for one in undo:
            with contextlib.suppress(Exception):
                one()
        if torch is not None:
            # Models, and what was recorded for CUDA graphs, go before the next needs their memory.
            torch.compiler.reset()
            gc.collect()
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                torch.cuda.empty_cache()


def _python() -> list[Callable[[], object]]:
    environment, path, arguments = dict(os.environ), list(sys.path), list(sys.argv)

    def variables() -> None:
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        for name, value in environment.items():
            if os.environ.get(name) != value:
                os.environ[name] = value

    def arguments_and_path() -> None:
        sys.path[:], sys.argv[:] = path, arguments

    return [variables, arguments_and_path, partial(os.chdir, os.getcwd())]


def _torch(torch: Any) -> list[Callable[[], object]]:
    # As torch.set_default_device does it: a mode on a stack of its own.
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    undo: list[Callable[[], object]] = []
    if context is None:
        undo.append(lambda: torch.set_default_device(None))
    for reader, setter in _FLAGS:
        with contextlib.suppress(Exception):
            undo.append(partial(_at(torch, setter), _at(torch, reader)()))
    warn = torch.is_deterministic_algorithms_warn_only_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled()
    undo.append(partial(torch.use_deterministic_algorithms, deterministic, warn_only=warn))
    matmul = torch.backends.cuda.matmul
    for name in _REDUCED:
        with contextlib.suppress(Exception):
            undo.append(partial(setattr, matmul, f"allow_{name}", getattr(matmul, f"allow_{name}")))
    for backend, operation in _PRECISIONS:
        with contextlib.suppress(Exception):
            was = torch._C._get_fp32_precision_getter(backend, operation)
            setter = torch._C._set_fp32_precision_setter
            undo.append(partial(setter, backend, operation, was))
    for device in ("cpu", "cuda"):
        with contextlib.suppress(Exception):
            on, kind = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
            undo.append(partial(torch.set_autocast_enabled, device, on))
            undo.append(partial(torch.set_autocast_dtype, device, kind))
    return undo


def _configs() -> list[Callable[[], object]]:
    undo: list[Callable[[], object]] = []
    for name in _CONFIGS:
        with contextlib.suppress(Exception):
            module: Any = importlib.import_module(name)
            # One that stands for another has nothing of its own.
            own = [key for key, entry in module._config.items() if entry.alias is None]
            undo.append(partial(_set, module, {key: _set_to(module, key) for key in own}))
    return undo


def _set_to(module: Any, key: str) -> Any:
    """What a user has set one of a config's values to, or the mark for nothing."""
    override = module._config[key].user_override
    value = override.get() if isinstance(override, ContextVar) else override
    # These can be changed without being set.
    return copy.deepcopy(value) if isinstance(value, (list, dict, set)) else value


def _set(module: Any, values: Mapping[str, object]) -> None:
    for key, value in values.items():
        entry = module._config[key]
        now = _set_to(module, key)
        with contextlib.suppress(Exception):
            if now is value or (type(now) is type(value) and bool(now == value)):
                continue
        # As the module itself does it, which would warn of some.
        if isinstance(entry.user_override, ContextVar):
            entry.user_override.set(value)
        else:
            entry.user_override = value
        with contextlib.suppress(AttributeError):
            module._mark_get_dict_dirty(key)
        if hasattr(module, "_hash_dirty_var"):
            module._hash_dirty_var.set(True)
        else:
            module._is_dirty = True


def _at(torch: Any, path: str) -> Any:
    for name in path.split("."):
        torch = getattr(torch, name)
    return torch
