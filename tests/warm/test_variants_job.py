"""Variants of recipes with real torch: one process for many, and what becomes of those that
fail.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, once
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.engine.protocol import Message

pytestmark = [pytest.mark.torch, pytest.mark.slow]

Answer = dict[str, Any]

SQUARE = {"function": "variant_models:product", "inputs": [{"shape": [5, 5]}, {"shape": [5, 5]}]}


def _example(name: str, function: str | None = None, size: int = 3) -> Answer:
    return {"name": name, "example": f"variant_models:{function or name}", "args": {"size": size}}


def _function(name: str, *shapes: list[int], of: str = "product") -> Answer:
    inputs = [{"shape": shape} for shape in shapes]
    return {"name": name, "function": f"variant_models:{of}", "inputs": inputs}


FORWARD = {
    "callable": [
        _example("state"),
        _example("polluted"),
        _example("state again", "state"),
        {"name": "after", **SQUARE},
        _example("layer", size=8),
        _example("compiled", size=8),
        {
            "name": "factory",
            "factory": "variant_models.py:Layer",
            "args": {"size": 6},
            "inputs": [{"shape": [2, 6]}],
            "keywords": {"scale": 3},
        },
        _example("exports", size=10),
        _example("bypassed", size=12),
        _example("partly", size=13),
        {
            "name": "takes",
            "function": "variant_models:takes",
            "inputs": [
                {"shape": [2, 3], "dtype": "int32"},
                {"shape": [50], "fill": "rand", "low": 5, "high": 6},
                {"shape": [99], "dtype": "int64", "low": 3, "high": 5},
                {"shape": [2], "fill": "ones"},
                {"shape": [2], "dtype": "float8_e4m3fn"},
                {"list": [{"shape": []}, 2.5]},
                {"tuple": [True, 7]},
                {"none": True},
                {"dtype": "bfloat16"},
                {"device": "cpu"},
                {"layout": "strided"},
                "text",
            ],
            "keywords": {"grad": {"shape": [2], "requires_grad": True}},
        },
        {"name": "no module", "function": "variant_modles:product"},
        {"name": "no file", "function": "models/variants.py:product"},
        {"name": "needs", "function": "needs_more:product"},
        {"name": "no syntax", "function": "no_syntax:product"},
        {"name": "no name", "function": "variant_models:produkt"},
        {"name": "a number", "function": "variant_models:NUMBER"},
        _example("raises"),
        _function("raises inside", [2, 2], of="raises_inside"),
        _example("wrong"),
        _function("one input", [2, 2]),
        _function("refused", [2, 3], [2, 3]),
        _example("size missing", "layer") | {"args": {}},
        {"name": "no argument", "factory": "variant_models:Layer", "args": {"size": 3, "siez": 1}},
        {"name": "after again", **SQUARE},
        {"name": "elsewhere", **SQUARE, "inputs": [{"shape": [5, 5], "device": "cuda:77"}, 1]},
        _example("leaves"),
        _example("unwritten", size=9),
        _example("leave"),
        _example("crash"),
        _function("after the crash", [7, 7], [7, 7]),
        _function("refused again", [2, 4], [2, 4]),
    ]
}
BACKWARD = {
    "callable": [_example("layer", size=8), {"name": "no gradient", **SQUARE}],
    "compile": {"backward": True},
}
EXPORTED = {
    "exported": [
        {"file": "layer.pt2"},
        {"file": "layer.pt2", "name": "other", "inputs": [{"shape": [3, 3]}]},
        {"file": "layer.pt2", "name": "twice", "compile": {"grad": False},
         "calls": [{"inputs": [{"shape": [2, 10]}], "keywords": {"scale": 2}}] * 2},
        {"file": "garbage.pt2"},
        {"file": "none.pt2"},
    ]
}  # fmt: skip
MIXED = {
    "callable": [
        {
            "name": "learns",
            "function": "variant_models:product",
            "calls": [{"inputs": [{"shape": [n, 6]}, {"shape": [6, 6]}]} for n in (4, 8, 16)],
        },
        {
            "name": "trains",
            "factory": "variant_models:Layer",
            "args": {"size": 7},
            "compile": {"mode": "default", "backward": True},
            "calls": [
                {"inputs": [{"shape": [3, 7]}], "keywords": {"scale": 2}},
                {"inputs": [{"shape": [5, 7]}], "backward": False, "grad": False},
            ],
        },
        {
            "name": "two of a class",
            "factory": "variant_models:Layer",
            "calls": [
                {"args": {"size": size}, "inputs": [{"shape": [4, size]}]} for size in (9, 10)
            ],
        },
        {"name": "no such call", "function": "variant_models:product", "calls": [{}]},
    ]
}
WAYS = {
    "callable": [{"factory": "variant_models:Layer", "inputs": [{"shape": ["rows", 4]}]}],
    "matrix": {"rows": [2, 3], "dtype": ["float32", "bfloat16"]},
    "compile": {"dynamic": True, "fullgraph": True, "options": {"epilogue_fusion": False}},
}
WAYS["callable"][0]["args"] = {"size": 4}  # type: ignore[index]


#: What compiles as some of the variants do, as anyone would write it.
PLAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
from torch._dynamo.utils import counters
from variant_models import Layer, product
torch.compile(product)(torch.rand(5, 5), torch.rand(5, 5))
with torch.no_grad():
    torch.compile(Layer(8))(torch.rand(2, 8), scale=2)
torch.compile(Layer(8))(torch.rand(2, 8), scale=2).sum().backward()
torch._dynamo.reset()
for n in (4, 8, 16):
    torch.compile(product)(torch.rand(n, 6), torch.rand(6, 6))
trained = torch.compile(Layer(7))
trained(torch.rand(3, 7), scale=2).sum().backward()
with torch.no_grad():
    trained(torch.rand(5, 7))
    torch._dynamo.reset()
    for size in (9, 10):
        torch.compile(Layer(size))(torch.rand(4, size))
found = [counters["inductor"][f"fxgraph_cache_{one}"] for one in ("hit", "miss")]
found += [counters["aot_autograd"][f"autograd_cache_{one}"] for one in ("hit", "miss")]
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Ran:
    """What a warm-up came to. ``folder`` has the recipes' code, ``place`` what was compiled."""

    folder: Path
    place: Path
    result: Answer
    findings: list[Answer]

    def variant(self, name: str, recipe: str = "forward") -> Answer:
        """The row of a variant."""
        [row] = [
            row for row in self.result["variants"] if (row["recipe"], row["name"]) == (recipe, name)
        ]
        found: Answer = row
        return found

    def problem(self, name: str, recipe: str = "forward") -> tuple[str, Answer]:
        """Why a variant failed."""
        row = self.variant(name, recipe)
        assert row["state"] == "failed", row
        return row["problem"]["code"], row["problem"]["params"]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    """Where the recipes of this module lie."""

    def make(made: Path) -> None:
        shutil.copy(DATA / "variant_models.py", made)
        (made / "needs_more.py").write_text("import torch\nimport no_such_package\n")
        (made / "no_syntax.py").write_text("import torch\n\ndef product(:\n")

    return once(shared, "variant-models", make)


