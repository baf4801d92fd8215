"""What changes files, on 10,000 Triton kernels: ``python -m tests.bench.disk [kernels]``.

Export, import, inspect, purge and undo, each beside what the disk alone would take, in turn and
after a ``sync``, so that neither pays for what the other has left to write. What was unpacked stays
until the end: where many files have just been deleted, ext4 takes seconds of the processor to make
new ones (it gives none of their inodes out again for a while, and looks for others one by one), and
both would be measured by that.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import measure
from tests.bench.listing import KERNELS, kernels
from tests.bench.measure import Figure

TIMES = 5
_OURS = [sys.executable, "-m", "torchkeeper"]
#: Every folder of one place renamed into another, and one fsync.
_RENAME = """
import os, sys
source, target = sys.argv[1:]
os.mkdir(target)
for name in os.listdir(source):
    os.rename(f"{source}/{name}", f"{target}/{name}")
handle = os.open(target, os.O_RDONLY)
os.fsync(handle)
os.rmdir(source)
"""
#: The names in a bundle, and its manifest.
_READ_BUNDLE = """
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as bundle:
    bundle.namelist()
    json.loads(bundle.read("manifest.json"))
"""


def _seconds(command: Sequence[str], env: dict[str, str]) -> float:
    os.sync()
    return measure.run(command, env).seconds


def _row(what: str, pairs: list[tuple[float, float]], limit: float, of: str) -> Figure:
    ours, reference = (statistics.median(some) for some in zip(*pairs, strict=True))
    return Figure(what, ours, reference, limit, of)


def figures(scratch: Path, place: Path, times: int = TIMES) -> list[Figure]:
    """Measure with a folder of kernels, which is as it was afterwards."""
    env = measure.environment(scratch)
    bundle, tarred = scratch / "b.torchcache", scratch / "b.tar"
    renamed = [scratch / "renamed", scratch / "renamed too"]
    shutil.copytree(place, renamed[0])
    found: dict[str, list[tuple[float, float]]] = {}

    def take(what: str, ours: Callable[[], float], reference: Callable[[], float]) -> None:
        # Each is the first in turn: what the system has at hand of free memory decides much.
        some = found.setdefault(what, [])
        if len(some) % 2:
            some.append((ours(), reference()))
        else:
            other = reference()
            some.append((ours(), other))

    def run(*command: str) -> Callable[[], float]:
        return lambda: _seconds(command, env)

    for number in range(times):
        into, plain = scratch / f"into {number}", scratch / f"plain {number}"
        unpack = f"tar -xf '{tarred}' -C '{plain}' && sync -f '{plain}'"
        for path in (bundle, tarred):
            path.unlink(missing_ok=True)
        take("export", run(*_OURS, "export", str(place), "-o", str(bundle)),
             run("tar", "-cf", str(tarred), "-C", str(place), "."))  # fmt: skip
        take("inspect", run(*_OURS, "inspect", str(bundle)),
             run(*measure.python(_READ_BUNDLE, str(bundle))))  # fmt: skip
        plain.mkdir()
        take("import", run(*_OURS, "import", str(bundle), "--into", str(into), "--trust"),
             run("sh", "-c", unpack))  # fmt: skip
        there, back = (map(str, renamed), map(str, reversed(renamed)))
        take("purge", run(*_OURS, "purge", str(place), "--yes"),
             run(*measure.python(_RENAME, *there)))  # fmt: skip
        take("undo", run(*_OURS, "undo", str(place)), run(*measure.python(_RENAME, *back)))
        assert number or len(os.listdir(place)) == len(os.listdir(renamed[0]))
    shutil.rmtree(renamed[0])
    count = f"{len(os.listdir(place)):,} kernels"
    return [
        _row(f"export of {count}", found["export"], 2, "tar"),
        _row("inspect of the bundle", found["inspect"], 3, "names and manifest read"),
        _row("import into an empty folder", found["import"], 1.5, "tar and a sync"),
        _row("purge of all", found["purge"], 2, "folders renamed, one fsync"),
        _row("undo", found["undo"], 2, "folders renamed, one fsync"),
    ]


def main(count: int = KERNELS) -> int:
    """Measure and print."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        place = Path(folder, "kernels")
        kernels(place, count, python)
        return 0 if measure.show(figures(Path(folder), place)) else 1


if __name__ == "__main__":
    subprocess.run(["sync"], check=False)
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KERNELS))
