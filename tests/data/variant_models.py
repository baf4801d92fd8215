"""What the recipes of tests/warm/test_variants_job.py name: what compiles, and all that can go
wrong.

Products alone need no C++ compiler, so that each takes a moment.
"""

import ctypes
import os
import random
import resource
import sys
import time

import torch
from torch import nn

NUMBER = 3


def product(x, y):
    return x @ y


class Layer(nn.Module):
    def __init__(self, size, bias=False):
        super().__init__()
        self.inner = nn.Linear(size, size, bias=bias)

    def forward(self, x, *, scale=1):
        return self.inner(x) @ x.mT


def layer(size, device, dtype=torch.float32):
    return Layer(size).to(device), (torch.rand(2, size, device=device),), {"scale": 2}


def compiled(size):
    """Already compiled, in a way of its own."""
    return torch.compile(Layer(size), backend="eager"), (torch.rand(2, size),)


def _uncacheable():
    """What has no uuid, PyTorch cannot put into a key."""
    torch._inductor.config.post_grad_custom_post_pass = lambda graph: None


def bypassed(size):
    _uncacheable()
    return product, (torch.rand(size, size), torch.rand(size, size))


def partly(size):
    @torch._dynamo.disable
    def both(x, y):
        first = torch.compile(product)(x, y)
        _uncacheable()
        return torch.compile(product)(first[1:], y)

    return both, (torch.rand(size, size), torch.rand(size, size))


def polluted(size):
    """Sets for the whole process what is in keys, and what is not."""
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("medium")
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(3)
    torch.manual_seed(7)
    torch.backends.mkldnn.enabled = False
    torch._inductor.config.epilogue_fusion = False
    torch._inductor.config.cpp.max_horizontal_fusion_size = 3
    torch._dynamo.config.assume_static_by_default = False
    torch._functorch.config.activation_memory_budget = 0.5
    torch.set_default_device("meta")
    os.environ["TORCHINDUCTOR_POLLUTED"] = "1"
    os.environ.pop("HOME", None)
    sys.path.insert(0, "/nowhere")
    os.chdir("/")
    return product, (torch.rand(size, size, device="cpu"), torch.rand(size, size, device="cpu"))


def state(size):
    """What a fresh process has, told by failing."""
    found = [
        torch.get_default_dtype(), torch.get_float32_matmul_precision(), torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(), torch.get_num_threads(),
        torch.get_default_device(), torch.initial_seed(), torch.backends.mkldnn.enabled,
        torch._inductor.config.epilogue_fusion, torch._dynamo.config.assume_static_by_default,
        torch._C._get_fp32_precision_getter("cuda", "matmul"),
        torch._inductor.config.cpp.max_horizontal_fusion_size, sys.path[1:3],
        torch._functorch.config.activation_memory_budget, os.path.basename(os.getcwd()),
        "HOME" in os.environ, "TORCHINDUCTOR_POLLUTED" in os.environ, torch.rand(1).item(),
    ]  # fmt: skip
    raise LookupError(found)


def raises(size):
    raise ValueError("on purpose")


def raises_inside(x):
    if x.shape[0] > 1:
        raise ValueError("in the middle")
    return x


def wrong(size):
    return [1, 2, 3]


def crash(size):
    ctypes.string_at(0)


def leaves(size):
    sys.exit(3)


def leave(size):
    os._exit(0)


def hang(size):
    time.sleep(600)


def eat(size):
    kept = []
    while True:
        kept.append(random.randbytes(1 << 22) * 16)


def unwritten(size):
    """No file can be larger from now on than a page, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    return product, (torch.rand(size, size), torch.rand(size, size))


def wave(x):
    """Needs a C++ compiler."""
    return x.sin() + 1


def exports(size):
    """Writes an exported program, for a variant that comes later."""
    model, inputs = Layer(size), (torch.rand(2, size),)
    torch.export.save(torch.export.export(model, inputs, {"scale": 2}), "layer.pt2")
    with open("garbage.pt2", "w") as file:
        file.write("garbage")
    return model, inputs


@torch._dynamo.disable
def takes(x, low, high, ones, small, many, pair, nothing, dtype, device, layout, text, *, grad):
    """All that a recipe can describe."""
    right = [
        x.shape == (2, 3) and x.dtype == torch.int32,
        low.shape == (50,) and low.min() >= 5 and low.max() <= 6,
        set(high.tolist()) == {3, 4} and high.dtype == torch.int64,
        ones.tolist() == [1, 1],
        small.dtype == torch.float8_e4m3fn,
        isinstance(many, list) and many[0].shape == () and many[1] == 2.5,
        pair == (True, 7),
        nothing is None,
        (dtype, device, layout) == (torch.bfloat16, torch.device("cpu"), torch.strided),
        text == "text",
        grad.requires_grad,
    ]
    if not all(right):
        raise ValueError(right)
    return x
