"""Caches of other compilers are carried: to the byte, with modes and times, to where each compiler
looks; and of a hostile bundle nothing that their forms do not name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.bench import jits as bench
from tests.cli.conftest import Tk, forks, tk
from tests.hostile.bundles import manifest as told
from tests.hostile.bundles import whole
from tests.hostile.zips import Member
from tests.redis_server import Server
from tests.snapshots import snapshot
from tests.stores.bundles.test_bundle import Left, bring
from tests.stores.test_carrying import GLANCE, carry, chosen
from tests.stores.test_copying import StopAfter
from tests.stores.test_jits import (
    FLASHINFER,
    NAMED,
    NAMELESS,
    THERE,
    items,
    machine,
    paths,
    purge,
    serving,
    undo,
)
from torchkeeper.artifacts import layout, manifest
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.jits import known
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.copying import copy, plan_copy
from torchkeeper.stores.describe import Carried
from torchkeeper.stores.folders.folder import Folder

__all__ = ["forks", "machine", "serving", "tk"]


#: Locks and logs are of use where they are only.
SCRATCH = {"kind-not-portable"}
#: Files of a big machine.
MANY = 100_000


def mine(place: Path, below: str = "") -> dict[str, tuple[object, ...]]:
    """The files of entries in a place, with modes, contents and times."""
    only = paths(place, "jit")
    found = snapshot(place, only=only)
    assert len(found) == len(only) > 0
    return {path.removeprefix(below): about for path, about in found.items()}


def folder_of(cache: str) -> str:
    """What the folder of a cache is called in a bundle."""
    there = {"torch/kernels": "jiterator", NAMELESS: "torch_extensions"}
    return there.get(cache, cache.rpartition("/")[2])


@pytest.mark.parametrize("cache", THERE)
@pytest.mark.parametrize("carried", [GLANCE, None])
def test_each_arrives_to_the_byte(
    machine: Path, tmp_path: Path, cache: str, carried: Carried | None
) -> None:
    source, name = machine / cache, cache.rpartition("/")[2]
    before = mine(source)
    bundle, target = tmp_path / "b.torchcache", tmp_path / "t" / name
    assert set(carry(source, bundle, carried).codes) <= SCRATCH
    assert carry(bundle, target, carried).codes == []
    assert mine(target) == before
    assert set(carry(source, tmp_path / "d" / name, carried).codes) <= SCRATCH
    assert mine(tmp_path / "d" / name) == before
    # And from there the same bundle comes, and nothing is new.
    assert carry(target, tmp_path / "again.torchcache", carried).codes == []
    assert (tmp_path / "again.torchcache").read_bytes() == bundle.read_bytes()
    kept = snapshot(target)
    assert carry(bundle, target, carried).codes == []
    assert snapshot(target) == kept
    assert purge(target) == []
    undo(target)
    assert mine(target) == before


def test_a_folder_of_several_has_a_folder_of_each(machine: Path, tmp_path: Path) -> None:
    before = {
        f"{folder_of(cache)}/{path}": about
        for cache in THERE
        if cache != NAMELESS
        for path, about in mine(machine / cache).items()
    }
    bundle = tmp_path / "b.torchcache"
    carry(machine, bundle)
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist())
        said = json.loads(archive.read("manifest.json"))
    assert names == {f"files/{path}" for path in before} | {"manifest.json"}
    assert said["format_version"] == 3
    for source in (machine, bundle):
        target = tmp_path / f"from-{source.stem}"
        assert set(carry(source, target).codes) <= SCRATCH
        assert mine(target) == before
    # One that is there keeps its name, whatever that is of those it may have.
    there = tmp_path / "home"
    (there / ".deep_gemm").mkdir(parents=True)
    (there / "notes.txt").write_text("mine")
    carry(bundle, there)
    assert [path.partition("/")[0] for path in sorted(paths(there, "jit"))[:2]] == [
        ".deep_gemm"
    ] * 2
    assert (there / "tilelang").is_dir()


def test_where_a_folder_is_the_cache_itself(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, by a variable, by what is in it; and as nothing but that comes into it."""
    bundle, before = tmp_path / "b.torchcache", mine(machine / "tilelang")
    carry(machine, bundle)
    named = tmp_path / "x" / ".tilelang" / "cache"
    by_variable = tmp_path / "by-variable"
    by_variable.mkdir()
    (by_variable / "notes.txt").write_text("mine")
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(by_variable))
    by_content = tmp_path / "by-content"
    shutil.copytree(machine / "tilelang", by_content)
    for place in (named, by_variable, by_content):
        carry(bundle, place)
        assert {p: about for p, about in mine(place).items() if p in before} == before
        assert (place / "deep_gemm").is_dir()
    carry(machine / "tilelang", tmp_path / "new")
    assert mine(tmp_path / "new") == before


