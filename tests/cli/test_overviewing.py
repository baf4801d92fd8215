"""torchkeeper overview: figures as ls, du and purge have them, and what a script may rely on."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, Tk
from tests.redis_server import dump, serving

pytestmark = pytest.mark.torch


def parts(ran: Ran) -> tuple[list[Any], list[Any], list[Any]]:
    """Its groups, what could go, and its places."""
    rows = [row for row in ran.objects if "result" not in row]
    return (
        [row for row in rows if "kind" in row],
        [row for row in rows if "reason" in row],
        [row for row in rows if "problem" in row],
    )


def test_figures_are_those_of_du_and_purge(tk: Tk, fixture_cache: Path, torch_python: str) -> None:
    tk("purge", fixture_cache, "--yes", "--filter", "kind:pgo")
    ran = tk("overview", fixture_cache, "--env", torch_python, "--json")
    assert ran.code == 0, ran.err
    groups, could, places = parts(ran)
    for row in tk("du", fixture_cache, "--json").objects:
        if row["kind"] == "trash":
            assert places[0]["trash_bytes"] == 4096
        elif row["kind"] == "total":
            result = ran.result
            assert (result["entries"], result["bytes"]) == (row["entries"], row["bytes"])
        elif row["kind"] != "orphans":
            mine = [group for group in groups if group["kind"] == row["kind"]]
            assert sum(group["bytes"] for group in mine) == row["bytes"]
            assert sum(group["entries"] for group in mine) == row["entries"]
    assert set(groups[0]) == {"place", "kind", "torch", "age", "verdict", "entries", "locks",
                              "headers", "unknown", "bytes", "content_bytes", "compile_s",
                              "timed", "compiler"}  # fmt: skip
    reasons = {one["reason"]: one for one in could}
    assert list(reasons) == ["stale", "broken", "orphan", "unused", "needless", "trash"]
    # Each command does what it is said to do.
    for reason in [x for x in ("stale", "orphan") if reasons[x]["entries"]]:
        program, *words = shlex.split(reasons[reason]["command"])
        assert program == "torchkeeper"
        plan = tk(*words, "--dry-run", "--json").result["because"][reason]
        assert {k: plan[k] for k in ("entries", "bytes")} == {
            k: reasons[reason][k] for k in ("entries", "bytes")
        }
    assert shlex.split(reasons["trash"]["command"])[1:] == ["trash", str(fixture_cache), "--empty"]
    result = ran.result
    assert (result["judged"], result["usable"], result["timed"]) == (11, 0, 11)
    assert result["environment"]["interpreter"] == torch_python
    total = sum(reasons[reason]["entries"] for reason in reasons)
    assert result["reclaimable"]["entries"] == total


def test_a_table_for_people(tk: Tk, fixture_cache: Path, tmp_path: Path, torch_python: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(fixture_cache)
    ran = tk("overview", fixture_cache, link, "--env", torch_python)
    assert ran.code == 0
    lines = ran.out.splitlines()
    head = "PLACE ENTRIES CONTENT COMPILE USABLE OTHER FILES TRASH ON DISK FREE"
    assert " ".join(lines[0].split()) == head
    assert lines[1].startswith(f"{fixture_cache} ")
    assert "36.0 s  0 of 11" in lines[1]
    assert lines[2].endswith("counted above")
    assert lines[3].split()[:2] == ["total", "44"]
    words = ["purge", str(fixture_cache), "--stale", "--env", torch_python]
    assert f"torchkeeper {shlex.join(words)}\n" in ran.out
    assert lines[-1].startswith("44 entries, 2.0 MB of content in 1 place; 36.0 s of compiling")
    assert f"left out: {link} is another name of {fixture_cache}." in ran.err
    assert "usable: in torch " in ran.err


def test_a_cache_made_here_is_usable(tk: Tk, filled: Path, torch_python: str) -> None:
    ran = tk("overview", filled, "--env", torch_python, "--json")
    checked = tk("check", filled, "--env", torch_python, "--json").objects
    verdicts = [row["verdict"] for row in checked if row.get("verdict")]
    usable = [verdict for verdict in verdicts if verdict in ("usable", "conditional")]
    assert usable
    assert (ran.result["judged"], ran.result["usable"]) == (len(verdicts), len(usable))
    assert ran.result["timed"] > 0


def test_all_places_that_are_found(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "t" / "torchinductor_other").mkdir(parents=True)
    rank = home / "vllm" / "torch_compile_cache" / "1234" / "rank_0_0"
    shutil.copytree(kept_291 / "fxgraph", rank / "inductor_cache" / "fxgraph")
    env = {"TORCHINDUCTOR_CACHE_DIR": str(kept_291), "TMPDIR": str(tmp_path / "t"),
           "TRITON_CACHE_DIR": str(tmp_path / "gone"), "VLLM_CACHE_ROOT": str(home / "vllm"),
           "HOME": str(home)}  # fmt: skip
    there = [row["path"] for row in tk("places", "--json", **env).objects if row["exists"]]
    ran = tk("overview", "--json", **env)
    assert ran.code == 0, ran.err
    _, _, places = parts(ran)
    # Other tests have processes with caches of their own, which come and go.
    other = {place["place"] for place in places} ^ set(there)
    assert not [one for one in other if one.startswith(str(tmp_path))]
    assert [x["place"] for x in places if x["place"] not in other] == [
        one for one in there if one not in other
    ]
    assert {str(kept_291), str(rank.parent)} <= set(there)
    assert ran.result["entries"] == 77 - 26
    none = {**env, "TORCHINDUCTOR_CACHE_DIR": "", "VLLM_CACHE_ROOT": "", "TMPDIR": str(home)}
    shutil.rmtree(home / "vllm")
    ran = tk("overview", **none)
    assert (ran.code, ran.out) == (0, "0 entries, 0 B of content in 0 places.\n")


@pytest.mark.slow
def test_exit_codes(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    ran = tk("overview", "/nowhere")
    assert (ran.code, ran.out) == (3, "")
    assert "There is no folder /nowhere." in ran.err
    some = tk("overview", "/nowhere", kept_291, "--json")
    assert some.code == 4
    assert some.result["entries"] == 44
    assert parts(some)[2][0]["problem"]["code"] == "place-missing"
    assert tk("overview", kept_291, "--env", "/nowhere").code == 3
    assert tk("overview", "").code == 2
    assert tk("overview", kept_291, "--older", "soon").code == 2


@pytest.mark.slow
def test_servers_and_their_passwords(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "redis", "--requirepass", "geheim") as server:
        with_password = server.url.replace("redis://", "redis://:geheim@")
        server.commands(("AUTH", "geheim"), *(("SET", k, v) for k, v in dump().items()))
        ran = tk("overview", with_password, kept_291, "--json")
        assert ran.code == 0, ran.err
        groups, _, places = parts(ran)
        assert places[0]["place"] == server.url
        assert places[0]["entries"] > 0
        assert "geheim" not in ran.out + ran.err
        assert {group["torch"] for group in groups if group["place"] == server.url} == {None}
        any_ = tk("overview", server.url, "--json", TORCHKEEPER_REDIS_PASSWORD="geheim")
        assert any_.code == 0, any_.err
        assert any_.result["entries"] == places[0]["entries"]
        server.commands(("AUTH", "geheim"), ("CONFIG", "SET", "maxmemory", 10**9),
                        ("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"))  # fmt: skip
        looked = tk("overview", with_password, "--facts", "--keep", "0")
        assert looked.code == 0, looked.err
        assert "cannot tell when entries were last used" in looked.err, (
            "why nobody knows what is unused there"
        )
        assert f"torchkeeper purge {server.url} " in looked.out
        assert "of 1.0 GB" in looked.out
        locked = tk("overview", server.url, kept_291)
        assert locked.code == 4
        assert "cannot be looked at" in locked.out
        assert "password" in locked.err
