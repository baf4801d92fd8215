"""Triton kernels for recipes of the tests: some that compile, and some that cannot."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)


@triton.autotune(
    configs=[
        triton.Config({"block": 64}, num_warps=2),
        triton.Config({"block": 128}, num_warps=4),
    ],
    key=["n"],
)
@triton.jit
def tuned(x, n, block: tl.constexpr, scale: tl.constexpr = 2):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask) * scale, mask)


@triton.jit
def typed(x, n: tl.int8, kind: tl.constexpr):
    tl.store(x, n.to(kind))


@triton.jit
def half(value):
    # Two lines above the mistake.
    return value.no_such_thing / 2


@triton.jit
def broken(x, block: tl.constexpr):
    tl.store(x + tl.arange(0, block), half(tl.arange(0, block)))


def plain(x):
    return x
