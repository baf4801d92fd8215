"""Places that are too big, too slow or gone: a listing says so, stops when told, and recovers."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SlowDisk
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import Message


def listed(engine: Engine, place: Path) -> tuple[dict[str, Any], list[Any], list[Message]]:
    """The result of a listing, its rows, and everything else that was said."""
    heard: list[Message] = []
    result = engine.call("list", {"place": str(place)}, heard.append)
    return result, [row for m in heard for row in m.rows], [m for m in heard if m.type != "rows"]


def many(folder: Path, deep: bool, count: int) -> Path:
    """A folder of empty files, flat, or ten in each of many nested folders."""
    folder.mkdir()
    below = folder
    for number in range(count):
        if deep and number % 10 == 0:
            below = folder / f"{number // 500}" / f"{number // 100}" / f"{number // 10}"
            below.mkdir(parents=True)
        os.close(os.open(below / f"file{number}", os.O_CREAT | os.O_WRONLY))
    return folder


@ANYWHERE
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.slow
def test_a_walk_says_how_far_it_is_and_can_be_cancelled(tmp_path: Path, deep: bool) -> None:
    place = many(tmp_path / "place", deep, 50_000)
    with Engine() as engine:
        ident = engine.send("list", {"place": str(place)})
        said: list[Message] = []
        cancelled = False
        while not said or said[-1].type not in ("result", "error"):
            select.select([engine], [], [], 60)
            said += engine.receive()
            if not cancelled and any(m.type == "progress" for m in said):
                cancelled = True
                engine.cancel(ident)
        assert said[-1].body["error"]["code"] == "cancelled"
        first = next(m.body for m in said if m.type == "progress")
        assert (first["unit"], first["total"]) == ("files", None)
        assert 0 < first["done"] < 50_000
        result, rows, _ = listed(engine, place)
        assert (result["unknown"], result["entries"]) == (len(rows), 0) == (50_000, 0)


def test_unknown_files_are_not_kept_in_the_index(tmp_path: Path) -> None:
    place = many(tmp_path / "place", False, 3000)
    file = tmp_path / "index.sqlite"
    with Engine(env={"TORCHKEEPER_INDEX": str(file)}) as engine:
        listed(engine, place)
    assert file.stat().st_size < 100_000


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ENOTCONN])
def test_a_place_that_goes_is_said_and_comes_back(
    fixture_cache: Path, tmp_path: Path, slow_disk: SlowDisk, number: int
) -> None:
    slow_disk.below(fixture_cache)
    with Engine(env={"TORCHKEEPER_INDEX": str(tmp_path / "index.sqlite")}) as engine:
        before, rows, _ = listed(engine, fixture_cache)
        slow_disk.fail(number)
        with pytest.raises(UserError) as caught:
            listed(engine, fixture_cache)
        assert caught.value.code == "place-unreadable"
        assert os.strerror(number) in caught.value.why
        slow_disk.answer()
        assert listed(engine, fixture_cache)[:2] == (before, rows)
        assert not engine.log


def test_a_part_that_goes_is_said_and_not_forgotten(
    fixture_cache: Path, tmp_path: Path, slow_disk: SlowDisk
) -> None:
    slow_disk.below(fixture_cache / "fxgraph")
    with Engine(env={"TORCHKEEPER_INDEX": str(tmp_path / "index.sqlite")}) as engine:
        before, rows, _ = listed(engine, fixture_cache)
        slow_disk.fail(errno.ESTALE)
        less, _, said = listed(engine, fixture_cache)
        assert 0 < less["entries"] < before["entries"]
        unreadable = [m.body["unreadable"] for m in said if "unreadable" in m.body]
        assert unreadable == [{"path": "fxgraph", "why": os.strerror(errno.ESTALE)}]
        with contextlib.closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
            kinds = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM entries")}
        assert "fxgraph" in kinds
        slow_disk.answer()
        assert listed(engine, fixture_cache)[:2] == (before, rows)
        assert not engine.log


@ANYWHERE
def test_a_place_removed_while_it_is_listed(tmp_path: Path, fixture_cache: Path) -> None:
    place = many(tmp_path / "place", True, 20_000)
    with Engine() as engine:
        ident = engine.send("list", {"place": str(place)})
        said: list[Message] = []
        while not any(m.type in ("progress", "result") for m in said):
            select.select([engine], [], [], 60)
            said += engine.receive()
        shutil.rmtree(place)
        while said[-1].type not in ("result", "error"):
            select.select([engine], [], [], 60)
            said += engine.receive()
        assert said[-1].id == ident
        if said[-1].type == "error":
            assert said[-1].body["error"]["code"] == "place-missing"
        with pytest.raises(UserError) as caught:
            listed(engine, place)
        assert caught.value.code == "place-missing"
        shutil.copytree(fixture_cache, place)
        result, rows, _ = listed(engine, place)
        assert (result["entries"], result["locks"], len(rows)) == (44, 26, 70)
        assert not engine.log
