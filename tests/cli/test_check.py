"""check and env, with caches that torch wrote."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tk
from tests.conftest import DATA
from tests.redis_server import dump, serving

pytestmark = pytest.mark.torch
GRAPHS = ("fxgraph", "aotautograd")
#: An environment of its own, probed once for two tests.
OFF = {"TORCHINDUCTOR_CACHE_DIR": "/some/where", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}


def graphs(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in objects if one.get("kind") in GRAPHS]


def threads(tk: Tk, python: str) -> tuple[str, str]:
    """How many threads torch takes here, and another number."""
    here = str(tk("env", "--env", python, "--json").objects[0]["threads"])
    return here, "2" if here == "1" else "1"


def test_a_cache_of_another_torch_is_stale(tk: Tk, kept_291: Path, torch_python: str) -> None:
    ran = tk("check", kept_291, "--env", torch_python, "--json")
    assert (ran.code, ran.result["failed_on"]) == (0, {})
    found = graphs(ran.objects)
    assert len(found) == 11
    for one in found:
        assert one["verdict"] == "stale"
        reason = one["reasons"][0]  # torch 2.15 names Triton, too
        assert (reason["factor"], reason["entry"]) == ("torch", "2.9.1+cu128")
        assert reason["here"] == ran.result["torch"]
    assert ran.result["verdicts"]["stale"] == 11
    assert ran.result["made_by"] == {"2.9.1+cu128": 11}
    none = [one for one in ran.objects[:-1] if one["verdict"] is None]
    assert {one["kind"] for one in none} <= {"code", "header", "lock", "unknown"}
    said = tk("check", kept_291, "--env", torch_python).out.splitlines()
    assert f"torch 2.9.1+cu128, here {ran.result['torch']}" in said[1]
    assert said[-1].startswith("1 unknown, 11 stale: made by torch 2.9.1+cu128; ")


def test_a_check_fails_on_what_is_named(
    tk: Tk, kept_291: Path, fixture_cache: Path, torch_python: str
) -> None:
    def failed(place: Path, words: str, *more: str) -> tuple[int, str]:
        ran = tk("check", place, "--env", torch_python, "--fail-on", words, *more)
        return ran.code, ran.err.splitlines()[-1]

    said = "torchkeeper: The check has failed: "
    assert failed(kept_291, "stale,unknown") == (1, f"{said}11 stale, 1 unknown.")
    assert failed(kept_291, "broken, Unsafe")[0] == 0
    assert failed(kept_291, "empty", "--filter", "no-such-name") == (1, f"{said}nothing to check.")
    assert failed(kept_291, "empty")[0] == 0
    next((fixture_cache / "fxgraph").glob("*/f3jp4pg*/*")).unlink()
    assert failed(fixture_cache, "orphan") == (1, f"{said}3 needed by nothing.")
    wrong = tk("check", kept_291, "--fail-on", "stail")
    assert wrong.code == 2
    assert "“stail” is none of usable, conditional, unknown, unsafe, stale, broken, " in wrong.err
    assert tk("check", kept_291, "--fail-on", ",").code == 2


def test_a_cache_made_here_is_usable(tk: Tk, filled: Path, torch_python: str) -> None:
    ran = tk("check", filled, "--env", torch_python, "--json")
    assert ran.code == 0
    found = graphs(ran.objects)
    assert {one["kind"] for one in found} == set(GRAPHS)
    assert {one["verdict"] for one in found} == {"usable"}
    assert all(one["reasons"] == one["conditions"] == [] for one in found)
    # Another number of threads is another environment.
    usual, another = threads(tk, torch_python)
    other = tk("check", filled, "--env", torch_python, "--json", OMP_NUM_THREADS=another)
    assert {one["verdict"] for one in graphs(other.objects)} == {"conditional"}
    assert graphs(other.objects)[0]["conditions"] == [
        {"factor": "cpp_runtime_thread_count", "entry": usual, "here": another}
    ]


@pytest.mark.slow
def test_a_filter_asks_for_verdicts(
    tk: Tk, fixture_cache: Path, filled: Path, torch_python: str, tmp_path: Path
) -> None:
    env = ("--env", torch_python)
    ran = tk("ls", fixture_cache, *env, "--filter", "is:stale", "--json")
    assert {one["verdict"] for one in ran.objects} == {"stale"}
    assert len(ran.objects) == 11
    lines = tk("ls", fixture_cache, *env, "--filter", "is:stale").out.splitlines()
    assert lines[0].split()[:3] == ["KIND", "KEY", "VERDICT"]
    assert lines[1].split()[2] == "stale"
    assert tk("ls", fixture_cache, *env, "--filter", "is:usable").out.startswith("0 entries")
    checked = tk("check", fixture_cache, *env, "--filter", "-is:stale kind:fxgraph", "--json")
    assert (checked.code, checked.objects[:-1]) == (0, [])
    out = tmp_path / "usable.torchcache"
    assert (
        tk(
            "export", "--allow-secrets", fixture_cache, "-o", out, "--filter", "is:usable", *env
        ).code
        == 1
    )
    assert not out.exists()
    assert (
        tk("export", "--allow-secrets", filled, "-o", out, "--filter", "is:usable", *env).code == 0
    )
    usable = tk("inspect", out, "--json").objects[:-1]
    assert {one["kind"] for one in usable} == set(GRAPHS)
    # With them goes what they need, whatever its verdict.
    copied = tk(
        "copy",
        "--allow-secrets",
        filled,
        tmp_path / "copy",
        "--filter",
        "is:usable",
        "--json",
        *env,
    )
    assert copied.result["entries"] > len(usable)
    purged = tk("purge", fixture_cache, "--yes", "--filter", "is:stale", "--json", *env)
    assert (purged.code, purged.result["entries"]) == (0, 11)
    assert tk("ls", fixture_cache, "--filter", "kind:fxgraph,aotautograd").out.startswith(
        "0 entries"
    )


@pytest.mark.slow
def test_code_for_another_cpu_is_never_usable(tk: Tk, filled: Path, torch_python: str) -> None:
    env = {"ATEN_CPU_CAPABILITY": "default"}  # as on a CPU without vector instructions
    here = tk("env", "--env", torch_python, "--json").objects[0]["vector_bits"]
    ran = tk("check", filled, "--env", torch_python, "--json", **env)
    found = graphs(ran.objects)
    assert {one["verdict"] for one in found} == {"unsafe" if here > 256 else "unknown"}
    reasons = [one["reasons"][0] for one in found if one["kind"] == "fxgraph"]
    expected = {"factor": "vector instructions", "entry": f"{here} bits", "here": "0 bits"}
    assert all(reason == expected for reason in reasons)
    # It is in use: whoever looks for what nobody needs is not offered it.
    told = {one["verdict"] for one in found}
    assert ran.result["verdicts"].keys() >= told
    for state in ("unsafe", "stale", "unknown"):
        asked = ("--filter", f"is:{state} kind:{','.join(GRAPHS)}")
        some = tk("ls", filled, "--env", torch_python, *asked, "--json", **env).objects
        assert len(some) == (len(found) if {state} == told else 0)
    for purge in (("--stale", "--env", torch_python), ("--suggest",)):
        going = tk("purge", filled, *purge, "--dry-run", "--json", **env)
        assert not graphs(going.objects)
    some = tk("doctor", filled, "--env", torch_python, "--json", **env).objects
    codes = {one.get("code") for one in some} & {"some-unsafe", "some-stale", "all-stale"}
    assert codes == ({"some-unsafe"} if here > 256 else set())
    # And who looks at all of it hears of them.
    count = ran.result["verdicts"].get("unsafe", 0)
    seen = tk("overview", filled, "--env", torch_python, "--json", **env)
    assert (seen.result["unsafe"], bool(count)) == (count, here > 256)
    said = tk("overview", filled, "--env", torch_python, **env)
    assert (f"; {count} unsafe" in said.out, "unsafe: PyTorch takes" in said.err) == (
        bool(count), bool(count)
    )  # fmt: skip


def test_what_is_damaged_is_broken(tk: Tk, warm_cache: Path, torch_python: str) -> None:
    victim = next((warm_cache / "fxgraph").rglob("*/*/*"))
    victim.write_bytes(victim.read_bytes()[:100])
    ran = tk("check", warm_cache, "--env", torch_python, "--json", "--filter", "kind:fxgraph",
             "--fail-on", "broken")  # fmt: skip
    assert (ran.code, ran.result["failed_on"]) == (1, {"broken": 1})
    broken = [one for one in graphs(ran.objects) if one["verdict"] == "broken"]
    assert [one["key"] for one in broken] == [victim.parent.name]
    victim.unlink()
    victim.parent.rmdir()
    ran = tk("check", warm_cache, "--env", torch_python, "--json")
    # It may be on its way: a program writes the two within seconds of each other.
    assert not [one for one in graphs(ran.objects) if one["verdict"] == "broken"]
    for path in warm_cache.rglob("*"):
        os.utime(path, (time.time() - 7200,) * 2)
    ran = tk("check", warm_cache, "--env", torch_python, "--json")
    (needing,) = [one for one in graphs(ran.objects) if one["verdict"] == "broken"]
    assert needing["kind"] == "aotautograd"
    assert needing["reasons"] == [{"factor": "fxgraph", "entry": victim.parent.name, "here": None}]


def test_a_bundle_is_judged_as_the_folder_it_is_of(
    tk: Tk, filled: Path, torch_python: str, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.torchcache"
    assert tk("export", "--allow-secrets", filled, "-o", bundle).code == 0
    ran = tk("check", bundle, "--env", torch_python, "--json")
    found = graphs(ran.objects)
    assert found
    assert {one["verdict"] for one in found} == {"usable"}


def test_a_server_is_judged_entry_by_entry(tk: Tk, torch_python: str, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.load(dump())
        ran = tk("check", server.url, "--env", torch_python, "--json")
    assert ran.code == 0
    assert [one["verdict"] for one in graphs(ran.objects)] == ["stale"] * 11
    assert ran.result["verdicts"] == {"stale": 11, "unknown": 1}


@pytest.mark.slow
def test_a_cache_that_is_off_is_a_condition(tk: Tk, filled: Path, torch_python: str) -> None:
    ran = tk("check", filled, "--env", torch_python, "--json", **OFF)
    for one in graphs(ran.objects):
        assert one["verdict"] == "conditional"
        assert {c["factor"] for c in one["conditions"]} & {"fxgraph cache", "aotautograd cache"}


def test_without_a_torch_nothing_can_be_said(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nexec /usr/bin/env python3 -S "$@"\n')
    python.chmod(0o755)
    ran = tk("check", kept_291, "--env", python)
    assert (ran.code, ran.out) == (3, "")
    assert "has no torch" in ran.err


@pytest.mark.slow
def test_env_tells_what_decides(tk: Tk, torch_python: str) -> None:
    ran = tk("env", "--env", torch_python, "--json", **OFF)
    (facts,) = ran.objects
    assert ran.code == 0
    assert facts["interpreter"] == torch_python
    assert len(facts["torch_key"]) == 64
    assert facts["system"]["hash"]
    assert len(facts["key_factors"]) > 300
    folder = next(one for one in facts["settings"] if one["name"] == "cache_dir")
    assert folder == {"name": "cache_dir", "value": "/some/where", "by": "TORCHINDUCTOR_CACHE_DIR"}
    assert not os.path.exists("/some/where")
    assert facts["caches"] == {"fxgraph": False, "aotautograd": False}
    said = tk("env", "--env", torch_python).out
    assert said.startswith(torch_python + "\n")
    assert facts["torch_git"] in said


def outcomes(trace: Path) -> dict[str, set[str]]:
    """What PyTorch's own trace says of each key: of FX graphs and of AOTAutograd entries."""
    found: dict[str, set[str]] = {}
    for file in trace.iterdir():
        lines = file.read_text().split("\n")
        for line, payload in itertools.pairwise(lines):
            name = r'"artifact": {"name": "(?:fx_graph|aotautograd)_cache_(\w+)"'
            if match := re.search(name, line):
                key = json.loads(payload.strip()).get("key")
                found.setdefault(key, set()).add(match[1])
    return found


