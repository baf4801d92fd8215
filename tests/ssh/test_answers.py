"""A place there answers as the same place here: every operation that can be asked of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ssh.conftest import Machine
from torchkeeper.client.engines import far, line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol

#: What each is asked besides the place; {…} are an entry of it.
ASKED: dict[str, dict[str, Any]] = {
    protocol.LIST: {"filter": "", "envs": None},
    protocol.DU: {},
    protocol.SUM: {"select": {"filter": "kind:fxgraph"}},
    protocol.SHOW: {"key": "{key}"},
    protocol.DETAIL: {"kind": "fxgraph", "path": "{path}"},
    protocol.NEEDS: {"kind": "fxgraph", "path": "{path}"},
    protocol.FACTORS: {"kind": "fxgraph", "path": "{path}"},
    protocol.RUNNABLE: {},
    protocol.EXPLAIN: {"key": "{key}", "nearest": ["{place}"]},
    protocol.PLAN_EXPORT: {"select": {"filter": "kind:fxgraph"}, "needs": True},
    protocol.TRASH: {},
    protocol.PLAN_PURGE: {"select": {"filter": "kind:fxgraph"}},
    protocol.TARGET: {},
}
#: What differs between two askings of the same place.
DIFFERS = {"plan", "in_use", "space", "free", "room", "used", "last_used"}


@pytest.fixture(params=["folder", "bundle"])
def place(request: pytest.FixtureRequest, fixture_cache: Path, tmp_path: Path) -> Path:
    if request.param == "folder":
        return fixture_cache
    bundle = tmp_path / "b.torchcache"
    with Engine() as engine:
        about = {"place": str(fixture_cache), "output": str(bundle), "secrets": "allow"}
        engine.call(protocol.EXPORT, about)
    return bundle


@pytest.fixture(autouse=True)
def ends(there: Machine) -> Iterator[None]:
    yield
    line.close_all()


def answer(engine: Engine, op: str, params: dict[str, Any]) -> list[Any]:
    """All that comes, as JSON with sorted names, or the code of the problem."""
    said: list[Any] = []
    try:
        said.append(engine.call(op, params, lambda one: said.append(one.rows or _finding(one))))
    except UserError as error:
        said.append(error.code)
    return [json.loads(json.dumps(_same(one), sort_keys=True)) for one in said if one]


def asked(op: str, place: str, key: str = "x", path: str = "fxgraph/x") -> dict[str, Any]:
    """The parameters of an operation about a place."""
    text = json.dumps({("path" if op == protocol.TARGET else "place"): place, **ASKED[op]})
    for word, one in {"key": key, "path": path, "place": place}.items():
        text = text.replace(f"{{{word}}}", one)
    params: dict[str, Any] = json.loads(text)
    return params


def _finding(message: protocol.Message) -> object:
    return None if message.type == "progress" else message.finding


def _same(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _same(one) for name, one in value.items() if name not in DIFFERS}
    return [_same(one) for one in value] if isinstance(value, (list, tuple)) else value


def test_every_operation_answers_there_as_here(there: Machine, place: Path) -> None:
    name = there.place(place)
    with Engine() as here, Engine("ssh://there") as far_off:
        rows: list[Any] = []
        here.call(protocol.LIST, {"place": str(place)}, lambda one: rows.extend(one.rows))
        graph = next(row for row in rows if row["kind"] == "fxgraph")
        for op in ASKED:
            told = []
            for engine, called in ((here, str(place)), (far_off, name)):
                told.append(answer(engine, op, asked(op, called, graph["key"], graph["path"])))
            ours, theirs = told
            assert ours and json.dumps(theirs).replace(name, str(place)) == json.dumps(ours), op


def test_what_is_missing_is_missing_there_too(there: Machine) -> None:
    with Engine() as here, Engine("ssh://there") as far_off:
        for op in ASKED:
            if op == protocol.TARGET:
                continue
            ours = answer(here, op, asked(op, "/nowhere/at all"))
            theirs = answer(far_off, op, asked(op, "ssh://there/nowhere/at all"))
            assert theirs == ours, op


def test_no_other_operation_is_sent_there(there: Machine) -> None:
    sent = {op for op in protocol.TABLE if op in far._OPERATIONS}
    with Engine("ssh://there") as engine:
        for op in protocol.TABLE.keys() - sent:
            with pytest.raises(UserError) as raised:
                engine.send(op, {"place": "ssh://there/x"})
            assert raised.value.code == "place-elsewhere"
        for params in ({"place": "/etc"}, {"place": "ssh://other/x"}, {"place": "redis://h/0"}):
            with pytest.raises(UserError) as raised:
                engine.send(protocol.DU, params)
            assert raised.value.code == "places-apart"
