"""Places on another machine, through a line of 50 ms and 20 Mbit/s (``slowline``), beside what ssh
and scp do on the same line. The machine is an sshd of the tests.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench import listing, measure, slowline
from tests.bench.measure import Figure
from tests.ssh.conftest import Machine, config, programs, started

#: Bytes that are copied, and how many kernels these are.
SIZE, LARGE = 200_000_000, 200
#: Lists a place, once more for each line of its input; a line for its first rows, and one for all.
_LIST = """
import sys
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import LIST
rows = []
def take(message):
    if not rows and message.rows:
        print("first", flush=True)
    rows.extend(message.rows)
with Engine("ssh://there") as engine:
    while True:
        rows.clear()
        engine.call(LIST, {"place": sys.argv[1]}, take)
        print(len(rows), flush=True)
        if not sys.stdin.readline():
            break
"""


class Far:
    """The machine, and what is measured of it. counts: of the line."""

    def __init__(self, there: Machine, scratch: Path, env: dict[str, str]) -> None:
        self.there, self.scratch, self.env = there, scratch, env
        self.counts = scratch / "counts"
        slowline.reset(self.counts)

    @contextmanager
    def begun(self, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        slowline.reset(self.counts)
        process = subprocess.Popen(
            command, env={**os.environ, **self.env}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.communicate()

    def first(self, command: Sequence[str]) -> tuple[float, int]:
        """Seconds and turns until a command says something."""
        started = time.perf_counter()
        with self.begun(command) as process:
            assert process.stdout
            assert process.stdout.readline()
            return time.perf_counter() - started, slowline.counts(self.counts)[2]

    def seconds(self, command: Sequence[str]) -> float:
        slowline.reset(self.counts)
        return measure.run(command, self.env).seconds

    def refreshed(self, place: str) -> int:
        """Bytes that go, both ways, to list a place once more."""
        with self.begun(measure.python(_LIST, place)) as process:
            assert process.stdin and process.stdout
            assert process.stdout.readline() == "first\n"
            assert process.stdout.readline() == f"{listing.KERNELS}\n"
            time.sleep(1)
            before = slowline.counts(self.counts)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "first\n"
            assert process.stdout.readline() == f"{listing.KERNELS}\n"
            time.sleep(1)
            after = slowline.counts(self.counts)
            return sum(after[:2]) - sum(before[:2])


def _large(folder: Path, source: Path) -> None:
    """Kernels whose binaries nothing can compress."""
    chance, begun = random.Random(2), sorted(source.iterdir())[:LARGE]
    for kernel in begun:
        copy = folder / kernel.name
        shutil.copytree(kernel, copy)
        largest = max(copy.iterdir(), key=lambda file: file.stat().st_size)
        largest.write_bytes(chance.randbytes(SIZE // LARGE))


def figures(scratch: Path, place: Path) -> list[Figure]:
    """Measure with the kernels of a folder."""
    folder = scratch / "far"
    folder.mkdir()
    with started(folder) as there:
        path = f"{programs(there, scratch / 'programs')}:{os.environ['PATH']}"
        far = Far(there, scratch, {**measure.environment(scratch), "PATH": path})
        line = f"{sys.executable} {slowline.__file__} {there.port} {far.counts}"
        config(there, ProxyCommand=line)
        return [*_listed(far, place), *_copied(far, place)]


def _listed(far: Far, place: Path) -> list[Figure]:
    name = far.there.place(place)
    rows, ls = measure.python(_LIST, name), ["ssh", "there", f"ls -R {place}"]
    tar = f"cd {place} && find . -name '*.json' -print0 | tar c --null -T -"
    every = [sys.executable, "-m", "torchkeeper", "ls", "--json", name]
    # What Python compiles of us is there by then, here and there.
    far.seconds(
        [sys.executable, "-m", "torchkeeper", "du", far.there.place(far.scratch / "programs")]
    )
    cold, indexed, bare = [], [], []
    for _ in range(3):
        shutil.rmtree(far.there.home / ".cache/torchkeeper", ignore_errors=True)
        cold.append(far.seconds(every))
        indexed.append(far.first(rows))
        bare.append(far.first(ls))
    whole = sorted(far.seconds(every) for _ in range(3))[1]
    counted = sorted(far.seconds(["ssh", "there", f"{tar} | wc -c"]) for _ in range(3))[1]
    fetched = sorted(far.seconds(["sh", "-c", f"ssh there '{tar.replace(chr(39), chr(34))}' "
                                  "| wc -c"]) for _ in range(1))[0]  # fmt: skip
    of = "ssh ls -R"
    (first, turns), (theirs, others) = sorted(indexed)[1], sorted(bare)[1]
    return [
        Figure(f"First rows of {listing.KERNELS:,} kernels far away", first, theirs, None, of),
        Figure("… their round trips", turns, others, None, of, others + 3, unit="turns"),
        Figure("All rows, first time", sorted(cold)[1], fetched, 1.3, "ssh tar of the metadata"),
        Figure("… once indexed", whole, counted, 1.3, "tar | wc of the metadata, there"),
        Figure("A refresh with nothing new", far.refreshed(name), 0, None, "nothing", 2000,
               unit="bytes"),
    ]  # fmt: skip


def _copied(far: Far, place: Path) -> list[Figure]:
    large, single = far.there.home / "large", far.there.home / "file"
    _large(large, place)
    small = far.there.home / "small" / next(place.iterdir()).name
    shutil.copytree(place / small.name, small)
    single.write_bytes(random.Random(3).randbytes(SIZE))
    copy = [sys.executable, "-m", "torchkeeper", "copy", "--allow-secrets"]
    # What the environment here tells is kept by then.
    far.seconds([*copy, far.there.place("small"), str(far.scratch / "came first")])
    ours = far.seconds([*copy, far.there.place("large"), str(far.scratch / "came")])
    theirs = far.seconds(["scp", "-Oq", "there:file", str(far.scratch / "file")])
    shutil.rmtree(far.scratch / "came")
    return [Figure("200 MB from far away", ours, theirs, 1.2, "scp")]
