"""The built-in recipe under stock PyTorch, which is the judge: its counters and no other.

Run by path under any interpreter: ``judge.py APP [--load FILE] [--save FILE]``; APP is the folder
that the recipe is imported from. Prints one JSON line: ``seconds`` from the first call that
compiles to the last result, and PyTorch's own counters.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Load, run, save, tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("app")
    parser.add_argument("--load", type=Path)
    parser.add_argument("--save", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, args.app)

    import torch
    from torch._dynamo.utils import counters

    from torchkeeper.warm.recipes.recipe import Variant
    from torchkeeper.warm.sources import builtin

    if args.load:
        assert torch.compiler.load_cache_artifacts(args.load.read_bytes()) is not None
    steps = builtin.make(Variant(0, "", "", "builtin"), "cpu", None).steps
    begun = time.monotonic()
    for step in steps:
        step.run()
    seconds = time.monotonic() - begun
    if args.save:
        saved = torch.compiler.save_cache_artifacts()
        assert saved is not None
        args.save.write_bytes(saved[0])
    told = {
        "graphs": {x: counters["inductor"][f"fxgraph_cache_{x}"] for x in ("hit", "miss")},
        "autograd": {x: counters["aot_autograd"][f"autograd_cache_{x}"] for x in ("hit", "miss")},
        "seconds": seconds,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
