"""A fleet: what placing and gathering cost beside a warm-up of the same, and how busy many workers
are kept. ``python -m tests.bench.fleet``: some minutes; ``… large`` some more.

The cells of the second are simulated: a worker sleeps as long as they take, and writes a bundle of
as many kernels. All else is as it is: the variants of a recipe, the handing out, the journal, the
merging of each bundle into a folder.
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
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.bench import measure
from tests.bench.measure import Figure
from torchkeeper.artifacts.report import Report
from torchkeeper.client.recipes import files
from torchkeeper.engine.protocol import Message
from torchkeeper.fleet.cells import Place, kind_of
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


class Crowd(NamedTuple):
    """Simulated cells, of so many kinds of nodes each variant, their workers, and the seconds that
    one takes, on average.
    """

    cells: int
    workers: int
    seconds: float
    kinds: int = 1


CROWD, LARGE = Crowd(10_000, 64, 1.0), Crowd(100_000, 1_000, 10.0, 10)
#: Their recipe, which has this many variants for each batch, and the file with the model.
LENGTHS = list(range(1, 11))
MODEL = """[[callable]]
factory = "models:Small"
args = {{ width = 32 }}
inputs = [{{ shape = ["batch", "length", 32] }}]
[matrix]
batch = {}
length = {}
[compile]
dynamic = false
"""
MODELS = Path(__file__).parents[2] / "resources/recipes/models.py"


class Sleeping(Target):
    """Workers that do nothing but take their time."""

    name = "sleeping"

    def __init__(self, scratch: Path, crowd: Crowd) -> None:
        self._crowd = crowd
        #: Seconds that they were at work, together; how many units; when the last one ended.
        self.busy, self.units, self.last = 0.0, 0, 0.0
        self._lock = threading.Lock()
        self._scratch = scratch

    def nodes(self) -> list[Node]:
        workers, kinds = self._crowd.workers, self._crowd.kinds
        facts: list[Any] = [{"torch": "2.13.0", "system": f"{n}"} for n in range(kinds)]
        return [Node(f"sleeping{n}", "python", 1, facts[n % kinds]) for n in range(workers)]

    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        begun = time.monotonic()
        only: Any = unit.params["only"]
        for index in only:
            time.sleep(random.uniform(0.5, 1.5) * self._crowd.seconds)
            made = [("triton", named(f"{node.facts} {index}"))]
            done = {"index": index, "state": "done", "seconds": 1.0, "graphs": 1, "made": made}
            heard(Message("finding", 1, {"variant": done}))
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        rows = [kernel(folder, f"{node.facts} {index}") for index in only]
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


class Timed(Gathering):
    """One that knows how long it has read bundles and merged them, and how many."""

    read = merged = 0.0
    bundles = 0

    def names(self, file: str) -> frozenset[tuple[str, str]]:
        begun = time.monotonic()
        found = super().names(file)
        self.read += time.monotonic() - begun
        return found

    def take(self, file: str) -> frozenset[tuple[str, str]]:
        begun = time.monotonic()
        found = super().take(file)
        self.merged += time.monotonic() - begun
        self.bundles += 1
        return found


def named(name: str) -> str:
    """Of a kernel's folder."""
    return base64.b32encode(hashlib.sha256(name.encode()).digest()).decode().rstrip("=")


def kernel(folder: Path, name: str) -> dict[str, str]:
    """A kernel's folder, as Triton leaves one."""
    key = named(name)
    home = folder / "triton/0" / key
    home.mkdir(parents=True)
    about = {"hash": key.lower(), "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
             "num_warps": 4, "name": "add", "triton_version": "3.7.1"}  # fmt: skip
    (home / "add.json").write_text(json.dumps(about))
    for end in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        (home / f"add.{end}").write_bytes(hashlib.sha256(f"{name}{end}".encode()).digest() * 100)
    return {"kind": "triton", "key": key}