@pytest.fixture(scope="module")
def ran(shared: Path, folder: Path, torch_python: str, header_folder: Path) -> Ran:
    """All of the recipes, warmed once in this run. Not to be changed."""
    recipes = {"forward": FORWARD, "backward": BACKWARD, "ways": WAYS, "exported": EXPORTED,
               "mixed": MIXED}  # fmt: skip
    sent = [{"name": one, "folder": str(folder), "data": data} for one, data in recipes.items()]

    def make(made: Path) -> None:
        findings: list[Any] = []

        def heard(message: Message) -> None:
            if message.type == "finding":
                findings.append(message.body)

        with Engine(torch_python, {"TMPDIR": str(header_folder)}) as engine:
            params = {"into": str(made / "place"), "recipes": sent, "device": "cpu"}
            result = engine.call("warm", params, heard)
        (made / "said.json").write_text(json.dumps([result, findings]))

    made = once(shared, "variants", make)
    return Ran(folder, made / "place", *json.loads((made / "said.json").read_text()))


def test_every_variant_is_told(ran: Ran) -> None:
    result = ran.result
    states = [row["state"] for row in result["variants"]]
    assert (states.count("done"), states.count("failed")) == (result["done"], result["failed"])
    assert result["done"] + result["failed"] == len(states)
    first = ran.findings[0]["variants"]
    assert [row["state"] for row in first] == ["queued"] * len(states)
    told = [found["variant"] for found in ran.findings if isinstance(found.get("variant"), dict)]
    for index, row in enumerate(result["variants"]):
        mine = [one["state"] for one in told if one["index"] == index]
        foretold = row["state"] == "failed" and row["problem"]["code"] == "module-missing"
        # A process that is there already begins at once.
        begun = [one for one in mine[:-1] if one != "starting"]
        assert mine[-1] == row["state"]
        assert begun == ([] if foretold else ["compiling"])
        assert mine[:-1] in (begun, ["starting", *begun])
    assert "starting" in [one["state"] for one in told]
    problems = [row["problem"]["code"] for row in result["variants"] if row["state"] == "failed"]
    assert set(problems) <= set(CATALOGUE)


