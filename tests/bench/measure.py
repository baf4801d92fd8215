"""Timing whole processes and printing what came out."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Figure:
    """One line of the table: medians in seconds, or what ``unit`` is, and what is aimed for.

    limit: how many times the reference ours may be; None where no ratio is aimed for.
    most: seconds that ours may be at most, whatever the reference; None where that is open.
    of: what the reference is.
    """

    what: str
    ours: float
    reference: float
    limit: float | None
    of: str
    most: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Ours by the reference."""
        return self.ours / self.reference if self.reference else 0.0

    @property
    def kept(self) -> bool:
        """Whether all that is aimed for was reached."""
        near = self.limit is None or self.ours <= self.limit * self.reference
        return near and (self.most is None or self.ours <= self.most)

    def text(self, value: float, digits: int = 1) -> str:
        """A value as it is printed."""
        if self.unit == "s":
            return f"{value * 1e3:,.{digits}f} ms"
        return f"{value:,.{digits}f} {self.unit}"

    @property
    def aim(self) -> str:
        """What is aimed for, in words."""
        ratio = "" if self.limit is None else f"≤ {self.limit:3.1f}×"
        most = "" if self.most is None else f"≤ {self.text(self.most, 0)}"
        return ", ".join(filter(None, (ratio, most)))


@dataclass
class Run:
    """One process: seconds on the wall, peak memory in MB, what it printed; seconds of processors,
    with those of all that it waited for.
    """

    seconds: float
    memory: float
    out: str
    processors: float = 0.0


def environment(scratch: Path) -> dict[str, str]:
    """Variables under which nothing of the user's is read, and what Python compiles is kept."""
    return {
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "XDG_STATE_HOME": str(scratch / "state"),
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONDONTWRITEBYTECODE": "",
        # The offscreen platform warns of every window: it has no screen to hint sizes to.
        "QT_LOGGING_RULES": "default.warning=false",
    }


def run(command: Sequence[str], env: dict[str, str] | None = None) -> Run:
    """Run a command to its end. Raises CalledProcessError if it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    out = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command))
    return Run(seconds, usage.ru_maxrss / 1000, out, usage.ru_utime + usage.ru_stime)


def medians(
    first: Sequence[str], second: Sequence[str], env: dict[str, str], times: int = 5
) -> tuple[float, float]:
    """Seconds of two commands, run in turn, so that both see the same machine."""
    pairs = [(run(first, env).seconds, run(second, env).seconds) for _ in range(times)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def python(code: str, *arguments: str) -> list[str]:
    """A command that runs a piece of Python."""
    return [sys.executable, "-c", code, *arguments]


def show(figures: Sequence[Figure]) -> bool:
    """Print the table; whether every figure is within its limit."""
    width = max(len(figure.what) for figure in figures)
    aims = max(len(figure.aim) for figure in figures)
    print(f"{'':{width}}  {'ours':>10}  {'reference':>10}  {'ratio':>6}  {'aim':{aims}}")
    for figure in figures:
        mark = "" if figure.kept else "OVER"
        print(
            f"{figure.what:{width}}  {figure.text(figure.ours):>10}  "
            f"{figure.text(figure.reference):>10}  {figure.ratio:5.2f}×  "
            f"{figure.aim:{aims}}  {mark:4}  {figure.of}".rstrip()
        )
    return all(figure.kept for figure in figures)
