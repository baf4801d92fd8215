"""``import`` of 10,000 Triton kernels into a new folder: ``python -m tests.bench.importing``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench import listing, measure
from tests.bench.measure import Figure

_UNPACK = 'mkdir "$2" && tar xf "$1" -C "$2" && sync -f "$2"'


def figures(scratch: Path, place: Path, times: int = 3) -> list[Figure]:
    """Measure with the kernels of a folder, on the disk of ``scratch``."""
    env = measure.environment(scratch)
    tk = [sys.executable, "-m", "torchkeeper"]
    bundle, packed = scratch / "kernels.torchcache", scratch / "kernels.tar"
    measure.run([*tk, "export", str(place), "-o", str(bundle)], env)
    subprocess.run(["tar", "cf", str(packed), "-C", str(place), "."], check=True)
    pairs = []
    for turn in range(times):
        # Into folders that are new, and stay: ext4 takes its time to give numbers of files again.
        into, beside = str(scratch / f"ours-{turn}"), str(scratch / f"tar-{turn}")
        os.sync()
        ours = measure.run([*tk, "import", str(bundle), "--into", into, "--trust"], env)
        os.sync()
        tar = measure.run(["sh", "-c", _UNPACK, "sh", str(packed), beside])
        print(
            f"{ours.seconds:.1f} s ({ours.processors:.1f} s of processors), tar {tar.seconds:.1f}"
        )
        pairs.append((ours.seconds, tar.seconds))
    ours_s, tar_s = (statistics.median(seconds) for seconds in zip(*pairs, strict=True))
    return [Figure("import into a new folder", ours_s, tar_s, 1.5, "tar x and sync -f")]


def main() -> int:
    """Measure and print; 1 where it is over its aim."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        place = Path(scratch) / "kernels"
        listing.kernels(place, listing.KERNELS, python)
        return 0 if measure.show(figures(Path(scratch), place)) else 1


if __name__ == "__main__":
    sys.exit(main())
