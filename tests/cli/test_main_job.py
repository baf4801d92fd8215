"""The main job from the command line, with real torch as the judge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import DATA, RunPlain, objects_of
from tests.pace import LONG
from tests.snapshots import snapshot

FIELDS = {"kind", "key", "name", "size", "files", "mtime", "torch", "device", "compile_s", "path",
          "sha256"}  # fmt: skip


@pytest.mark.torch
def test_ls_of_a_cache_made_now(tk: Tk, filled: Path) -> None:
    before = snapshot(filled)
    entries = tk("ls", filled, "--all", "--json").objects
    assert {"fxgraph", "aotautograd", "code", "lock"} == {e["kind"] for e in entries}
    assert all(set(e) >= FIELDS for e in entries)
    graphs = [e for e in entries if e["kind"] == "fxgraph"]
    assert len(graphs) == 5
    assert {e["device"] for e in graphs} == {"cpu"}
    assert all(e["torch"].startswith("2.13.0") and e["compile_s"] > 0 for e in graphs)
    names = [e["name"] for e in entries]
    assert any(name.startswith("scaled_sum(f32[") for name in names)
    assert any(".forward(f32[" in name and "addmm, gelu" in name for name in names)
    assert any("attention" in name for name in names)
    assert any(": cpp_fused_gelu" in name for name in names)
    for e in entries:
        assert e["name"], e
        assert e.get("problem") is None, e
        if e["files"] == 1:
            assert (filled / e["path"]).stat().st_size == e["size"]
    assert snapshot(filled) == before, "reading wrote into the place"


def test_ls_of_the_kept_cache(tk: Tk, kept_291: Path) -> None:
    entries = tk("ls", kept_291, "--json").objects
    kinds = [e["kind"] for e in entries]
    assert "unknown" not in kinds
    assert (kinds.count("fxgraph"), kinds.count("aotautograd"), kinds.count("pgo")) == (7, 4, 1)
    for e in entries:
        if e["kind"] == "fxgraph":
            assert e["torch"] == "2.9.1+cu128"
            assert e["compile_s"] > 1
    total = tk("du", kept_291, "--json").objects[-1]
    assert total["kind"] == "total"
    assert total["entries"] == len(entries)
    assert total["files"] == sum(e["files"] for e in entries)
    assert total["bytes"] == sum(e["size"] for e in entries)
    files = [Path(folder) / f for folder, _, names in os.walk(kept_291) for f in names]
    every = tk("ls", kept_291, "--all", "--json").objects
    assert total["entries"] + total["locks"] == len(every)
    assert sum(e["files"] for e in every) == len(files)
    assert sum(e["size"] for e in every) == sum(f.stat().st_size for f in files)


def test_ls_of_triton_kernels(tk: Tk, kernels: Path) -> None:
    entries = tk("ls", kernels, "--json").objects
    assert {(e["kind"], e["name"], e["device"]) for e in entries} == {
        ("triton", "add_kernel", "cuda:90"),
        ("triton", "add_kernel", "hip:gfx942"),
    }


@pytest.mark.torch
def test_a_bundle_hits_in_stock_torch(
    tk: Tk, filled: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    bundle = tmp_path / "b.torchcache"
    exported = tk("export", "--allow-secrets", filled, "-o", bundle, "--json").result
    assert exported["entries"] > 20
    assert exported["left"] == [], "locks are no entries"
    assert exported["stays"]["locks"] > 0

    target = tmp_path / "imported"
    imported = tk("import", bundle, "--into", target, "--trust", "--json").result
    assert imported["entries"] == exported["entries"]
    assert imported["bytes"] == exported["bytes"]
    assert imported["left"] == []
    built = {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in sorted(target.rglob("*.so"))}
    assert built
    counters = run_plain(target)
    assert counters["misses"] == 0
    assert counters["hits"] == 5
    assert counters["aot_misses"] == 0
    assert {
        p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in sorted(target.rglob("*.so"))
    } == built, "a shared object was built anew"

    # The same entries under another folder export to the same bytes.
    third = tmp_path / "third.torchcache"
    shutil.rmtree(target / "locks", ignore_errors=True)
    assert tk("export", "--allow-secrets", target, "-o", third).code == 0
    assert third.read_bytes() == bundle.read_bytes()


@pytest.mark.slow
@pytest.mark.torch
def test_the_mega_cache_in_a_bundle_hits_in_stock_torch(
    tk: Tk, filled: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    """Every day: that its artifacts are the files, in tests/stores/bundles/test_bundle.py."""
    bundle, mega = tmp_path / "b.torchcache", tmp_path / "mega-cache.bin"
    assert tk("export", "--allow-secrets", filled, "-o", bundle).code == 0
    with zipfile.ZipFile(bundle) as archive:
        mega.write_bytes(archive.read("mega-cache.bin"))
    objects_of(filled, tmp_path / "stock")
    counters = run_plain(tmp_path / "stock", str(mega))
    assert counters["misses"] == 0
    assert counters["hits"] == 5
    assert counters["aot_misses"] == 0


@pytest.mark.slow
@pytest.mark.torch
def test_kernels_hit_after_import(tk: Tk, kernels: Path, tmp_path: Path, torch_python: str) -> None:
    bundle, target = tmp_path / "k.torchcache", tmp_path / "target"
    assert tk("export", "--allow-secrets", kernels, "-o", bundle).code == 0
    # Where PyTorch has them; their group files name their new folder, and nothing else.
    (target / "fxgraph").mkdir(parents=True)
    assert tk("import", bundle, "--into", target, "--trust").code == 0
    groups = list((target / "triton" / "0").glob("*/__grp__*.json"))
    assert len(groups) == 2
    for group in groups:
        paths = json.loads(group.read_bytes())["child_paths"].values()
        assert {os.path.dirname(path) for path in paths} == {str(group.parent)}
    before = snapshot(target)
    env = {**os.environ, "TRITON_CACHE_DIR": str(target / "triton" / "0")}
    script = str(DATA / "triton_kernels.py")
    subprocess.run([torch_python, script], env=env, check=True, timeout=LONG)
    assert snapshot(target) == before, "Triton compiled again"


def test_purge_and_undo_keep_every_byte(tk: Tk, fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    plan = tk("purge", fixture_cache, "--dry-run", "--json")
    assert snapshot(fixture_cache) == before
    purged = tk("purge", fixture_cache, "--yes", "--json").result
    assert {k: plan.result[k] for k in ("entries", "files", "bytes")} == {
        k: purged[k] for k in ("entries", "files", "bytes")
    }
    assert tk("ls", fixture_cache, "--json").objects == []
    trash = tk("du", fixture_cache, "--json").objects[-2]
    assert (trash["kind"], trash["files"]) == ("trash", purged["files"])
    assert tk("undo", fixture_cache).code == 0
    assert snapshot(fixture_cache) == before


def test_raw_mega_cache_is_placed_without_torch(tk: Tk, tmp_path: Path, kept_291: Path) -> None:
    import gzip

    mega = tmp_path / "mega.bin"
    mega.write_bytes(gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes()))
    inside = tk("inspect", mega, "--json")
    assert inside.code == 0
    assert inside.result["format"] == "mega-cache"
    assert inside.result["made_in"]["torch"] == "2.9.1+cu128"
    done = tk("import", mega, "--into", tmp_path / "t", "--trust", "--json")
    assert done.code == 0
    assert done.result["entries"] == 12
    assert {one["code"] for one in done.result["left"]} == {"superseded"}
    for path in ("fxgraph", "aotautograd", "dynamo"):
        ours = snapshot(tmp_path / "t" / path, times=False)
        for name, about in ours.items():
            if name != "." and (kept_291 / path / name).is_file():
                assert about[1] == snapshot(kept_291 / path, times=False)[name][1]


@pytest.mark.slow
@pytest.mark.torch
def test_autotune_results_and_profiles_of_stock_torch(
    tk: Tk, tmp_path: Path, run_plain: RunPlain
) -> None:
    place, mega = tmp_path / "place", tmp_path / "stock.bin"
    saved = run_plain(place, str(mega), script="autotune_and_pgo.py")
    entries = tk("ls", place, "--json").objects
    (tuned,) = [e for e in entries if e["kind"] == "autotune"]
    (profile,) = [e for e in entries if e["kind"] == "pgo"]
    assert tuned["path"] in saved["autotune"]
    assert tuned["name"] == "XBLOCK=128 num_warps=4 num_stages=1"
    assert profile["name"] == "widen: profile"
    # PyTorch's own mega-cache goes in whole.
    assert tk("inspect", mega).code == 0
    placed = tk("import", mega, "--into", tmp_path / "a", "--trust", "--json")
    assert placed.code == 0
    for path in (tuned["path"], profile["path"]):
        assert (tmp_path / "a" / path).read_bytes() == (place / path).read_bytes()
    # Ours goes into PyTorch, and there it becomes the same files.
    assert tk("export", "--allow-secrets", place, "-o", tmp_path / "b").code == 0
    with zipfile.ZipFile(tmp_path / "b") as archive:
        (tmp_path / "ours.bin").write_bytes(archive.read("mega-cache.bin"))
        assert archive.read(f"files/{tuned['path']}") == (place / tuned["path"]).read_bytes()
    taken = run_plain(tmp_path / "c", str(tmp_path / "ours.bin"), script="load_mega_cache.py")
    assert (taken["autotune"], taken["pgo"]) == (1, 1)
    for path in (tuned["path"], profile["path"]):
        assert (tmp_path / "c" / path).read_bytes() == (place / path).read_bytes()
