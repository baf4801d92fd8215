"""Eager operators: compiled into PyTorch's list, found and run by PyTorch itself, and refused
before anything is compiled where that can be known.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, RunPlain, once
from tests.warm.conftest import Recorder
from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words.problems import user_error
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.warm import supervise
from torchkeeper.warm.verify import verify

SQUARE = {"shape": [4, 4], "dtype": "float32"}
GOOD: list[dict[str, Any]] = [
    {"op": "aten::add.Tensor", "inputs": [SQUARE, SQUARE], "keywords": {"alpha": 2}},
    # What is the default anyway PyTorch does not look up, so that it must not be listed.
    {"op": "aten::sub.Tensor", "inputs": [SQUARE], "keywords": {"other": SQUARE, "alpha": 1}},
]
BAD: list[tuple[str, dict[str, Any]]] = [
    ("eager-failed", {"op": "aten::cat", "inputs": [{"list": [SQUARE, SQUARE]}, 1]}),
    ("input-type", {"op": "aten::sum.dim_IntList", "inputs": [SQUARE, {"list": [0]}]}),
    ("inputs-refused", {"op": "aten::mm", "inputs": [SQUARE, {"shape": [5, 4]}]}),
    ("inputs-refused", {"op": "aten::sin", "inputs": [SQUARE, SQUARE]}),
    ("name-missing", {"op": "aten::sinn", "inputs": [SQUARE]}),
    ("name-missing", {"op": "aten::add.Tensors", "inputs": [SQUARE, SQUARE]}),
]


def request(items: list[dict[str, Any]], **more: Any) -> Any:
    data = {"eager": items, "compile": {"dtype": "float32", "device": "cpu"}, **more}
    return [{"name": "eager", "folder": str(DATA), "data": data}]


@pytest.fixture
def warmed(shared: Path, with_torch: list[int]) -> Path:
    """A place with the good operators in ``place``, and what warming said. Not to be changed."""

    def make(folder: Path) -> None:
        asked: Any = {"into": str(folder / "place")}
        asked["recipes"] = request([*GOOD, *(item for _, item in BAD)])
        said = supervise.warm(asked, Recorder())
        (folder / "said.json").write_text(json.dumps(said))

    return once(shared, "warmed-eager", make)


@pytest.mark.torch
@pytest.mark.slow
def test_operators_are_compiled_and_listed(warmed: Path) -> None:
    result = json.loads((warmed / "said.json").read_text())
    good, bad = result["variants"][: len(GOOD)], result["variants"][len(GOOD) :]
    assert [(row["state"], row["misses"], row["proof"]) for row in good] == [
        ("done", 1, {"found": 1, "of": 1})
    ] * len(GOOD)
    assert [row["problem"]["code"] for row in bad] == [code for code, _ in BAD]
    told = [row["problem"] for row in bad]
    # PyTorch compiles it, lists it, and then cannot read its own list.
    assert "cannot use it" in told[0]["params"]["why"]
    assert told[1]["params"]["found"] == "list of int"
    assert "mat1 and mat2" in told[2]["params"]["why"]
    assert told[4]["params"]["near"].startswith("sin")
    for problem in told:
        assert "{" not in user_error(problem["code"], problem["params"]).remedy
    place = warmed / "place"
    lists = sorted(place.glob("aoti_eager/aten/cpu/*.json"))
    assert [path.name for path in lists] == ["add.Tensor.json", "sub.Tensor.json"]
    [item] = json.loads(lists[1].read_text())
    assert [one["arg_order"] for one in item["meta_info"]] == [0, 1]
    kinds = Counter(item.kind for item in Folder(str(place)).items(Recorder()))
    assert kinds["aoti_eager"] == result["kinds"]["aoti_eager"] == len(GOOD)
    assert kinds["fxgraph"] == kinds["unknown"] == 0


def test_dynamic_shapes_are_refused_at_once() -> None:
    recipes = request(GOOD[:1], compile={"dynamic": True})
    with pytest.raises(Problem) as failure:
        supervise.checked({"recipes": recipes}, "/place")
    assert failure.value.params["expected"] == "dynamic-eager"


@pytest.mark.torch
@pytest.mark.slow
def test_pytorch_finds_them(warmed: Path, run_plain: RunPlain) -> None:
    """In a fresh process, with nothing of ours: the list is returned, and the operator is run."""
    told = run_plain(warmed / "place", script="eager_op.py")
    assert told == {"items": [3], "right": True, "compiled": []}


@pytest.mark.torch
@pytest.mark.slow
def test_a_library_that_is_gone_is_missed(warmed: Path, with_torch: Any) -> None:
    """Verified in a fresh process on a copy, by PyTorch's own list and by running it."""
    asked: Any = {"place": str(warmed / "place"), "recipes": request(GOOD), "runs": ["warm"]}
    good = verify(asked, Recorder())
    assert [variant["good"] for variant in good["variants"]] == [True, True]
    assert (good["hits"], good["misses"], good["rebuilt"]) == (2, 0, 0)
    other = {**GOOD[0], "keywords": {"alpha": 3}}
    result = verify(asked | {"recipes": request([other])}, Recorder())
    [variant] = result["variants"]
    assert not variant["good"]
    assert variant["proof"] == {"found": 0, "of": 1}
    assert variant["why"]
    assert "not in PyTorch's list" in str(variant["why"]["text"])
