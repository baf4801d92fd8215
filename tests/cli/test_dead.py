"""purge of what is dead: what goes, why, and that undo brings every byte back."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, Tk
from tests.redis_server import dump, serving
from tests.snapshots import snapshot
from torchkeeper.client.words import say

pytestmark = pytest.mark.torch
DAY = 86_400.0


def age(place: Path, days: float) -> None:
    """As if every file had been used last so many days ago."""
    then = time.time() - days * DAY
    for path in place.rglob("*"):
        os.utime(path, (then, then))


def reasons(objects: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    return Counter((one["kind"], *one["because"]) for one in objects if "kind" in one)


def suggested(ran: Ran) -> dict[str, dict[str, Any]]:
    assert ran.code == 0, ran.err
    return {one["reason"]: one for one in ran.objects if "reason" in one}


def mixed(fixture_cache: Path, filled: Path) -> Path:
    """A folder with entries of torch 2.9.1 and of the torch that is here, in one place."""
    age(fixture_cache, 2)
    shutil.copytree(filled, fixture_cache, dirs_exist_ok=True)
    return fixture_cache


def test_what_is_stale_goes_with_its_code_and_comes_back(
    tk: Tk, fixture_cache: Path, filled: Path, torch_python: str
) -> None:
    place = mixed(fixture_cache, filled)
    before = snapshot(place)
    env = ("--env", torch_python)
    plan = tk("purge", place, "--stale", *env, "--dry-run", "--json")
    assert plan.code == 0
    assert reasons(plan.objects) == {
        ("fxgraph", "stale"): 7, ("aotautograd", "stale"): 4, ("code", "needless"): 29
    }  # fmt: skip
    stale = [one for one in plan.objects[:-1] if one["because"] == ["stale"]]
    assert {one["torch"] for one in stale} == {"2.9.1+cu128"}
    assert plan.result["because"]["stale"]["entries"] == 11
    assert "environments: torch " in plan.err
    assert "goes: 11 entries stale everywhere, " in plan.err
    told = tk("purge", place, "--suggest", "--stale", *env, "--json")
    assert suggested(told)["stale"]["entries"] == 11
    assert {n: told.result[n] for n in ("entries", "bytes")} == {
        n: plan.result[n] for n in ("entries", "bytes")
    }
    assert snapshot(place) == before
    done = tk("purge", place, "--stale", *env, "--yes", "--json").result
    assert (done["entries"], done["bytes"]) == (40, plan.result["bytes"])
    left = tk("check", place, *env, "--json").objects[:-1]
    graphs = [one["verdict"] for one in left if one["kind"] in ("fxgraph", "aotautograd")]
    assert graphs
    assert set(graphs) == {"usable"}
    assert tk("purge", place, "--stale", *env, "--yes").out == "Nothing matches.\n"
    assert tk("undo", place).code == 0
    assert snapshot(place) == before


def test_nothing_of_a_cache_made_here_is_stale(tk: Tk, filled: Path, torch_python: str) -> None:
    ran = tk("purge", filled, "--stale", "--broken", "--env", torch_python, "--dry-run")
    assert (ran.code, ran.out) == (0, "Nothing matches.\n")
    said = tk("purge", filled, "--suggest", "--env", torch_python).out
    assert "stale" not in said


def test_what_is_broken_and_what_nothing_needs(
    tk: Tk, fixture_cache: Path, torch_python: str
) -> None:
    age(fixture_cache, 2)
    graphs = sorted(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    graphs[0].write_bytes(graphs[0].read_bytes()[:200])
    graphs[1].unlink()
    broken = tk("purge", fixture_cache, "--broken", "--dry-run", "--json")
    # What needs a graph that is gone or broken is broken as well.
    assert reasons(broken.objects) == {("fxgraph", "broken"): 1, ("aotautograd", "broken"): 2}
    told = suggested(tk("purge", fixture_cache, "--suggest", "--json"))["broken"]
    assert told["entries"] == broken.result["entries"]
    orphans = tk("purge", fixture_cache, "--orphans", "--filter", "-kind:lock", "--dry-run",
                 "--json")  # fmt: skip
    assert reasons(orphans.objects) == {("aotautograd", "orphan"): 1}
    both = tk("purge", fixture_cache, "--broken", "--orphans", "--dry-run", "--json")
    # What is both goes once.
    parts = both.result["because"]
    assert (parts["broken"]["entries"], broken.result["entries"]) == (3, 3)
    assert "orphan" not in {name for name, part in parts.items() if part["entries"]}
    assert both.result["entries"] == 3
    judged = tk("purge", fixture_cache, "--broken", "--env", torch_python, "--dry-run", "--json")
    assert reasons(judged.objects) == reasons(broken.objects)


@pytest.mark.slow
def test_what_is_old_and_what_is_too_much(tk: Tk, fixture_cache: Path) -> None:
    age(fixture_cache, 40)
    (used,) = (fixture_cache / "aotautograd").glob("ab74*/*")
    os.utime(used)
    old = tk("purge", fixture_cache, "--older", "30d", "--filter", "-kind:lock", "--dry-run",
             "--json")  # fmt: skip
    told = reasons(old.objects)
    assert told == {
        ("fxgraph", "unused"): 6, ("aotautograd", "unused"): 3, ("code", "unused"): 30,
        ("pgo", "unused"): 1,
    }  # fmt: skip
    assert old.result["rests"] in ("read", "day", "written")
    assert tk("purge", fixture_cache, "--older", "41d", "--dry-run").out == "Nothing matches.\n"
    every = tk("du", fixture_cache, "--json").objects[-1]["entries"]
    before = snapshot(fixture_cache)
    # That has read all files, one after the other, and so used them.
    os.utime(used, ns=(time.time_ns(), used.stat().st_mtime_ns))
    done = tk("purge", fixture_cache, "--keep", "1M", "--yes", "--json")
    assert 0 < done.result["entries"] < every
    left = sum(f.stat().st_blocks * 512 for f in fixture_cache.rglob("*")
               if f.is_file() and ".torchkeeper-trash" not in f.parts)  # fmt: skip
    assert left <= 10**6
    assert used.exists(), "what was used last stays"
    assert tk("ls", fixture_cache, "--filter", "is:orphan -kind:lock", "--json").out == ""
    assert tk("purge", fixture_cache, "--keep", "1M", "--yes").out == "Nothing matches.\n"
    tk("undo", fixture_cache)
    assert snapshot(fixture_cache) == before


def test_several_places_are_one_total_and_commands_bring_exactly_that(
    tk: Tk, fixture_cache: Path, tmp_path: Path
) -> None:
    old, held, other = tmp_path / "old", tmp_path / "held", tmp_path / "other"
    for folder in (old, held):
        shutil.copytree(fixture_cache, folder)
    shutil.copytree(fixture_cache / "fxgraph", old / "inductor_cache" / "fxgraph")
    age(tmp_path, 40)  # whoever copies it uses it
    other.symlink_to(old)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert tk("places", "--protect", held, **env).code == 0
    places = (old / "inductor_cache", old, other, held, tmp_path / "gone", fixture_cache)
    ran = tk("purge", *places, "--suggest", "--json", **env)
    assert ran.code == 4, ran.err
    parts = [one for one in ran.objects if "reason" in one]
    assert {one["place"] for one in parts if one["entries"]} == {str(old), str(fixture_cache)}
    for name in ("entries", "bytes"):
        assert ran.result[name] == sum(one[name] for one in parts)
    assert ran.result["entries"] == 44 + 7 + 44
    said = tk("purge", *places, "--suggest", **env)
    assert f"left out: {old}/inductor_cache lies in {old}." in said.err
    assert f"left out: {held} is read-only." in said.err
    assert f"There is no folder {tmp_path}/gone." in said.err
    assert f"Together 95 entries, {say.measured(ran.result)}." in said.out
    # One after the other they remove exactly what is said together.
    mine = [one for one in parts if one["place"] == str(old)]
    gone = Counter[str]()
    for one in mine:
        if one["entries"]:
            gone.update(
                {
                    name: count
                    for name, count in tk(
                        *shlex.split(one["command"])[1:], "--yes", "--json", **env
                    ).result.items()
                    if name in ("entries", "bytes")
                }
            )
    assert gone == {name: sum(one[name] for one in mine) for name in ("entries", "bytes")}
    found = tk("purge", "--suggest", "--json", **env, TORCHINDUCTOR_CACHE_DIR=str(fixture_cache))
    some = [one for one in found.objects if one.get("place") == str(fixture_cache)]
    assert sum(one["entries"] for one in some) == 44
    for wrong in ((), places[:2]):
        assert tk("purge", *wrong, "--yes", **env).code == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--older", "much"), "“much” is not an age"),
        (("--older", "-3d"), "“-3d” is not an age"),
        (("--keep", "-3"), "with a unit: B, k, M, G, T"),
        (("--keep", "10Q"), "“10Q” is not a size"),
        (("--keep", ""), "“” is not a size"),
    ],
)
def test_bad_numbers_are_wrong_usage(
    tk: Tk, kept_291: Path, flags: tuple[str, str], said: str
) -> None:
    ran = tk("purge", kept_291, *flags, "--yes")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.slow
def test_an_environment_that_cannot_be_asked_is_not_passed_over(
    tk: Tk, kept_291: Path, torch_python: str, tmp_path: Path
) -> None:
    prefix = tmp_path / "venvs" / "sick"
    python = prefix / "bin" / "python"
    torch = prefix / "lib" / "python3.11" / "site-packages" / "torch"
    for folder in (python.parent, torch):
        folder.mkdir(parents=True)
    (torch / "version.py").write_text("__version__ = '2.9.1'\n")
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    # One that holds no torch, on the other hand, is no environment, unless it is one's own.
    bare = tmp_path / "bare" / "bin" / "python"
    bare.parent.mkdir(parents=True)
    shutil.copy(python, bare)
    env = {"CONDA_PREFIX": str(tmp_path / "bare"), "VIRTUAL_ENV": str(prefix)}
    ran = tk("purge", kept_291, "--stale", "--dry-run", **env)
    assert (ran.code, ran.out) == (3, "")
    assert str(python) in ran.err
    assert "name with --env the interpreters that count" in ran.err
    told = tk("purge", kept_291, "--suggest", "--json", **env)
    assert "stale" not in suggested(told)
    assert told.result["unasked"]["code"] == "environment-unasked"
    assert told.result["unasked"]["params"]["python"] == str(python)
    own = {"CONDA_PREFIX": str(tmp_path / "bare"), "TORCHKEEPER_TORCH_PYTHON": str(bare)}
    assert str(bare) in tk("purge", kept_291, "--stale", "--dry-run", **own).err
    named = tk("purge", kept_291, "--stale", "--env", torch_python, "--dry-run", "--json", **env)
    assert named.result["because"]["stale"]["entries"] == 11


@pytest.mark.slow
def test_a_server_tells_when_it_was_used(tk: Tk, torch_python: str, tmp_path: Path) -> None:
    env = ("--env", torch_python)
    with serving(tmp_path) as server:
        server.load(dump())
        every = len(dump())
        known = server("CLIENT", "NO-TOUCH", "on") == b"OK"
        ran = tk("purge", server.url, "--suggest", *env, "--keep", "0", "--older", "0s", "--json")
        told = suggested(ran)
        assert told["stale"]["entries"] == 11
        if known:
            assert told["budget"]["command"].endswith(" --keep 0")
            # What is stale counts there, and all is unused: nothing is left for a budget.
            assert told["unused"]["entries"] == every - 11
            assert ran.result["entries"] == every
        else:
            assert told["budget"]["why"]["code"] == "use-unknown"
        assert tk("purge", server.url, "--broken", "--yes").out == "Nothing matches.\n"
        assert server("DBSIZE") == every
        gone = tk("purge", server.url, "--stale", *env, "--yes", "--json")
        assert (gone.code, gone.result["entries"]) == (0, 11)
        assert "Others may use this server" in gone.err
        assert server("DBSIZE") == every - 11


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_is_in_use_is_left(tk: Tk, fixture_cache: Path) -> None:
    from tests.processes import end, process

    age(fixture_cache, 40)
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    reader = process(graph)
    try:
        ran = tk("purge", fixture_cache, "--older", "30d", "--filter", "kind:fxgraph", "--yes",
                 "--json")  # fmt: skip
        assert ran.result["entries"] == 6
        assert ran.result["in_use"]["left"] == 1
        assert graph.exists()
    finally:
        end(reader)
