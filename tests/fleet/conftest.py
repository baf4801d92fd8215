"""A matrix that is compiled at once, and an engine that warms it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import files
from torchkeeper.engine.protocol import Message
from torchkeeper.fleet.engine import FleetEngine

KERNELS = """import triton
import triton.language as tl

@triton.jit
def add(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

@triton.jit
def bad(x, n, B: tl.constexpr):
    tl.store(x, nothing_of_this_name)
"""
ADD = """[[triton]]
kernel = "kernels.py:add"
signature = { x = "*fp32:16", y = "*fp32:16", n = "i32" }
targets = ["cuda:80", "cuda:90", "hip:gfx942"]
[matrix]
B = [64, 128]
num_warps = [1, 2, 4, 8]
"""
BAD = """[[triton]]
kernel = "kernels.py:bad"
signature = { x = "*fp32", n = "i32" }
constants = { B = 64 }
targets = ["cuda:90"]
"""
CELLS = 24


class Run:
    """What a fleet said. result: None where it failed with ``error``."""

    def __init__(self) -> None:
        self.result: Any = None
        self.cells: list[Any] = []
        self.findings: list[Any] = []

    def found(self, name: str) -> list[Any]:
        return [one[name] for one in self.findings if name in one]

    def of(self, name: str) -> Any:
        """What became of the one cell whose variant is called so."""
        [row] = [one for one in self.cells if one["name"] == name]
        return row

    @property
    def compiled(self) -> list[str]:
        """The cells that were begun, each as often as it was."""
        return [one["cell"] for one in self.found("cell") if one["state"] == "compiling"]


Warm = Callable[..., Run]


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "add.toml").write_text(ADD)
    return folder


@pytest.fixture
def warm(recipes: Path, tmp_path: Path) -> Iterator[Warm]:
    """Warms the recipes on targets into a place; what is kept of it is in ``state``. heard: gets
    what is told; begun: the engine, before that is asked.
    """

    def run(
        into: str | os.PathLike[str], heard: Any = None, begun: Any = None, **asked: Any
    ) -> Run:
        ran = Run()

        def hear(message: Message) -> None:
            if message.type == "rows":
                ran.cells += message.rows
            elif message.type == "finding":
                ran.findings.append(dict(message.body))
            if heard:
                heard(message, engine)

        wanted = {
            "recipes": files.wire(files.chosen([str(recipes)])), "on": ["local"], "slots": 2,
            "into": str(into), "state": str(tmp_path / "state"), **asked,
        }  # fmt: skip
        with FleetEngine() as engine:
            if begun:
                begun(engine)
            ran.result = engine.call("fleet", wanted, hear)
        return ran

    yield run


def held(place: str | os.PathLike[str]) -> set[tuple[str, str, str]]:
    """The kind, key and sha256 of each entry of a place."""
    rows: list[Any] = []
    with Engine() as engine:
        engine.call("list", {"place": str(place)}, lambda message: rows.extend(message.rows))
    return {(row["kind"], row["key"], row["sha256"]) for row in rows}


def warmed_alone(recipes: Path, place: Path) -> set[tuple[str, str]]:
    """The kind and key of what a warm-up of one machine puts into a place."""
    asked = {"recipes": files.wire(files.chosen([str(recipes)])), "into": str(place), "jobs": 2}
    with Engine() as engine:
        engine.call("warm", asked)
    return keys(place)


def keys(place: str | os.PathLike[str]) -> set[tuple[str, str]]:
    """The kind and key of each entry of a place."""
    return {(kind, key) for kind, key, _ in held(place)}
