"""What a fleet was last asked for, and what came of it, is there for another start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from tests.fleet.conftest import BAD, Warm
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.messages.fleet import CellFinding, FleetParams, FleetResult, NodeFinding
from torchkeeper.fleet import last
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.state import Done, State, folder_of

PARAMS: FleetParams = {"into": "/srv/place", "on": ["local"], "named": ["/r/a.toml"], "prove": True}


def node(state: str = "ready") -> NodeFinding:
    return {
        "target": "local", "name": "local", "state": state, "kind": "k", "torch": "2.9.1",
        "devices": [], "slots": 1, "labels": {}, "why": None,
    }  # fmt: skip


def cell(ident: str, state: str = "waiting") -> CellFinding:
    return {"cell": ident, "state": state, "index": 0, "recipe": "r", "name": ident}


def result() -> FleetResult:
    found = {
        "cells": 1, "states": {"warm": 1}, "compiled": 1, "there": 0, "entries": 2, "bytes": 3,
        "shared": 0, "seconds": 0.5, "nodes": 1, "cut": False, "into": "/srv/place", "state": "s",
    }  # fmt: skip
    return cast("FleetResult", found)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = Path(folder_of("/srv/place"))
    made.mkdir(parents=True)
    return made


def test_a_run_is_known_again(folder: Path) -> None:
    keeper = Keeper(str(folder), PARAMS, [node()])
    keeper.node(node("lost"))
    keeper.keep([cell("a", "warm")], result())
    [head] = last.every()
    assert (head["into"], head["on"], head["named"]) == ("/srv/place", ["local"], ["/r/a.toml"])
    assert head["result"] == result() and head["ended"]
    found = last.told(head["folder"])
    assert found.rows == [cell("a", "warm")]
    assert found.nodes == [node("lost")]
    assert not list(folder.glob("*.part")) and (folder / "last.jsonl").stat().st_mode & 0o77 == 0


def test_of_a_run_that_was_killed_it_is_known_what_it_had_done(folder: Path) -> None:
    Keeper(str(folder), PARAMS, [node()]).keep([cell("a"), cell("b")])
    state = State(str(folder))
    with state.held():
        state.came("u1", {"a": Done("local", "u1", 2.5, 1, ["f"])}, frozenset(), False)
    [head] = last.every()
    assert head["ended"] is None and head["result"] is None
    told = {row["cell"]: row for row in last.told(head["folder"]).rows}
    assert (told["a"]["state"], told["a"]["node"]) == ("warm", "local")
    assert told["b"]["state"] == "waiting"


def test_what_cannot_be_read_is_not_shown(folder: Path) -> None:
    Keeper(str(folder), PARAMS, [node()]).keep([cell("a"), cell("b")], result())
    file = folder / "last.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    bad = b'{"cell": {"cell": 1, "state": "warm"}}\n{"cell": []}\n[1]\n\xff\n{"node": {}}\n'
    file.write_bytes(b"".join([*lines[:-1], bad, b'{"cell": ']))
    assert [row["cell"] for row in last.told(str(folder)).rows] == ["a"]
    never = json.dumps({**json.loads(lines[0]), "began": 1e299, "ended": 1e299}).encode()
    for head in (b"", b"[]", b"{", json.dumps({"into": 1}).encode(), b"[" * 100_000, never):
        file.write_bytes(head + b"\n" + b"".join(lines[1:]))
        assert last.every() == []
        with pytest.raises(UserError, match="cannot be read"):
            last.told(str(folder))


def test_a_folder_that_says_it_is_another_is_not_believed(folder: Path) -> None:
    Keeper(str(folder), PARAMS, []).keep([])
    file = folder / "last.jsonl"
    file.write_text(file.read_text().replace(str(folder), "/etc"))
    assert [one["folder"] for one in last.every()] == [str(folder)]


@pytest.mark.slow
def test_a_real_run_is_kept(warm: Warm, recipes: Path, tmp_path: Path) -> None:
    (recipes / "bad.toml").write_text(BAD)
    ran = warm(tmp_path / "place", named=[str(recipes)])
    told = last.told(str(tmp_path / "state"))
    assert told.last["named"] == [str(recipes)]
    assert told.last["result"] == ran.result
    assert list(told.rows) == ran.cells
    assert any(row["state"] == "failed" and row["log"] for row in told.rows)
    assert [one["name"] for one in told.nodes] == ["local"]
