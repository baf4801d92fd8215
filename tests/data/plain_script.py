"""A program that knows nothing of Torchkeeper: an op, a small MLP trained, an attention block.

The models are those of the built-in recipe, so that one finds the other's objects built.
With an argument, loads that mega-cache first, as any user of PyTorch would.
Prints PyTorch's own counters as JSON.
"""

import json
import sys

import torch
from torch import nn


@torch.compile
def scaled_sum(x, y):
    return (x.sin() @ y).sum(-1)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


if len(sys.argv) > 1:
    with open(sys.argv[1], "rb") as file:
        torch.compiler.load_cache_artifacts(file.read())

torch.manual_seed(0)
scaled_sum(torch.rand(48, 48), torch.rand(48, 48))
tower = torch.compile(Tower())
tower(torch.rand(8, 64)).sum().backward()
block = torch.compile(nn.TransformerEncoderLayer(64, 4, batch_first=True, dropout=0.0))
block(torch.rand(2, 16, 64)).sum().backward()

counters = torch._dynamo.utils.counters
print(
    json.dumps(
        {
            "hits": counters["inductor"]["fxgraph_cache_hit"],
            "misses": counters["inductor"]["fxgraph_cache_miss"],
            "aot_hits": counters["aot_autograd"]["autograd_cache_hit"],
            "aot_misses": counters["aot_autograd"]["autograd_cache_miss"],
        }
    )
)
