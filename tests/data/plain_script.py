"""A program that knows nothing of Torchkeeper: an op, a small MLP trained, an attention block.

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
        self.up = nn.Linear(32, 64)
        self.down = nn.Linear(64, 32)
        self.norm = nn.LayerNorm(32)

    def forward(self, x):
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


if len(sys.argv) > 1:
    with open(sys.argv[1], "rb") as file:
        torch.compiler.load_cache_artifacts(file.read())

torch.manual_seed(0)
scaled_sum(torch.rand(48, 48), torch.rand(48, 48))
tower = torch.compile(Tower())
tower(torch.rand(8, 32)).sum().backward()
block = torch.compile(nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True))
block(torch.rand(2, 8, 32)).sum().backward()

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
