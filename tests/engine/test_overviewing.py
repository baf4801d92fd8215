"""What several places hold, asked of an engine: each entry counts once, and bad places are said."""

from __future__ import annotations

import json
import os
import select
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, SlowDisk
from tests.redis_server import dump, serving
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.artifacts.entry import COUNTED_APART
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.overviewing import Overview
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import Message

DAY = 86_400.0
ENVIRONMENTS: dict[str, dict[str, Any]] = json.loads((DATA / "environments.json").read_text())


class Looked:
    """What an engine said: the sums, and everything as it came."""

    def __init__(self, engine: Engine, *places: object, **params: Any) -> None:
        self.heard: list[Message] = []
        self.sums = Overview()
        named = {"places": [str(place) for place in places]}
        self.result = engine.call("overview", {**named, **params}, self.heard.append)
        for message in self.heard:
            self.sums.add(message.rows)
        for place in self.result["places"]:
            self.sums.told(place)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for message in self.heard for row in message.rows]

    @property
    def problems(self) -> list[str | None]:
        return [(place["problem"] or {}).get("code") for place in self.result["places"]]

    def findings(self, name: str) -> list[Any]:
        return [message.body[name] for message in self.heard if name in message.body]


def listed(engine: Engine, place: object, **params: Any) -> list[dict[str, Any]]:
    heard: list[Message] = []
    engine.call("list", {"place": str(place), **params}, heard.append)
    return [row for message in heard for row in message.rows]


@ANYWHERE
def test_groups_are_the_entries_of_a_listing(fixture_cache: Path) -> None:
    now = time.time()
    for number, path in enumerate(sorted(fixture_cache.rglob("*"))):
        then = now - (0.5, 3, 10, 60, 200)[number % 5] * DAY
        os.utime(path, (then, then))
    with Engine() as engine:
        rows = listed(engine, fixture_cache)
        looked = Looked(engine, fixture_cache)
    sums = looked.sums
    entries = [row for row in rows if row["kind"] not in COUNTED_APART]
    assert sums.totals.locks == len(rows) - len(entries) > 0
    assert sums.totals.entries == len(entries) == looked.result["places"][0]["entries"]
    assert sums.totals.bytes == sum(entry["size"] for entry in entries)
    for by, field in (("kind", "kind"), ("torch", "torch")):
        counted = Counter(entry[field] or "" for entry in entries)
        assert {part.value: part.totals.entries for part in sums.groups(by)} == counted
    ages: Counter[str] = Counter()
    for entry in entries:
        days = (now - entry["mtime"]) / DAY
        limits = (("day", 1), ("week", 7), ("month", 30), ("quarter", 90))
        ages[next((name for name, limit in limits if days < limit), "older")] += 1
    assert {part.value: part.totals.entries for part in sums.groups("age")} == ages
    assert len(ages) == 5
    assert {row["verdict"] for row in looked.rows if "kind" in row} == {""}
    # An AOTAutograd entry has taken the time of its graphs as well, which is no time of its own.
    whole = sum(e["compile_s"] for e in entries if e["kind"] == "aotautograd")
    assert sums.totals.compile_s == pytest.approx(whole)
    assert sums.totals.timed == 11
    assert looked.result["places"][0]["free_bytes"] > 0


@ANYWHERE
def test_what_could_go_is_what_purge_suggests(fixture_cache: Path, tmp_path: Path) -> None:
    then = time.time() - 10 * DAY
    for path in fixture_cache.rglob("*"):
        os.utime(path, (then, then))
    next((fixture_cache / "fxgraph").glob("*/f3jp4pg*/*")).unlink()
    broken = next(path for path in (fixture_cache / "fxgraph").rglob("*") if path.is_file())
    broken.write_bytes(b"x")
    place = str(fixture_cache)
    wanted: dict[str, Any] = {"envs": ["/new"], "older": 5 * DAY, "keep": 10**6}
    with Engine() as engine:
        engine.call("know", {"python": "/new", "env": ENVIRONMENTS["none"]})
        select = {"filter": "kind:pgo"}
        plan = engine.call("plan_purge", {"place": place, "select": select})
        engine.call("purge", {"place": place, "plan": plan["plan"]})
        reasons: dict[str, dict[str, Any]] = {
            "stale": {"stale": True}, "broken": {"broken": True}, "orphan": {"orphans": True},
            "unused": {"older": wanted["older"]}, "budget": {"keep": wanted["keep"]},
        }  # fmt: skip
        looked = Looked(engine, place, **wanted)
        look = engine.call("suggest", {"place": place, "envs": wanted["envs"]})["look"]
        select = {"look": look, **dict(pair for one in reasons.values() for pair in one.items())}
        plan = engine.call("plan_purge", {"place": place, "select": select})
    found = {row["reclaim"]: row for row in looked.rows if "reclaim" in row}
    assert set(found) == {*reasons, "needless", "total", "trash"}
    for name, told in {**plan["because"], "total": plan}.items():
        assert found[name]["why"] is None
        assert {k: found[name][k] for k in ("entries", "bytes", "files")} == {
            k: told[k] for k in ("entries", "bytes", "files")
        }
    # One with several reasons counts for the first.
    for name in ("entries", "bytes", "files"):
        assert sum(found[one][name] for one in (*reasons, "needless")) == found["total"][name]
    assert found["trash"]["entries"] == 1
    assert found["trash"]["bytes"] == looked.result["places"][0]["trash_bytes"] == 4096
    could = looked.sums.reclaimable()
    assert could.counts["entries"] == plan["entries"] + 1
    assert could.bytes == plan["bytes"] + 4096


