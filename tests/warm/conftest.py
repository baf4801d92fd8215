"""A cache that the built-in recipe filled in this run, and reports that remember."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.warm import following, processes


@dataclass
class Recorder(Report):
    """Keeps what it is told. ``when`` says when to cancel; ``at`` does anything else."""

    when: Callable[[], bool] = lambda: False
    at: Callable[[dict[str, Any]], None] = lambda _: None
    steps: list[tuple[int, int | None, str]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def progress(self, done: int, total: int | None, unit: str) -> None:
        self.steps.append((done, total, unit))

    def finding(self, **what: Any) -> None:
        self.findings.append(what)
        self.at(what)

    def check(self) -> None:
        if self.when():
            raise Cancelled

    def all(self, kind: str) -> list[Any]:
        """What all findings of a kind say."""
        return [found[kind] for found in self.findings if kind in found]


@pytest.fixture
def recorder() -> type[Recorder]:
    return Recorder


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The process ids of the compile jobs a test starts; none may leave anything running."""
    started: list[int] = []
    start = following.launch

    def spied(*arguments: Any) -> Any:
        process = start(*arguments)
        started.append(process.pid)
        return process

    monkeypatch.setattr(following, "launch", spied)
    yield started
    assert [processes.family(pid) for pid in started] == [set()] * len(started)


@pytest.fixture
def with_torch(
    torch_python: str, header_folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[int]
) -> list[int]:
    """This process is an engine whose interpreter has torch."""
    monkeypatch.setattr(sys, "executable", torch_python)
    monkeypatch.setattr(tempfile, "tempdir", str(header_folder))
    monkeypatch.setenv("TMPDIR", str(header_folder))
    return jobs


@dataclass(frozen=True)
class Filled:
    """A place, and what warming it said. Not to be changed."""

    place: Path
    result: dict[str, Any]
    findings: list[dict[str, Any]]


@pytest.fixture
def built(builtin: Path, with_torch: list[int]) -> Filled:
    """The built-in recipe, warmed into an empty folder in this run."""
    said = json.loads((builtin / "said.json").read_text())
    return Filled(builtin / "place", said["result"], said["findings"])


@pytest.fixture
def place(built: Filled, tmp_path: Path) -> Path:
    """A copy of ``built`` that a test may change."""
    return Path(shutil.copytree(built.place, tmp_path / "place"))


@pytest.fixture
def fake_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[int]) -> Any:
    """Puts a torch into the job's way that does as it is told when it is imported."""

    def put(source: str) -> list[int]:
        package = tmp_path / "fake" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(source)
        monkeypatch.setenv("PYTHONPATH", str(package.parent))
        return jobs

    return put
