"""What SGLang's compiler of kernels and FlashInfer's tuner keep, written by their own code, without
a GPU: ``serving/servers.tar.xz``. Needs nvcc, ninja and torch, apache-tvm-ffi and msgspec.

    python serving_servers.py FOLDER WHEELS

FOLDER: where the caches go. WHEELS: a folder in which the wheels of SGLang and FlashInfer are
unpacked. What asks for a GPU is told of an H100.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import shutil
import sys
import types
from pathlib import Path
from typing import Any

FOLDER, WHEELS = map(Path, sys.argv[1:])
os.environ["SGLANG_JIT_CACHE_DIR"] = str(FOLDER / "sglang_jit")
TUNED = FOLDER / "flashinfer_autotune_cache"
SOURCE = """#pragma once
#include <tvm/ffi/container/tensor.h>
namespace sglang {
inline int64_t add_one(int64_t x) { return x + 1; }
}
"""


def package(name: str, **given: object) -> Any:
    """A package of a wheel of which nothing is loaded but what is asked for."""
    made = types.ModuleType(name)
    path = WHEELS / name.replace(".", "/")
    made.__spec__ = importlib.machinery.ModuleSpec(
        name, None, origin=str(path / "__init__.py"), is_package=True
    )
    made.__path__ = [str(path)]
    vars(made).update(given)
    sys.modules[name] = made
    return made


def sglang() -> None:
    for name in ("sglang", "sglang.srt", "sglang.kernels", "sglang.kernels.jit",
                 "sglang.kernels.jit.utils"):  # fmt: skip
        package(name)
    no: Any = bool
    package("sglang.srt.utils", is_hip=no)
    package("sglang.srt.utils.common", is_cuda=lambda: True, is_hip=no, is_musa=no)
    arch = importlib.import_module("sglang.kernels.jit.utils.arch")
    vars(arch).update(_CUDA_ARCH=arch.ArchInfo(9, 0, "a"), _init_jit_cuda_arch_once=lambda: None)
    loader = importlib.import_module("sglang.kernels.jit.utils.compile.loader")
    source = FOLDER / "add_one.cuh"
    source.write_text(SOURCE)
    made = loader.load_jit("add", "one", cuda_files=[str(source)], extra_ldflags=["-s"],
                           cuda_wrappers=[("add_one", "add_one")])  # fmt: skip
    assert made.add_one(2) == 3
    source.unlink()


def flashinfer() -> None:
    """A file of a rank of SGLang's, one of vLLM's, and a store of FlashInfer's own."""
    import logging

    package("flashinfer")
    package("flashinfer.jit")
    package("flashinfer.jit.core", logger=logging.getLogger())
    package("flashinfer.tllm_utils", delay_kernel=None)
    package("flashinfer.utils", next_positive_power_of_2=int, is_confidential_compute=bool,
            get_globaltimer_kernel=None)  # fmt: skip
    package("flashinfer.version", __version__="0.7.2.post1")
    module = importlib.import_module("flashinfer.autotuner.autotuner")
    about = {**module._collect_metadata(), "gpu": "NVIDIA H100 80GB HBM3"}
    module._collect_metadata = lambda: about
    tuner = module.AutoTuner()
    tuner._file_configs["('fp4_gemm', 'Runner', ((16, 64),), ())"] = ("Runner", 3)
    rank = TUNED / "0.7.2.post1" / "sm90" / ("0a1b2c3d" * 2) / "rank_tp0_pp0_dp0.json"
    tuner.save_configs(str(rank))
    tuner.save_configs(str(TUNED / "0.7.2.post1/90a" / ("0a1b2c3d" * 8) / "autotune_configs.json"))
    store = importlib.import_module("flashinfer.autotune_cache").ManagedAutotuneCache(about, TUNED)
    store.publish("('fp4_gemm', 'Runner', ((16, 64),), ())", "Runner", 3)
    for path in TUNED.rglob("*.json"):
        path.chmod(0o644)  # it lets nobody else read them


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    sglang()
    flashinfer()
    for folder in FOLDER.rglob("__pycache__"):
        shutil.rmtree(folder)
