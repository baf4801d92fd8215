"""A place there answers as the same place here: every operation that can be asked of it."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.redis_server import dump, serving
from tests.snapshots import snapshot
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol

#: What each is asked besides the place; {…} are an entry of it.
ASKED: dict[str, dict[str, Any]] = {
    protocol.LIST: {"filter": "", "envs": None},
    protocol.DU: {},
    protocol.SUM: {"select": {"filter": "kind:{kind}"}},
    protocol.SHOW: {"key": "{key}"},
    protocol.DETAIL: {"kind": "{kind}", "path": "{path}"},
    protocol.NEEDS: {"kind": "{kind}", "path": "{path}"},
    protocol.FACTORS: {"kind": "{kind}", "path": "{path}"},
    protocol.RUNNABLE: {},
    protocol.EXPLAIN: {"key": "{key}", "nearest": ["{place}"]},
    protocol.VLLM: {},
    protocol.PLAN_EXPORT: {"select": {"filter": "kind:{kind}"}, "needs": True},
    protocol.TRASH: {},
    protocol.PLAN_PURGE: {"select": {"filter": "kind:{kind}"}},
    protocol.TARGET: {},
}
#: What differs between two askings of the same place.
DIFFERS = {"plan", "receipt", "made", "in_use", "space", "free", "room", "used", "last_used"}
#: What changes a place, in turn, besides the place; {…} are another place, and the plan before.
CHANGING: list[tuple[str, dict[str, Any]]] = [
    (protocol.COPY, {"into": "{other}", "secrets": "allow"}),
    (protocol.COPY, {"into": "{other}.torchcache", "secrets": "allow"}),
    (protocol.PLAN_PURGE, {"select": {"filter": "kind:fxgraph"}}),
    (protocol.PURGE, {"plan": "{plan}"}),
    (protocol.TRASH, {}),
    (protocol.UNDO, {}),
    (protocol.PLAN_PURGE, {"select": {"filter": "kind:pgo"}}),
    (protocol.PURGE, {"plan": "{plan}"}),
    (protocol.EMPTY_TRASH, {}),
    (protocol.RECOVER, {}),
]


#: Folders with entries of other kinds, each of which is asked about.
FOLDERS = ("other kinds", "generic caches", "vLLM")
PLACES = ("folder", "bundle", "server", *(
    pytest.param(one, marks=pytest.mark.slow) for one in FOLDERS
))  # fmt: skip


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, fixture_cache: Path, tmp_path: Path) -> Iterator[str]:
    """As it is called here."""
    if request.param == "folder":
        yield str(fixture_cache)
        return
    if request.param in FOLDERS:
        if request.param == "vLLM":
            yield str(request.getfixturevalue("vllm_rank"))
        else:
            which = "cache" if request.param == "other kinds" else "temporary"
            shutil.copytree(request.getfixturevalue("other_kinds") / which, tmp_path / "other")
            yield str(tmp_path / "other")
        return
    if request.param == "server":
        with serving(tmp_path / "redis") as server:
            server.load(dump())
            yield server.url
        return
    bundle = tmp_path / "b.torchcache"
    with Engine() as engine:
        about = {"place": str(fixture_cache), "output": str(bundle), "secrets": "allow"}
        engine.call(protocol.EXPORT, about)
    yield str(bundle)


def answer(
    engine: Engine, op: str, params: dict[str, Any], whole: dict[str, Any] | None = None
) -> list[Any]:
    """All that comes, as JSON with sorted names, or the code of the problem. whole: has the result
    as it came.
    """
    said: list[Any] = []
    try:
        said.append(engine.call(op, params, lambda one: said.append(one.rows or _finding(one))))
        if whole is not None:
            whole.update(said[-1])
    except UserError as error:
        said.append(error.code)
    return [json.loads(json.dumps(_same(one), sort_keys=True)) for one in said if one]


def asked(
    op: str, place: str, key: str = "x", path: str = "fxgraph/x", kind: str = "fxgraph"
) -> dict[str, Any]:
    """The parameters of an operation about a place."""
    text = json.dumps({("path" if op == protocol.TARGET else "place"): place, **ASKED[op]})
    for word, one in {"key": key, "path": path, "place": place, "kind": kind}.items():
        text = text.replace(f"{{{word}}}", one)
    params: dict[str, Any] = json.loads(text)
    return params


def _finding(message: protocol.Message) -> object:
    return None if message.type == "progress" else message.finding


def _same(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _same(one) for name, one in value.items() if name not in DIFFERS}
    return [_same(one) for one in value] if isinstance(value, (list, tuple)) else value


def test_every_operation_answers_there_as_here(
    there: Machine, place: str, request: pytest.FixtureRequest
) -> None:
    server = "://" in place
    name = f"ssh://there/{place}" if server else there.place(place)
    with Engine() as here, Engine(None if server else "ssh://there") as far_off:
        rows: list[Any] = []
        here.call(protocol.LIST, {"place": place}, lambda one: rows.extend(one.rows))
        # “du” tells of orphans what a listing there has kept, too.
        far_off.call(protocol.LIST, {"place": name})
        kinds = {row["kind"]: row for row in rows}
        if request.node.get_closest_marker("slow") is None:
            kinds = {"fxgraph": kinds["fxgraph"]}
        # Only of files there is a trash, or is it asked what they are.
        without = {protocol.TRASH, protocol.TARGET} if server else set()
        # In this order: both have listed it before they are asked what they know of it.
        ops = [op for op in ASKED if op not in without]
        for op, (kind, row) in itertools.product(ops, kinds.items()):
            told = []
            for engine, called in ((here, place), (far_off, name)):
                told.append(answer(engine, op, asked(op, called, row["key"], row["path"], kind)))
            ours, theirs = told
            assert ours and json.dumps(theirs).replace(name, place) == json.dumps(ours), (op, kind)
    assert there.sessions() == 1


def test_what_changes_a_place_changes_it_there_as_here(
    there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    told, made = [], []
    for machine in ("", "ssh://there"):
        folder = tmp_path / ("there" if machine else "here")
        shutil.copytree(fixture_cache, folder / "cache")
        names = {"place": f"{machine}{folder}/cache", "other": f"{machine}{folder}/other"}
        with Engine(machine or None) as engine:
            plan, said = 0, list[Any]()
            for op, about in CHANGING:
                got: dict[str, Any] = {}
                text = json.dumps({"place": "{place}", **about}).replace('"{plan}"', str(plan))
                for word, one in names.items():
                    text = text.replace(f"{{{word}}}", one)
                result = answer(engine, op, json.loads(text), got)[-1]
                plan = got.get("plan", plan)
                said.append((op, json.dumps(result).replace(f"{machine}{folder}", "")))
        told.append(said)
        made.append({name: one[:2] for name, one in snapshot(folder).items()})
    for ours, theirs in zip(*told, strict=True):
        assert ours == theirs
    assert made[0] == made[1]


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
