"""Caches of other just-in-time compilers: what their own code wrote is shown, purged and undone;
what is called similarly is somebody's own.
"""

from __future__ import annotations

import fcntl
import os
import pkgutil
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tk, forks, tk
from tests.conftest import DATA, once, unpack_archive
from tests.engine.test_overviewing import Looked
from tests.snapshots import snapshot
from torchkeeper.artifacts import jits, layout
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.jits import known
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.stores import places
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader

__all__ = ["forks", "tk"]

#: What is in ``serving/jit.tar.xz``, by the place of each cache: name, device, files.
FLASHINFER = "workspace/.cache/flashinfer"
DECODE = (
    "single_decode_with_kv_cache_dtype_q_f16_dtype_kv_f16_dtype_o_f16_head_dim_qk_64_"
    "head_dim_vo_64_posenc_0_use_swa_False_use_logits_cap_False"
)
THERE: dict[str, set[tuple[str, str | None, int]]] = {
    "deep_gemm": {("DeepGEMM: scale", "cuda:90", 2)},
    "tilelang": {("TileLang", "cuda:90", 2), ("TileLang: add_kernel", None, 5)},
    "tvm-ffi": {("tvm-ffi: add_one", None, 7)},
    FLASHINFER: {
        ("FlashInfer: scale_f32", "cuda:90", 5),
        (f"FlashInfer: {DECODE}", "cuda:90", 1),
        (f"FlashInfer: {DECODE}", "cuda:90", 4),
    },
}
#: FlashInfer's own log, which it appends to.
LOG = "0.7.2.post1/90a/flashinfer_jit.log"


@pytest.fixture(scope="session")
def serving(shared: Path) -> Path:
    """What serving_jits.py of tests/data had four compilers write. Not to be changed."""
    archive = DATA / "serving" / "jit.tar.xz"
    return once(shared, "serving", lambda folder: unpack_archive(archive, folder))


@pytest.fixture
def machine(serving: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(serving, tmp_path / "machine"))


def items(place: Path, kind: str = "jit") -> list[Item]:
    return [item for item in Folder(str(place)).items(Report()) if item.kind == kind]


def entries(place: Path) -> list[Entry]:
    with Reader() as reader:
        folder = Folder(str(place))
        read = folder.read(folder.items(Report()), reader, Report())
        return [one.entry for batch in read for one in batch]


def paths(place: Path, kind: str) -> set[str]:
    return {file.path for item in items(place, kind) for file in item.files}


def purge(place: Path, insisted: bool = False, now: bool = False) -> list[str]:
    """Purge all that there is but a user's; returns what was left, and why."""
    left: list[str] = []
    folder = Folder(str(place))
    every = [item for item in folder.items(Report()) if item.kind != "unknown"]
    plan = trash.Plan(folder.root, every, insisted)
    trash.purge(plan, now, Report(), lambda item, why: left.append(f"{item.key}: {why.code}"))
    return left


def undo(place: Path) -> None:
    def never(_item: Item, why: Problem) -> None:
        raise why

    trash.undo(str(place), Report(), never)


def below(place: Path) -> set[str]:
    """The files in a place, without the trash."""
    found = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    return {path for path in found if not path.startswith(TRASH)}


def test_every_module_is_known() -> None:
    modules = {one.name for one in pkgutil.iter_modules(jits.__path__)} - {"form", "known"}
    assert len(known.CACHES) == len(modules)


@pytest.mark.parametrize("cache", THERE)
def test_each_is_shown_purged_and_undone_to_the_byte(machine: Path, cache: str) -> None:
    place = machine / cache
    told = [one for one in entries(place) if one.kind == "jit"]
    assert {(one.name, one.device, one.files) for one in told} == THERE[cache]
    assert len(told) == len(THERE[cache])
    assert not [one for one in told if one.problem or one.orphan]
    mine = {LOG} if cache == FLASHINFER else set[str]()
    assert paths(place, "unknown") == mine
    before = snapshot(place)
    for insisted in (False, True):
        assert purge(place, insisted) == []
        # DeepGEMM ends its program where the folder of an entry is there, and empty.
        assert below(place) == mine
        assert not any((place / one.path).exists() for one in told)
        undo(place)
        assert snapshot(place) == before
    assert purge(place, insisted=True, now=True) == []
    assert below(place) == mine
    assert not any((place / one.path).exists() for one in told)


def test_from_above_each_is_the_same(machine: Path) -> None:
    """As in the folder of a serving engine, or at home; only by the name of its own folder."""
    assert {(one.name, one.device, one.files) for one in entries(machine) if one.kind == "jit"} == {
        told for some in THERE.values() for told in some
    }
    (machine / "tilelang").rename(machine / "mine")
    (machine / "tvm-ffi").rename(machine / ".cache")
    assert {one.name for one in entries(machine) if one.kind == "jit"} == {
        "DeepGEMM: scale", "FlashInfer: scale_f32", f"FlashInfer: {DECODE}"
    }  # fmt: skip


