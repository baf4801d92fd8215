"""Compiles one kernel for GPUs that need not be there: for those named, such as sm_80, or two."""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add_kernel(x, y, out, n, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)


signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "block": "constexpr"}
targets = {
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_80": GPUTarget("cuda", 80, 32),
    "gfx942": GPUTarget("hip", "gfx942", 64),
}
for name in sys.argv[1:] or ("sm_90", "gfx942"):
    triton.compile(ASTSource(add_kernel, signature, {(4,): 128}), target=targets[name])
