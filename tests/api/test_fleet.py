"""A fleet from a script."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import torchkeeper
from tests.conftest import DATA

KERNELS = """\
[[triton]]
kernel = 'recipe_kernels.py:tuned'
targets = ['cuda:90']
signature = { x = '*fp32:16', n = 'i32' }
constants = { scale = 2 }
"""


@pytest.mark.torch
def test_a_script_warms_on_nodes_and_hears_of_each_cell(tmp_path: Path, torch_python: str) -> None:
    shutil.copy(DATA / "recipe_kernels.py", tmp_path)
    recipe = tmp_path / "kernels.toml"
    recipe.write_text(KERNELS)
    heard: list[torchkeeper.Progress] = []

    def warm() -> torchkeeper.WarmedFleet:
        return torchkeeper.warm_fleet(
            recipe, on="local", into=tmp_path / "k", python=torch_python, state=tmp_path / "st",
            report=tmp_path / "page.html", share=True, progress=heard.append,
        )  # fmt: skip

    first = warm()
    assert first.ok, first.failed
    assert (first.compiled, first.nodes) == (1, 1)
    (cell,) = first.cells
    assert (cell.recipe, cell.state, cell.kind, cell.node) == ("kernels", "warm", "", "local")
    assert (cell.hits, cell.problem, cell.log, cell.there) == (None, None, (), False)
    assert cell.shared == 0
    assert heard[-1].unit == "cells"
    assert "The one cell is warm" in (tmp_path / "page.html").read_text()
    second = warm()
    assert (second.ok, second.compiled, second.cells[0].there) == (True, 0, True)
    with torchkeeper.open(tmp_path / "k") as place:
        assert {entry.kind for entry in place.entries("kind:triton")} == {"triton"}


def test_what_is_wrong_is_raised(tmp_path: Path) -> None:
    for on, into, code in (
        ("ftp://x", tmp_path, "target-unknown"),
        ("nogroup", tmp_path, "hosts-none"),
        ("local", "ssh://host", "place-machine"),
    ):
        with pytest.raises(torchkeeper.Error) as raised:
            torchkeeper.warm_fleet("builtin", on=on, into=into)
        assert raised.value.code == code
    with pytest.raises(torchkeeper.Error) as raised:
        torchkeeper.warm_fleet([], on="local", into=tmp_path)
    assert raised.value.code == "wrong-usage"
