"""``kill -9`` at random moments of a warm-up, of any of its processes: nothing of what is left is
broken, none of them is left, and the next one works.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from torchkeeper.engine.wire import Message
from torchkeeper.link.process import Engine
from torchkeeper.warm import processes

pytestmark = pytest.mark.torch

#: Each by how many processes it is below the one that a person started.
VICTIMS = {"command": 0, "engine": 1, "worker": 2}


@dataclass
class Killing:
    """A place, and warm-ups into it that do not end well."""

    folder: Path
    python: str
    temporary: Path
    runs: int = 0

    @property
    def place(self) -> Path:
        return self.folder / "place"

    def start(self, jobs: int = 1) -> subprocess.Popen[bytes]:
        """A warm-up of what was never compiled here before."""
        self.runs += 1
        sizes = [100 * self.runs + more for more in range(3 * jobs)]
        recipe = self.folder / "recipe.toml"
        recipe.write_text(
            f"[[callable]]\nfunction = 'cell_models:wave'\ninputs = [{{ shape = ['n'] }}]\n"
            f"[matrix]\nn = {sizes}\n[compile]\ndynamic = false\n"
        )
        command = [sys.executable, "-m", "torchkeeper", "warm", str(recipe), "--into",
                   str(self.place), "--env", self.python, "--jobs", str(jobs)]  # fmt: skip
        with (self.folder / "log").open("wb") as log:
            env = {**os.environ, "TMPDIR": str(self.temporary)}
            return subprocess.Popen(command, env=env, stdout=log, stderr=log)

    def kill(self, started: subprocess.Popen[bytes], victim: str, after: int) -> None:
        """Kill it once so many more files are in the place."""
        enough = self.files() + after
        deadline = time.monotonic() + 90
        while self.files() < enough:
            assert started.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        pid = started.pid
        for _ in range(VICTIMS[victim]):
            pid = random.choice(_children(pid))
        os.kill(pid, signal.SIGKILL)

    def files(self) -> int:
        """How many files and folders there are."""
        return sum(1 for _ in self.place.rglob("*"))

    def assert_well(self, family: set[int]) -> None:
        """No process of these is left, and nothing in the place is broken."""
        deadline = time.monotonic() + 5
        while (left := {pid for pid in family if _alive(pid)}) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not left
        while (bad := self.broken()) and time.monotonic() < deadline + 5:
            time.sleep(0.2)  # what a job left whose engine is gone is being mended
        assert bad == []

    def broken(self) -> list[dict[str, Any]]:
        """What a check calls broken, or a listing."""
        rows: list[dict[str, Any]] = []

        def heard(message: Message) -> None:
            if message.type == "rows":
                rows.extend(message.body["rows"])

        env = next(iter(json.loads((DATA / "environments.json").read_text()).values()))
        with Engine(sys.executable) as engine:
            engine.call("check", {"place": str(self.place), "env": env}, heard)
        return [row for row in rows if row["verdict"] == "broken" or row["problem"]]


def _children(pid: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            stat = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            if name.isdigit() and int(stat[1]) == pid and stat[0] != "Z":
                found.append(int(name))
    return found


def _alive(pid: int) -> bool:
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def killing(tmp_path: Path, torch_python: str, header_folder: Path) -> Killing:
    shutil.copy(DATA / "cell_models.py", tmp_path)
    return Killing(tmp_path, torch_python, header_folder)


def test_three_times(killing: Killing) -> None:
    started = killing.start()
    killing.kill(started, "worker", random.randint(1, 12))
    before = processes.family(started.pid)
    killing.kill(started, "engine", random.randint(1, 12))
    family = before | processes.family(started.pid)
    assert started.wait(20) != 0
    killing.assert_well(family - {started.pid})

    started = killing.start()
    killing.kill(started, "command", random.randint(1, 12))
    family = processes.family(started.pid)
    started.wait(20)
    killing.assert_well(family)


@pytest.mark.slow
def test_fifty_times(killing: Killing) -> None:
    for _ in range(50):
        victim = random.choice(list(VICTIMS))
        jobs = random.choice([1, 2])
        started = killing.start(jobs)
        killing.kill(started, victim, random.randint(1, 30))
        family = processes.family(started.pid) | {started.pid}
        if victim == "worker":
            # Only the cell that it was at has failed, if it was at one.
            status, said = started.wait(120), (killing.folder / "log").read_text()
            failed = re.findall(r"^failed +recipe:", said, re.M)
            assert (status, len(failed)) in ((1, 1), (0, 0)), said
        started.wait(20)
        killing.assert_well(family)
    started = killing.start()
    assert started.wait(120) == 0
