"""What is said of a node's next start, and that no file of a state ends that with a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.fleet.conftest import ADD, KERNELS
from torchkeeper.client.recipes import files
from torchkeeper.client.words.problems import UserError
from torchkeeper.fleet import retention, standing, state
from torchkeeper.fleet.state import Done, State

NODE: Any = {
    "target": "local", "name": "local", "state": "ready", "kind": "CPU, torch 2 · 1a",
    "torch": "2.13.0", "slots": 1, "devices": ["CPU"], "labels": {}, "why": None,
    "factors": {"torch": "2.13.0", "Triton": "3.7.1", "driver": "550", "triton_key": "ab"},
}  # fmt: skip
CELLS: Any = [
    {"cell": "c1", "state": "proven", "kind": "", "name": "one", "recipe": "add"},
    {"cell": "c2", "state": "waiting", "kind": "", "name": "two", "recipe": "add"},
]
RECIPE = {"name": "a", "folder": "/f", "data": {"eager": [{"op": "aten.abs"}]}}
SHAPES: tuple[Any, ...] = (None, 3, 1.5, "x" * 999, [], [1], [["a"]], {"a": []})


def recipes(folder: Path) -> Any:
    return files.wire(files.chosen([str(folder)]))


def changed(tmp_path: Path, asked: Any, node: Any = NODE) -> list[str]:
    [one] = standing.standing(CELLS, [node], str(tmp_path), asked)
    assert not one["hits"]
    return list(one["changed"])


def test_it_is_said_what_has_changed(tmp_path: Path) -> None:
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "add.toml").write_text(ADD)
    asked = recipes(folder)
    assert changed(tmp_path, asked) == ["never compiled for it"]
    standing.keep(str(tmp_path), [NODE], asked)
    made = State(str(tmp_path))
    with made.held():
        made.came("u1", {"c2": Done("local", "u1")}, frozenset(), False)
    assert changed(tmp_path, asked) == ["entries are gone from the place"]
    (folder / "kernels.py").write_text(KERNELS + "\n# more\n")
    assert changed(tmp_path, asked) == ["kernels.py"]
    (folder / "other.py").write_text("")
    (folder / "add.toml").write_text(ADD.replace("[64, 128]", "[64]"))
    assert set(changed(tmp_path, recipes(folder))) == {
        "kernels.py", "other.py is new", "recipe add"
    }  # fmt: skip
    factors = {**NODE["factors"], "Triton": "3.8.0", "driver": "560", "triton_key": "cd"}
    node = {**NODE, "factors": factors, "kind": "CPU, torch 2 · 2b"}
    said = changed(tmp_path, recipes(folder), node)
    assert said[:2] == ["Triton 3.7.1 → 3.8.0", "driver 550 → 560"]
    (folder / "kernels.py").unlink()
    assert "kernels.py is gone" in changed(tmp_path, recipes(folder))


def others(value: Any) -> Iterator[Any]:
    """A value of JSON with each part of it, one at a time, as something else."""
    yield from SHAPES
    if isinstance(value, dict):
        for key, one in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: other} for other in others(one))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in others(one))


LINES: tuple[dict[str, Any], ...] = (
    {"came": "u1", "cells": {"c2": vars(Done("n", "u1", 2.5, 3, ["f1"]))},
     "new": [["triton", "K1"]], "bundle": True},
    {"merged": "u1", "placed": [["triton", "K1"]]},
    {"proved": "c2", "as": vars(Done("n", "u1", proof="proven"))},
)  # fmt: skip


def looked(folder: Path) -> None:
    """All that is read of a state, of the types that it says."""
    read = State(str(folder))
    read.read()
    for named in (*read.new.values(), *read.ours.values()):
        assert all(isinstance(x, str) and isinstance(y, str) for x, y in named)
    retention.outdated(read, set())
    found = standing.standing(CELLS, [NODE], str(folder))
    json.dumps(found)
    assert all(isinstance(one, str) and len(one) < 1000 for one in found[0]["changed"])


@pytest.mark.parametrize("at", range(len(LINES)))
def test_a_line_of_the_journal_may_have_any_shape(tmp_path: Path, at: int) -> None:
    for line in others(LINES[at]):
        lines = [*LINES[:at], line, *LINES[at + 1 :]]
        (tmp_path / "journal.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
        looked(tmp_path)


@pytest.mark.parametrize("name", ["nodes.json", "made.json"])
def test_what_is_kept_beside_may_have_any_shape(tmp_path: Path, name: str) -> None:
    standing.keep(str(tmp_path), [NODE], cast("Any", [RECIPE]))
    kept = tmp_path / name
    for value in others(json.loads(kept.read_text())):
        kept.write_text(json.dumps(value))
        looked(tmp_path)
    for data in (b"", b"\xff", b"[" * 100_000):
        kept.write_bytes(data)
        looked(tmp_path)


@pytest.mark.parametrize("how", ["large", "folder", "unreadable"])
def test_a_journal_that_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It is not begun anew: all that was done would be forgotten."""
    journal = tmp_path / "journal.jsonl"
    if how == "large":
        with open(journal, "wb") as file:
            file.truncate((1 << 30) + 1)
        monkeypatch.setattr(state, "_MOST", 1 << 20)  # the same without a gigabyte read
    elif how == "folder":
        journal.mkdir()
    else:
        journal.write_bytes(b"")
        journal.chmod(0)
        if os.access(journal, os.R_OK):
            pytest.skip("this user reads all")
    for use in (State(str(tmp_path)).read, State(str(tmp_path)).held().__enter__):
        with pytest.raises(UserError) as told:
            use()
        assert told.value.code == "fleet-journal-unreadable"
        assert "journal.jsonl" in told.value.why
        assert "--state" in told.value.remedy