def test_a_copy_is_foretold(machine: Path, tmp_path: Path) -> None:
    target = tmp_path / "t"
    with Folder(str(machine)) as store:
        left = Left()
        foretold = plan_copy(store, chosen(store), str(target), Report(), left)
    kinds = {kind: outcomes.new.entries for kind, outcomes in foretold.kinds}
    assert kinds["jit"] == len(NAMED)
    assert not target.exists()
    carry(machine, target)
    assert len(items(target)) == len(NAMED)


@pytest.mark.parametrize("checks", [30, 60, 90])
def test_cancelled_leaves_no_trace(machine: Path, tmp_path: Path, checks: int) -> None:
    target = tmp_path / "t"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    with Folder(str(machine)) as store:
        ones = chosen(store)
        with pytest.raises(Cancelled):
            copy(store, ones, str(target), StopAfter(checks), Left())
    assert [path.name for path in target.rglob("*")] == ["notes.txt"]


def test_an_extension_does_not_go_where_pytorch_does_not_look(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its default has a folder for each Python and CUDA, the one of a variable has not."""
    named, default = tmp_path / "named", tmp_path / ".cache" / "torch_extensions"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(named))
    for cache, good, bad, code in (
        (NAMELESS, named, default, "jit-of-named"),
        ("torch_extensions", default, named, "jit-of-default"),
    ):
        bundle, before = tmp_path / f"{cache}.torchcache", mine(machine / cache)
        carry(machine / cache, bundle)
        kept = snapshot(bad) if bad.exists() else {}
        assert carry(bundle, bad).codes == [code]
        assert (snapshot(bad) if bad.exists() else {}) == kept
        assert carry(bundle, good).codes == []
        assert mine(good) == before


def test_what_was_changed_there_is_kept(machine: Path, tmp_path: Path) -> None:
    bundle, target = tmp_path / "b.torchcache", tmp_path / "deep_gemm"
    carry(machine / "deep_gemm", bundle)
    carry(bundle, target)
    [source] = target.rglob("kernel.cu")
    source.write_text("// of mine")
    assert carry(bundle, target).codes == ["key-taken"]
    assert source.read_text() == "// of mine"


def test_an_entry_at_which_its_compiler_works_waits(machine: Path, tmp_path: Path) -> None:
    """What lacks a file is added only where nobody holds the lock."""
    bundle = tmp_path / "b.torchcache"
    carry(machine / "tvm-ffi", bundle)
    next((machine / "tvm-ffi").glob("*/*.so")).unlink()
    assert carry(bundle, machine / "tvm-ffi").codes == []
    assert next((machine / "tvm-ffi").glob("*/*.so")).stat().st_mode & 0o111


def test_on_the_command_line(tk: Tk, machine: Path, tmp_path: Path) -> None:
    bundle, target = tmp_path / "b.torchcache", tmp_path / "t"
    plan = tk("export", machine, "-o", bundle, "--dry-run").out
    assert "jit" in plan
    assert not bundle.exists()
    tk("export", machine, "-o", bundle)
    assert {x.get("kind", "jit") for x in tk("inspect", bundle, "--json").objects} == {"jit"}
    asked = tk("import", bundle, "--into", target, "--dry-run").out
    assert f"{len(NAMED)} entries" in asked
    tk("import", bundle, "--into", target, "--trust")
    assert mine(target)["deep_gemm/" + min(paths(machine / "deep_gemm", "jit"))]


def test_a_server_holds_none(machine: Path, server: Server) -> None:
    with Folder(str(machine)) as store:
        left = Left()
        done = copy(store, chosen(store, None), server.url, Report(), left)
    assert done.entries == 0
    assert left.codes.count("kind-not-in-redis") == len(NAMED)
    assert server("DBSIZE") == 0


REFUSED = [
    "deep_gemm/cache/kernel.scale.{h}/notes.txt", "deep_gemm/cache/kernel.scale.{h}/../kernel.cu",
    "../deep_gemm/cache/kernel.scale.{h}/kernel.cu", "cache/kernel.scale.{h}/kernel.cu",
    "/deep_gemm/cache/kernel.scale.{h}/kernel.cu", ".deep_gemm/cache/kernel.scale.{h}/kernel.cu",
    "x/deep_gemm/cache/kernel.scale.{h}/kernel.cu",
    "deep_gemm/tmp/1-aaaaaaaa-aaaaaaaa-aaaaaaaa/kernel.cu",
    "deep_gemm/locks/A_n1_k1_g1.lock", "flashinfer/0.7/90a/cached_ops/../build.ninja",
    "flashinfer/0.7/90a/cached_ops/./build.ninja", "flashinfer/0.7/90a/cached_ops/a\nb/build.ninja",
    "flashinfer/0.7/90a/cached_ops/a\0b/build.ninja",
    "flashinfer/0.7/90a/cached_ops/a\\b/build.ninja",
    "tvm-ffi/.torchkeeper-journal-0-1_{h16}/main.cpp",
    "flashinfer/0.7/90a/cached_ops/.torchkeeper-trash/build.ninja",
    "tvm-ffi/.._{h16}/../main.cpp", "tvm-ffi/a_{h16}/sub/main.cpp", "somebody/else.so",
]  # fmt: skip


@pytest.mark.parametrize("path", REFUSED)
def test_no_other_path_of_a_bundle_becomes_one(tmp_path: Path, path: str) -> None:
    path = path.format(h="a" * 32, h16="a" * 16)
    with pytest.raises(Problem, match="name-refused"):
        layout.checked_path("jit", path)
    files = {path: b"data"}
    said = told([("jit", "a" * 32, files)], [])
    said["format_version"] = 3
    members = [Member(f"files/{name}".encode(), data) for name, data in files.items()]
    (tmp_path / "b.torchcache").write_bytes(whole(said, members))
    try:
        done, left, _ = bring(tmp_path / "b.torchcache", tmp_path / "t")
    except Problem as problem:
        assert problem.code in ("bundle-damaged", "bundle-more")
    else:
        assert (done.entries, left.codes) == (0, ["name-refused"])
    assert not (tmp_path / "t").exists() or not list((tmp_path / "t").rglob("*"))


def test_what_nothing_proves_is_not_placed(machine: Path, tmp_path: Path) -> None:
    """It would be taken there for a user's own, and so would stay for ever."""
    for cache in THERE:
        name = folder_of(cache)
        for item in items(machine / cache):
            files = {
                f"{name}/{f.path}": (machine / cache / f.path).read_bytes() for f in item.files
            }
            proofs = {made.path or path for path in files if (made := known.proof(path))}
            assert proofs
            alone = proofs == set(files)
            files = {path: b"mine" if alone else data for path, data in files.items()
                     if alone or path not in proofs}  # fmt: skip
            if not files:
                continue
            said = told([("jit", item.key, files)], [])
            said["format_version"] = 3
            members = [Member(f"files/{path}".encode(), data) for path, data in files.items()]
            (tmp_path / "b.torchcache").write_bytes(whole(said, members))
            done, left, _ = bring(tmp_path / "b.torchcache", tmp_path / "t")
            assert (done.entries, left.codes) == (0, ["payload-unreadable"])


def test_an_earlier_reader_says_that_it_is_newer(machine: Path, tmp_path: Path) -> None:
    """The version is the one that readers of caches of PyTorch alone refuse by its number."""
    carry(machine, tmp_path / "b.torchcache")
    with zipfile.ZipFile(tmp_path / "b.torchcache") as archive:
        data = archive.read("manifest.json")
    assert manifest.begin(data).entries
    newer = data.replace(b'"format_version": 3', b'"format_version": 4')
    with pytest.raises(Problem, match="bundle-newer"):
        manifest.begin(newer)


def test_times_of_a_bundle_are_not_believed_to_be_any(machine: Path, tmp_path: Path) -> None:
    carry(machine / "deep_gemm", tmp_path / "b.torchcache")
    with zipfile.ZipFile(tmp_path / "b.torchcache") as archive:
        text = archive.read("manifest.json").decode()
    [time, *_] = [line for line in text.splitlines() if "mtime_ns" in line]
    for wrong in ("-1", "true", "1e300", '"now"', str(1 << 63)):
        damaged = text.replace(time, f'"mtime_ns": {wrong}' + ("," if time.endswith(",") else ""))
        with pytest.raises(Problem, match="bundle-damaged"):
            list(manifest.begin(damaged.encode()).entries)


@pytest.mark.slow
def test_pytorch_builds_nothing_again(torch_python: str, tmp_path: Path) -> None:
    """An extension that ninja has built is there, and whole, at the other end: ninja compares when
    each file was written with what it noted.
    """
    source, script = tmp_path / "plain.cpp", tmp_path / "load.py"
    source.write_text('extern "C" int add_one(int x) { return x + 1; }')
    script.write_text(
        "import sys\nfrom torch.utils.cpp_extension import load\n"
        "load('plain', sys.argv[1:], is_python_module=False)\n"
    )

    def load(folder: Path) -> dict[str, tuple[object, ...]]:
        env = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder)}
        subprocess.run([torch_python, script, source], env=env, check=True)
        return snapshot(folder / "plain")

    built = load(tmp_path / "there")
    carry(tmp_path / "there", tmp_path / "b.torchcache")
    carry(tmp_path / "b.torchcache", tmp_path / "here")
    found = load(tmp_path / "here")
    for name in ("plain.o", "plain.so", ".ninja_log", ".ninja_deps", "build.ninja"):
        assert found[name] == built[name]


