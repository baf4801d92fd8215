"""Verdicts on a GPU, and what torch then does. What needs none is in test_agreement."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.settings.conftest import Torch
from tests.verdict.test_agreement import (
    COMPILE,
    ENVIRONMENTS,
    KINDS,
    PROBE,
    PROGRAMS,
    agrees,
    judged,
)
from torchkeeper.client.engines.process import Engine

pytestmark = [pytest.mark.torch, pytest.mark.gpu]

#: Variables that have nothing to do with a server.
_LOCAL = [
    name for name, values in ENVIRONMENTS.items() if "{" not in "".join(values.values())
]  # fmt: skip
#: A product alone has no kernel of Triton's.
_KERNEL = """
device = "cuda"
def product(x, y):
    return (x @ y).sin() + 1
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


@pytest.mark.parametrize(
    ("name", "envs"),
    [("none", _LOCAL), *((name, ["none"]) for name in ("shape", "half", "backward", "precision"))],
)
def test_on_a_gpu_torch_does_what_is_said(
    gpu: str, torch: Torch, engine: Engine, tmp_path: Path, name: str, envs: list[str]
) -> None:
    program, source = PROGRAMS[name], _KERNEL.replace("cuda", gpu)
    whole = COMPILE.format(program="\n".join((*program, source)))
    plain = COMPILE.format(program=program.graph + source)
    folder = torch({}, "code", code=whole).folder
    counts: Counter[str] = Counter()
    wrong = []
    for about in envs:
        values = ENVIRONMENTS[about]
        env = torch(values, "code", code=PROBE).told["told"]["env"]
        said = judged(engine, str(folder), env)
        cache = tmp_path / about
        shutil.copytree(folder, cache)
        done = torch({**values, "TORCHINDUCTOR_CACHE_DIR": str(cache)}, "code", code=plain)
        for kind in KINDS:
            fault = agrees(said[kind], done, kind)
            wrong += [(about, kind, fault, said[kind])] if fault else []
            counts.update(one["verdict"] for one in said[kind])
    assert not wrong, json.dumps(wrong, indent=1)
    assert counts["unknown"] == 0, said
    assert counts["conditional" if program.settings else "usable"] >= 2, said
    # What is there is as PyTorch writes it, and is said to be so.
    runs = engine.call("runnable", {"place": str(folder)})
    assert runs["strange"] == 0, runs["globals"]
