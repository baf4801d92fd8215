"""``python -m tests.cuts [SEED]``: the line to another machine is cut at random points of all that
is done there, on the command line and in the window. Takes some ten minutes, most of them silence;
says what came of each point, and for how long the window was blocked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.ssh import points

ROOT = Path(__file__).resolve().parents[1]
FILES = ("tests/ssh/test_cuts.py", "tests/gui/test_cuts.py")
#: What came of each point.
_came: list[points.Came] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cuts-seed", type=int, default=0)


def pytest_configure(config: pytest.Config) -> None:
    points.seed = config.getoption("--cuts-seed")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        said = [told for name, told in report.user_properties if name == "cut"]
        _came.extend(points.Came(*told) for told in said if isinstance(told, tuple | list))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(points.table(_came))


def main() -> int:
    """Run them, several at a time: each mostly waits."""
    os.chdir(ROOT)
    several = "-n", "4", "--dist", "worksteal"
    seed = "--cuts-seed", sys.argv[1] if sys.argv[1:] else "0"
    return int(pytest.main(["-q", "-p", "tests.cuts", *several, *seed, *FILES]))


if __name__ == "__main__":
    raise SystemExit(main())
