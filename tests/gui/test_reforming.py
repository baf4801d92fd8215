"""Recipes that are changed in the form, of all kinds: what it does not show stays."""

from __future__ import annotations

import contextlib
import copy
import random
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from torchkeeper.client.recipes import toml
from torchkeeper.gui.pages.recipes import forming
from torchkeeper.gui.pages.recipes.forming import GRADIENTS, KINDS, Form, Unfit
from torchkeeper.warm.recipes.recipe import without_faults

INPUTS: list[Any] = [
    {"shape": ["batch", 4], "dtype": "float32"}, {"shape": [4]}, 3, 0.5, True, "mean", "3", "a, b",
    {"none": True}, {"list": [1, 2]}, {"shape": [2], "fill": "randint", "low": 0, "high": 3},
    'it\'s "x"', "#no", " lead", "", [1],
]  # fmt: skip
SHOWN = {"mode", "dtype", "device", "dynamic", "fullgraph", "backward", "grad"}


def some(chance: random.Random, of: dict[str, Any], part: float = 0.4) -> dict[str, Any]:
    return {name: chance.choice(one) for name, one in of.items() if chance.random() < part}


def settings(chance: random.Random) -> dict[str, Any]:
    gradients = chance.choice([{}, {"backward": [True, False]}, {"grad": [True, False]}])
    return some(chance, {
        "mode": ["default", "max-autotune"], "dynamic": [True, False], "fullgraph": [True, False],
        "options": [{"a": 1, "triton.cudagraphs": False}], "device": ["cpu"],
        "dtype": ["bfloat16"], "threads": [4], **gradients,
    })  # fmt: skip


def recipe(chance: random.Random) -> dict[str, Any]:
    items = []
    for _ in range(chance.randint(1, 3)):
        kind = chance.choice(KINDS)
        item: dict[str, Any] = {kind: chance.choice(["m:f", "a/b.py:C.d"])}
        inputs = chance.sample(INPUTS, chance.randint(0, 5))
        if kind != "example":
            call = {"inputs": inputs, "keywords": {"scale": 2.0}, "grad": False}
            item |= chance.choice([{"inputs": inputs}, {"calls": [call, {"inputs": [1]}]}, {}])
        item |= some(chance, {"args": [{"w": 1}], "compile": [settings(chance)]})
        items.append(item)
    alone = len(items) == 1 and chance.random() < 0.3
    matrix = some(chance, {
        "batch": [[1, 2, 3], [4]], "mode": [["default", "reduce-overhead"]],
        "dtype": [["float16", "float32"]], "device": [["cpu", "cuda"]],
    })  # fmt: skip
    made = {"about": "x", "callable": items[0] if alone else items}
    tables = {"matrix": [matrix], "compile": [settings(chance)], "limits": [{"seconds": 3}]}
    return made | some(chance, tables, 0.7)


def commented(text: str) -> str:
    """With a comment at each line that can have one."""
    ends = "]]", "}", '"'
    lines = enumerate(text.split("\n"))
    return "\n".join(f"{line}  # {n}" if line.endswith(ends) else line for n, line in lines)


def changes(chance: random.Random, form: Form) -> dict[str, Any]:
    lines = form.inputs.splitlines()
    inputs = [
        "",
        "[3] bool",
        "\n".join(lines[::-1]),
        "\n".join([*lines, "7"]),
        "\n".join(lines[1:]),
    ]
    return some(chance, {
        "kind": KINDS, "reference": ["new:ref"], "device": ["", "cuda:1"],
        "sizes": ["", "batch = 9", "batch = 1, 2, 5; seq = 4"],
        "dtypes": [[], ["float32"], ["float32", "float16"]], "dynamic": [None, True, False],
        "modes": [[], ["default"], ["default", "max-autotune"]], "fullgraph": [True, False],
        "gradients": GRADIENTS, **({} if form.calls else {"inputs": inputs}),
    })  # fmt: skip


def unseen(data: dict[str, Any]) -> dict[str, Any]:
    """What a recipe says that the form does not show."""
    data = copy.deepcopy(data)
    items = data["callable"] if isinstance(data["callable"], list) else [data["callable"]]
    for item in items:
        for name in (*KINDS, "inputs"):
            item.pop(name, None)
    for table in (data.get("compile", {}), *(item.get("compile", {}) for item in items)):
        for name in SHOWN & set(table):
            del table[name]
    data["matrix"] = {k: v for k, v in data.get("matrix", {}).items() if k == "device"}
    data["compile"] = data.get("compile", {})
    for item in items:
        item["compile"] = item.get("compile", {})
    return data


def as_said(name: str, form: Form) -> Any:
    """A field, however it is written."""
    value = getattr(form, name)
    if name == "inputs":
        return forming.inputs_of(value)
    if name == "sizes":
        return forming.sizes_of(value)
    return list(value) if name in ("dtypes", "modes") else value


@pytest.mark.parametrize("seed", range(2))
def test_what_the_form_does_not_show_stays(seed: int) -> None:
    chance, done = random.Random(seed), 0
    for _ in range(60):
        data: Any = recipe(chance)
        text = commented(toml.text_of(data))
        assert tomllib.loads(text) == data
        at = chance.randrange(len(forming.names(data)))
        form = forming.form_of(data, at)
        assert forming.changed(text, data, form, at) == text, "as it is, it stays"
        asked = changes(chance, form)
        wanted = replace(form, **asked)
        with contextlib.suppress(Unfit):
            new = forming.changed(text, data, wanted, at)
            done += 1
            again = forming.form_of(without_faults(tomllib.loads(new)), at)
            for name in set(asked) - ({"inputs"} if wanted.kind == "example" else set()):
                assert as_said(name, again) == as_said(name, wanted), (name, text, new)
            assert unseen(tomllib.loads(new)) == unseen(data)
    assert done > 50, "it is seldom that it cannot"
