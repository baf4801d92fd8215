"""Launches kernels as a program on a GPU does it, up to the launch: real tensors, Triton's own way
to a hash. Only the driver is not there, which says what GPU there is.

Arguments: target, such as cuda:90, or "here" for the GPU that is there, on which they are really
launched; and the file of the kernels. Prints what was compiled.
"""

import importlib.util
import json
import os
import sys

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

HERE = sys.argv[1] == "here"


class Driver:
    def __init__(self, name):
        backend, arch = name.split(":")
        arch = int(arch) if arch.isdigit() else arch
        self.target = GPUTarget(backend, arch, 64 if backend == "hip" else 32)

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


if not HERE:
    driver.set_active(Driver(sys.argv[1]))
spec = importlib.util.spec_from_file_location("kernels", sys.argv[2])
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)

cache = os.environ["TRITON_CACHE_DIR"]


def files():
    # Not what Triton builds to launch anything at all.
    names = {os.path.join(above, name) for above, _, names in os.walk(cache) for name in names}
    return {name for name in names if not name.endswith(".so")}


compiled = {}


def launch(name, kernel, *args, **keywords):
    before = files()
    kernel.run(*args, grid=(1,), warmup=not HERE, **keywords)
    compiled[name] = files() != before


device = "cuda" if HERE else "cpu"
a = torch.zeros(1024, device=device)
assert a.data_ptr() % 16 == 0
odd = torch.zeros(1025, device=device)[1:]
assert odd.data_ptr() % 16
launch("as warmed", kernels.add, a, a, a, 1000, block=128, num_warps=4)
launch("a multiple of 16", kernels.add, a, a, a, 1024, block=128, num_warps=4)
launch("not aligned", kernels.add, odd, a, a, 1000, block=128, num_warps=4)
for config in kernels.tuned.configs:
    launch(f"tuned {config.num_warps}", kernels.tuned.fn, a, 1000, **config.all_kwargs())
launch("typed", kernels.typed, a, 3, kind=kernels.tl.float32)
print(json.dumps(compiled))
