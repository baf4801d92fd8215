"""Processes that work on one folder, started and ended by a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import DATA
from tests.load.commands import Ran, Rows


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


def torch_env(place: Path, header_folder: Path) -> dict[str, str]:
    """The environment of a PyTorch that has a folder as its cache."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    return env | {
        "TMPDIR": str(header_folder),
        "TORCHINDUCTOR_CACHE_DIR": str(place),
        "TORCH_COMPILE_JOB_ID": "load",  # it keeps a profile then
    }


def called_again(torch_python: str, env: dict[str, str], numbers: list[int], rows: Rows) -> None:
    """A PyTorch that has seen nothing of it finds what is there, and nothing that it cannot use."""
    done = subprocess.run(
        [torch_python, str(DATA / "works_on.py"), "again", *map(str, numbers)],
        env=env, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert "unable to load" not in done.stderr
    there = {(row[0], row[1]) for row in rows}
    hits = 0
    for line in done.stdout.splitlines():
        call = json.loads(line)
        assert call["right"], call
        keys = {kind: key for kind, key, _ in call["artifacts"]}
        for kind, hit in (("fxgraph", "hits"), ("aotautograd", "aot_hits")):
            # What AOTAutograd made is of use only with its graph.
            wanted = (kind, keys[kind]) in there and ("fxgraph", keys["fxgraph"]) in there
            assert call[hit] == wanted, call
            hits += wanted
    print(f"torch   {len(numbers)} functions again: {hits} of {2 * len(numbers)} hit")
