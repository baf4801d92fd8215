"""Processes that work on one folder, started and ended by a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.load.commands import Ran


def tk(*argv: object) -> list[dict[str, Any]]:
    """The lines of a command, while nobody else works there."""
    done = subprocess.run(
        [sys.executable, "-m", "torchkeeper", *map(str, argv), "--json"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def exported(tmp_path: Path, **places: Path) -> list[Path]:
    """Bundles of some places."""
    for name, place in places.items():
        tk("export", place, "-o", tmp_path / f"{name}.torchcache")
    return [tmp_path / f"{name}.torchcache" for name in places]


class Crew:
    """PyTorch and the two command lines, each a process of its own."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.stop = work / "stop"
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, who: str, argv: list[str], env: dict[str, str]) -> None:
        """Start one; what it prints goes to ``who.out`` and ``who.err``."""
        out, err = (self.work / f"{who}.{name}" for name in ("out", "err"))
        with open(out, "wb") as out_, open(err, "wb") as err_:
            self._running[who] = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=out_, stderr=err_
            )

    def said(self, who: str) -> str:
        """What one has printed so far."""
        return (self.work / f"{who}.out").read_text()

    def end(self) -> None:
        """Have all of them end, and none fail."""
        self.stop.touch()
        for who, one in self._running.items():
            code = one.wait(timeout=180)
            errors = (self.work / f"{who}.err").read_text()
            assert code == 0, f"{who}: {errors}"
            assert "Traceback" not in errors, f"{who}: {errors}"

    def kill(self, *who: str) -> None:
        """Kill some, or all that the test has left running, where it failed."""
        for name in who or self._running:
            self._running[name].kill()
            self._running[name].wait()

    def ran(self, who: str) -> list[Ran]:
        """What a command line did."""
        lines = (self.work / f"{who}.jsonl").read_text().splitlines()
        return [Ran(**json.loads(line)) for line in lines]
