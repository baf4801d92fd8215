"""What others than Torchkeeper compile by, for comparison."""

from __future__ import annotations

#: The built-in recipe as anyone would write it: no Torchkeeper, no handler on any logger.
PLAIN = """
import json
import torch
from torch import nn
@torch.compile
def sin_matmul(x, y): return x.sin() @ y
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 128); self.down = nn.Linear(128, 64); self.norm = nn.LayerNorm(64)
    def forward(self, x): return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)
torch.manual_seed(0)
sin_matmul(torch.rand(100, 100), torch.rand(100, 100))
mlp = torch.compile(MLP())
for batch in (8, 16): mlp(torch.rand(batch, 64)).sum().backward()
block = torch.compile(nn.TransformerEncoderLayer(64, 4, batch_first=True, dropout=0.0))
block(torch.rand(2, 16, 64)).sum().backward()
counters = torch._dynamo.utils.counters
print(json.dumps([counters["inductor"]["fxgraph_cache_hit"],
                  counters["inductor"]["fxgraph_cache_miss"],
                  counters["aot_autograd"]["autograd_cache_hit"]]))
"""