def near(name: str) -> list[str]:
    """Names that are nearly that one."""
    stem, dot, end = name.rpartition(".")
    return [f"{name}.bak", f"{name}~", f".{name}.swp", f"my_{name}", f"{stem}{dot}{end}2",
            f"{stem} (1){dot}{end}", f"{name}x"]  # fmt: skip


#: Folders and files of users whose names are nearly those of a cache, by the place.
MINE = {
    "deep_gemm": [
        f"cache/kernel.mine.{'a' * 31}/kernel.cu", f"cache/kernel.mine.{'A' * 32}/kernel.cubin",
        f"cache/kernel.my-own.{'a' * 32}/kernel.cubin", f"cache/kernel.mine.{'a' * 32}/kernel.cu",
        f"cache/run.{'b' * 32}/kernel.cu", f"kernel.mine.{'a' * 32}/kernel.cubin",
        f"tmp/1-{'a' * 8}-{'b' * 8}/kernel.cu", "locks/mine.lock", "tmp/notes.txt",
    ],
    "tilelang": [
        f"0.1.15/linux-x86_64/kernels/{'a' * 63}/manifest.json", "py-cache/mine.0a1b2c3d.py",
        f"0.1.15/linux-x86_64/kernels/{'a' * 64}/manifest.json",
        f"0.1.15/linux-x86_64/kernels/{'a' * 64}/params.json",
        f"0.1.15/linux-x86_64/models/{'a' * 64}/manifest.json",
        f"backup/linux-x86_64/kernels/{'a' * 64}/manifest.json",
        f"0.1.15/cuda-binaries/{'a' * 64}/metadata.json", f"{'a' * 64}/manifest.json",
        f"0.1.15/linux-x86_64/.staging/{'a' * 64}/params.json",
    ],
    "tvm-ffi": [
        f"project_{'a' * 16}/build.ninja", f"project_{'a' * 16}/main.cpp",
        f"project_{'a' * 15}/main.cpp", "project/main.cpp", "libtorch_c_dlpack_addon_mine.so",
        "libtorch_c_dlpack_addon_torch213-cpu-0a1b2c3d.so", "main.cpp", "lock",
    ],
    FLASHINFER: [
        "0.7.2.post1/90a/cached_ops/mine/build.ninja", "0.7.2.post1/90a/cached_ops/mine/mine.so",
        "0.7.2.post1/90a/generated/mine/mine.cu", "0.7.2.post1/mine/cached_ops/a/build.ninja",
        "0.7.2.post1/90a/cached_ops/tmp/notes.txt", "0.7.2.post1/90a/generated/notes.txt",
        "0.7.2.post1/90a/cached_ops/tmp/mine.lock",
        "backup/90a/cached_ops/scale_f32/build.ninja", "scale_f32/build.ninja",
        "0.7.2.post1/90a/cached_ops/mine_cute_dsl/meta.json", "autotune/mine.json",
        "0.7.2.post1/90a/cached_ops/scale_f32/old/scale_f32.so",
    ],
}  # fmt: skip


@pytest.mark.parametrize("cache", THERE)
def test_users_files_of_near_names_stay(machine: Path, cache: str) -> None:
    place = machine / cache
    before = {item.identity: item.names for item in items(place)}
    theirs = set(MINE[cache])
    for item in items(place):
        for file in item.files:
            theirs |= {f"{item.path}/{name}" for name in near(file.name)}
    # A build of somebody's own, and what Python and other programs write as JSON.
    texts = {
        "build.ninja": "ninja_required_version = 1.3\nname = other\nrule cxx\n",
        "manifest.json": '{"name": "app", "files": ["a.js"]}',
        "metadata.json": '{"format": "pt"}',
        "mine.lock": "",
    }
    for path in theirs:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(texts.get(path.rpartition("/")[2], "of mine"))
    known_before = {LOG} if cache == FLASHINFER else set[str]()
    assert paths(place, "unknown") == theirs | known_before
    assert paths(place, "lock") <= {"0.7.2.post1/90a/cached_ops/tmp/scale_f32.lock"}
    assert {item.identity: item.names for item in items(place)} == before
    told = snapshot(place, only=theirs)
    assert purge(place) == []
    assert snapshot(place, only=theirs) == told
    assert below(place) == theirs | known_before
    undo(place)
    assert {item.identity: item.names for item in items(place)} == before


@pytest.mark.parametrize("cache", THERE)
def test_what_nothing_proves_is_a_users(machine: Path, cache: str) -> None:
    """Each entry without the file that tells, and with another one of its name."""
    place, mine = machine / cache, paths(machine / cache, "jit")
    proofs = {made.path for path in mine if (made := known.proof(path))}
    assert proofs and proofs <= mine
    for path in proofs:
        (place / path).write_bytes(b"something else")
    assert items(place) == []
    for path in proofs:
        (place / path).unlink()
        (place / path).mkdir()
    assert items(place) == []
    assert paths(place, "unknown") >= mine - proofs


