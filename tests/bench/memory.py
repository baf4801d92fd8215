"""A million files once indexed, and the most memory that commands take on a million files and on
10 GB: ``python -m tests.bench.memory [kernels [MB]]``.

Takes half an hour, and 30 GB where temporary files go (TMPDIR). The memory of a command is that of
the largest of its processes that have not loaded torch; its reference, of those that have, or of a
Python that does nothing.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import listing, measure, servers
from tests.bench.measure import Figure

KERNELS = 125_000
MEGABYTES = 10_000
#: MB that a process may have at its peak.
MOST = 300.0
_EACH = 8 << 20
_OURS = [sys.executable, "-m", "torchkeeper"]
_STATUSES = (0, 1, 4)


def kernels(folder: Path, count: int, python: str) -> None:
    """A Triton cache of so many kernels: what is read of them are two real ones' files, under many
    names, and what is only hashed is empty.
    """
    two = folder.parent / "two"
    listing.kernels(two, 2, python)
    sources = [sorted(one.iterdir()) for one in sorted(two.iterdir())]
    chance = random.Random(2)
    for number in range(count):
        kernel = folder / base64.b32encode(chance.randbytes(32)).decode().rstrip("=")
        kernel.mkdir(parents=True)
        for file in sources[number % len(sources)]:
            if file.suffix == ".json":
                os.link(file, kernel / file.name)
            else:
                (kernel / file.name).touch()


def _kin(root: int) -> list[int]:
    """A process and all that come from it."""
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def peak(pid: int) -> float:
    """MB that a process has had at most, 0 if it is over."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1000
    return 0.0


def _has_torch(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text()
    return False


def _watched(command: list[str], env: dict[str, str]) -> tuple[float, float]:
    """MB of the largest process of a command that has no torch loaded, and of one that has. Raises
    CalledProcessError if it fails.
    """
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    peaks, torch = dict[int, float](), set[int]()
    while process.poll() is None:
        for pid in _kin(process.pid):
            peaks[pid] = max(peaks.get(pid, 0.0), peak(pid))
            if pid not in torch and _has_torch(pid):
                torch.add(pid)
        time.sleep(0.1)
    if process.returncode not in _STATUSES:
        raise subprocess.CalledProcessError(process.returncode, command)
    ours = max(peak for pid, peak in peaks.items() if pid not in torch)
    return ours, max((peaks[pid] for pid in torch), default=0.0)


class _Peaks:
    """Runs commands, and keeps what each has at its peak."""

    def __init__(self, scratch: Path, what: str) -> None:
        self._env, self._what = {**os.environ, **measure.environment(scratch)}, what
        self._bare, _ = _watched(measure.python("import time; time.sleep(0.5)"), self._env)
        self.found: list[Figure] = []

    def take(self, name: str, *command: str) -> None:
        started = time.monotonic()
        ours, torch = _watched([*_OURS, name, *command], self._env)
        text = " ".join((name, *(one for one in command if one[0] == "-"), "of", self._what))
        print(f"{text}: {time.monotonic() - started:.1f} s, {ours:.0f} MB", flush=True)
        of = "a process with torch" if torch else "Python alone"
        self.found.append(Figure(text, ours, torch or self._bare, None, of, MOST, "MB"))

    def round(self, place: Path, bundle: Path, into: Path) -> None:
        """What changes files, to a bundle and back; at the end only ``place`` is there."""
        self.take("export", str(place), "-o", str(bundle))
        self.take("inspect", str(bundle))
        self.take("import", str(bundle), "--into", str(into), "--trust")
        bundle.unlink()
        shutil.rmtree(into)


def figures(
    scratch: Path, python: str, count: int = KERNELS, megabytes: int = MEGABYTES
) -> list[Figure]:
    """Measure with so many kernels of eight files, then with so many MB in entries of 8."""
    small, large = scratch / "small", scratch / "large"
    bundle, into = scratch / "b.torchcache", scratch / "into"
    kernels(small, count, python)
    peaks = _Peaks(scratch, f"{count * 8:,} files")
    found = []
    for name in ("ls", "du", "check", "doctor"):
        peaks.take(name, str(small))
    found.append(_indexed(small, measure.environment(scratch), count * 8))
    peaks.take("ls", "--json", str(small))
    peaks.round(small, bundle, into)
    peaks.take("purge", str(small), "--yes")
    peaks.take("undo", str(small))
    found += peaks.found
    shutil.rmtree(small)
    servers.code(large, megabytes * 1_000_000 // _EACH, _EACH)
    peaks = _Peaks(scratch, f"{megabytes:,} MB")
    peaks.round(large, bundle, into)
    return found + peaks.found


def _indexed(place: Path, env: dict[str, str], files: int) -> Figure:
    ls = [*_OURS, "ls", str(place), "--json"]
    walk = measure.python(listing.WALK_AND_STAT, str(place))
    ours, bare = measure.medians(ls, walk, env, times=3)
    of = "scandir and stat, start included"
    return Figure(f"ls of {files:,} files, once indexed", ours, bare, 1, of)


def main(count: int = KERNELS, megabytes: int = MEGABYTES) -> int:
    """Measure and print."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        found = figures(Path(folder), python, count, megabytes)
    return 0 if measure.show(found) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
