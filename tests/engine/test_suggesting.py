"""What is dead, asked of an engine: a look is taken once, and a plan is of that look."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import purging
from torchkeeper.engine.messages.dead import PlanPurgeParams
from torchkeeper.engine.protocol import Message
from torchkeeper.engine.session import Session
from torchkeeper.stores.folders.folder import Folder


@pytest.fixture
def place(fixture_cache: Path) -> Path:
    """A cache that was not used for ten days."""
    then = time.time() - 10 * 86_400
    for path in fixture_cache.rglob("*"):
        os.utime(path, (then, then))
    return fixture_cache


@ANYWHERE
def test_a_look_is_taken_once(place: Path) -> None:
    with Engine() as engine:
        first = engine.call("suggest", {"place": str(place)})
        # What comes meanwhile is not in it.
        (place / "dynamo" / "code_state_new_0_.pkl").write_bytes(b"")
        again = engine.call("suggest", {"place": str(place), "look": first["look"]})
        assert again == first
        # Empty locks, of which every cache has some, are not worth a purge.
        select = {"look": first["look"], "older": 86_400 * 9}
        plan = engine.call("plan_purge", {"place": str(place), "select": select})
        assert plan["because"]["unused"]["entries"] == first["entries"] == 44
        assert (plan["because"]["unused"]["locks"], first["locks"]) == (0, 26)
        rows: list[dict[str, Any]] = []

        def take(message: Message) -> None:
            rows.extend(message.rows)

        select = {"look": first["look"], "keep": 10**6}
        plan = engine.call("plan_purge", {"place": str(place), "select": select}, take)
        assert first["bytes"] - plan["bytes"] <= 10**6
        assert plan["rests"] == first["rests"]
        assert all(row["because"] in (["budget"], ["needless"]) for row in rows)
        assert all(row["last_used"] < time.time() - 9 * 86_400 for row in rows)
        done = engine.call("purge", {"place": str(place), "plan": plan["plan"]})
        assert done["entries"] == plan["entries"]


@ANYWHERE
def test_what_has_several_reasons_counts_for_the_first(place: Path) -> None:
    graph = next(p for p in sorted((place / "fxgraph").rglob("*")) if p.is_file())
    graph.write_bytes(graph.read_bytes()[:200])
    then = time.time() - 10 * 86_400
    os.utime(graph, (then, then))
    rows: list[dict[str, Any]] = []
    with Engine() as engine:
        look = engine.call("suggest", {"place": str(place)})
        select = {"look": look["look"], "broken": True, "older": 86_400.0, "keep": 0}
        asked = {"place": str(place), "select": select}
        plan = engine.call("plan_purge", asked, lambda message: rows.extend(message.rows))
        nothing = engine.call("plan_purge", {**asked, "select": {"look": look["look"]}})
    parts = plan["because"]
    assert any(row["because"] == ["broken", "unused"] for row in rows)
    assert sum(row["because"][0] == "broken" for row in rows) == parts["broken"]["entries"]
    for name in ("entries", "locks", "headers", "files", "bytes", "disk_bytes"):
        assert sum(part[name] for part in parts.values()) == plan[name], name
    assert (nothing["files"], nothing["because"]) == (0, {}), "no reason is no wish for all of it"


def test_a_place_says_which_others_are_counted_with_it(place: Path, tmp_path: Path) -> None:
    outer, other, apart = (tmp_path / name for name in ("outer", "other", "apart"))
    inner = outer / "inductor_cache"
    shutil.copytree(place, outer)
    place.rename(inner)
    other.symlink_to(outer)
    for folder in (apart, outer / "mine"):
        folder.mkdir()
    beside = [str(one) for one in (other, inner, apart, outer / "mine", tmp_path / "gone")]
    beside.append("redis://localhost/9")
    with Engine() as engine:
        told = engine.call("suggest", {"place": str(outer), "beside": beside})
        assert told["covers"] == {str(other): "place-same", str(inner): "place-within"}
        assert engine.call("suggest", {"place": str(inner), "beside": [str(outer)]})["covers"] == {}


@ANYWHERE
@pytest.mark.parametrize(
    ("op", "params", "code"),
    [
        ("suggest", {"look": 99}, "look-unknown"),
        ("suggest", {"envs": ["/no/python"]}, "environment-forgotten"),
        ("plan_purge", {"select": {"older": -1}}, "request-malformed"),
        ("plan_purge", {"select": {"keep": True}}, "request-malformed"),
        ("plan_purge", {"select": {"keep": "10G"}}, "request-malformed"),
        ("plan_purge", {"select": {"older": float("nan")}}, "request-malformed"),
        ("suggest", {"filter": "is:usable"}, "environment-wanted"),
        ("plan_purge", {"select": {"stale": True}}, "environment-wanted"),
        ("plan_purge", {"select": {"broken": True, "look": 1}}, "look-unknown"),
    ],
)
def test_what_makes_no_sense_is_refused(
    kept_291: Path, op: str, params: dict[str, Any], code: str
) -> None:
    with Engine() as engine, pytest.raises(UserError) as caught:
        engine.call(op, {"place": str(kept_291), **params})
    assert caught.value.code == code


@ANYWHERE
def test_a_look_of_another_place_is_no_plan(kept_291: Path, tmp_path: Path) -> None:
    with Engine() as engine:
        look = engine.call("suggest", {"place": str(kept_291)})["look"]
        select = {"orphans": True, "look": look}
        with pytest.raises(UserError) as caught:
            engine.call("plan_purge", {"place": str(tmp_path), "select": select})
        assert caught.value.code == "look-unknown"


@ANYWHERE
def test_a_bundle_is_not_cleaned(kept_291: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    with Engine() as engine:
        params = {"place": str(kept_291), "output": str(bundle), "select": {}, "secrets": "allow"}
        engine.call("export", params)
        with pytest.raises(UserError) as caught:
            engine.call("suggest", {"place": str(bundle)})
        assert caught.value.code == "place-not-folder"


@ANYWHERE
def test_rows_that_nobody_wants_are_not_sent_and_nothing_is_read_for_them(
    fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Mapping[str, object]] = []

    class Listening(Report):
        def rows(self, rows_: Sequence[Mapping[str, object]]) -> None:
            rows.extend(rows_)

    place, session = str(fixture_cache), Session()
    asked: PlanPurgeParams = {"place": place, "select": {"filter": "kind:code,triton size>1k"}}
    shown = purging.plan_purge(session, {**asked}, Listening())
    assert len(rows) == shown["entries"] > 0
    rows.clear()
    monkeypatch.setattr(Folder, "entries", None)
    plan = purging.plan_purge(session, {**asked, "rows": False}, Listening())
    assert {**plan, "plan": 0} == {**shown, "plan": 0}
    done = purging.purge(session, {"plan": plan["plan"]}, Listening())
    assert done["files"] == plan["files"]
    undone = purging.undo(session, {"place": place, "rows": False}, Listening())
    assert undone == {**done, "undid": "purge"}
    assert not rows
    monkeypatch.undo()
    asked["select"] = {"filter": "age>1d torch:2"}
    shown = purging.plan_purge(session, {**asked}, Report())
    plan = purging.plan_purge(session, {**asked, "rows": False}, Report())
    assert {**plan, "plan": 0} == {**shown, "plan": 0}
    session.close()
