"""Purging a folder that processes use: they are named, and what they use stays unless insisted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.processes import end, process
from tests.snapshots import snapshot
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.fixture
def graph(fixture_cache: Path) -> Path:
    """The file of one of its graphs."""
    return next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())


@pytest.fixture
def reader(graph: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has one of its graphs open."""
    made = process(graph)
    yield made
    end(made)


@pytest.fixture
def trainer(fixture_cache: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs with it as its cache."""
    made = process(TORCHINDUCTOR_CACHE_DIR=str(fixture_cache))
    yield made
    end(made)


def test_an_open_entry_stays(
    tk: Tk, fixture_cache: Path, graph: Path, reader: subprocess.Popen[str]
) -> None:
    total = tk("ls", fixture_cache, "--json", "--filter", "kind:fxgraph").objects
    ran = tk("purge", fixture_cache, "--filter", "kind:fxgraph", "--dry-run")
    assert ran.code == 4
    assert f"(process {reader.pid}) has files of one entry open" in ran.err
    assert "--in-use" in ran.err
    ran = tk("purge", fixture_cache, "--filter", "kind:fxgraph", "--yes", "--json")
    assert ran.code == 4, "not all went"
    assert ran.result["entries"] == len(total) - 1
    (left,) = ran.result["left"]
    assert (left["code"], left["params"]["pid"]) == ("entry-in-use", reader.pid)
    assert left["path"] == str(graph.relative_to(fixture_cache))
    (user,) = ran.result["in_use"]["processes"]
    assert (user["pid"], user["why"], user["entries"]) == (reader.pid, "open", 1)
    assert [p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file()] == [graph]
    ran = tk("purge", fixture_cache, "--filter", "kind:fxgraph", "--yes", "--in-use", "--now")
    assert ran.code == 0
    assert f"(process {reader.pid})" in ran.err
    assert not graph.exists()


def test_a_folder_that_is_somebodys_cache_stays(
    tk: Tk, fixture_cache: Path, trainer: subprocess.Popen[str]
) -> None:
    before = snapshot(fixture_cache)
    ran = tk("purge", fixture_cache, "--yes")
    assert ran.code == 1
    assert f"(process {trainer.pid}) runs with this folder as its cache" in ran.err
    assert "--in-use" in ran.err
    assert "All matching entries are in use." in ran.out
    dry = tk("purge", fixture_cache, "--dry-run", "--json")
    assert dry.code == 1
    assert dry.result["entries"] == 0
    assert dry.result["in_use"]["all"] is True
    assert dry.result["in_use"]["left"] > 0
    assert snapshot(fixture_cache) == before
    assert tk("purge", fixture_cache, "--yes", "--in-use").code == 0
    assert tk("ls", fixture_cache, "--json").objects == []
    # What is in the trash is not in use: it can be put back, or removed for good.
    assert tk("undo", fixture_cache).code == 0
    assert snapshot(fixture_cache) == before


def test_an_entry_that_comes_into_use_after_the_preview(fixture_cache: Path, graph: Path) -> None:
    left: list[dict[str, object]] = []
    with Engine() as engine:
        params = {"place": str(fixture_cache), "select": {"filter": "kind:fxgraph"}}
        plan = engine.call("plan_purge", params)
        assert plan["in_use"]["processes"] == []
        reader = process(graph)
        try:
            done = engine.call(
                "purge",
                {"plan": plan["plan"]},
                lambda m: left.append(m.body["left"]) if "left" in m.body else None,
            )
        finally:
            end(reader)
    assert done["entries"] == plan["entries"] - 1
    assert [one["code"] for one in left] == ["entry-in-use"]
    assert graph.exists()


@pytest.mark.parametrize("insisted", [False, True])
def test_a_process_that_comes_after_the_preview(fixture_cache: Path, insisted: bool) -> None:
    before = snapshot(fixture_cache)
    with Engine() as engine:
        params = {"place": str(fixture_cache), "in_use": insisted}
        plan = engine.call("plan_purge", params)
        trainer = process(TRITON_CACHE_DIR=str(fixture_cache / "triton" / "0"))
        try:
            if insisted:
                assert engine.call("purge", plan)["entries"] == plan["entries"]
                return
            with pytest.raises(UserError, match=str(trainer.pid)) as caught:
                engine.call("purge", {"plan": plan["plan"]})
        finally:
            end(trainer)
    assert caught.value.code == "place-in-use"
    assert snapshot(fixture_cache) == before
