"""The compile job: a process that imports torch and compiles; in a warm-up nothing else does.

``workers.Crew`` starts it (child.py says how they talk) and sends it one variant after another.
Between them what a variant has set is put back, so that each finds what a fresh process has.
Besides its result it tells ``begun``, ``device``, ``step``, ``graph`` and ``variant``.
"""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import os
import random
import time
import traceback
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.shapes import Fault
from torchkeeper.settings.known import BY_NAME
from torchkeeper.warm import sources
from torchkeeper.warm.child import MORE, Tell, chain, importing_torch, said, serve
from torchkeeper.warm.following import make_writable
from torchkeeper.warm.global_state import put_back
from torchkeeper.warm.header import check_compiler, check_place, choose_device
from torchkeeper.warm.recipes.recipe import SOURCES, WITHOUT_TORCH, Variant
from torchkeeper.warm.shapes import Counts, Device, Done, Proof
from torchkeeper.warm.traces.graphs import LOGGER, Graphs

if TYPE_CHECKING:
    from torchkeeper.warm.supervise import Request

#: What turns PyTorch's caches off.
_FORCE = BY_NAME["TORCHINDUCTOR_FORCE_DISABLE_CACHES"].same
_FX = BY_NAME["TORCHINDUCTOR_FX_GRAPH_CACHE"].same
#: What turns compiling off (torch/_dynamo/config.py, torch/_dynamo/eval_frame.py).
_OFF = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
#: What PyTorch counts where it could not write a graph that it had compiled.
_UNWRITTEN = "fxgraph_cache_write_error"


def main() -> None:
    """Run one job and exit: 0 done, 1 told why not."""
    serve(run)


def run(job: Request, tell: Tell) -> dict[str, str]:
    """Compile the variants that are sent, until there is an end; returns the version of ``torch``,
    "" where it was not needed. ``threads`` of the job have to have had an effect. A mega-cache is
    code: only one that another job saved is loaded. Raises Problem where no variant at all can be
    compiled here; else each variant tells its own.
    """
    torch: Any = None
    told: Device | None = None
    settled = False
    while "variant" in (sent := MORE.get()):
        variant = Variant.from_json(sent["variant"])
        if torch is None and variant.source not in WITHOUT_TORCH:
            torch = _torch(job)
            if job.get("load"):
                with open(job["load"], "rb") as file:
                    torch.compiler.load_cache_artifacts(file.read())
        if torch is not None:
            # Only now: the time that a variant may take is not what importing torch takes.
            _, told = choose_device(torch, None)
        tell(begun={"index": variant.index, "default": told["type"] if told else None})
        try:
            done = _one(torch, variant, job, tell)
        except BaseException as e:  # noqa: BLE001  # a recipe may raise anything
            tell(
                variant={"index": variant.index, "state": "failed", "problem": _problem(e, variant)}
            )
        else:
            tell(variant={"index": variant.index, "state": "done", **done})
            if not settled:
                # What PyTorch makes when it first compiles stays: no need to look through it again.
                gc.freeze()
                settled = True
    if job.get("save"):
        _save(torch, job["save"])
    return {"torch": str(torch.__version__) if torch else ""}


def _torch(job: Request) -> Any:
    """Torch, with settings that make compiling worth while. Raises Problem."""
    with importing_torch():
        import torch  # noqa: TID251
        import torch._dynamo  # noqa: TID251
        import torch._inductor.compile_fx  # noqa: TID251
        import torch._inductor.config  # noqa: TID251

    _check_settings(torch)
    threads = job.get("threads")
    if threads is not None and torch.get_num_threads() != threads:
        raise Problem("threads-not-taken", threads=threads, here=torch.get_num_threads())
    gc.freeze()
    return torch


def _one(torch: Any, variant: Variant, job: Request, tell: Tell) -> Done:
    """Compile a variant; returns what the wire promises of one that is done. Raises anything."""
    wanted = variant.device or job.get("device")
    if torch is None:
        with put_back(None):
            work = _work_of(variant, wanted or "", tell)
            seconds, proof = _run(variant, work, job, tell)
        _check_counts(variant, work, counts := _counts(None, work))
        device, made = wanted or "", work.made
        return {**counts, "made": made, "seconds": seconds, "proof": proof, "device": device,
                "threads": 0}  # fmt: skip
    with put_back(torch):
        device, about = choose_device(torch, wanted)
        tell(device=about)
        if device == "cpu" and variant.source not in WITHOUT_TORCH:
            check_compiler()
            check_place(_place())
        from torch._dynamo.utils import counters  # noqa: TID251

        counters.clear()
        graphs = Graphs(lambda graph: tell(graph={**asdict(graph), "variant": variant.index}))
        logger = logging.getLogger(LOGGER)
        logger.addHandler(graphs)
        try:
            if variant.folder is not None:
                os.chdir(variant.folder)
            # What is random and becomes part of a graph is the same again when it is verified.
            torch.manual_seed(0)
            random.seed(0)
            work = _work_of(variant, device, tell)
            threads = int(torch.get_num_threads())
            seconds, proof = _run(variant, work, job, tell, graphs, torch, device)
        finally:
            logger.removeHandler(graphs)
        counts = _counts(graphs, work)
        # Of that PyTorch only warns (FxGraphCache._save_graph in torch/_inductor/codecache.py).
        if counters["inductor"][_UNWRITTEN]:
            make_writable(_place())
            raise Problem("warm-failed", why=_UNWRITTEN)
        _check_counts(variant, work, counts)
        made = work.made if work.made or graphs.count else sources.autograd(graphs.autograd)
    return {**counts, "made": made, "seconds": seconds, "proof": proof, "device": device,
            "threads": threads}  # fmt: skip


