"""Runs the benchmarks; 1 if a figure is over its aim. Takes some minutes and 1.5 GB of disk."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.bench import listing, measure, streaming, table, treemap, verdicts, window


def main() -> int:
    """Measure everything and print the table."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        place = Path(scratch) / "kernels"
        listing.kernels(place, listing.KERNELS, python)
        # Or the disk is still busy with them while the first figures are measured.
        os.sync()
        figures = window.figures(Path(scratch), place) + listing.figures(Path(scratch), place)
        figures += verdicts.figures(Path(scratch), place, python)
    # The table last: its rows stay in this process.
    figures += treemap.figures() + streaming.figures() + table.figures()
    return 0 if measure.show(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