def warmed(scratch: Path, python: str) -> list[Figure]:
    """24 cells over 4 workers of this machine, beside ``warm --jobs 4`` of the same."""
    recipes = scratch / "recipes"
    recipes.mkdir()
    shutil.copy(MODELS, recipes)
    env = {**measure.environment(scratch), "TORCHKEEPER_TORCH_PYTHON": python}

    def one(name: str, *more: str) -> float:
        place = scratch / f"place-{name}"
        command = [sys.executable, "-m", "torchkeeper", "warm", str(recipes), "--into", str(place),
                   "--jobs", str(WORKERS), *more]  # fmt: skip
        seconds = measure.run(command, env).seconds
        shutil.rmtree(place)
        return seconds

    text = MODEL.format([1], [1])
    (recipes / "small.toml").write_text(text)
    one("header")  # which is built once for all
    (recipes / "small.toml").write_text(MODEL.format(list(range(1, CELLS + 1)), [1]))
    fleet, plain = list[float](), list[float]()
    for turn in range(2):
        state = str(scratch / f"state-{turn}")
        fleet.append(one(f"f{turn}", "--on", "local", "--state", state))
        plain.append(one(f"p{turn}"))
    what = f"{CELLS} cells over {WORKERS} workers of this machine"
    return [Figure(what, min(fleet), min(plain), 1.15, f"warm --jobs {WORKERS}")]


def crowd(scratch: Path, of: Crowd = CROWD) -> list[Figure]:
    """How much of their time workers are busy with simulated cells, and the memory that takes."""
    recipes = scratch / "many"
    recipes.mkdir()
    shutil.copy(MODELS, recipes)
    batches = list(range(1, of.cells // of.kinds // len(LENGTHS) + 1))
    (recipes / "many.toml").write_text(MODEL.format(batches, LENGTHS))
    target = Sleeping(scratch, of)
    nodes = [(node, kind_of(node.facts)) for node in target.nodes()]
    places = [Place(target, node, kind) for node, kind in nodes]
    state = State(str(scratch / "many.state"))
    params: Any = {"recipes": files.wire([str(recipes / "many.toml")]),
                   "into": str(scratch / "many.place")}  # fmt: skip
    with state.held():
        gathering = Timed(str(scratch / "many.place"), None, {})
        inner = scratch / "inner"
        inner.mkdir()
        begun = time.monotonic()
        last = Keeper(state.folder, params, [])
        fleet = Fleet(params, places, state, gathering, SimpleQueue(), str(inner), Report(), last)
        planned = time.monotonic()
        result = fleet.warm()
        ended = time.monotonic()
        gathering.close()
    assert result["states"]["warm"] == of.cells, result
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    there = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    seconds = target.last - planned
    idle = 100 * (1 - target.busy / (of.workers * seconds))
    name = f"{of.cells:,} simulated cells over {of.workers:,} workers"
    return [
        Figure(f"{name}: idle", idle, 100.0, None, f"{seconds:.0f} s, {target.units} units", 5.0,
               "%"),
        Figure("… read before the first unit", planned - begun, seconds, None, "all units"),
        Figure("… merged after the last unit", ended - target.last, seconds, None, "all units"),
        Figure("… merging of one unit", gathering.merged / gathering.bundles,
               gathering.read / gathering.bundles, None, "its reading, waits and all"),
        Figure("… memory of this process", used, there, None, "the largest engine", 300.0, "MB"),
    ]  # fmt: skip


def figures(scratch: Path, python: str) -> list[Figure]:
    return [*crowd(scratch), *warmed(scratch, python)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        parts = {"crowd": lambda: crowd(Path(folder)),
                 "large": lambda: crowd(Path(folder), LARGE),
                 "warmed": lambda: warmed(Path(folder), sys.executable)}  # fmt: skip
        for name in sys.argv[1:] or ("crowd", "warmed"):
            for one in parts[name]():
                print(one.what, one.text(one.ours), one.text(one.reference), one.of, one.aim,
                      f"{one.ratio:.2f}", "kept" if one.kept else "MISSED", flush=True)  # fmt: skip
