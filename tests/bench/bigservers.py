"""Memory and the window on very large Redis servers: ``python -m tests.bench.bigservers [keys]``.

Peak memory is that of all processes of a command together (tests.bench.tree), beside the same
command on a server of a fifth of the keys: what grows with the keys shows. The window is measured
in processes of their own (tests.bench.serverwindow), beside an empty one with the same worker.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench import measure, tree
from tests.bench.measure import Figure
from tests.bench.servers import fill
from tests.bench.window import EMPTY_WINDOW, FIRST_ROWS
from tests.redis_server import Server, serving

KEYS, FEWER = 1_000_000, 200_000
#: MB that all processes of a command may take together, whatever the server holds.
MEMORY = 400.0
#: MB of the window's process, in which every row is: so many, and for each million rows.
LEAST, EACH = 300.0, 1000.0
#: Seconds until the first rows are painted, and that a timer of 16 ms may be late.
FIRST, LATE = 0.3, 0.05


def _commands(server: Server, scratch: Path) -> dict[str, list[str]]:
    into = str(scratch / "into")
    return {
        "ls --json": ["ls", server.url, "--json"],
        "ls": ["ls", server.url],
        "du": ["du", server.url],
        "purge --dry-run of all": ["purge", server.url, "--dry-run"],
        "purge --dry-run --filter fab": ["purge", server.url, "--dry-run", "--filter", "fab"],
        "copy --dry-run --filter fab": ["copy", server.url, into, "--dry-run", "--filter", "fab"],
    }


def memory(big: Server, small: Server, scratch: Path, keys: int) -> list[Figure]:
    """What commands take on a big server, beside the same on a smaller one."""
    env = measure.environment(scratch)
    found = []
    less = _commands(small, scratch)
    for name, command in _commands(big, scratch).items():
        program = [sys.executable, "-m", "torchkeeper"]
        many, few = (tree.run([*program, *one], env)[1] for one in (command, less[name]))
        what = f"{name}, {keys:,} keys"
        of = f"{FEWER:,} keys"
        found.append(Figure(what, many.memory, few.memory, None, of, MEMORY, unit="MB"))
    return found


def _watched(server: Server, which: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.serverwindow", which, server.url]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def window(server: Server, keys: int, times: int = 3) -> list[Figure]:
    """The window on a server: its first rows, how late its thread is, its memory."""
    runs = [(_watched(server, "window"), _watched(server, "empty")) for _ in range(times)]
    assert all(run["rows"] == keys and not run["unseen"] for run, _ in runs)
    found = []
    for name, what, most in (
        ("first", "from a click on the server to its first rows", FIRST),
        ("seconds", "until all rows are there and sorted", None),
        ("median", "16 ms timer meanwhile and while scrolling, late at the median", LATE),
        ("p99", "99 of 100 times under", LATE),
        ("most", "at most", LATE),
    ):
        ours, bare = (statistics.median(run[n][name] for run in runs) for n in (0, 1))
        text = f"{keys:,} keys: {what}"
        found.append(Figure(text, ours, bare, None, "an empty window, same worker", most))
    most_of_window = max(LEAST, EACH * keys / 1e6)
    for name, of, most in (
        ("window", "window", most_of_window),
        ("engines", "its engines", MEMORY),
    ):
        ours, bare = (max(run[n][name] for run in runs) for n in (0, 1))
        text = f"{keys:,} keys: memory of the {of}".replace("the its", "its")
        found.append(Figure(text, ours, bare, None, "an empty window", most, unit="MB"))
    one = runs[0][0]
    print(f"{keys:,} keys: scrolled past all, {one['fetches']} questions for {one['fetched']:,}")
    return found


def start(server: Server, scratch: Path, keys: int) -> list[Figure]:
    """From the start of the program on a server to its first rows."""
    env = measure.environment(scratch)
    rows = measure.python(FIRST_ROWS, server.url)
    measure.run(rows, env)
    ours, empty = measure.medians(rows, measure.python(EMPTY_WINDOW), env)
    what = f"{keys:,} keys: from the program's start to the first rows"
    return [Figure(what, ours, empty, None, "an empty main window")]


def main(keys: int = KEYS) -> int:
    """Measure and print."""
    figures = []
    with (
        tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder,
        serving(Path(folder) / "big") as big,
        serving(Path(folder) / "small") as small,
    ):
        fill(big, keys)
        fill(small, FEWER)
        for server, count in ((small, FEWER), (big, keys)):
            figures += start(server, Path(folder), count) + window(server, count)
        figures += memory(big, small, Path(folder), keys)
    return 0 if measure.show(figures) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KEYS))