@pytest.mark.slow
def test_verdicts_are_what_torch_then_does(
    tk: Tk, torch_python: str, header_folder: Path, warm_cache: Path, tmp_path: Path
) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    env |= {"TMPDIR": str(header_folder)}

    def run(cache: Path, **more: str) -> dict[str, set[str]]:
        trace = tmp_path / f"trace-{len(list(tmp_path.iterdir()))}"
        env_of = {**env, "TORCHINDUCTOR_CACHE_DIR": str(cache), "TORCH_TRACE": str(trace), **more}
        command = [torch_python, str(DATA / "plain_script.py")]
        subprocess.run(command, env=env_of, capture_output=True, check=True)
        return outcomes(trace)

    checked = graphs(tk("check", warm_cache, "--env", torch_python, "--json").objects)
    assert {one["verdict"] for one in checked} == {"usable"}
    # Each entry was hit, and nothing else was looked for.
    assert run(warm_cache) == {one["key"]: {"hit"} for one in checked}
    # In another environment none of them is looked for.
    cache, another = tmp_path / "other-threads", threads(tk, torch_python)[1]
    made = run(cache, OMP_NUM_THREADS=another)
    assert set().union(*made.values()) == {"miss"}
    of_another = graphs(tk("check", cache, "--env", torch_python, "--json").objects)
    assert {one["key"] for one in of_another} == set(made)
    assert {one["verdict"] for one in of_another} == {"conditional"}
    for one in of_another:
        assert [(c["factor"], c["entry"]) for c in one["conditions"]] == [
            ("cpp_runtime_thread_count", another)
        ]
    then = run(cache)
    assert made.keys().isdisjoint(then)
    assert set().union(*then.values()) == {"miss"}


@pytest.mark.slow
@pytest.mark.parametrize("capability", ["avx2", "default"])
def test_what_is_for_another_cpu_is_taken(
    tk: Tk, torch_python: str, header_folder: Path, tmp_path: Path, capability: str
) -> None:
    if tk("env", "--env", torch_python, "--json").objects[0]["vector_bits"] != 512:
        pytest.skip("this CPU has no AVX-512")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    cache, trace = tmp_path / "cache", tmp_path / "trace"
    env |= {"TMPDIR": str(header_folder), "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    command = [torch_python, str(DATA / "changes.py")]
    subprocess.run(command, env=env, capture_output=True, check=True)
    other = {"ATEN_CPU_CAPABILITY": capability}
    checked = graphs(tk("check", cache, "--env", torch_python, "--json", **other).objects)
    assert {one["verdict"] for one in checked} == {"unsafe"}
    env |= {"TORCH_TRACE": str(trace), **other}
    subprocess.run(command, env=env, capture_output=True, check=True)
    assert outcomes(trace) == {one["key"]: {"hit"} for one in checked}
