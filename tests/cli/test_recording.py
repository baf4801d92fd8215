"""``run --recipe``: a program is heard compiling, and what it compiled becomes a recipe."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_run import tracing
from tests.pace import LONG
from torchkeeper.client import temporary
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes import recorded, toml
from torchkeeper.warm.recipes import recipe as recipes
from torchkeeper.warm.recipes.recipe import variants_of
from torchkeeper.warm.traces import notes

PROGRAM = """
import gc
import os
import sys
import weakref
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden, act="gelu", *, bias=True):
        super().__init__()
        self.up = nn.Linear(16, hidden, bias=bias)

    def forward(self, x, scale=1.0):
        return nn.functional.gelu(self.up(x)) * scale


class Weights(list):
    pass


def inductor(graph, inputs):
    return graph


class Child(nn.Module):
    def __init__(self, parent, weights):
        super().__init__()

    def forward(self, x):
        return x.cos()


class Parent(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.child = Child(self, weights)

    def forward(self, x):
        return self.child(x) + 1


def check_that_all_goes():
    # What is built and not compiled goes at once: a collector of garbage is not needed.
    weights, made = Weights(), nn.Linear(2, 2)
    kept = weakref.ref(weights), weakref.ref(made), weakref.ref(Net(2))
    del weights, made
    assert [one() for one in kept] == [None] * 3
    weights = Weights()
    parent = Parent(weights)
    compiled = torch.compile(parent, backend="eager")
    own = lambda x: x.sin() + len(weights)
    function = torch.compile(own, backend="eager")
    given = torch.rand(2)
    function(compiled(given))
    kept = [*map(weakref.ref, (weights, parent, parent.child, compiled, own, function, given))]
    del weights, parent, compiled, own, function, given
    torch._dynamo.reset()
    gc.collect()
    assert [one() for one in kept] == [None] * 7


@torch.compile(backend=sys.argv[1])
def op(x, y):
    return x.sin() @ y


def both(x, y, more):
    return x + y


def main():
    op(torch.rand(8, 8), torch.rand(8, 8))
    net = torch.compile(Net(32), fullgraph=True, backend=sys.argv[1])
    net(torch.rand(4, 16))
    torch.compile(lambda x: x + 1, backend=sys.argv[1], dynamic=False)(torch.zeros(3, dtype=int))
    once = Net(4, act="relu")
    gone = weakref.ref(once)
    once.compile(backend=sys.argv[1])
    if sys.argv[1] == "eager":
        check_that_all_goes()
        own = Parent([])
        own.forward = torch.compile(own.forward, backend="eager")
        own(torch.rand(3))
        last = nn.Conv2d(2, 2, 3).to(memory_format=torch.channels_last)
        torch.compile(last, backend="eager")(torch.rand(1, 2, 4, 4))
        x, y, z = torch.rand(3, 2)
        torch.compile(both, backend="eager")(x, y, more=[z, (x,)])
        if (child := os.fork()) == 0:
            torch.compile(lambda x: x - 1, backend=inductor)(torch.rand(2))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        once(torch.rand(2, 16), scale=2.0)
        del once
        torch._dynamo.reset()
        gc.collect()
        assert gone() is None
    counters = torch._dynamo.utils.counters["inductor"]
    print({name: counters[f"fxgraph_cache_{name}"] for name in ("hit", "miss")})


if __name__ == "__main__":
    main()
"""


def noted(folder: Path, source: str, *arguments: str, **env: str) -> list[Any]:
    """What a program notes of itself, which ends well and says nothing on its standard error."""
    (folder / "serve.py").write_text(source)
    own = {**os.environ, **env, "TORCH_TRACE": str(folder / "trace")}
    with temporary.folder("record") as record:
        told = notes.hear(own, record)
        done = subprocess.run(
            [sys.executable, *arguments[:1], "serve.py", *arguments[1:]],
            env=own, cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return notes.notes_in(told)


def tensor(*shape: int, **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": "float32", "device": "cpu", **more}


def call(*inputs: Any, **more: Any) -> dict[str, Any]:
    return {"inputs": list(inputs), "keywords": {}, "backward": False, "symbols": False, **more}


def thing(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As the recorder notes a function of a module beside the recipe."""
    return {
        "kind": "function", "module": "models", "name": "step", "file": "/w/models.py",
        "there": True, "decorated": False, "backend": "inductor", "dynamic": None,
        "fullgraph": False, "mode": None, "options": {}, "settings": [], "calls": list(calls),
        **more,
    }  # fmt: skip


def model(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return thing(*calls, **{
        "kind": "model", "name": "Net", "args": {"hidden": 64}, "dtype": "float32",
        "device": "cpu", "mode_matters": False, "odd": [], **more,
    })  # fmt: skip


def made(*things: dict[str, Any], env: dict[str, str] | None = None, **more: Any) -> Any:
    note = {"compiled": list(things), "unseen": 0, "threads": 2, "cores": 2, "main": "/w/serve.py",
            "environment": env or {}, **more}  # fmt: skip
    found = recorded.recipe_of([note], ["python", "serve.py"], "/w/out.toml", env or {})
    text = toml.text_of(found.data, found.comment)
    assert tomllib.loads(text) == found.data, "what is written is what is read"
    assert recipes.faults(found.data) == []
    return found


def why(*things: dict[str, Any], **more: Any) -> str:
    found = made(*things, **more)
    assert found.source == "script"
    return "; ".join(found.why)


def test_what_can_be_named_is_named() -> None:
    found = made(
        thing(call(tensor(8, 8), 3, {"none": True}), name="step"),
        model(call(tensor(4, 16), keywords={"scale": 2.0}), dtype="bfloat16"),
    )
    assert found.source == "callable"
    assert found.data == {
        "callable": [
            {"function": "models.py:step",
             "inputs": [{"shape": [8, 8], "dtype": "float32"}, 3, {"none": True}]},
            {"factory": "models.py:Net", "args": {"hidden": 64},
             "inputs": [{"shape": [4, 16], "dtype": "float32"}], "keywords": {"scale": 2.0}},
        ],
        "compile": {"device": "cpu", "dtype": "bfloat16"},
    }  # fmt: skip
    assert "Net(hidden=64): float32 4x16 on cpu" in found.comment


def test_how_it_is_compiled_is_said() -> None:
    ways = {"mode": "max-autotune", "fullgraph": True, "dynamic": False}
    found = made(
        model(call(tensor(4, 16), backward=True), **ways),
        thing(call(tensor(2, requires_grad=True), backward=True), decorated=True),
        env={"TORCHINDUCTOR_CPP_WRAPPER": "1", "TORCHINDUCTOR_REDIS_URL": "redis://:pw@h",
             "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0", "TORCHINDUCTOR_CACHE_DIR": "/c",
             "HF_TOKEN": "x", "OMP_NUM_THREADS": "1"},
        threads=1,
    )  # fmt: skip
    assert found.data["compile"] == {
        "mode": "max-autotune", "fullgraph": True, "dynamic": False, "backward": True,
        "device": "cpu", "threads": 1, "portable": True,
    }  # fmt: skip
    assert found.data["environment"] == {"TORCHINDUCTOR_CPP_WRAPPER": "1"}
    assert found.data["callable"][1]["inputs"][0]["requires_grad"] is True


def test_what_differs_is_said_of_each_and_what_does_not_of_all() -> None:
    found = made(
        thing(call(tensor(2)), mode="max-autotune", fullgraph=True),
        thing(call(tensor(2)), name="other", options={"epilogue_fusion": False}, fullgraph=True),
        model(call(tensor(4, 16), backward=True, training=True), mode_matters=True, dynamic=True),
        model(call(tensor(4, 16), grad=False), mode_matters=True, dynamic=False),
        thing(call(tensor(2, device="cuda:0")), name="own", decorated=True),
    )
    assert found.source == "callable"
    assert [one.get("compile") for one in found.data["callable"]] == [
        {"device": "cpu", "fullgraph": True, "mode": "max-autotune"},
        {"device": "cpu", "fullgraph": True, "options": {"epilogue_fusion": False}},
        {"device": "cpu", "backward": True, "dynamic": True},
        {"device": "cpu", "grad": False, "dynamic": False},
        {"device": "cuda"},
    ]
    assert "compile" not in found.data
    assert [variant.name for variant in variants_of([recipes.checked(found.data, "a", "/")])] == [
        "step, cpu, max-autotune, fullgraph", "other, cpu, fullgraph, options",
        "Net, cpu, dynamic, backward", "Net, cpu, static, no grad", "own, cuda",
    ]  # fmt: skip


def test_gradients_are_those_of_each_call() -> None:
    """Whether they are on is part of AOTAutograd's keys."""
    without = thing(call(tensor(2), grad=False))
    assert made(without).data["compile"] == {"device": "cpu", "grad": False}
    mixed = made(without, thing(call(tensor(2), grad=True), name="other"))
    assert mixed.data["compile"] == {"device": "cpu"}
    assert [one.get("compile") for one in mixed.data["callable"]] == [{"grad": False}, None]
    both = made(model(call(tensor(2), backward=True, grad=True), call(tensor(2), grad=False)))
    assert [one.get("compile") for one in both.data["callable"]] == [
        {"backward": True}, {"grad": False},
    ]  # fmt: skip


def test_what_is_set_around_calls_is_said() -> None:
    cast = {"autocast": {"cpu": "bfloat16"}, "precision": "high"}
    plain = call(tensor(2), precision="highest", autocast={})
    found = made(thing(call(tensor(4), **cast)), thing(plain, name="other"))
    assert found.data["compile"] == {"device": "cpu"}
    assert [one.get("compile") for one in found.data["callable"]] == [
        {"autocast": "bfloat16", "precision": "high"}, None,
    ]  # fmt: skip
    [variant, _] = variants_of([recipes.checked(found.data, "a", "/")])
    assert (variant.autocast, variant.precision) == ("bfloat16", "high")
    assert variant.name == "step, autocast bfloat16, high precision"
    first, second = call(tensor(4), **cast), call(tensor(8), precision="high", symbols=True)
    found = made(thing(first, second))
    assert [one.get("autocast") for one in found.data["callable"][0]["calls"]] == [
        "bfloat16", None,
    ]  # fmt: skip
    assert found.data["compile"] == {"device": "cpu", "precision": "high"}
    gpu = {"autocast": {"cuda": "float16"}, "precision": "high"}
    found = made(thing(call(tensor(4, device="cuda:0"), **gpu)))
    assert found.data["compile"] == {
        "device": "cuda", "autocast": "float16", "precision": "high",
    }  # fmt: skip


def test_a_model_is_in_training_or_not_where_that_matters() -> None:
    serves, trains = call(tensor(2)), call(tensor(2), backward=True, training=True)
    odd = call(tensor(3), training=True), call(tensor(4), backward=True)
    found = made(model(serves, trains, *odd, mode_matters=True))
    assert [one.get("compile") for one in found.data["callable"]] == [
        None, {"backward": True}, {"training": True}, {"backward": True, "training": False},
    ]  # fmt: skip
    found = made(model(serves, trains, *odd))
    assert not any("training" in one.get("compile", {}) for one in found.data["callable"])
    free = {**odd[1], "symbols": True}
    found = made(model(trains, free, mode_matters=True))
    assert found.data["compile"] == {"device": "cpu", "backward": True}
    assert [one.get("training") for one in found.data["callable"][0]["calls"]] == [None, False]


def test_calls_keep_their_order_where_it_decides_what_is_compiled() -> None:
    found = made(
        thing(call(tensor(4), order=0), call(tensor(8), 2, order=2, symbols=True), frames=[0]),
        model(call(tensor(1, 2), order=1), call(tensor(3, 2), order=4), frames=[1]),
        thing(call(tensor(4), order=3), call(tensor(1), order=5), frames=[0]),
    )
    f32 = {"dtype": "float32"}
    assert found.data["callable"] == [
        {"function": "models.py:step", "calls": [
            {"inputs": [{"shape": [4], **f32}]},
            {"inputs": [{"shape": [8], **f32}, 2]},
            {"inputs": [{"shape": [1], **f32}]},
        ]},
        {"factory": "models.py:Net", "args": {"hidden": 64},
         "inputs": [{"shape": [1, 2], **f32}]},
        {"factory": "models.py:Net", "args": {"hidden": 64},
         "inputs": [{"shape": [3, 2], **f32}]},
    ]  # fmt: skip
    assert "step: float32 8 on cpu, 2, for any size" in found.comment
    calls = (
        call(tensor(4), backward=True, grad=True, training=True),
        call(tensor(4), grad=False, order=1),
        call(tensor(8), grad=False, order=2, symbols=True, keywords={"scale": 2}),
    )
    # Of one thing: what was learned in training is known without gradients.
    found = made(model(*calls, mode_matters=True), thing(call(tensor(3), backward=True)))
    assert found.data["callable"][0]["calls"] == [
        {"inputs": [{"shape": [4], **f32}], "backward": True},
        {"inputs": [{"shape": [4], **f32}], "grad": False},
        {"inputs": [{"shape": [8], **f32}], "keywords": {"scale": 2}, "grad": False},
    ]
    assert found.data["callable"][1]["compile"] == {"backward": True}
    assert found.data["compile"] == {"device": "cpu"}
    # Models of one class have their code in common.
    found = made(model(calls[0], args={}), model({**calls[2], "grad": True}))
    assert found.data["callable"] == [{"factory": "models.py:Net", "calls": [
        {"args": {}, "inputs": [{"shape": [4], **f32}], "backward": True},
        {"args": {"hidden": 64}, "inputs": [{"shape": [8], **f32}], "keywords": {"scale": 2}},
    ]}]  # fmt: skip


def test_sizes_that_vary_are_a_matrix() -> None:
    calls = [call(tensor(n, 16), tensor(n, 2)) for n in (1, 8, 32)]
    found = made(model(*calls, dynamic=False))
    assert found.data["matrix"] == {"batch": [1, 8, 32]}
    shapes = [one["shape"] for one in found.data["callable"][0]["inputs"]]
    assert shapes == [["batch", 16], ["batch", 2]]
    found = made(model(call(tensor(1, 16)), call(tensor(8, 4))))
    assert "matrix" not in found.data
    assert len(found.data["callable"]) == 2


def test_why_something_is_not_named() -> None:
    plain = call(tensor(2))
    for reason, one in (
        ("made inside a function", thing(plain, there=False)),
        ("another backend, mine", thing(plain, backend="mine")),
        ("more than plain values", model(plain, args=None)),
        ("has hooks", model(plain, odd=["hooks"])),
        ("any size before", thing(call(tensor(2), symbols=True))),
        ("any size before", thing(call(tensor(2)), call(tensor(2), grad=False, symbols=True))),
        ("is a NestedTensor", thing(call({"list": [{"odd": "NestedTensor"}]}))),
        ("has set default dtype", thing(plain, settings=["default dtype"])),
        ("has set autocast for cuda", thing(call(tensor(2), autocast={"cuda": "float16"}))),
        ("a recipe cannot say it", thing(call(tensor(2), autocast={"cpu": "int8"}))),
        ("several precisions", thing(call(tensor(2)), call(
            tensor(4), symbols=True, order=1, precision="high"))),
        ("is given one tensor twice", thing(call(tensor(2), tensor(2), twice=True))),
        ("another memory format", model(plain, odd=["strides"])),
        ("no function and no model", thing(plain, kind="other", type="method")),
        ("imported from /w/lib only", thing(plain, module="a.b", file="/w/lib/a/b.py")),
        ("is not understood", thing({"inputs": 3})),
        ("a recipe cannot say it", thing(call(tensor(2**40, 2**40)))),
    ):  # fmt: skip
        assert reason in why(one)
    learned = call(tensor(4), symbols=True, order=1)
    other = model(plain, mode="max-autotune", frames=[7])
    assert "compiled in another way, too" in why(model(plain, learned, frames=[7]), other)
    fixed, later = {**other, "dynamic": False}, {**other, "calls": [{**plain, "order": 2}]}
    for harmless in ({**other, "frames": [6]}, fixed, later):
        assert made(model(plain, learned, frames=[7]), harmless).source == "callable"
    assert "cannot be seen" in why(thing(plain), unseen=2)
    assert "it recorded nothing" in why()
    assert made(thing(call(tensor(2), symbols=True), dynamic=True)).source == "callable"
    found = made(thing(plain), model(plain, backend="aot_eager"))
    assert [*found.data["callable"][0]] == ["function", "inputs"], "what is not cached is left out"
    assert "which is not cached" in found.comment


def test_a_program_that_writes_nonsense_where_it_is_heard(tmp_path: Path) -> None:
    for number, text in enumerate(("", "[", "3", '{"compiled": 4}', "[" * 100_000)):
        (tmp_path / f"{number}.json").write_text(text)
    (tmp_path / "9.json").write_text('{"compiled": [3, {"calls": 4}, {"name": "\\u001b[31m\\n"}]}')
    told = notes.notes_in(str(tmp_path))
    assert len(told) == 1
    found = recorded.recipe_of(told, ["python", "a.py"], str(tmp_path / "out.toml"), {})
    assert found.source == "script"
    assert "\x1b" not in toml.text_of(found.data, found.comment)


def test_another_machine_that_says_nonsense_of_a_program(tmp_path: Path) -> None:
    """What it noted, its variables and its folder are that machine's say."""
    out, call = str(tmp_path / "out.toml"), {"keywords": {}, "inputs": [], "symbols": True}
    lies = [
        [thing({**call, "order": math.inf})],
        [thing({**call, "inputs": [json.loads('{"list": [' * 400 + "1" + "]}" * 400)]})],
        [{"args": {"x": json.loads("[" * 900 + "]" * 900)}, "kind": "model", "calls": [{}]}],
    ]
    for some in lies:
        told = notes.notes_of(json.dumps([{"compiled": some}]))
        recorded.recipe_of(told, ["a"], out, {}, folder="/w", machine="ssh://gpu1")
    for threads in ("\u00b2", "9" * 5000):
        env = {"OMP_NUM_THREADS": threads}
        found = recorded.recipe_of([], ["a"], out, env, folder="/w", machine="ssh://gpu1")
        assert not found.data.get("compile")
    found = recorded.recipe_of([], ["a"], out, {}, folder="/\ud800", machine="ssh://gpu1")
    with pytest.raises(OSError, match="character"):
        whole.write_text(out, toml.text_of(found.data, found.comment))
    assert not os.path.exists(out)
    pieces = list[str]()
    while notes.fits(pieces):
        pieces.append("x")
    assert len(pieces) < 10_000


def test_another_machine_names_no_function_of_python_itself(tmp_path: Path) -> None:
    """It would be called with what that machine says, wherever the recipe is warmed."""
    file = "/usr/lib/python3/dist-packages/os.py"
    one = thing({"inputs": ["touch x"], "keywords": {}}, module="os", name="system", file=file)
    note = {"compiled": [one], "main": "/w/a.py", "defines": True}
    out = str(tmp_path / "out.toml")
    found = recorded.recipe_of([note], ["a"], out, {}, folder="/w", machine="ssh://gpu1")
    assert found.source == "script" and "os:system" in found.why[0]


def test_what_an_import_would_run(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    for source, only in (
        (
            "'text'\nimport os\nX: int = 3\ndef f(): pass\nclass A: pass\nm = torch.compile(A)\n",
            True,
        ),
        ("def f(): pass\nif __name__ == '__main__':\n    f()\n", True),
        ("try:\n    import a\nexcept ImportError:\n    a = None\n", True),
        ("import torch\nclass A: pass\nm = torch.compile(A().eval().to('cpu'))\n", True),
        ("from torch import nn\nm = nn.Sequential(nn.Linear(3, 4), nn.ReLU())\n", True),
        ("import torch\ntorch.manual_seed(0)\ntorch.backends.cuda.enable_flash_sdp(True)\n", True),
        ("import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n", True),
        ("import torch\nm = torch.load('weights.pt')\n", False),
        ("import torch\ntorch.distributed.init_process_group('gloo')\n", False),
        ("import torch\nclass A: pass\nm = torch.compile(A())\nm(torch.ones(3))\n", False),
        ("import torch\nclass A: pass\ny = torch.compile(A())(torch.ones(3))\n", False),
        ("import torch\nclass A: pass\nm = A()\nm.fit(3)\n", False),
        ("from torch.hub import load\nm = load('a', 'b')\n", False),
        ("x = f()\n", False),
        ("f()\n", False),
        ("if x:\n    f()\n", False),
        ("for i in range(3): pass\n", False),
        ("not python\n", False),
    ):
        file.write_text(source)
        assert notes.only_defines(str(file)) is only, source


def test_secrets_are_not_written_down(tmp_path: Path) -> None:
    command = ["train.py", "--token", "hunter2", "--url=https://me:pw@host/x", "--steps", "3"]
    found = recorded.recipe_of([], command, str(tmp_path / "out.toml"), {})
    text = toml.text_of(found.data, found.comment)
    assert "hunter2" not in text
    assert "pw@" not in text
    assert found.hidden
    assert "looked like a secret" in text
    [item] = recipes.items_of(found.data)[1]
    assert item["command"][-2:] == ["--steps", "3"]


def test_secrets_of_the_program_are_not_written_down() -> None:
    """Whatever it gives to what it compiles: by the names of arguments, or by how they look."""
    plain = call(tensor(2))
    for secret, one in (
        ("hf_AbCdEf123456", model(plain, args={"hidden": 4, "token": "hf_AbCdEf123456"})),
        ("hf_AbCdEf123456", model(plain, args={"name": ["a", "hf_AbCdEf123456"]})),
        ("ab12", model(plain, args={"hidden": 4, "hubToken": "ab12"})),
        ("bPxRfiCY", model(plain, args={"id": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE7"})),
        ("4711", model(plain, args={"password": 4711})),
        ("sk-1234", thing(call(tensor(2), keywords={"key": "sk-1234"}))),
        ("SECRETTAG", thing(call({"list": ["Bearer SECRETTAG"]}))),
        ("ab12", thing(call(tensor(2), "ab12"), parameters=["x", "api_key"])),
        ("ab12", thing(call(tensor(2), keywords={"auth": {"tuple": ["ab12"]}}))),
        ("me:pw", thing(plain, options={"trace": "https://me:pw@host"})),
    ):
        for more in ({}, {"backend": "eager"}, {"there": False}):
            found = made({**one, **more})
            assert secret not in toml.text_of(found.data, found.comment), (secret, more)
            assert more or "what looks like a secret, " in found.why[0]
    quiet = model(
        call(tensor(2), 3, {"dtype": "int64"}),
        parameters=["x", "token", "passwords"],
        args={"pad_token": 3, "cls_token": True, "max_tokens": 512, "tokenizer": "gpt2",
              "name": "Qwen2.5-VL-7B-Instruct", "dtype": "float8_e4m3fn", "author": "Ann",
              "path": "/data/Models/v12/CheckpointA", "like": "facebook/opt-1.3b"},
    )  # fmt: skip
    assert made(quiet).source == "callable"
    assert "tokenizer='gpt2'" in made(quiet).comment


def test_a_program_without_torch_is_as_before(tmp_path: Path) -> None:
    """The user's own sitecustomize runs, and nothing of ours can be seen on the path."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.own = __file__\n")
    alone = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.path[1:])"],
        env={**os.environ, "PYTHONPATH": str(own)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    source = (
        "import sys\nassert own.endswith('own/sitecustomize.py'), own\n"
        "assert sys.modules['sitecustomize'].__file__ == own\n"
        f"assert sys.path[1:] == {alone.stdout.strip()}, sys.path\n"
        "assert not {'torch', 'json', 'logging', 'inspect'} & set(sys.modules), 'imported'\n"
    )
    assert noted(tmp_path, source, PYTHONPATH=str(own)) == []
    assert noted(tmp_path, "import sys; assert 'torch' not in sys.modules", "-I") == []


@pytest.mark.slow
def test_a_real_program_is_heard(torch_python: str, tmp_path: Path) -> None:
    """What is called is noted as it is, whatever the backend, and nothing of it is kept alive."""
    child, note = noted(tmp_path, PROGRAM, "-u", "eager")
    (alone,) = child["compiled"]
    assert alone["name"] == "main.<locals>.<lambda>", "a fork tells of its own compiles alone"
    assert alone["backend"] == "__main__.inductor", "which is not PyTorch's own"
    again = note["compiled"].pop()
    assert again["args"] == {"hidden": 4, "act": "relu"}
    assert again["calls"][0]["keywords"] == {"scale": 2.0}
    by_name = {one["name"]: one for one in note["compiled"]}
    own = by_name["Parent"]
    assert (own["kind"], own["module"], own["calls"][0]["inputs"]) == (
        "model", "__main__", [tensor(3)]
    )  # fmt: skip
    assert (by_name["Conv2d"]["odd"], own["odd"]) == (["strides"], [])
    assert [one["twice"] for one in by_name["both"]["calls"]] == [True]
    op, net, lambda_ = by_name["op"], by_name["Net"], by_name["main.<locals>.<lambda>"]
    assert (op["kind"], op["module"], op["there"], op["decorated"]) == (
        "function", "__main__", True, True
    )  # fmt: skip
    assert {one["backend"] for one in note["compiled"]} == {"eager"}
    assert (op["parameters"], net["parameters"]) == (["x", "y"], ["x", "scale"])
    more = {"training": False, "autocast": {}, "precision": "highest"}
    assert op["calls"] == [
        call(tensor(8, 8), tensor(8, 8), grad=True, order=0, twice=False, **more)
    ]
    assert note["python"] == torch_python
    assert op["frames"] != net["frames"]
    assert (net["kind"], net["args"], net["fullgraph"]) == ("model", {"hidden": 32}, True)
    assert net["calls"][0]["inputs"] == [tensor(4, 16)]
    assert net["calls"][0]["training"]
    assert lambda_["dynamic"] is False
    assert not lambda_["there"]
    assert lambda_["calls"][0]["inputs"][0]["dtype"] == "int64"
    assert {name for one in note["compiled"] for name in one["settings"]} == set()
    assert note["unseen"] == 0


def test_before_and_after_the_run(tk: Tk, recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.toml"
    ran = tk("run", "--recipe", out, *tracing(recorded, "first"))
    assert ran.code == 0
    assert "It runs the command again" in ran.err
    data = tomllib.loads(out.read_text())
    assert data["script"][0]["command"][:2] == ["python", "-c"]
    ran = tk("run", "--recipe", out, *tracing(recorded, "first"))
    assert ran.code != 0
    assert "is there already" in ran.err
    assert "the program" not in ran.out
    ran = tk("run", "--json", "--force", "--recipe", out, *tracing(recorded, "first"))
    assert json.loads(ran.out.splitlines()[-1])["result"]["recipe"]["source"] == "script"
    ran = tk("run", "--recipe", tmp_path / "no" / "out.toml", "--", "true")
    assert "cannot be written" in ran.err
    ran = tk("run", "--recipe", tmp_path / "none.toml", "--", "true")
    assert "compiled nothing" in ran.err
    assert not (tmp_path / "none.toml").exists()


#: What a user has: sizes that vary, a model that learns and serves, and ways of compiling.
EVERYDAY = """
import json
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(16, width)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.inner(x)).relu()


def score(x, y, scale=1.0):
    return (x @ y).sin() * scale


def tuned(x, y):
    return x.sigmoid() * y


def optioned(x, y):
    return (x @ (x @ y)).cos()


@torch.compile(fullgraph=True)
def decorated(x):
    return x.tanh() + 1


def main():
    scored = torch.compile(score)
    for batch in (4, 8, 16):
        scored(torch.rand(batch, 16), torch.rand(16, 16), scale=2.0)
    net = Net(32)
    compiled = torch.compile(net)
    for batch in (6, 12):
        net.train()
        compiled(torch.rand(batch, 16)).sum().backward()
        net.eval()
        with torch.no_grad():
            compiled(torch.rand(batch + 1, 16))
    pair = torch.rand(5, 5), torch.rand(5, 5)
    torch.compile(tuned, mode="max-autotune-no-cudagraphs")(*pair)
    with torch.inference_mode():
        torch.compile(optioned, options={"epilogue_fusion": False})(*pair)
    decorated(pair[0])
    for width in (8, 16):
        torch.compile(nn.Linear(5, width))(pair[0]).sum().backward()
    torch.set_float32_matmul_precision("high")
    # Without gradients being turned off, as most do it.
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.compile(Net(8).eval(), dynamic=False)(torch.rand(3, 16))
    counters = torch._dynamo.utils.counters
    fx, aot = counters["inductor"], counters["aot_autograd"]
    print([fx[f"fxgraph_cache_{one}"] for one in ("hit", "miss", "bypass")]
          + [aot[f"autograd_cache_{one}"] for one in ("hit", "miss", "bypass")])


if __name__ == "__main__":
    main()
"""


@pytest.fixture
def in_it(header_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of the test's own; headers are built once."""
    monkeypatch.setenv("TMPDIR", str(header_folder))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_an_everyday_program_is_recorded_by_name_and_hits_all(
    tk: Tk, torch_python: str, in_it: None, tmp_path: Path
) -> None:
    (tmp_path / "serve.py").write_text(EVERYDAY)
    program, out = ["--", torch_python, "serve.py"], tmp_path / "out.toml"
    ran = tk("run", "--into", tmp_path / "first", "--recipe", out, *program, timeout=400)
    assert "\n[0, 15, 0, 0, 11, 0]\n" in f"\n{ran.out}", ran.out
    assert "calls of the program's own models and functions" in ran.err
    said = "Proved: 8 of 8 combinations found what the program compiled, in a fresh process."
    assert f"\n{said}\n" in ran.err
    assert f"# {said}\n" in out.read_text()
    data = tomllib.loads(out.read_text())
    names = [one.get("function", one.get("factory")) for one in data["callable"]]
    assert [name.partition(":")[2] for name in names] == [
        "score", "Net", "tuned", "optioned", "decorated", "Linear", "Linear", "Net",
    ]  # fmt: skip
    warmed = tk("warm", out, "--into", tmp_path / "second", "--env", torch_python, timeout=600)
    assert warmed.code == 0, warmed.err
    ran = tk("run", "--into", tmp_path / "second", *program, timeout=400)
    # One more: that of a backward pass which the program left to others.
    assert "\n[16, 0, 0, 11, 0, 0]\n" in f"\n{ran.out}", ran.out
    proof = ("--recipe", out, "--quick", "--trust", "--env", torch_python, "--json")
    proved = tk("verify", tmp_path / "second", *proof, timeout=600)
    assert proved.code == 0, proved.err
    assert [variant["good"] for variant in proved.result["variants"]] == [True] * len(names)


@pytest.mark.slow
def test_what_cannot_be_named_is_run_again_and_then_hit(
    tk: Tk, torch_python: str, in_it: None, tmp_path: Path
) -> None:
    (tmp_path / "serve.py").write_text(PROGRAM)
    program, out = ["--", torch_python, "serve.py", "inductor"], tmp_path / "out.toml"
    ran = tk("run", "--into", tmp_path / "first", "--recipe", out, *program)
    assert "'hit': 0" in ran.out
    assert next(iter(tomllib.loads(out.read_text()))) == "script"
    assert "made inside a function" in ran.err
    ran = tk("warm", out, "--into", tmp_path / "second", "--env", torch_python)
    assert ran.code == 0, ran.err
    ran = tk("run", "--into", tmp_path / "second", *program)
    assert "'miss': 0" in ran.out


#: One model as it was built, one with a new head, and a function whose global was set.
CHANGED = """
import sys
import torch
from torch import nn

SCALE = 1.0


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(4, width)

    def forward(self, x):
        return self.up(x).relu()


def scaled(x):
    return (x * SCALE).sin()


def main():
    global SCALE
    with torch.no_grad():
        torch.compile(Net(8))(torch.rand(2, 4))
        if sys.argv[1:] == ["changed"]:
            SCALE = 3.0
            torch.compile(scaled)(torch.rand(9))
            net = Net(6)
            net.up = nn.Linear(4, 11)
            torch.compile(net)(torch.rand(2, 4))


if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
def test_what_was_changed_after_it_was_built_is_not_taken_for_what_it_was(
    tk: Tk, torch_python: str, in_it: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "serve.py").write_text(CHANGED)
    cache, out = tmp_path / "cache", tmp_path / "out.toml"
    recording_ = ("run", "--force", "--into", cache, "--recipe", out)
    ran = tk(*recording_, "--", torch_python, "serve.py", "changed", timeout=400)
    assert ran.code == 0, ran.err
    assert "Tried: 1 of 3 combinations found what the program compiled." in ran.err
    text = out.read_text()
    assert [*tomllib.loads(text)] == ["script"]
    assert text.count(" is made in another way here than in the program") == 2
    assert "#   scaled is made in another way" in text
    # A cache of which nothing but what the program looked up is taken along, and not changed.
    before = sorted(path for path in cache.rglob("*") if ".lock" not in path.name)
    own = [*recording_, "--json", "--", torch_python, "serve.py"]
    ran = tk(*own, timeout=400)
    told = json.loads(ran.out.splitlines()[-1])["result"]["recipe"]
    assert (told["source"], told["proof"]["good"], told["proof"]["of"]) == ("callable", 1, 1)
    assert told["proof"]["proved"] is True
    assert not [one for one in map(json.loads, ran.out.splitlines()) if "variant" in one]
    assert sorted(path for path in cache.rglob("*") if ".lock" not in path.name) == before
    ran = tk("run", "--unproved", *own[1:], timeout=400)
    told = json.loads(ran.out.splitlines()[-1])["result"]["recipe"]
    assert told["proof"]["unproved"] == "it was not asked for"
    assert "# Not proved: it was not asked for.\n" in out.read_text()
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    ran = tk(*own, timeout=400)
    told = json.loads(ran.out.splitlines()[-1])["result"]["recipe"]
    assert "used no cache" in told["proof"]["unproved"]
    assert told["source"] == "callable"
    monkeypatch.delenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES")
    # Interrupted in the middle.
    with subprocess.Popen(
        [sys.executable, "-m", "torchkeeper", *map(str, recording_), "--", torch_python,
         "serve.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr
        for line in process.stderr:
            if line.startswith("Proving the recipe"):
                process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert "# Not proved: the proof was interrupted.\n" in out.read_text()
    assert [*tomllib.loads(out.read_text())] == ["callable", "compile"]


def test_a_program_that_fails_first_is_said_to_have_failed(
    tk: Tk, bare_python: str, tmp_path: Path
) -> None:
    file = tmp_path / "serve.toml"
    ran = tk("run", "--recipe", file, "--", bare_python, "-c", "raise SystemExit(3)")
    assert (ran.code, file.exists()) == (3, False)
    assert "ended with exit code 3 before it compiled anything" in ran.err
    well = tk("run", "--recipe", file, "--", bare_python, "-c", "pass")
    assert well.code == 1 and "compiled nothing" in well.err