def test_a_newer_form_of_deep_gemm(machine: Path) -> None:
    """As in disk.hpp of sgl-deep-gemm: the entry has no prefix, and a mark that it is whole."""
    cache = machine / "deep_gemm" / "cache"
    [entry] = cache.iterdir()
    new = entry.rename(cache / entry.name.removeprefix("kernel."))
    assert items(machine / "deep_gemm") == []
    (new / ".committed").write_text("of mine")
    assert items(machine / "deep_gemm") == []
    (new / ".committed").write_bytes(b"")
    [item] = items(machine / "deep_gemm")
    assert [file.name for file in item.files] == [".committed", "kernel.cu", "kernel.cubin"]


def test_what_a_writer_has_in_hand(machine: Path) -> None:
    """Folders that are not yet in their place belong to the process that they name; one that is
    gone has left them behind. A lock that somebody holds keeps the entry.
    """
    gone, here = 2**22 + 1, os.getpid()
    words = f"{'a' * 8}-{'b' * 8}-{'c' * 8}"
    staged = {
        pid: [f"deep_gemm/tmp/{pid}-{words}/kernel.cu",
              f"tilelang/0.1.15/linux-x86_64/.staging/{'a' * 64}_{pid}_{'b' * 8}/params.json",
              f"tilelang/0.1.15/.staging/cuda-binaries/{'a' * 64}.{pid}.{'b' * 32}/kernel.cubin"]
        for pid in (gone, here)
    }  # fmt: skip
    for path in (path for some in staged.values() for path in some):
        (machine / path).parent.mkdir(parents=True)
        (machine / path).write_text("half")
    lock = next((machine / "tvm-ffi").glob("*/lock"))
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert paths(machine, "lock") >= {path for some in staged.values() for path in some}
        left = purge(machine)
    assert sorted(one.rpartition(": ")[2] for one in left) == ["in-use"] * 4
    assert [path for path in staged[gone] if (machine / path).exists()] == []
    assert [path for path in staged[here] if not (machine / path).exists()] == []
    assert [item.path.partition("/")[0] for item in items(machine)] == ["tvm-ffi"]


def test_they_are_found(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {home[1:].partition("/")[0] for one in known.CACHES for home in one.homes} - {""}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(machine))
    assert not [one for one in places.find() if one.reason in known.REASONS]
    monkeypatch.setenv("DG_JIT_CACHE_DIR", f"{machine}/nowhere:{machine}/deep_gemm")
    monkeypatch.setenv("FLASHINFER_WORKSPACE_BASE", str(machine / "workspace"))
    (machine / ".cache").mkdir()
    (machine / "tvm-ffi").rename(machine / ".cache" / "tvm-ffi")
    found = {one.path: one.reason for one in places.find() if one.reason in known.REASONS}
    assert found == {
        f"{machine}/deep_gemm": "DG_JIT_CACHE_DIR",
        f"{machine}/{FLASHINFER}": "FLASHINFER_WORKSPACE_BASE",
        f"{machine}/.cache/tvm-ffi": "tvm-ffi",
    }


def test_a_program_that_may_use_one() -> None:
    """By a variable, or by its default where it has the compiler loaded."""
    env = {"HOME": "/home/ada", "TILELANG_CACHE_DIR": "/cache/tl", "DG_JIT_CACHE_DIR": "relative"}
    assert [home.path for home in known.homes(env, ())] == ["/cache/tl"]
    loaded = known.loaded(b"7f00 r-xp 0 0 /opt/python/deep_gemm/_C.so\n")
    assert [cache.title for cache in loaded] == ["DeepGEMM"]
    found = {home.path for home in known.homes(env, loaded)}
    assert "/home/ada/.deep_gemm" in found
    assert "/home/ada/.tilelang/cache" not in found


def test_on_the_command_line(tk: Tk, machine: Path) -> None:
    home = str(machine.parent)
    env = {"HOME": home, "TMPDIR": home, "DG_JIT_CACHE_DIR": str(machine / "deep_gemm")}
    before = snapshot(machine)
    [row] = [x for x in tk("places", "--json", **env).objects if x["reason"] == "DG_JIT_CACHE_DIR"]
    assert row["path"] == str(machine / "deep_gemm")
    listed = tk("ls", machine, "--filter", "kind:jit", "--json").objects
    assert len(listed) == 7
    kinds = {row["kind"]: row for row in tk("du", machine, "--json").objects if "kind" in row}
    assert kinds["jit"]["entries"] == 7
    shown = tk("show", machine, "scale_f32").out
    assert "FlashInfer 0.7.2.post1" in shown
    assert "90a" in shown
    tk("purge", machine, "--filter", "kind:jit", "--yes")
    assert items(machine) == []
    tk("undo", machine)
    after = {path: about for path, about in snapshot(machine).items() if path != TRASH}
    assert after == before


def test_in_an_overview(machine: Path) -> None:
    with Engine() as engine:
        looked = Looked(engine, machine)
    assert [row["entries"] for row in looked.rows if row.get("kind") == "jit"] == [7]


def test_no_path_of_another_cache_is_one_of_these(serving: Path) -> None:
    for path in paths(serving, "jit"):
        assert layout.locate(path).kind == "jit"
    assert layout.locate("cache/" + "a" * 64).kind == "autotune"
