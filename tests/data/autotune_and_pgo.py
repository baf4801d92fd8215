"""Has stock torch write an autotune result and a PGO profile, and save them as a mega-cache.

The configuration is saved through PyTorch's own AutotuneCache, for which no GPU is needed.
Prints a line of JSON: the types of artifacts and their keys.
"""

import json
import sys

import torch
import triton
from torch._inductor.codecache import write
from torch._inductor.runtime.autotune_cache import AutotuneCache

torch.compiler.config.job_id = "my/job:1"
_, path = write("def triton_kernel(): pass\n", "py")
cache = AutotuneCache.create({"autotune_local_cache": True}, path, "configs")
cache.save(
    triton.Config({"XBLOCK": 128}, num_warps=4, num_stages=1), 1000, triton_cache_hash="A" * 52
)


@torch.compile
def widen(x):
    return x.sin() + x.cos()


for size in (8, 9):
    widen(torch.rand(size))
data, info = torch.compiler.save_cache_artifacts()
with open(sys.argv[1], "wb") as file:
    file.write(data)
print(json.dumps(dict(info.artifacts)))
