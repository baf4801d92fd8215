"""Variants on a GPU: compiled by one process at a time, and found again."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message

pytestmark = [pytest.mark.torch, pytest.mark.gpu]

Answer = dict[str, Any]


def recipes(folder: Path) -> list[Any]:
    """The built-in one, and a matrix of modes and types with backward."""
    matrix: Answer = {
        "callable": [{"example": "variant_models:layer", "args": {"size": 64}}],
        "matrix": {
            "mode": ["default", "reduce-overhead", "max-autotune"],
            "dtype": ["float32", "bfloat16"],
        },
        "compile": {"backward": True},
    }
    wave = {"callable": [{"function": "variant_models:wave", "inputs": [{"shape": [1000]}]}]}
    named = {"matrix": matrix, "wave": wave}
    told = [{"name": name, "folder": str(folder), "data": data} for name, data in named.items()]
    return ["builtin", *told]


def warmed(python: str, place: Path, gpu: str) -> tuple[Answer, list[Any]]:
    findings: list[Any] = []

    def heard(message: Message) -> None:
        if message.type == "finding":
            findings.append(message.body)

    params = {"into": str(place), "recipes": recipes(place.parent), "device": gpu, "jobs": 2}
    with Engine(python) as engine:
        return engine.call("warm", params, heard), findings


def test_a_matrix_on_a_gpu(gpu: str, torch_python: str, tmp_path: Path) -> None:
    shutil.copy(DATA / "variant_models.py", tmp_path)
    place = tmp_path / "place"
    cold, findings = warmed(torch_python, place, gpu)
    assert (cold["failed"], cold["done"]) == (0, 8), cold["variants"]
    assert {row["device"] for row in cold["variants"]} == {gpu}
    assert cold["kinds"]["fxgraph"] == cold["misses"] > 0
    assert cold["kinds"]["triton"] > 0
    assert list(place.glob("triton/*/*/*.cubin")) or list(place.glob("triton/*/*/*.hsaco"))
    # One process at a time has the device: what is told of one variant is told in one piece.
    variants = [found["variant"] for found in findings if isinstance(found.get("variant"), dict)]
    told = [variant["index"] for variant in variants if variant["state"] != "starting"]
    assert len(told) == 2 * len(set(told)) == 2 * len(list(itertools.groupby(told)))

    again, _ = warmed(torch_python, place, gpu)
    assert (again["failed"], again["misses"], again["added"]) == (0, 0, 0), again["variants"]
    assert again["hits"] == cold["misses"] + cold["hits"]
