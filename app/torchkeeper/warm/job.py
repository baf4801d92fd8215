"""The compile job: the process that imports torch and compiles. Nothing else ever does.

``supervise`` starts it (child.py says how they talk); besides its result it tells ``device``,
``step``, ``graph`` and ``progress``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import time
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm import recipes
from torchkeeper.warm.child import Tell, importing_torch, serve
from torchkeeper.warm.graphs import LOGGER, Graph, Graphs

#: What turns PyTorch's caches off (torch/compiler/config.py, torch/_inductor/config.py).
_FORCE = ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TORCH_COMPILE_FORCE_DISABLE_CACHES")
_FX = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT")
#: What turns compiling off (torch/_dynamo/config.py, torch/_dynamo/eval_frame.py).
_OFF = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")


def main() -> None:
    """Run one job and exit: 0 done, 1 told why not."""
    serve(run)


def run(job: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Compile the recipes; returns the result without ``added``. Raises Problem.

    Of the job: ``recipes`` and ``device``; ``threads``, what its environment has set, and has to
    have had an effect; ``load``, a file with a mega-cache to be loaded before, and ``save``, one
    that it is to be written to. A mega-cache is code: only one that another job saved is loaded.
    """
    names, threads = job["recipes"], job["threads"]
    recipes.check(names)
    with importing_torch():
        import torch  # noqa: TID251
        import torch._dynamo  # noqa: TID251
        import torch._inductor.compile_fx  # noqa: TID251
        import torch._inductor.config  # noqa: TID251
        from torch._dynamo.utils import counters  # noqa: TID251

    _check_settings(torch)
    if threads is not None and torch.get_num_threads() != threads:
        raise Problem("threads-not-taken", threads=threads, here=torch.get_num_threads())
    device, about = choose_device(torch, job["device"])
    tell(device=about)
    if device == "cpu":
        check_compiler()

    if job.get("load"):
        with open(job["load"], "rb") as file:
            torch.compiler.load_cache_artifacts(file.read())
    graphs = Graphs(lambda graph: _tell_graph(tell, graph))
    logger = logging.getLogger(LOGGER)
    logger.addHandler(graphs)
    steps = recipes.steps(names, device)
    begun = time.monotonic()
    for index, step in enumerate(steps):
        tell(progress=[index, len(steps)])
        tell(step={"index": index, "name": step.name})
        graphs.step = step.name
        step.run()
    if device != "cpu":
        getattr(torch, torch.device(device).type).synchronize()
    seconds = time.monotonic() - begun
    tell(progress=[len(steps), len(steps)])
    logger.removeHandler(graphs)
    # Looked up only now: compiling puts another object there.
    inductor, autograd = counters["inductor"], counters["aot_autograd"]
    hits, misses, bypasses = (
        int(inductor[f"fxgraph_cache_{outcome}"]) for outcome in ("hit", "miss", "bypass")
    )
    if job.get("save"):
        _save(torch, job["save"])
    return {
        "graphs": graphs.count or hits + misses + bypasses,
        "hits": hits,
        "misses": misses,
        "bypasses": bypasses,
        "seconds": seconds,
        "device": device,
        "autograd": {
            "hits": int(autograd["autograd_cache_hit"]),
            "misses": int(autograd["autograd_cache_miss"]),
        },
        "threads": int(torch.get_num_threads()),
        "torch": str(torch.__version__),
    }


def _save(torch: Any, path: str) -> None:
    """Write what this process has cached. Raises Problem("mega-cache-unsupported")."""
    save = getattr(torch.compiler, "save_cache_artifacts", None)
    saved = save() if save else None
    if saved is None:
        raise Problem("mega-cache-unsupported", torch=str(torch.__version__))
    with open(path, "wb") as file:
        file.write(saved[0])


def _tell_graph(tell: Tell, graph: Graph) -> None:
    tell(graph=graph.to_json())


def _named(variables: tuple[str, ...]) -> str:
    """The one of the variables that is set, else the first: the config may come from elsewhere."""
    return next((name for name in variables if name in os.environ), variables[0])


def _check_settings(torch: Any) -> None:
    """What the user turned off stays off, and compiling for nothing helps nobody."""
    if getattr(torch._dynamo.config, "disable", False) or os.environ.get(_OFF[1], "0") == "1":
        raise Problem("compile-disabled", variable=_named(_OFF))
    config = torch._inductor.config
    if getattr(config, "force_disable_caches", False):
        raise Problem("caches-disabled", variable=_named(_FORCE))
    if not getattr(config, "fx_graph_cache", True):
        raise Problem("caches-disabled", variable=_named(_FX))


def choose_device(torch: Any, wanted: str | None) -> tuple[str, dict[str, str]]:
    """The device to compile for, and what to say of it: type, name, and why as a code.

    why: "asked", "accelerator", "no-accelerator", or "no-triton" where there is a GPU but no
    Triton that can compile for it. Raises Problem("device-missing").
    """
    seen = [kind for kind in ("cuda", "xpu", "mps") if _available(torch, kind)]
    if wanted:
        try:
            asked = torch.device(wanted)
        except RuntimeError as e:
            raise Problem("device-missing", device=wanted) from e
        if asked.type not in (*seen, "cpu") or (asked.index or 0) >= _count(torch, asked.type):
            raise Problem("device-missing", device=wanted)
        return wanted, {"type": asked.type, "name": _device_name(torch, wanted), "why": "asked"}
    device, why = "cpu", "no-accelerator"
    for kind in seen:
        if kind == "mps" or _has_triton(kind):
            device, why = kind, "accelerator"
            break
        why = "no-triton"
    return device, {"type": device, "name": _device_name(torch, device), "why": why}


def _available(torch: Any, kind: str) -> bool:
    module = getattr(torch, kind, None)
    if kind == "mps":
        module = getattr(torch.backends, "mps", None)
    with contextlib.suppress(Exception):
        return bool(module and module.is_available())
    return False


def _count(torch: Any, kind: str) -> int:
    count = getattr(getattr(torch, kind, None), "device_count", None)
    return int(count()) if count else 1


def _has_triton(kind: str) -> bool:
    try:
        from torch.utils._triton import has_triton  # noqa: TID251
    except ImportError:
        return importlib.util.find_spec("triton") is not None
    try:
        return bool(has_triton(kind))
    except TypeError:  # before it took a device
        return bool(has_triton())


def _device_name(torch: Any, device: str) -> str:
    if device == "cpu":
        return "CPU"
    with contextlib.suppress(Exception):
        return str(getattr(torch, torch.device(device).type).get_device_name(device))
    return device


def check_compiler() -> None:
    """Raises Problem("compiler-missing") where torch would find no C++ compiler."""
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: TID251
    except ImportError:
        return  # moved: the compile will say so itself
    try:
        get_cpp_compiler()
    except Exception as e:
        raise Problem("compiler-missing", cxx=os.environ.get("CXX")) from e
