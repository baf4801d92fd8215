"""What the doctor's tests have in common: real torch beside our engine, and real mounts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.pace import LONG
from torchkeeper.client import diagnosing
from torchkeeper.client.engines import probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.messages.doctor import DiagnoseResult, MendResult
from torchkeeper.engine.protocol import Message
from torchkeeper.settings.finding import Finding
from torchkeeper.verdict.probed import Env


class Stock:
    """Real torch, which compiles in a fork for each question (stock.py)."""

    def __init__(self, python: str, folder: Path, **env: str) -> None:
        own = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
        own |= {
            "TMPDIR": str(folder),
            # What is not asked for is not built: the header, and trials of vector instructions.
            "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
            "TORCHINDUCTOR_VEC_ISA_OK": "1",
            # No workers, whom a fork would not have.
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            **env,
        }
        self._process = subprocess.Popen(
            [python, str(Path(__file__).with_name("stock.py"))], env=own, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __call__(self, cache: Path | str, what: str = "mm", **env: str) -> dict[str, Any]:
        """What became of a compile with a cache folder. what: "mm", which calls an extern kernel,
        or "sin", which needs a C++ compiler.
        """
        assert self._process.stdin and self._process.stdout
        asked = {"what": what, "env": {"TORCHINDUCTOR_CACHE_DIR": str(cache), **env}}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        said: dict[str, Any] = json.loads(self._process.stdout.readline())
        return said

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=LONG)


@pytest.fixture(scope="session")
def stock(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    """Stock PyTorch."""
    process = Stock(torch_python, tmp_path_factory.mktemp("stock"))
    yield process
    process.close()


@pytest.fixture(scope="session")
def remote_stock(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    """The same with the remote FX graph cache on."""
    folder = tmp_path_factory.mktemp("remote-stock")
    process = Stock(torch_python, folder, TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE="1")
    yield process
    process.close()


@pytest.fixture(scope="session")
def facts(torch_python: str, home: Path) -> Env:
    """What a probe tells of the interpreter with torch."""
    return probes.probe(torch_python)


@dataclass
class Found:
    """What a diagnosis came to."""

    findings: list[diagnosing.Told]
    result: DiagnoseResult

    @property
    def codes(self) -> list[str]:
        """The codes of the findings, in their order."""
        return [one.finding.code for one in self.findings]

    def __getitem__(self, code: str) -> Finding:
        """The one finding of a code."""
        [one] = [one.finding for one in self.findings if one.finding.code == code]
        return one


@dataclass
class Doctor:
    """Our own engine, asked as the command line and the window ask it."""

    engine: Engine

    def __call__(self, *places: Path | str, only: tuple[str, ...] = (), **params: Any) -> Found:
        """Diagnose places. only: names of checks."""
        found: list[diagnosing.Told] = []

        def heard(message: Message) -> None:
            if message.type == "finding" and (one := diagnosing.told(message.finding)):
                found.append(one)

        asked = {"places": [str(place) for place in places], "facts": {}, "values": {},
                 "toolchain": {}, **params}  # fmt: skip
        if only:
            asked["only"] = list(only)
        result = self.engine.call("diagnose", asked, heard)
        return Found(found, result)

    def plan(self, finding: Finding) -> MendResult:
        """What its fix would do."""
        plan: MendResult = self.engine.call("mend", diagnosing.mending(finding, dry=True))
        return plan

    def mend(self, finding: Finding, envs: tuple[str, ...] = ()) -> MendResult:
        """Do its fix, after it was planned."""
        plan = self.engine.call("mend", diagnosing.mending(finding, envs, dry=True))
        done: MendResult = self.engine.call("mend", diagnosing.mending(finding, envs, plan["plan"]))
        return done


@pytest.fixture
def doctor() -> Iterator[Doctor]:
    """The doctor."""
    with Engine() as engine:
        yield Doctor(engine)


@pytest.fixture(scope="session")
def small(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of one small graph, which real torch wrote. Not to be changed."""
    folder = tmp_path_factory.mktemp("small") / "cache"
    assert stock(folder)["ok"]
    return folder


@pytest.fixture
def cache(small: Path, tmp_path: Path) -> Path:
    """A copy of ``small`` that a test may change."""
    return Path(shutil.copytree(small, tmp_path / "cache"))


Mounting = Callable[..., Path]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mounting]:
    """Mounts a file system in memory with options; where one may not, the test is skipped."""
    made: list[Path] = []

    def mount(options: str, name: str = "disk") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a file system")
        made.append(folder)
        return folder

    yield mount
    for folder in made:
        subprocess.run(["umount", str(folder)], check=True)
