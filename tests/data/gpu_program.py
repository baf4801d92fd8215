"""A program for a GPU: a graph with kernels of Inductor's, and one with a kernel of its own."""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": size}, num_warps=n) for size in (128, 256) for n in (2, 4)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def scale(x, out, n, factor: tl.constexpr, BLOCK: tl.constexpr):  # noqa: N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@torch.compile
def sin_matmul(x, y):
    return (x.sin() @ y).relu().sum(-1)


@torch.compile
def scaled(x):
    out = torch.empty_like(x)
    scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), 3.0)
    return out + 1


if __name__ == "__main__":
    ones = torch.ones(256, 256, device="cuda")
    sin_matmul(ones, ones)
    scaled(ones)
