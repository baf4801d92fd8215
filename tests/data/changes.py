"""A tiny program, as it is or with one thing changed; which thing is its argument."""

import sys

import torch

change = sys.argv[1] if len(sys.argv) > 1 else ""
options = {"max_autotune": True} if change == "autotune" else {}
if change == "precision":
    torch.set_float32_matmul_precision("high")


def layer(x, weight, bias):
    return torch.relu(torch.nn.functional.linear(x, weight, bias))


def changed(x, weight, bias):
    return torch.tanh(torch.nn.functional.linear(x, weight, bias))


dtype = torch.float64 if change == "dtype" else torch.float32
rows = 16 if change == "shape" else 8
with torch.no_grad():
    model = torch.compile(changed if change == "line" else layer, options=options)
    result = model(
        torch.ones(rows, 32, dtype=dtype),
        torch.ones(64, 32, dtype=dtype),
        torch.ones(64, dtype=dtype),
    )
print(f"sum {result.sum().item():g}")
