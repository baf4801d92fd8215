"""Verdicts on a GPU, and what torch then does. What needs none is in test_agreement."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.settings.conftest import Done
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

#: Variables that have nothing to do with a server.
_LOCAL = [
    name for name, values in ENVIRONMENTS.items() if "{" not in "".join(values.values())
]  # fmt: skip
#: A process of its own for each case: no other can use a GPU that its parent has used.
_CASE = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import torch
told = {}
device = "{gpu}"
def product(x, y):
    return (x @ y).sin() + 1  # a product alone has no kernel of Triton's
"""
_TOLD = """
counters = torch._dynamo.utils.counters
print(json.dumps({"told": told, "counters": {name: dict(some) for name, some in counters.items()}}))
"""


def run(python: str, values: dict[str, str], cache: Path, source: str) -> Done:
    """What a program counts and finds of its environment, under these variables."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON", "OMP_"))}
    env |= {**values, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    ended = subprocess.run(
        [python, "-c", source], env=env, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return Done(json.loads(ended.stdout.splitlines()[-1]), cache)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


@pytest.mark.torch
@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "envs"),
    [("none", _LOCAL), *((name, ["none"]) for name in ("shape", "half", "backward", "precision"))],
)
def test_on_a_gpu_torch_does_what_is_said(
    gpu: str, torch_python: str, engine: Engine, tmp_path: Path, name: str, envs: list[str]
) -> None:
    program, folder = PROGRAMS[name], tmp_path / "made"
    begin, end = _CASE.replace("{gpu}", gpu), PROBE + _TOLD
    made = COMPILE.replace('"cpu"', "device").format(program="\n".join(program))
    again = COMPILE.replace('"cpu"', "device").format(program=program.graph)
    run(torch_python, {}, folder, begin + made + _TOLD)
    counts: Counter[str] = Counter()
    wrong = []
    for about in envs:
        cache = Path(shutil.copytree(folder, tmp_path / about.replace(" ", "-")))
        done = run(torch_python, ENVIRONMENTS[about], cache, begin + again + end)
        said = judged(engine, str(folder), done.told["told"]["env"])
        for kind in KINDS:
            fault = agrees(said[kind], done, kind)
            wrong += [(about, kind, fault, said[kind])] if fault else []
            counts.update(one["verdict"] for one in said[kind])
    assert not wrong, json.dumps(wrong, indent=1)
    assert counts["conditional" if program.settings else "usable"] >= 2, said
    # What is there is as PyTorch writes it, and is said to be so.
    runs = engine.call("runnable", {"place": str(folder)})
    assert runs["strange"] == 0, runs["globals"]


def test_what_a_gpu_wrote_is_usable_there_and_stale_on_another(
    kept_gpu: Path, engine: Engine
) -> None:
    """Without a GPU, as it was kept; torch found all of it again where it was made."""
    env = json.loads((kept_gpu / "env.json").read_text())
    place = str(kept_gpu / "cache")
    for kind, said in judged(engine, place, env).items():
        assert [one["verdict"] for one in said] == ["usable"] * 2, (kind, said)
    factors = {**env["key_factors"], "system_info[hash]": ["another", "A100"]}
    a100 = {**env["devices"][0], "name": "NVIDIA A100", "arch": "80"}
    other = {**env, "devices": [a100, env["devices"][1]], "key_factors": factors}
    other["system"] = {**env["system"], "device": {"name": "NVIDIA A100"}}
    for kind, said in judged(engine, place, other).items():
        assert [one["verdict"] for one in said] == ["stale"] * 2, (kind, said)