@ANYWHERE
def test_verdicts_are_those_of_a_listing(kept_291: Path) -> None:
    same = {**ENVIRONMENTS["none"], "torch": "2.9.1+cu128"}
    with Engine() as engine:
        engine.call("know", {"python": "/old", "env": same})
        engine.call("know", {"python": "/new", "env": ENVIRONMENTS["none"]})
        for envs in (["/old"], ["/new"], ["/new", "/old"]):
            entries = listed(engine, kept_291, envs=envs)
            looked = Looked(engine, kept_291, envs=envs)
            own = (entry for entry in entries if entry["kind"] not in COUNTED_APART)
            counted = Counter(entry["verdict"] or "" for entry in own)
            parts = {part.value: part.totals.entries for part in looked.sums.groups("verdict")}
            assert parts == counted
        # What is asked of one environment is said of it, though stale is stale in both.
        looked = Looked(engine, kept_291, envs=["/new"], everywhere=["/new", "/old"])
        parts = {part.value: part.totals.entries for part in looked.sums.groups("verdict")}
        assert parts["stale"] == 11
        assert looked.sums.reclaim()["stale"].counts["entries"] == 0
        totals = looked.sums.totals
        # One is unknown: neither usable nor not.
        assert (totals.judged, totals.share) == (11, totals.usable / 11)
        assert "stale" not in Looked(engine, kept_291, envs=["/new"], everywhere=[]).sums.reclaim()
        with pytest.raises(UserError) as caught:
            Looked(engine, kept_291, envs=["/gone"])
        assert caught.value.code == "environment-forgotten"


def test_no_entry_counts_twice(fixture_cache: Path, tmp_path: Path) -> None:
    """Of names of one folder the first counts; what lies in another counts where more is seen."""
    link = tmp_path / "link"
    link.symlink_to(fixture_cache)
    inner = fixture_cache / "dynamo"
    with Engine() as engine:
        alone = Looked(engine, fixture_cache).sums.totals
        looked = Looked(engine, inner, fixture_cache, link, f"{fixture_cache}/")
        assert looked.problems == ["place-within", None, "place-same", "place-same"]
        assert looked.sums.totals == alone
        assert looked.result["places"][0]["problem"]["params"]["other"] == str(fixture_cache)
        # From above nothing of it is recognised.
        (tmp_path / "notes.txt").write_text("mine")
        looked = Looked(engine, tmp_path, fixture_cache, link)
        assert looked.problems == [None, None, "place-same"]
        assert looked.sums.total({"place": str(fixture_cache)}) == alone
        above = looked.sums.total({"place": str(tmp_path)})
        names = {"link", "notes.txt"}
        assert (above.unknown, above.entries) == (len(names), 0)
        assert looked.sums.totals.entries == alone.entries
        assert looked.sums.reclaim(str(tmp_path))["orphan"].counts["entries"] == 0


def test_what_lies_in_a_place_that_fails_counts_by_itself(
    fixture_cache: Path, tmp_path: Path, slow_disk: SlowDisk
) -> None:
    other = tmp_path / "other"
    shutil.copytree(fixture_cache / "fxgraph", other / "fxgraph")
    slow_disk.below(fixture_cache)
    env = {"TORCHKEEPER_INDEX": str(tmp_path / "index.sqlite")}
    with Engine(env=env) as engine:
        slow_disk.hang()
        started = time.monotonic()
        looked = Looked(engine, fixture_cache, other, fixture_cache / "dynamo")
        taken = time.monotonic() - started
        assert looked.problems == ["place-stuck", None, "place-stuck"]
        assert looked.sums.totals.entries == 7
        assert 2.5 < taken < 30, "what hangs is waited for once, not one after the other"
        # What is done is said before what hangs is.
        said = [one["place"] for one in looked.findings("looked")]
        assert set(said) == {str(fixture_cache), str(other), str(fixture_cache / "dynamo")}
        slow_disk.answer()
        again = Looked(engine, fixture_cache, other, fixture_cache / "dynamo")
        assert again.problems == [None, None, "place-within"]
        assert again.sums.totals.entries == 51


