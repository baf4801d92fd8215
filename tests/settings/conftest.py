"""Real torch and Triton under some variables: one process for all cases, a fork for each."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.pace import LONG
from tests.redis_server import Server, serving


@dataclass(frozen=True)
class Done:
    """What became of one case.

    told: what ``settled.py`` of tests/data tells of it. folder: the cache folder that it had.
    """

    told: dict[str, Any]
    folder: Path

    @property
    def error(self) -> str:
        """The error that a compile ended in, or ""."""
        return str(self.told.get("error", ""))

    @property
    def said(self) -> str:
        """What PyTorch said on stderr."""
        return str(self.told["said"])

    @property
    def graphs(self) -> set[str]:
        """The keys of the graphs in the cache folder."""
        return {path.name for path in self.folder.glob("fxgraph/*/*")}

    @property
    def autograd(self) -> set[str]:
        """The keys of what AOTAutograd has in the cache folder."""
        return {path.name for path in self.folder.glob("aotautograd/*")}

    def counted(self, name: str) -> int:
        """How often PyTorch counted something."""
        counters = self.told["counters"]
        return sum(int(group.get(name, 0)) for group in counters.values())


class Torch:
    """The process; ``with`` it or close it."""

    def __init__(self, python: str, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        named = ("TORCH", "TRITON", "OMP_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(named)}
        env |= {
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "own"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TRITON_CACHE_DIR": str(folder / "kernels"),
        }
        self._process = subprocess.Popen(
            [python, str(DATA / "settled.py")],
            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __call__(self, env: dict[str, str], do: str = "compiled", **more: object) -> Done:
        """Do something under these variables, and a cache folder of its own but for another."""
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        env = {"TORCHINDUCTOR_CACHE_DIR": str(folder), **env}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"env": env, "do": do, **more}) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        assert told["status"] == 0, told
        return Done(told, Path(env["TORCHINDUCTOR_CACHE_DIR"] or folder))

    @functools.cached_property
    def site(self) -> Path:
        """Where it is installed."""
        code = "told['site'] = os.path.dirname(os.path.dirname(torch.__file__))"
        return Path(self({}, "code", code=code).told["told"]["site"])

    @functools.cached_property
    def version(self) -> str:
        """Its version."""
        return str(self({}, "code", code="told['is'] = torch.__version__").told["told"]["is"])

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=LONG)


@pytest.fixture(scope="session")
def torch(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Torch]:
    """Real torch, for one case after another."""
    one = Torch(torch_python, tmp_path_factory.mktemp("settled"))
    yield one
    one.close()


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks for no password. Tests empty it."""
    with serving(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(redis: Server) -> Server:
    """The server, empty."""
    redis("FLUSHALL")
    return redis
