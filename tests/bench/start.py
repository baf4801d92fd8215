"""What commands take of the processors when there is little to do: ``python -m tests.bench.start``.

Of a command and of all that it starts, once the index knows the place; each beside an interpreter
that does nothing, in turn.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import measure, verdicts
from tests.bench.measure import Figure

ENTRIES = 1000
#: Seconds of the processors that these may take, and how many times what the reference takes.
MOST = {"--version": 0.1, "ls": 0.5}
LIMITS = {"--version": 2.0}


def figures(scratch: Path, times: int = 5) -> list[Figure]:
    """Measure with a folder of graphs that is made for this."""
    place, bundle = scratch / "started", scratch / "one.torchcache"
    verdicts.graphs(place, ENTRIES)
    env = measure.environment(scratch)
    key = min(path.name for path in (place / "aotautograd").iterdir())
    ours = [sys.executable, "-m", "torchkeeper"]
    of_one = [str(place), "--filter", key, "-o", str(bundle), "--allow-secrets", "--quiet"]
    measure.run([*ours, "export", *of_one], env)
    commands: dict[str, Sequence[str]] = {
        "--version": (),
        "help": (),
        "ls": (str(place),),
        "ls --json": (str(place),),
        "du": (str(place),),
        "check": (str(place), "--env", sys.executable),
        "show": (str(place), key),
        "explain": (str(place), key, "--env", sys.executable),
        "inspect": (str(bundle),),
        "export": of_one,
        "purge --dry-run": (str(place), "--filter", key),
        "places": (),
        "runs": (),
    }
    found = []
    for name, rest in commands.items():
        # What is stale makes the exit code of some 1; what they say of it is of no interest.
        command = ["sh", "-c", '"$@" 2> /dev/null || [ $? = 1 ]', "sh", *ours, *name.split(), *rest]
        measure.run(command, env)
        pairs = [
            (measure.run(command, env).processors, measure.run(measure.python("pass")).processors)
            for _ in range(times)
        ]
        taken, bare = (statistics.median(some) for some in zip(*pairs, strict=True))
        most, limit = MOST.get(name), LIMITS.get(name)
        what = f"{name} of {ENTRIES:,} entries" if str(place) in rest else name
        found.append(Figure(what, taken, bare, limit, "python -c pass", most))
    return found


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        return 0 if measure.show(figures(Path(folder))) else 1


if __name__ == "__main__":
    sys.exit(main())
