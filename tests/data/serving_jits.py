"""What the just-in-time compilers of a serving machine keep, written by their own code, without a
GPU: ``serving/jit.tar.xz``. Needs nvcc, g++ and ninja, torch, and the wheels named in README.md.

    python serving_jits.py FOLDER DEEPGEMM

FOLDER: where the caches go. DEEPGEMM: a checkout of github.com/deepseek-ai/DeepGEMM, whose wheel
compiles only where there is a GPU: the function that names its entries is taken from there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER, DEEPGEMM = map(Path, sys.argv[1:])
os.environ |= {
    "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
    "TVM_FFI_CACHE_DIR": str(FOLDER / "tvm-ffi"),
    "TILELANG_CACHE_DIR": str(FOLDER / "tilelang"),
    "FLASHINFER_WORKSPACE_BASE": str(FOLDER / "workspace"),
    "FLASHINFER_CUDA_ARCH_LIST": "9.0a",
}
KERNEL = """extern "C" __global__ void scale(float* x, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= s;
}
"""
#: As Compiler::build in csrc/jit/compiler.hpp puts the name of an entry together.
NAMING = """
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>
#include "csrc/utils/hash.hpp"
int main(int, char** a) {
  auto all = std::string(a[1]) + "$$" + a[2] + "$$" + a[3] + "$$" + a[4];
  std::cout << "kernel." << a[1] << "." << deep_gemm::get_hex_digest(all);
}
"""


def deep_gemm() -> None:
    name, arch = "scale", "--gpu-architecture=sm_90a"
    program = FOLDER / "naming"
    command = ["g++", "-std=c++20", "-xc++", "-", f"-I{DEEPGEMM}", "-o", program]
    subprocess.run(command, input=NAMING.encode(), check=True)
    named = subprocess.check_output([program, name, "NVCC13.0", arch, KERNEL], text=True)
    program.unlink()
    entry = FOLDER / "deep_gemm" / "cache" / named
    entry.mkdir(parents=True)
    (entry / "kernel.cu").write_text(KERNEL)
    cubin = ["nvcc", entry / "kernel.cu", "-cubin", "-o", entry / "kernel.cubin", arch]
    subprocess.run(cubin, check=True)


def tilelang() -> None:
    import tilelang
    from tilelang import language

    @language.prim_func
    def add(a: language.Tensor((128,), "float32"), b: language.Tensor((128,), "float32")):
        with language.Kernel(1, threads=128):
            for i in language.Parallel(128):
                b[i] = a[i] + 1.0

    tilelang.compile(add, out_idx=[1], target={"kind": "cuda", "arch": "sm_90"})


def tvm_ffi() -> None:
    from tvm_ffi.cpp import build_inline

    source = "int64_t add_one(int64_t x) { return x + 1; }"
    build_inline("add_one", cpp_sources=source, functions="add_one", extra_ldflags=["-s"])


def flashinfer() -> None:
    """One module that is built whole, and one of FlashInfer's own whose build has begun."""
    import torch
    from flashinfer.jit import gen_single_decode_module
    from flashinfer.jit.core import gen_jit_spec

    source = FOLDER / "scale.cu"
    source.write_text(KERNEL)
    gen_jit_spec("scale_f32", [source]).build(verbose=False, need_lock=True)
    source.unlink()
    half = torch.float16
    gen_single_decode_module(half, half, half, 64, 64, 0, False, False).write_ninja()


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    for make in (deep_gemm, tilelang, tvm_ffi, flashinfer):
        make()