def _work_of(variant: Variant, device: str, tell: Tell) -> sources.Work:
    """A variant's work, by its source. Raises Problem, and what the user's own code raises."""
    # Each is imported only where it is asked for: it may need what this interpreter lacks.
    modules = {"callable": "callables", "triton": "kernels", "script": "scripts"}
    if variant.source not in SOURCES:
        raise Problem("recipe-unknown", recipe=variant.source)
    name = modules.get(variant.source, variant.source)
    module = importlib.import_module(f"torchkeeper.warm.sources.{name}")
    work: sources.Work = module.make(variant, device, tell)
    return work


def _run(
    variant: Variant,
    work: sources.Work,
    job: Request,
    tell: Tell,
    graphs: Graphs | None = None,
    torch: Any = None,
    device: str = "cpu",
) -> tuple[float, Proof | None]:
    """Seconds that the steps took, or the proof that stands for them, and what it proved. Raises
    what the steps do, and after them Problem("not-found-again", variant, found, of, why).
    """
    begun = time.monotonic()
    if job.get("prove") and work.proof is not None:
        proved = work.proof()
        return time.monotonic() - begun, proved
    for index, step in enumerate(work.steps):
        tell(step={"index": index, "name": step.name, "variant": variant.index})
        if graphs is not None:
            graphs.step = step.name
        step.run()
    if torch is not None and device != "cpu":
        getattr(torch, torch.device(device).type).synchronize()
    seconds = time.monotonic() - begun
    proof = None if work.proof is None else work.proof()
    # What was just compiled has to be found again: else it is not warm, whatever was written.
    if proof and proof["found"] < proof["of"]:
        why = proof.get("why") or "A program that looks for it does not find it"
        found, of = proof["found"], proof["of"]
        raise Problem("not-found-again", variant=variant.name, why=why, found=found, of=of)
    return seconds, proof


def _counts(graphs: Graphs | None, work: sources.Work) -> Counts:
    """What PyTorch counted, or the work did itself."""
    found: Counts = {"hits": 0, "misses": 0, "bypasses": 0, "graphs": 0,
                     "autograd": {"hits": 0, "misses": 0}}  # fmt: skip
    if graphs is not None:
        # Looked up only now: compiling puts another object there.
        from torch._dynamo.utils import counters  # noqa: TID251

        inductor, autograd = counters["inductor"], counters["aot_autograd"]
        found["hits"] = int(inductor["fxgraph_cache_hit"])
        found["misses"] = int(inductor["fxgraph_cache_miss"])
        found["bypasses"] = int(inductor["fxgraph_cache_bypass"])
        found["graphs"] = graphs.count or found["hits"] + found["misses"] + found["bypasses"]
        found["autograd"] = {
            "hits": int(autograd["autograd_cache_hit"]),
            "misses": int(autograd["autograd_cache_miss"]),
        }
    return {**found, **work.counts}


def _check_counts(variant: Variant, work: sources.Work, counts: Counts) -> None:
    """That a cache has, or was given, some of what was compiled, or that there is a proof of it. A
    graph that PyTorch cannot cache is no fault where there are others: they are warm, and nothing
    that is done here would make that one so. Raises Problem("nothing-compiled", variant=…) and
    Problem("nothing-cached", variant=…, bypasses=…).
    """
    autograd = counts["autograd"]
    # Of graphs that AOTAutograd's entries hold themselves, those alone are counted
    # (bundled_autograd_cache in torch/_functorch/config.py).
    if work.proof is not None or counts["hits"] + counts["misses"] + autograd["hits"]:
        return
    if counts["bypasses"]:
        raise Problem("nothing-cached", variant=variant.name, bypasses=counts["bypasses"])
    if not autograd["misses"]:
        raise Problem("nothing-compiled", variant=variant.name)


def _problem(error: BaseException, variant: Variant) -> Fault:
    """Why a variant failed, as the wire says it."""
    if not isinstance(error, Problem):
        traceback.print_exc()
        if full(error):
            error = Problem("disk-full", place=_place())
        elif isinstance(error, ModuleNotFoundError):
            error = Problem("module-needs", module=variant.name, missing=error.name)
        else:
            error = Problem("warm-failed", why=said(error))
    return {"code": error.code, "params": error.params}


def _place() -> str:
    """Where what is compiled goes, as ``supervise.filling`` has set it."""
    return os.environ["TORCHINDUCTOR_CACHE_DIR"]


def full(error: BaseException | None) -> bool:
    """Whether an exception, or one that led to it, says that a disk is full."""
    return any(
        (isinstance(one, OSError) and one.errno == errno.ENOSPC)
        or os.strerror(errno.ENOSPC) in str(one)  # a compiler said so
        for one in chain(error)
    )


def _save(torch: Any, path: str) -> None:
    """Write what this process has cached. Raises Problem("mega-cache-unsupported")."""
    save = getattr(torch.compiler, "save_cache_artifacts", None)
    saved = save() if save else None
    if saved is None:
        raise Problem("mega-cache-unsupported", torch=str(torch.__version__))
    with open(path, "wb") as file:  # in the scratch folder of a verification, which goes with it
        file.write(saved[0])


def _check_settings(torch: Any) -> None:
    """What the user turned off stays off, and compiling for nothing helps nobody."""
    config, off = torch._inductor.config, getattr(torch._dynamo.config, "disable", False)
    for refused, code, names in (
        (off or os.environ.get(_OFF[1], "0") == "1", "compile-disabled", _OFF),
        (getattr(config, "force_disable_caches", False), "caches-disabled", _FORCE),
        (not getattr(config, "fx_graph_cache", True), "caches-disabled", _FX),
    ):
        if refused:
            # None is set where the config comes from elsewhere.
            raise Problem(code, variable=next((x for x in names if x in os.environ), names[0]))
