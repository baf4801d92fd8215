"""Has stock torch compile some of two functions, ``rise`` and ``fall``, named after a file.

A mega-cache in that file is loaded first, as any user of PyTorch would; where there is none, one is
saved there. Prints PyTorch's own counters as JSON, and how many artifacts of each type it took.
"""

import json
import os
import sys

import torch

# A profile that has another key for each program would be in no mega-cache of two.
torch.compiler.config.job_id = "job"


def rise(x, y):
    return (x.sin() @ y).sum(-1)


def fall(x, y):
    return (x @ y).cos() - y


file, names = sys.argv[1], sys.argv[2:]
there, taken = os.path.exists(file), {}
if there:
    with open(file, "rb") as stream:
        info = torch.compiler.load_cache_artifacts(stream.read())
    taken = {kind: len(keys) for kind, keys in info.artifacts.items()}
for name in names:
    function = torch.compile({"rise": rise, "fall": fall}[name])
    function(torch.rand(48, 48, requires_grad=True), torch.rand(48, 48)).sum().backward()
if not there:
    data, _ = torch.compiler.save_cache_artifacts()
    with open(file, "wb") as stream:
        stream.write(data)
counters = torch._dynamo.utils.counters
print(
    json.dumps(
        {
            "taken": taken,
            "hits": counters["inductor"]["fxgraph_cache_hit"],
            "misses": counters["inductor"]["fxgraph_cache_miss"],
            "aot_hits": counters["aot_autograd"]["autograd_cache_hit"],
            "aot_misses": counters["aot_autograd"]["autograd_cache_miss"],
        }
    )
)
