"""A fleet: what placing and gathering cost beside a warm-up of the same, and how busy many workers
are kept. ``python -m tests.bench.fleet``: some minutes.

The cells of the second are simulated: a worker sleeps as long as they take, and writes a bundle of
as many kernels. All else is as it is: 10,000 variants of a recipe, the handing out, the journal,
the merging of each bundle into a folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench import measure
from tests.bench.measure import Figure
from tests.fleet.conftest import KERNELS
from torchkeeper.artifacts.report import Report
from torchkeeper.client.recipes import files
from torchkeeper.engine.protocol import Message
from torchkeeper.fleet.cells import Place
from torchkeeper.fleet.gathering import Gathering
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.run import Fleet
from torchkeeper.fleet.state import State
from torchkeeper.placing.target import Heard, Node, Target, Unit
from torchkeeper.stores.bundles.export import export
from torchkeeper.stores.describe import unread
from torchkeeper.stores.folders.folder import Folder

#: Variants of a small model, and workers on this machine.
CELLS, WORKERS = 24, 4
#: Simulated cells, their workers, and seconds that one takes, on average.
MANY, CROWD, SECONDS = 10_000, 64, 1.0
MODEL = """[[callable]]
factory = "models:Small"
args = {{ width = 32 }}
inputs = [{{ shape = ["batch", 32] }}]
[matrix]
batch = {}
[compile]
dynamic = false
"""
MATRIX = """[[triton]]
kernel = "kernels.py:add"
signature = {{ x = "*fp32:16", y = "*fp32:16", n = "i32" }}
targets = ["cuda:80", "cuda:90"]
[matrix]
B = {}
num_warps = [1, 2, 4, 8, 16]
"""


class Sleeping(Target):
    """Workers that do nothing but take their time."""

    name = "sleeping"

    def __init__(self, scratch: Path) -> None:
        #: Seconds that they were at work, together; how many units; when the last one ended.
        self.busy, self.units, self.last = 0.0, 0, 0.0
        self._lock = threading.Lock()
        self._scratch = scratch

    def nodes(self) -> list[Node]:
        facts: Any = {"triton": "3.7.1", "torch": "2.13.0", "devices": []}
        return [Node(f"sleeping{n}", "python", 1, facts) for n in range(CROWD)]

    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        begun = time.monotonic()
        only: Any = unit.params["only"]
        for index in only:
            time.sleep(random.uniform(0.5, 1.5) * SECONDS)
            done = {"index": index, "state": "done", "seconds": SECONDS, "graphs": 1}
            heard(Message("finding", 1, {"variant": done}))
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        rows = [kernel(folder, index) for index in only]
        place = Folder(str(folder))
        chosen = [replace(unread(one), unhashed=True) for one in place.items(Report())]
        export(chosen, place, unit.output, Report(), lambda *_: None)
        shutil.rmtree(folder)
        heard(Message("rows", 1, {"rows": rows}))
        with self._lock:
            self.last = time.monotonic()
            self.busy += self.last - begun
            self.units += 1
        return {"new": len(rows), "size": os.path.getsize(unit.output), "cut": False}

    def close(self) -> None:
        pass


def kernel(folder: Path, index: int) -> dict[str, str]:
    """A kernel's folder, as Triton leaves one."""
    key = base64.b32encode(hashlib.sha256(str(index).encode()).digest()).decode().rstrip("=")
    home = folder / "triton/0" / key
    home.mkdir(parents=True)
    about = {"hash": key.lower(), "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
             "num_warps": 4, "name": "add", "triton_version": "3.7.1"}  # fmt: skip
    (home / "add.json").write_text(json.dumps(about))
    for end in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        (home / f"add.{end}").write_bytes(hashlib.sha256(f"{index}{end}".encode()).digest() * 100)
    return {"kind": "triton", "key": key}


def warmed(scratch: Path, python: str) -> list[Figure]:
    """24 cells over 4 workers of this machine, beside ``warm --jobs 4`` of the same."""
    recipes = scratch / "recipes"
    recipes.mkdir()
    shutil.copy(Path(__file__).parents[2] / "resources/recipes/models.py", recipes)
    env = {**measure.environment(scratch), "TORCHKEEPER_TORCH_PYTHON": python}

    def one(name: str, *more: str) -> float:
        place = scratch / f"place-{name}"
        command = [sys.executable, "-m", "torchkeeper", "warm", str(recipes), "--into", str(place),
                   "--jobs", str(WORKERS), *more]  # fmt: skip
        seconds = measure.run(command, env).seconds
        shutil.rmtree(place)
        return seconds

    text = MODEL.format("[1]")
    (recipes / "small.toml").write_text(text)
    one("header")  # which is built once for all
    (recipes / "small.toml").write_text(MODEL.format(list(range(1, CELLS + 1))))
    fleet, plain = list[float](), list[float]()
    for turn in range(2):
        state = str(scratch / f"state-{turn}")
        fleet.append(one(f"f{turn}", "--on", "local", "--state", state))
        plain.append(one(f"p{turn}"))
    what = f"{CELLS} cells over {WORKERS} workers of this machine"
    return [Figure(what, min(fleet), min(plain), 1.15, f"warm --jobs {WORKERS}")]


def crowd(scratch: Path) -> list[Figure]:
    """How much of their time 64 workers are busy with 10,000 cells, and the memory that takes."""
    recipes = scratch / "many"
    recipes.mkdir()
    (recipes / "kernels.py").write_text(KERNELS)
    (recipes / "many.toml").write_text(MATRIX.format(list(range(1, MANY // 10 + 1))))
    target = Sleeping(scratch)
    places = [Place(target, node, "") for node in target.nodes()]
    state = State(str(scratch / "many.state"))
    params: Any = {"recipes": files.wire([str(recipes / "many.toml")]),
                   "into": str(scratch / "many.place")}  # fmt: skip
    with state.held():
        gathering = Gathering(str(scratch / "many.place"), None, {})
        inner = scratch / "inner"
        inner.mkdir()
        fleet = Fleet(
            params, places, state, gathering, str(inner), Report(), Keeper(state.folder, params, [])
        )
        begun = time.monotonic()
        result = fleet.warm()
        ended = time.monotonic()
        gathering.close()
    assert result["states"]["warm"] == MANY, result
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    there = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    seconds = target.last - begun
    idle = 100 * (1 - target.busy / (CROWD * seconds))
    return [
        Figure(f"{MANY:,} simulated cells over {CROWD} workers: idle", idle, 100.0, None,
               f"{seconds:.0f} s, {target.units} units", 5.0, "%"),
        Figure("… merged after the last unit", ended - target.last, seconds, None, "all units"),
        Figure("… memory of this process", used, there, None, "the largest engine", 300.0, "MB"),
    ]  # fmt: skip


def figures(scratch: Path, python: str) -> list[Figure]:
    return [*crowd(scratch), *warmed(scratch, python)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        parts = {"crowd": lambda: crowd(Path(folder)),
                 "warmed": lambda: warmed(Path(folder), sys.executable)}  # fmt: skip
        for name in sys.argv[1:] or parts:
            for one in parts[name]():
                print(one.what, one.text(one.ours), one.text(one.reference), one.of, one.aim,
                      f"{one.ratio:.2f}", "kept" if one.kept else "MISSED", flush=True)  # fmt: skip
