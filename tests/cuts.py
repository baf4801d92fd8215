"""``python -m tests.cuts [SEED]``: the line to another machine is cut at random points of all that
is done there, on the command line and in the window. Takes twenty minutes, most of them silence;
prints what came of each point, and for how long the window was blocked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.ssh import points

ROOT = Path(__file__).resolve().parents[1]
FILES = ("tests/ssh/test_cuts.py", "tests/gui/test_cuts.py")


def main() -> int:
    os.chdir(ROOT)
    points.SEED = int(sys.argv[1]) if sys.argv[1:] else 0
    status = pytest.main(["-q", "-n", "0", *FILES])
    print(points.table())
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
