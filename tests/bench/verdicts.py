"""``check`` of 10,000 graphs and of 10,000 Triton kernels that the index knows."""

from __future__ import annotations

import base64
import hashlib
import random
import shutil
import sys
import tarfile
from pathlib import Path

from tests.bench import measure
from tests.bench.listing import DATA
from tests.bench.measure import Figure
from torchkeeper.artifacts.layout import payload_name

GRAPHS = 10_000
#: Seconds that the verdicts of 10,000 entries may take, all of the command included.
MOST = 2.0


def graphs(folder: Path, count: int) -> None:
    """A cache of real graphs that torch 2.9.1 wrote, each copied under keys of its own: as many of
    AOTAutograd's as FX graphs, which they name.
    """
    made = folder.parent / "made-291"
    with tarfile.open(DATA / "torch-2.9.1" / "cache.tar.gz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(made)
    fx = {path.parent.name: path for path in (made / "cache" / "fxgraph").rglob("*/*/*")}
    aot = (made / "cache" / "aotautograd").glob("*/*")
    payloads = {path: path.read_bytes() for path in aot}
    # The smallest that needs one graph alone: nothing is read but once.
    needs = {p: [key for key in fx if key.encode() in data] for p, data in payloads.items()}
    outer = min((p for p, keys in needs.items() if len(keys) == 1), key=lambda p: p.stat().st_size)
    (inner,) = needs[outer]
    chance = random.Random(1)
    for _ in range(count // 2):
        key, of_graph = _key(chance, "a"), _key(chance, "f")
        graph = fx[inner].read_bytes().replace(inner.encode(), of_graph.encode())
        _write(folder / "fxgraph" / of_graph[1:3] / of_graph, graph)
        _write(
            folder / "aotautograd" / key, payloads[outer].replace(inner.encode(), of_graph.encode())
        )


def _key(chance: random.Random, start: str) -> str:
    return start + base64.b32encode(chance.randbytes(32)).decode().lower()[:51]


def _write(folder: Path, payload: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / payload_name(hashlib.sha256(payload).hexdigest())).write_bytes(payload)


def figures(scratch: Path, kernels: Path, python: str) -> list[Figure]:
    """Measure with a folder of kernels, and with one of graphs that is made for this."""
    place = scratch / "graphs"
    graphs(place, GRAPHS)
    env = measure.environment(scratch)
    found = []
    for what, folder in (("graphs", place), ("kernels", kernels)):
        ls = [sys.executable, "-m", "torchkeeper", "ls", str(folder), "--json"]
        check = [sys.executable, "-m", "torchkeeper", "check", str(folder), "--json", "--env"]
        # What is stale makes its exit code 1.
        command = ["sh", "-c", '"$@" || [ $? = 1 ]', "sh", *check, python]
        measure.run(ls, env)
        lines = measure.run(command, env).out.splitlines()
        assert len(lines) == GRAPHS + 1, lines[-1]
        ours, reference = measure.medians(command, ls, env)
        name = f"verdicts of {GRAPHS:,} {what}, once indexed"
        found.append(Figure(name, ours, reference, None, "ls --json of the same", MOST))
    shutil.rmtree(place)
    return found
