"""A model that works in float32 whatever it is given, with a graph of some 20,000 characters.

``casts.py float32`` compiles it: the casts in it have nothing to do, and leave no line in the
graph. ``casts.py bfloat16`` does the same with other inputs.
"""

import sys

import torch

#: Steps, each of some eighty characters in the text of the graph.
STEPS = 150


def layer(x, weight):
    y = x.float()
    scale = weight.float()
    for _ in range(STEPS):
        y = y * scale + 1.0
    return torch.tanh(y).amax(dim=-1)


dtype = getattr(torch, sys.argv[1])
with torch.no_grad():
    result = torch.compile(layer)(torch.ones(8, 32, dtype=dtype), torch.ones(32, dtype=dtype))
print(f"sum {result.sum().item():g}")