def test_a_bundle_tells_whose_each_is(machine: Path, tmp_path: Path) -> None:
    carry(machine, tmp_path / "b.torchcache")
    with Bundle(str(tmp_path / "b.torchcache"), Report()) as bundle:
        owners = {own.cache.title for x in bundle.items() if (own := known.own(x.files[0].path))}
    # DeepEP writes as DeepGEMM does, and only where there are GPUs.
    assert owners == {one.title for one in known.CACHES if one.forms} - {"DeepEP"}
    assert os.path.basename(FLASHINFER) == "flashinfer"


@pytest.mark.slow
def test_a_big_machine_of_every_kind_to_the_byte(tmp_path: Path) -> None:
    """Exported, imported, purged and undone: each kind and all of it."""
    place, bundle, target = tmp_path / "machine", tmp_path / "b.torchcache", tmp_path / "t"
    place.mkdir()
    bench.machine(place, MANY)
    before = mine(place)
    assert len(before) > MANY * 0.99
    carry(place, bundle)
    carry(bundle, target)
    below = {"torch": ("torch/kernels", "jiterator"), "workspace": (FLASHINFER, "flashinfer")}
    for first in {path.partition("/")[0] for path in before}:
        there, name = below.get(first, (first, first))
        here = mine(place / there)
        assert mine(target / name) == here
        assert purge(place / there) == []
        assert items(place / there) == []
        undo(place / there)
        assert mine(place / there) == here
    assert mine(place) == before
    assert purge(place) == []
    assert items(place) == []
    undo(place)
    assert mine(place) == before
