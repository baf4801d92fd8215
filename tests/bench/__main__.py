"""Runs the benchmarks; 1 if a figure is over its aim. Takes some 17 minutes and 12 GB of disk.

``--write`` keeps what was measured, for the manual; ``--only NAME`` runs one of them; ``--show``
prints what was kept, and what of it is out of date. ``memory``, ``far`` and ``hosts`` run only
where they are named: see there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import (
    disk,
    far,
    hosts,
    jits,
    kept,
    listing,
    measure,
    memory,
    servers,
    start,
    streaming,
    table,
    treemap,
    verdicts,
    window,
)
from tests.bench.measure import Figure


def main() -> int:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--only", choices=list(kept.MEASURES), action="append")
    args = parser.parse_args()
    if args.show:
        kept.tell()
        return 0
    chosen = args.only or list(kept.MEASURES.keys() - kept.APART)
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        scratch = Path(folder)
        place = scratch / "kernels"
        if {"window", "listing", "disk", "verdicts", "far"} & set(chosen):
            listing.kernels(place, listing.KERNELS, python)
        # The table as late as it can be: its rows stay in this process.
        benches: dict[str, Callable[[], Sequence[Figure]]] = {
            "start": lambda: start.figures(scratch),
            "window": lambda: window.figures(scratch, place),
            "listing": lambda: listing.figures(scratch, place),
            "disk": lambda: disk.figures(scratch, place),
            "copies": lambda: servers.all_copies(scratch),
            "verdicts": lambda: verdicts.figures(scratch, place, python),
            "jits": lambda: jits.figures(scratch),
            "treemap": treemap.figures,
            "streaming": streaming.figures,
            "table": table.figures,
            "far": lambda: far.figures(scratch, place),
            "hosts": lambda: hosts.figures(scratch, python),
            "memory": lambda: memory.figures(scratch, python),
        }
        found: dict[str, Sequence[Figure]] = {}
        for name, bench in benches.items():
            if name in chosen:
                # Or the disk is still busy while the first figures are measured.
                os.sync()
                found[name] = bench()
                if args.write:
                    # At once: one that fails costs the others nothing.
                    kept.write({name: found[name]})
    figures = [one for some in found.values() for one in some]
    return 0 if measure.show(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