def test_what_compiles(ran: Ran) -> None:
    for name in ("polluted", "after", "layer", "factory", "exports", "after the crash"):
        row = ran.variant(name)
        assert (row["state"], row["graphs"], row["misses"]) == ("done", 1, 1), name
        assert (row["device"], row["proof"]) == ("cpu", None)
    # The user's own torch.compile is not compiled again: its backend makes no graphs of Inductor's.
    # What takes all that a recipe can describe raises where it is not as described.
    for name in ("compiled", "takes"):
        assert ran.problem(name) == ("nothing-compiled", {"variant": name})
    assert ran.problem("bypassed") == ("nothing-cached", {"variant": "bypassed", "bypasses": 1})
    row = ran.variant("partly")
    assert (row["state"], row["misses"], row["bypasses"]) == ("done", 1, 1)
    assert ran.variant("layer", "backward")["graphs"] == 2
    row = ran.variant("layer", "exported")
    assert (row["state"], row["graphs"]) == ("done", 1)
    assert ran.variant("twice", "exported")["state"] == "done"
    assert (ran.variant("learns", "mixed")["graphs"], ran.variant("trains", "mixed")["graphs"]) == (
        2,
        3,
    )
    assert ran.variant("two of a class", "mixed")["graphs"] == 2
    [learns] = {row["index"] for row in ran.result["variants"] if row["name"] == "learns"}
    steps = [f["step"]["name"] for f in ran.findings if f.get("step", {}).get("variant") == learns]
    assert steps == [f"learns, call {n}" for n in (1, 2, 3)]
    ways = [row for row in ran.result["variants"] if row["recipe"] == "ways"]
    assert [row["state"] for row in ways] == ["done"] * 4
    # Any number of rows is one graph in each type.
    assert [(row["misses"], row["hits"]) for row in ways].count((1, 0)) == 2
    assert ran.result["misses"] == len(list(ran.place.glob("fxgraph/*/*/*")))
    assert ran.result["kinds"]["fxgraph"] == ran.result["misses"]


def test_a_variant_finds_what_a_fresh_process_has(ran: Ran) -> None:
    code, params = ran.problem("state")
    assert code == "callable-raised"
    assert ran.problem("state again") == (code, params)


