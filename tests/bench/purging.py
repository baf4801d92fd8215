"""``purge`` and ``undo`` of 10,000 Triton kernels: ``python -m tests.bench.purging [FOLDER]``."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

from tests.bench import listing, measure
from tests.bench.measure import Figure

TIMES = 3

_RENAME = """
import os, sys
source, target = sys.argv[1:]
os.makedirs(target, exist_ok=True)
for name in os.listdir(source):
    os.rename(f"{source}/{name}", f"{target}/{name}")
os.fsync(os.open(target, os.O_RDONLY))
"""

#: What the engine does when all is planned, and when all is in the trash; prints the seconds.
_DOING = """
import gc, os, sys, time
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
gc.set_threshold(2_000_000, 10, 10)
folder, report, left = Folder(sys.argv[1]), Report(), lambda *what: sys.exit(str(what))
plan = trash.Plan(folder.root, folder.items(report))
for do in (lambda: trash.purge(plan, False, report, left),
           lambda: trash.undo(folder.root, report, left)):
    os.sync()
    started = time.perf_counter()
    assert do().files == plan.files
    print(time.perf_counter() - started)
"""


def figures(scratch: Path, place: Path) -> list[Figure]:
    """Measure with the kernels of a folder, which are there again in the end."""
    env = {**measure.environment(scratch), "XDG_STATE_HOME": str(scratch / "state")}
    tk = [sys.executable, "-m", "torchkeeper"]
    steps = {
        "purge": [*tk, "purge", str(place), "--yes"],
        "undo": [*tk, "undo", str(place)],
        "away": measure.python(_RENAME, str(place), str(scratch / "aside")),
        "again": measure.python(_RENAME, str(scratch / "aside"), str(place)),
        "doing": measure.python(_DOING, str(place)),
    }
    measure.run([*tk, "ls", str(place), "--json"], env)  # it is in the index, and in memory
    seconds: dict[str, list[float]] = {}
    for _ in range(TIMES):
        for name, command in steps.items():
            os.sync()
            run = measure.run(command, env)
            seconds.setdefault(name, []).append(run.seconds)
            if name == "doing":
                for done, text in zip(("purging", "undoing"), run.out.split(), strict=True):
                    seconds.setdefault(done, []).append(float(text))
    median = {name: statistics.median(some) for name, some in seconds.items()}
    of = "as many folders renamed, one fsync, start included"
    return [
        Figure("purge", median["purge"], median["away"], 2, of),
        Figure("… without the listing", median["purging"], median["away"], 2, of),
        Figure("undo", median["undo"], median["again"], 2, of),
        Figure("… in the engine", median["undoing"], median["again"], 2, of),
    ]


def main() -> int:
    """Measure, in a folder where kernels are made unless they are there, and print the table."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        place = Path(sys.argv[1] if len(sys.argv) > 1 else f"{scratch}/kernels")
        if not place.exists():
            listing.kernels(place, listing.KERNELS, python)
        return 0 if measure.show(figures(Path(scratch), place)) else 1


if __name__ == "__main__":
    sys.exit(main())