def test_a_cancel_does_not_wait_for_a_disk(fixture_cache: Path, slow_disk: SlowDisk) -> None:
    slow_disk.below(fixture_cache / "fxgraph")
    slow_disk.hang()
    with Engine() as engine:
        said: list[Message] = []
        ident = engine.send("overview", {"places": [str(fixture_cache)]})
        while not any("looking" in message.body for message in said):
            select.select([engine], [], [], 60)
            said += engine.receive()
        time.sleep(0.5)
        engine.cancel(ident)
        while said[-1].type not in ("result", "error"):
            select.select([engine], [], [], 60)
            said += engine.receive()
        assert said[-1].body["error"]["code"] == "cancelled"
        slow_disk.answer()  # until here it hangs
        assert Looked(engine, fixture_cache).sums.totals.entries == 44


@pytest.mark.slow
def test_a_disk_that_dies_on_the_way_holds_up_no_other(
    fixture_cache: Path, tmp_path: Path, slow_disk: SlowDisk
) -> None:
    other = tmp_path / "some-other-place-with-a-longer-name"
    shutil.copytree(fixture_cache, other)
    slow_disk.below(fixture_cache / "fxgraph")
    slow_disk.hang()
    with Engine() as engine:
        looked = Looked(engine, fixture_cache, other)
    assert looked.problems == ["place-stuck", None]
    assert looked.sums.totals.entries == 44


def test_bad_places_hide_no_other(fixture_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no bundle")
    bad = [tmp_path / "gone", tmp_path / "file", "redis://127.0.0.1:1/0"]
    with Engine() as engine:
        looked = Looked(engine, *bad, fixture_cache)
        assert looked.problems[0] == "place-missing"
        assert looked.problems[2:] == ["server-refused", None]
        assert looked.problems[1] is not None
        assert looked.sums.totals.entries == 44
        assert [one["place"] for one in looked.result["places"]] == [
            *map(str, bad),
            str(fixture_cache),
        ]
        assert looked.sums.places[str(bad[0])].failed
        for params in ({}, {"places": "x"}, {"places": [1]}, {"places": ["/x"], "older": -1}):
            with pytest.raises(UserError):
                engine.call("overview", params)
        assert engine.call("overview", {"places": []}) == {"places": []}


def test_a_bug_hides_no_other_place(fixture_cache: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "redis") as server, Engine() as engine:
        # Half a character cannot be sent, which is found out when it is to be.
        engine.call("secret", {"place": server.url, "password": "\ud800"})
        looked = Looked(engine, server.url, fixture_cache)
        assert looked.problems == ["engine-bug", None]
        assert looked.sums.totals.entries == 44
    # The log is whole when the engine has ended: it comes by a pipe of its own.
    assert any("Traceback" in line for line in engine.log)


def test_bundles_and_servers_count_as_well(fixture_cache: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    with serving(tmp_path / "redis") as server, Engine() as engine:
        values = dump()
        server.load(values)
        params = {"place": str(fixture_cache), "output": str(bundle), "select": {}}
        engine.call("export", {**params, "secrets": "allow"})
        socket = server.unix
        looked = Looked(engine, fixture_cache, bundle, server.url, socket)
        assert looked.problems[:2] == [None, None]
        # A server that is asked by two names is counted by one of them.
        assert sorted(map(str, looked.problems[2:])) == ["None", "place-same"]
        parts = {part.value: part.totals for part in looked.sums.groups("place")}
        assert parts[str(bundle)].entries == len(listed(engine, bundle))
        assert {p.value for p in looked.sums.groups("age", {"place": str(bundle)})} == {""}
        name = next(name for name in (server.url, socket) if name in parts)
        keys = listed(engine, name)
        assert parts[name].entries == len(keys) > 0
        assert {p.value for p in looked.sums.groups("torch", {"place": name})} == {""}
        assert looked.sums.reclaim(name) == {}
        full = Looked(engine, name, facts=True, older=30 * DAY).sums
        assert full.totals.entries == len(keys)
        assert "2.9.1+cu128" in {part.value for part in full.groups("torch")}
        assert set(full.reclaim()) == {"broken", "orphan", "unused", "needless"}
        # A bundle that lies in a cache is no entry of it.
        inside = fixture_cache / "inside.torchcache"
        shutil.copy(bundle, inside)
        both = Looked(engine, fixture_cache, inside)
        assert both.problems == [None, None]
        assert both.sums.totals.entries == 44 + parts[str(bundle)].entries


@ANYWHERE
def test_each_place_says_when_it_begins_and_ends(fixture_cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(fixture_cache, other)
    with Engine() as engine:
        looked = Looked(engine, fixture_cache, other)
    begun = looked.findings("looking")
    assert [(one["number"], one["of"]) for one in begun] == [(1, 2), (2, 2)]
    assert {one["place"] for one in looked.findings("looked")} == {str(fixture_cache), str(other)}
    assert any(message.type == "progress" for message in looked.heard)