def test_a_plain_script_hits_what_came_after_a_polluted_variant(
    ran: Ran, torch_python: str, header_folder: Path, tmp_path: Path
) -> None:
    script = tmp_path / "plain.py"
    script.write_text(PLAIN)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    place = shutil.copytree(ran.place, tmp_path / "place")
    env |= {"TMPDIR": str(header_folder), "TORCHINDUCTOR_CACHE_DIR": str(place)}
    command = [torch_python, str(script), str(ran.folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    # Forward, forward of a model, and forward and backward of it; with AOTAutograd's own. For one
    # size and for any; a model in training, and for any size without gradients; two of a class.
    assert json.loads(done.stdout.splitlines()[-1]) == [4 + 2 + 3 + 2, 0, 3 + 2 + 2 + 2, 0]


def test_what_is_wrong_is_said(ran: Ran) -> None:
    models, folder = str(ran.folder / "variant_models.py"), str(ran.folder)
    lines = (ran.folder / "variant_models.py").read_text().splitlines()

    def line(text: str) -> str:
        [found] = [number for number, one in enumerate(lines, 1) if text in one]
        return f"{models}:{found}"

    for name, module in (("no module", "variant_modles"), ("no file", "models/variants.py")):
        missing = {"module": module, "folder": folder, "missing": None}
        assert ran.problem(name) == ("module-missing", missing)
    assert ran.problem("needs") == (
        "module-needs", {"module": "needs_more", "missing": "no_such_package"})  # fmt: skip
    code, params = ran.problem("no syntax")
    assert (code, params["where"]) == ("callable-raised", f"{folder}/no_syntax.py:3")
    code, params = ran.problem("no name")
    assert (code, params["name"], params["near"]) == ("name-missing", "produkt", "product")
    assert ran.problem("a number") == (
        "not-callable", {"name": "variant_models:NUMBER", "found": "int"})  # fmt: skip
    code, params = ran.problem("raises")
    assert (code, params["where"]) == ("callable-raised", line("on purpose"))
    assert params["why"] == "ValueError: on purpose"
    code, params = ran.problem("raises inside")
    assert (code, params["where"]) == ("callable-raised", line("in the middle"))
    assert "in the middle" in params["why"]
    code, params = ran.problem("wrong")
    assert (code, params["found"]) == ("example-wrong", "list")
    code, params = ran.problem("one input")
    assert (code, params["where"]) == ("inputs-refused", line("def product"))
    assert "missing a required argument: 'y'" in params["why"]
    for name in ("refused", "refused again"):
        code, params = ran.problem(name)
        assert (code, params["where"]) == ("inputs-refused", line("return x @ y"))
        assert "2" in params["why"], params
    code, params = ran.problem("size missing")
    assert (code, params["where"]) == ("arguments-wrong", line("def layer"))
    code, params = ran.problem("no argument")
    assert (code, params["where"]) == ("arguments-wrong", line("class Layer"))
    assert "got an unexpected keyword argument 'siez'" in params["why"]
    assert ran.problem("elsewhere") == ("device-missing", {"device": "cuda:77"})
    code, params = ran.problem("leaves")
    assert (code, params["where"]) == ("callable-raised", line("sys.exit(3)"))
    assert params["why"] == "SystemExit: 3"
    code, params = ran.problem("leave")
    assert code == "warm-failed"
    assert params["why"].startswith("Its process ended by itself, with exit status 0")
    code, params = ran.problem("unwritten")
    assert (code, params["why"]) == ("warm-failed", "fxgraph_cache_write_error")
    assert ran.problem("no gradient", "backward")[0] == "no-gradient"
    assert ran.problem("other", "exported")[0] == "inputs-refused"
    assert ran.problem("no such call", "mixed")[0] == "inputs-refused"
    for name in ("garbage", "none"):
        code, params = ran.problem(name, "exported")
        assert (code, params["file"]) == ("exported-unreadable", f"{folder}/{name}.pt2")


def test_a_crash_takes_only_its_variant(ran: Ran) -> None:
    code, params = ran.problem("crash")
    assert (code, params["signal"]) == ("warm-killed", "SIGSEGV")
    index = ran.variant("crash")["index"]
    states = [found["variant"] for found in ran.findings if isinstance(found.get("variant"), dict)]
    [failed] = [one for one in states if (one["index"], one["state"]) == (index, "failed")]
    assert any("variant_models.py" in text for text in failed["log"])
    assert ran.variant("after the crash")["state"] == "done"
    assert [found["variant"] for found in ran.findings if "log" in found].count(index) > 1
