"""The command line on a real Redis: the same commands, flags and JSON as for folders."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import DATA
from tests.redis_server import Server, dump, serving
from torchkeeper.artifacts.entry import KINDS


@pytest.fixture
def server(server: Server) -> Server:
    server.load(dump())
    server("SET", "sessions:ada", b"not ours")
    return server


def test_ls_du_and_show(tk: Tk, server: Server) -> None:
    listed = tk("ls", server.url, "--json")
    assert listed.code == 0
    kinds = Counter(entry["kind"] for entry in listed.objects)
    assert kinds == {"fxgraph": 7, "aotautograd": 4, "pgo": 1}
    filtered = tk("ls", server.url, "--filter", "torch:2.9.1 kind:fxgraph", "--json")
    assert len(filtered.objects) == 7
    assert all(entry["compile_s"] for entry in filtered.objects)
    du = {row["kind"]: row["entries"] for row in tk("du", server.url, "--json").objects}
    assert du == {**kinds, "total": 12}
    shown = tk("show", server.url, filtered.objects[0]["key"], "--json").objects[0]
    assert shown["problem"] is None
    assert shown["facts"]["graph"]


@pytest.mark.slow
def test_ls_says_when_entries_go_and_were_used(tk: Tk, server: Server) -> None:
    keys = [key for key in dump() if "fx-graph" in key]
    server("EXPIRE", keys[0], 7200)
    plain = tk("ls", server.url, "--json").objects
    assert {(e["expires"], e["used"]) for e in plain} == {(None, None)}, "nobody asked"
    timed = {e["path"]: e for e in tk("ls", server.url, "--times", "--json").objects}
    assert len(timed) == 12
    left = timed[keys[0]]["expires"] - time.time()
    assert 7000 < left <= 7200
    assert {e["expires"] for path, e in timed.items() if path != keys[0]} == {0}, "never"
    said = tk("ls", server.url, "--sort", "expires").out.splitlines()
    assert said[0].split()[4:6] == ["EXPIRES", "USED"]
    assert "in 2 h" in said[1]
    assert all("never" in line for line in said[2:13])
    known = tk("ls", server.url, "--facts", "--filter", "kind:fxgraph", "--json").objects
    assert all(e["torch"] and e["compile_s"] and e["expires"] is not None for e in known)
    assert "expires:    never" in tk("show", server.url, timed[keys[1]]["key"]).out


@pytest.mark.slow
def test_what_goes_soon_can_be_filtered(tk: Tk, server: Server, fixture_cache: Path) -> None:
    keys = [key for key in dump() if "fx-graph" in key]
    server("EXPIRE", keys[0], 7200)
    soon = tk("ls", server.url, "--filter", "expires<1d", "--json").objects
    assert [entry["path"] for entry in soon] == [keys[0]]
    assert len(tk("ls", server.url, "--filter", "expires:never", "--json").objects) == 11
    foretold = tk("purge", server.url, "--filter", "-expires:never", "--dry-run", "--json")
    assert foretold.result["entries"] == 1
    kept = tk("ttl", server.url, "never", "--filter", "expires<1d torch:2.9.1", "--json")
    assert kept.result["entries"] == 1 and server("TTL", keys[0]) == -1
    folder = tk("purge", fixture_cache, "--filter", "-used<9d", "--yes")
    assert folder.code == 2 and "Only a Redis" in folder.err
    copied = tk("copy", "--allow-secrets", fixture_cache, server.url, "--filter", "-used<9d")
    assert copied.code == 2 and "Only a Redis" in copied.err
    old = tk("purge", server.url, "--filter", "-age<9d", "--dry-run")
    assert old.code == 2 and "does not know how old" in old.err
    used = tk("ls", server.url, "--filter", "used>0s", "--json")
    knows = server("CLIENT", "NO-TOUCH", "ON") == b"OK"
    assert used.code == (0 if knows else 2), used.err


def test_places_lists_what_the_environment_names(tk: Tk, server: Server) -> None:
    named = f"redis://:hunter2@127.0.0.1:{server.port}/3"
    ran = tk("places", "--json", TORCHINDUCTOR_REDIS_URL=named)
    found = {row["path"]: row["reason"] for row in ran.objects}
    assert found[f"redis://127.0.0.1:{server.port}/3"] == "TORCHINDUCTOR_REDIS_URL"
    assert "hunter2" not in ran.out + ran.err
    assert "a server" in tk("places", TORCHINDUCTOR_REDIS_URL=named).out


def test_purge_takes_what_it_shows_for_good(tk: Tk, server: Server) -> None:
    foretold = tk("purge", server.url, "--filter", "kind:aotautograd", "--dry-run", "--json")
    assert foretold.result["entries"] == 4
    assert server("DBSIZE") == 13
    unasked = tk("purge", server.url, "--filter", "kind:aotautograd")
    assert unasked.code == 2
    gone = tk("purge", server.url, "--filter", "kind:aotautograd", "--yes", "--json")
    assert (gone.code, gone.result["entries"]) == (0, 4)
    assert server("DBSIZE") == 9
    assert server("GET", "sessions:ada") == b"not ours"
    again = tk("purge", server.url, "--filter", "kind:aotautograd", "--yes")
    assert (again.code, again.out) == (0, "Nothing matches.\n")


def test_ttl_is_set_and_cleared(tk: Tk, server: Server) -> None:
    set_ = tk("ttl", server.url, "30d", "--filter", "kind:fxgraph", "--json")
    assert (set_.code, set_.result["entries"]) == (0, 7)
    key = next(key for key in dump() if "fx-graph" in key)
    left = server("TTL", key)
    assert isinstance(left, int)
    assert 30 * 86400 - 60 < left <= 30 * 86400
    assert server("TTL", "sessions:ada") == -1
    cleared = tk("ttl", server.url, "never")
    assert "Kept without an end: 12 entries." in cleared.out
    assert server("TTL", key) == -1
    assert tk("ttl", server.url, "soon").code == 2
    assert tk("ttl", "/tmp", "1d").code == 2


def test_the_page_of_a_server(tk: Tk, server: Server) -> None:
    page = tk("server", server.url, "--json").objects[0]
    assert page["keys"] == 13
    assert page["version"].count(".") == 2
    said = tk("server", server.url).out
    assert "Keys that never expire:" in said
    assert "- No key expires" in said


def test_a_password_comes_from_the_address_or_the_environment(
    tk: Tk, server: Server, tmp_path: Path
) -> None:
    server("CONFIG", "SET", "requirepass", "hunter2")
    try:
        needed = tk("ls", server.url)
        assert needed.code == 3
        assert "password" in needed.err
        wrong = tk("ls", server.url.replace("redis://", "redis://:wrong@"))
        assert wrong.code == 3
        good = tk("ls", server.url.replace("redis://", "redis://:hunter2@"), "--json")
        assert len(good.objects) == 12
        from_environment = tk("du", server.url, TORCHKEEPER_REDIS_PASSWORD="hunter2")
        assert from_environment.code == 0
        # Of two servers only the one that wants a password is given it.
        with serving(tmp_path) as other:
            copied = tk(
                "copy",
                "--allow-secrets",
                server.url,
                other.url,
                TORCHKEEPER_REDIS_PASSWORD="hunter2",
            )
            assert copied.code == 0, copied.err
            back = tk(
                "copy",
                "--allow-secrets",
                other.url,
                server.url,
                TORCHKEEPER_REDIS_PASSWORD="hunter2",
            )
            assert "12 entries are there already" in back.out
        for ran in (needed, wrong, good, from_environment, copied, back):
            assert "hunter2" not in ran.out + ran.err
    finally:
        server.commands(("AUTH", "hunter2"), ("CONFIG", "SET", "requirepass", ""))


def test_what_cannot_be_reached_is_said(tk: Tk, tmp_path: Path) -> None:
    for address, words in (
        ("redis://127.0.0.1:1", "does not answer"),
        ("redis://nowhere.invalid", "no host"),
        (f"unix://{tmp_path}/none.sock", "none.sock"),
    ):
        ran = tk("ls", address)
        assert ran.code == 3, ran.err
        assert words in ran.err
    assert tk("ls", "redis://a b").code == 2


def test_a_server_is_exported(tk: Tk, server: Server, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    done = tk(
        "export", "--allow-secrets", server.url, "-o", bundle, "--filter", "kind:fxgraph", "--json"
    )
    assert (done.code, done.result["entries"], done.result["left"]) == (0, 7, [])
    assert len(tk("ls", bundle, "--json").objects) == 7


@pytest.mark.slow
def test_what_lost_its_graph_is_an_orphan(tk: Tk, server: Server) -> None:
    none = tk("ls", server.url, "--filter", "is:orphan", "--json")
    assert (none.code, none.objects) == (0, [])
    facts = tk("ls", server.url, "--facts", "--json").objects
    aot = next(e for e in facts if e["kind"] == "aotautograd")
    needs = tk("show", server.url, aot["key"], "--json").objects[0]["needs"]
    server("DEL", f"pt2:fx-graph-v1::{needs[0][1]}:c1")
    found = tk("ls", server.url, "--filter", "is:orphan", "--json").objects
    assert aot["key"] in {e["key"] for e in found}
    assert {e["orphan"] for e in found} == {"graph-gone"}
    gone = tk("purge", server.url, "--filter", "is:orphan", "--yes", "--json")
    assert gone.result["entries"] == len(found)
    assert len(tk("ls", server.url, "--json").objects) == 11 - len(found)


@pytest.mark.slow
def test_autotune_results_go_from_server_to_server(tk: Tk, server: Server, tmp_path: Path) -> None:
    kept = {
        f"pt2:{'a' * 64}::{'b' * 64}:c1": b'{"XBLOCK": 1, "num_warps": 4}',
        f"pt2:bundled-autotune-v1::{'c' * 64}:c1": b'{"d.py": {"XBLOCK": 2}}',
    }
    server.load(kept)
    with serving(tmp_path / "other") as other:
        first = tk("copy", "--allow-secrets", server.url, other.url, "--json")
        again = tk("copy", "--allow-secrets", server.url, other.url, "--json")
        assert {key: other("GET", key) for key in kept} == kept
    assert (first.code, first.result["entries"], first.result["left"]) == (0, 14, [])
    assert (again.code, again.result["entries"], again.result["exists"]) == (0, 0, 14)
    elsewhere = tk("copy", "--allow-secrets", server.url, tmp_path / "folder", "--json")
    assert [one["code"] for one in elsewhere.result["left"]] == ["redis-only"] * 2


@pytest.mark.slow
def test_of_a_mega_caches_profiles_the_last_goes(tk: Tk, server: Server, tmp_path: Path) -> None:
    server("FLUSHALL")
    file, profile = tmp_path / "mega.bin", "dynamo/code_state_train_None_.pkl"
    file.write_bytes(gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes()))
    assert tk("copy", "--allow-secrets", file, server.url, "--trust").code == 0
    assert (
        tk("copy", "--allow-secrets", server.url, tmp_path / "a", "--filter", "kind:pgo").code == 0
    )
    assert tk("import", file, "--into", tmp_path / "b", "--trust").code == 0
    assert (tmp_path / "a" / profile).read_bytes() == (tmp_path / "b" / profile).read_bytes()


def test_with_an_entry_of_a_server_go_the_kernels_it_names(
    tk: Tk, server: Server, kernels: Path, tmp_path: Path
) -> None:
    assert tk("copy", "--allow-secrets", kernels, server.url).code == 0
    key = tk("ls", kernels, "--json").objects[0]["key"]
    value = b'{"XBLOCK": 1, "num_warps": 4, "triton_cache_hash": "%s"}' % key.encode()
    server.load({f"pt2:{'a' * 64}::{'b' * 64}:c1": value})
    with serving(tmp_path) as other:
        tk("copy", "--allow-secrets", server.url, other.url, "--filter", "kind:autotune")
        found = tk("ls", other.url, "--json").objects
    assert sorted((e["kind"], e["key"]) for e in found if e["kind"] == "triton") == [
        ("triton", key)
    ]
    assert len(found) == 2


def test_a_listing_ends_when_nobody_reads_on(server: Server) -> None:
    server.load({f"pt2:fx-graph-v1::{i}:c1": b"" for i in range(20_000)})
    command = [sys.executable, "-m", "torchkeeper", "ls", server.url, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as listing:
        assert listing.stdout
        assert json.loads(listing.stdout.readline())["kind"] in KINDS
        listing.stdout.close()
        assert listing.wait() == 0


@pytest.mark.slow
def test_kernels_are_the_same_after_a_round_trip(
    tk: Tk, server: Server, triton_cache: Path, tmp_path: Path
) -> None:
    server("FLUSHALL")
    bundle = tmp_path / "b.torchcache"
    assert tk("copy", "--allow-secrets", triton_cache, server.url).code == 0
    # Their group files name another folder, and are mended first.
    for placed, there in ((2, 0), (0, 2)):
        back = tk("copy", "--allow-secrets", server.url, triton_cache, "--json")
        assert (back.code, back.result["left"]) == (0, [])
        assert (back.result["entries"], back.result["exists"]) == (placed, there)
    assert tk("copy", "--allow-secrets", server.url, bundle).code == 0
    assert tk("copy", "--allow-secrets", bundle, tmp_path / "back", "--trust").code == 0
    places = (triton_cache, bundle, tmp_path / "back")
    kept = [{(e["key"], e["sha256"]) for e in tk("ls", p, "--json").objects} for p in places]
    assert len(kept[0]) == 2
    assert kept[0] == kept[1] == kept[2]


def test_when_nothing_could_be_copied_it_says_so(tk: Tk, server: Server, kept_291: Path) -> None:
    server("FLUSHALL")
    server("CONFIG", "SET", "maxmemory", "1000")
    try:
        ran = tk("copy", "--allow-secrets", kept_291, server.url)
    finally:
        server("CONFIG", "SET", "maxmemory", "0")
    assert (ran.code, ran.out) == (1, "Nothing could be copied.\n")
    assert "no memory left" in ran.err
