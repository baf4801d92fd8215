"""A Redis of 200,000 keys: ``python -m tests.bench.servers [keys]``."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure
from tests.redis_server import Server, serving

KEYS = 200_000
#: How many times as fast as ``redis-cli --bigkeys`` the sum is to be.
FASTER = 3.0
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def fill(server: Server, keys: int) -> None:
    """Put made-up graphs there, of some hundred bytes each."""
    chance = random.Random(7)
    step = 5000
    for first in range(0, keys, step):
        values = {}
        for _ in range(min(step, keys - first)):
            key = "f" + "".join(chance.choices(_LETTERS, k=51))
            values[f"pt2:fx-graph-v1::{key}:c1"] = b"x" * chance.randint(200, 900)
        server.load(values)


def _seconds(command: Sequence[str], env: dict[str, str] | None = None) -> measure.Run:
    return measure.run(command, env)


def figures(scratch: Path, keys: int = KEYS) -> list[Figure]:
    """``du`` and ``ls --json`` of a server, beside ``redis-cli --bigkeys`` on the same."""
    env = measure.environment(scratch)
    redis_cli = shutil.which("redis-cli")
    assert redis_cli, "redis-cli comes with Debian's redis-tools"
    with serving(scratch / "redis") as server:
        fill(server, keys)
        program = [sys.executable, "-m", "torchkeeper"]
        bigkeys = [redis_cli, "-p", str(server.port), "--bigkeys"]
        summed, bare = measure.medians([*program, "du", server.url], bigkeys, env)
        listed, again = measure.medians([*program, "ls", server.url, "--json"], bigkeys, env)
        run = _seconds([*program, "ls", server.url, "--json"], env)
    assert len(run.out.splitlines()) == keys
    print(f"memory of ls of {keys:,} keys: {run.memory:.0f} MB")
    return [
        Figure(f"du of a Redis of {keys:,} keys", summed, bare, 1 / FASTER, "redis-cli --bigkeys"),
        Figure("ls --json of the same", listed, again, 1, "redis-cli --bigkeys"),
    ]


def copies(scratch: Path, kernels: Path) -> list[Figure]:
    """A folder of kernels into a bundle and out again, beside ``tar`` of the same files."""
    env = measure.environment(scratch)
    bundle, tarred = scratch / "b.torchcache", scratch / "b.tar"
    program = [sys.executable, "-m", "torchkeeper", "copy"]

    def ours(step: int) -> list[str]:
        if step == 0:
            bundle.unlink(missing_ok=True)
            return [*program, str(kernels), str(bundle)]
        shutil.rmtree(scratch / "out", ignore_errors=True)
        return [*program, str(bundle), str(scratch / "out"), "--trust"]

    def tar(step: int) -> list[str]:
        if step == 0:
            return ["tar", "-cf", str(tarred), "-C", str(kernels), "."]
        shutil.rmtree(scratch / "untarred", ignore_errors=True)
        (scratch / "untarred").mkdir()
        return ["tar", "-xf", str(tarred), "-C", str(scratch / "untarred")]

    seconds = {"ours": 0.0, "tar": 0.0}
    memory = 0.0
    for step in (0, 1):
        run = measure.run(ours(step), env)
        memory = max(memory, run.memory)
        seconds["ours"] += run.seconds
        seconds["tar"] += measure.run(tar(step)).seconds
    size = bundle.stat().st_size / 1e6
    print(f"peak memory of a copy of {size:,.0f} MB: {memory:.0f} MB (aim: under 300 MB)")
    what = f"{size:,.0f} MB of large entries from a folder to a bundle to a folder"
    return [Figure(what, seconds["ours"], seconds["tar"], 2, "tar, both ways")]


def large_entries(folder: Path, megabytes: int) -> None:
    """FX graphs of 8 MB each; that they cannot be read makes no difference to a copy of code."""
    chance = random.Random(3)
    block = chance.randbytes(8 << 20)
    for number in range(megabytes // 8):
        stem = "c" + "".join(chance.choices(_LETTERS, k=51))
        path = folder / stem[1:3] / f"{stem}.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(number.to_bytes(8, "big") + block)


def main(keys: int = KEYS) -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        large_entries(Path(folder) / "large", 1000)
        found = figures(Path(folder), keys) + copies(Path(folder), Path(folder) / "large")
    return 0 if measure.show(found) else 1


if __name__ == "__main__":
    subprocess.run(["sync"], check=False)
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KEYS))
