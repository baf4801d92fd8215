"""A Redis of 200,000 keys, and copies: ``python -m tests.bench.servers [keys]``, 0 for copies."""

from __future__ import annotations

import random
import shutil
import statistics
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
#: MB that a process of a copy may have at most.
MEMORY = 120.0
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


def copies(scratch: Path, source: Path, what: str, times: int = 5) -> list[Figure]:
    """A folder of code into a bundle and out again, beside ``tar`` of the same files.

    Nothing is known of the folder beforehand. The two take turns, so that both see the same
    machine; the time is the sum of the medians, the memory that of the largest process. Many files
    stay until the end, as in ``disk``.
    """
    env = measure.environment(scratch)
    # Names that no other bench has: what one leaves is there while the next one runs.
    bundle, tarred = scratch / "copied.torchcache", scratch / "copied.tar"
    copy = [sys.executable, "-m", "torchkeeper", "copy"]
    seconds: dict[str, list[float]] = {}
    memory = plain = size = 0.0
    for number in range(times):
        out, untarred = (scratch / f"{name} {source.name} {number}" for name in ("out", "untarred"))
        commands = {
            "there": [*copy, str(source), str(bundle)],
            "back": [*copy, str(bundle), str(out), "--trust"],
            "tar there": ["tar", "-cf", str(tarred), "-C", str(source), "."],
            "tar back": ["tar", "-xf", str(tarred), "-C", str(untarred)],
        }
        shutil.rmtree(scratch / "cache", ignore_errors=True)
        untarred.mkdir()
        # Each is the first in turn: what the system has at hand of free memory decides much.
        order = ("there", "tar there", "back", "tar back")
        for name in order if number % 2 else ("tar there", "there", "tar back", "back"):
            run = measure.run(commands[name], env)
            seconds.setdefault(name, []).append(run.seconds)
            if name.startswith("tar"):
                plain = max(plain, run.memory)
            else:
                memory = max(memory, run.memory)
        size = bundle.stat().st_size / 1e6
        bundle.unlink()
        tarred.unlink()
        if source.name != "small":
            shutil.rmtree(out)
            shutil.rmtree(untarred)
    middle = {name: statistics.median(some) for name, some in seconds.items()}
    ours = middle["there"] + middle["back"]
    reference = middle["tar there"] + middle["tar back"]
    limit = None if source.name == "one" else 1.5
    copied = f"{size:,.0f} MB of {what}: folder to bundle to folder"
    return [
        Figure(copied, ours, reference, limit, "tar, both ways"),
        Figure("… its memory", memory, plain, None, "tar", MEMORY, "MB"),
    ]


def code(folder: Path, count: int, size: int) -> None:
    """So many C++ sources; what is in them makes no difference to a copy."""
    chance = random.Random(3)
    block = chance.randbytes(min(size, 8 << 20))
    for number in range(count):
        stem = "c" + "".join(chance.choices(_LETTERS, k=51))
        path = folder / stem[1:3] / f"{stem}.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(number.to_bytes(8, "big") + block[8:])
            for _ in range(size // len(block) - 1):
                file.write(block)


def all_copies(scratch: Path) -> list[Figure]:
    """Copies of some large entries, of a single one, and of many small ones."""
    found: list[Figure] = []
    for name, count, size, what in (
        ("large", 125, 8 << 20, "entries of 8 MB"),
        ("one", 1, 1 << 30, "one entry"),
        ("small", 20_000, 10_000, "20,000 small entries"),
    ):
        code(scratch / name, count, size)
        found += copies(scratch, scratch / name, what)
        if name != "small":
            shutil.rmtree(scratch / name)
    return found


def main(keys: int = KEYS) -> int:
    """Measure and print; without keys only copies."""
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        scratch = Path(folder)
        found = (figures(scratch, keys) if keys else []) + all_copies(scratch)
    return 0 if measure.show(found) else 1


if __name__ == "__main__":
    subprocess.run(["sync"], check=False)
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KEYS))
