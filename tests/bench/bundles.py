"""``export`` to a bundle and ``inspect`` of it: ``python -m tests.bench.bundles [kernels]``."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import listing, measure
from tests.bench.measure import Figure

KERNELS = 10_000
_READ = """import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    json.loads(archive.read("manifest.json"))"""


def _pair(ours: Sequence[str], reference: Sequence[str], env: dict[str, str], times: int = 3,
          ) -> tuple[float, float]:  # fmt: skip
    """As ``measure.medians``, with nothing left to be written back before each."""
    found = []
    for _ in range(times):
        seconds = []
        for command in (ours, reference):
            os.sync()
            seconds.append(measure.run(command, env).seconds)
        found.append(seconds)
    return statistics.median(a for a, _ in found), statistics.median(b for _, b in found)


def figures(scratch: Path, place: Path) -> list[Figure]:
    """Measure with a folder of kernels."""
    env = measure.environment(scratch)
    program = [sys.executable, "-m", "torchkeeper"]
    bundle, plain = str(scratch / "b.torchcache"), str(scratch / "b.tar")
    export = [*program, "export", str(place), "-o", bundle]
    tar = ["tar", "cf", plain, str(place)]
    measure.run(tar)  # the tree is in memory for all of them
    found = [Figure("export of kernels", *_pair(export, tar, env), 2, "tar c")]
    read = ["sh", "-c", f'unzip -l {bundle} >/dev/null; exec "$@"', "sh"]
    read += measure.python(_READ, bundle)
    inspect = [*program, "inspect", bundle, "--json"]
    found.append(Figure("inspect of that", *_pair(inspect, read, env), 3, "unzip -l, JSON"))
    return found


def main() -> int:
    """Measure and print; 1 if a figure is over its aim."""
    count = int(sys.argv[1]) if sys.argv[1:] else KERNELS
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        place = Path(scratch) / "kernels" / "0"
        listing.kernels(place, count, sys.executable)
        shutil.rmtree(place.parent / "made", ignore_errors=True)
        return 0 if measure.show(figures(Path(scratch), place)) else 1


if __name__ == "__main__":
    sys.exit(main())
