"""What a warm-up costs beside the compiles themselves: ``python -m tests.bench.warming [times]``.

``torchkeeper warm`` and a bare script compile the same, from start to exit, each with an empty
cache and an empty temporary folder of its own: the built-in recipe, and a matrix of six variants.
Ours may take the start of one interpreter more, which is measured, and 5 %; two variants at a time
are never to be slower than one.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure
from tests.warm.bare import PLAIN

OVERHEAD = 1.05

MODELS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)
"""
RECIPE = """
[[callable]]
factory = "models:Block"
inputs = [ { shape = ["batch", 64] } ]

[matrix]
batch = [4, 8, 16]
dtype = ["float32", "bfloat16"]
"""
#: The same compiles as anyone would write them.
MATRIX = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from models import Block
for batch in (4, 8, 16):
    for dtype in (torch.float32, torch.bfloat16):
        torch._dynamo.reset()
        model = Block().to(dtype).eval()
        with torch.no_grad():
            torch.compile(model)(torch.rand(batch, 64, dtype=dtype))
print(torch._dynamo.utils.counters["inductor"]["fxgraph_cache_miss"])
"""
#: How many graphs each compiles.
_GRAPHS = {"builtin": 7, "matrix": 6}


def timed(scratch: Path, command: Sequence[str], graphs: int) -> measure.Run:
    """From start to exit, with nothing there; that many graphs have to be there afterwards."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    (folder / "tmp").mkdir()
    env = {**measure.environment(scratch), "TMPDIR": str(folder / "tmp")}
    env["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
    filled = [str(folder / "cache") if word == "{cache}" else word for word in command]
    ran = measure.run(filled, env)
    made = len(list((folder / "cache").glob("fxgraph/*/*")))
    shutil.rmtree(folder)
    if made != graphs:
        raise SystemExit(f"{made} graphs instead of {graphs}: {' '.join(filled)}")
    return ran


def figures(scratch: Path, python: str, times: int = 3) -> list[Figure]:
    """All of them, run in turn, so that all see the same machine."""
    (scratch / "models.py").write_text(MODELS)
    recipe = scratch / "matrix.toml"
    recipe.write_text(RECIPE)
    ours = [sys.executable, "-m", "torchkeeper", "warm", "--into", "{cache}", "--env", python]
    commands = {
        "bare builtin": [python, "-c", PLAIN],
        "our builtin": ours,
        "bare matrix": [python, "-c", MATRIX, str(scratch)],
        "our matrix": [*ours, str(recipe)],
        "our matrix, 2": [*ours, "--jobs", "2", str(recipe)],
    }
    env = measure.environment(scratch)
    start = [python, "-c", "pass"]
    taken: dict[str, list[float]] = {name: [] for name in ("start", *commands)}
    for _ in range(times):
        taken["start"].append(measure.run(start, env).seconds)
        for name, command in commands.items():
            graphs = _GRAPHS["builtin" if "builtin" in name else "matrix"]
            ran = timed(scratch, command, graphs)
            taken[name].append(ran.seconds)
            print(f"{name:16} {ran.seconds:6.2f} s, {ran.processors:6.2f} s of processors")
    median = {name: statistics.median(ones) for name, ones in taken.items()}
    less = median["start"]
    return [
        Figure("warm, built-in recipe", median["our builtin"] - less, median["bare builtin"],
               OVERHEAD, "a bare script; ours less the start of an interpreter"),
        Figure("warm, matrix of 6", median["our matrix"] - less, median["bare matrix"],
               OVERHEAD, "a bare script; ours less the start of an interpreter"),
        Figure("warm, matrix, 2 at a time", median["our matrix, 2"], median["our matrix"],
               1.0, "one at a time"),
    ]  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 where a figure is over its aim."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        times = int(arguments[0]) if arguments else 3
        return 0 if measure.show(figures(Path(scratch), python, times)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
