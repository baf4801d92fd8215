"""What a path is offered as."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchkeeper.client.recipes.offered import kind

RECIPE = '[[callable]]\nfunction = "f.py:f"\n'


def test_a_folder_of_recipes_and_one_with_a_cache(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "recipes"
    deep.mkdir(parents=True)
    (tmp_path / "model.py").write_text("")
    assert kind(str(tmp_path)) == "folder", "there is none"
    (deep / "a.toml").write_text("[tool.other]\nx = 1\n")
    (tmp_path / "pyproject.toml").write_text(RECIPE)
    assert kind(str(tmp_path)) == "folder", "that is no recipe"
    (deep / "b.toml").write_text(f"not = TOML =\n{RECIPE}")
    assert kind(str(tmp_path)) == "recipes", "its faults are shown there"
    graph = tmp_path / "cache" / "fxgraph" / "ab" / f"f{'a' * 51}" / ("a" * 51)
    graph.parent.mkdir(parents=True)
    graph.write_bytes(b"")
    assert kind(str(tmp_path / "cache")) == "folder"
    assert kind(str(deep)) == "recipes"
    (deep / "kk").mkdir()
    (deep / "kk" / f"c{'k' * 51}.py").write_text("")
    assert kind(str(deep)) == "folder", "a cache with a recipe in it is a place"


@pytest.mark.parametrize(
    ("name", "what"),
    [("a.toml", "recipes"), ("a.pt2", "exported"), ("a.torchcache", "file"), ("", "folder")],
)
def test_files(tmp_path: Path, name: str, what: str) -> None:
    if name:
        (tmp_path / name).write_text("")
    assert kind(str(tmp_path / name)) == what
    assert kind(str(tmp_path / "gone")) == "missing"


def test_a_large_folder_is_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.toml").write_text(RECIPE)
    assert kind(str(tmp_path)) == "recipes"
    monkeypatch.setattr("torchkeeper.client.recipes.offered._MOST_NAMES", 2)
    for name in ("b", "c"):
        (tmp_path / name).write_text("")
    assert kind(str(tmp_path)) == "folder"
