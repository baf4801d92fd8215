"""``ls`` of 10,000 Triton kernels."""

from __future__ import annotations

import base64
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure

KERNELS = 10_000
DATA = Path(__file__).parents[1] / "data"

_WALK_AND_PARSE = """
import json, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        os.stat(path)
        if name.endswith(".json"):
            with open(path) as file:
                json.load(file)
"""

WALK_AND_STAT = """
import os, sys
pending = [sys.argv[1]]
while pending:
    with os.scandir(pending.pop()) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
"""


def kernels(folder: Path, count: int, python: str) -> None:
    """A Triton cache of real kernels, two compiled ones copied under keys of their own."""
    made = folder.parent / "made"
    env = {**os.environ, "TRITON_CACHE_DIR": str(made)}
    subprocess.run([python, str(DATA / "triton_kernels.py")], env=env, check=True)
    sources = sorted(made.iterdir())
    chance = random.Random(1)
    for number in range(count):
        key = base64.b32encode(chance.randbytes(32)).decode().rstrip("=")
        shutil.copytree(sources[number % len(sources)], folder / key)


def figures(scratch: Path, place: Path) -> list[Figure]:
    """Measure with the KERNELS kernels of a folder."""
    env = measure.environment(scratch)
    ls = [sys.executable, "-m", "torchkeeper", "ls", str(place), "--json"]
    walk = measure.python(WALK_AND_STAT, str(place))
    parse = measure.python(_WALK_AND_PARSE, str(place))
    measure.run(walk)  # the tree is in memory for all of them
    measure.run([*ls[:4], str(scratch)], env)  # and so is the program
    first = []
    for _ in range(5):
        shutil.rmtree(scratch / "cache", ignore_errors=True)
        first.append((measure.run(ls, env), measure.run(parse)))
    ours, reference = sorted(first, key=lambda pair: pair[0].seconds / pair[1].seconds)[2]
    assert len(ours.out.splitlines()) == KERNELS
    memory = Figure("… its memory", ours.memory, reference.memory, None, "the same", 300, "MB")
    found = [Figure(f"ls of {KERNELS:,} kernels, first time", ours.seconds, reference.seconds, 2,
                    "walk, stat and parse the JSON"), memory]  # fmt: skip
    again, bare = measure.medians(ls, walk, env, times=7)
    found.append(Figure("… once indexed", again, bare, 1, "scandir and stat, start included"))
    return found
