"""Caches of other just-in-time compilers: what their own code wrote is shown, purged and undone;
what is called similarly is somebody's own.
"""

from __future__ import annotations

import fcntl
import os
import pkgutil
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import Tk, forks, tk
from tests.conftest import DATA, once, unpack_archive
from tests.engine.test_overviewing import Looked
from tests.snapshots import snapshot
from tests.stores.test_copying import carry
from torchkeeper.artifacts import jits, layout, proofs
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.jits import known
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.purging import check_is_cache
from torchkeeper.stores import caches, places
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.preconditions import Strange
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
    # In ``serving/more.tar.xz``.
    "cutlass_python_cache": {("CuTe DSL", None, 1)},
    "quack_cache": {("QuACK", None, 1)},
    "cute_aot": {("SGLang: fwd", None, 1)},
    "helion": {("Helion", None, 1), ("Helion: helion_bwd", None, 1)},
    "torch_extensions": {("PyTorch extensions: inlined", None, 6)},
    "extensions": {("PyTorch extensions: plain", None, 5)},
    "torch/kernels": {("jiterator: my_op_vectorized8", "cuda:90", 1)},
    "torch_tensorrt_engine_cache": {("Torch-TensorRT", None, 1)},
    # In ``serving/servers.tar.xz``.
    "sglang_jit": {("SGLang JIT: sgl_kernel_jit_add_one", "cuda:90", 7)},
    "flashinfer_autotune_cache": {
        ("FlashInfer tuning: rank_tp0_pp0_dp0", "cuda:90", 1),
        ("FlashInfer tuning", "cuda:90", 1),
        ("FlashInfer tuning", None, 1),
        ("FlashInfer tuning: manifest", None, 1),
    },
}
#: Those with a lock that is there between two runs.
LOCKED = {FLASHINFER, "quack_cache", "cute_aot", "sglang_jit"}
#: The one that a variable names: its folder has no name of its own.
NAMELESS = "extensions"
#: What is known of a whole machine by the names of the folders.
NAMED = [told for cache, some in THERE.items() if cache != NAMELESS for told in some]
#: FlashInfer's own log, which it appends to.
LOG = "0.7.2.post1/90a/flashinfer_jit.log"


@pytest.fixture(scope="session")
def serving(shared: Path) -> Path:
    """What three scripts of tests/data had compilers write. Not to be changed."""

    def unpack(folder: Path) -> None:
        for name in ("jit", "more", "servers"):
            unpack_archive(DATA / "serving" / f"{name}.tar.xz", folder)

    return once(shared, "serving", unpack)


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
    found = [(x.name, x.device, x.files) for x in entries(machine) if x.kind == "jit"]
    assert set(found) == set(NAMED)
    assert len(found) == len(NAMED)
    for number, cache in enumerate(THERE):
        if cache not in ("deep_gemm", FLASHINFER):
            (machine / cache).rename(machine / f"mine{number}")
    assert {one.name for one in entries(machine) if one.kind == "jit"} == {
        "DeepGEMM: scale", "FlashInfer: scale_f32", f"FlashInfer: {DECODE}"
    }  # fmt: skip


@pytest.mark.torch
def test_what_helion_has_others_keep_is_theirs(
    machine: Path, kernels: Path, tmp_path: Path
) -> None:
    """In PyTorch's folder, where Helion's is by default, and in that which its variable names."""
    cache = tmp_path / "torchinductor"
    cache.mkdir()
    (machine / "helion").rename(cache / "helion")
    shutil.copytree(kernels, cache / "helion" / "triton" / "0")
    (cache / "helion" / "cute").mkdir()
    (machine / "cutlass_python_cache").rename(cache / "helion" / "cute" / "0")
    there = len(items(kernels, "triton"))
    assert there > 0
    for place in (cache, cache / "helion"):
        assert len(items(place, "triton")) == there
        assert {one.name for one in entries(place) if one.kind == "jit"} == {
            "CuTe DSL", "Helion", "Helion: helion_bwd",
        }  # fmt: skip
        assert paths(place, "unknown") == set()
    before = below(cache)
    assert purge(cache) == [] and below(cache) == set()
    undo(cache)
    assert below(cache) == before
    carry(cache, tmp_path / "there")
    assert len(items(tmp_path / "there", "triton")) == there
    assert paths(tmp_path / "there", "unknown") == set()


#: As DispatchRuntime::generate_impl of DeepEP's csrc/kernels/elastic/dispatch.hpp begins one.
DEEP_EP = """
#include <deep_ep/impls/dispatch.cuh>

using namespace deep_ep::elastic;
"""


def test_deep_ep_is_told_from_deep_gemm(machine: Path, tmp_path: Path) -> None:
    """By the name of a folder from above, and else by what a kernel is made of."""
    for name in ("deep_ep", "nameless"):
        [entry] = (
            Path(shutil.copytree(machine / "deep_gemm", tmp_path / name)) / "cache"
        ).iterdir()
        (entry / "kernel.cu").write_text(DEEP_EP)
        entry.rename(entry.with_name(f"kernel.dispatch.{'a' * 32}"))
    told = {("DeepEP: dispatch", "cuda:90", 2)}
    for place in (tmp_path / "deep_ep", tmp_path / "nameless"):
        assert {(one.name, one.device, one.files) for one in entries(place)} == told
        carry(place, tmp_path / "b.torchcache")
        with Bundle(str(tmp_path / "b.torchcache"), Report()) as bundle:
            assert {caches.cache_of(item) for item in bundle.items(Report())} == {"DeepEP"}
        target = tmp_path / f"of_{place.name}"
        (target / "deep_gemm").mkdir(parents=True)
        carry(tmp_path / "b.torchcache", target)
        assert below(target) == {
            f"deep_ep/cache/kernel.dispatch.{'a' * 32}/{name}"
            for name in ("kernel.cu", "kernel.cubin")
        }
        (tmp_path / "b.torchcache").unlink()
    (tmp_path / "deep_ep" / "cache" / f"kernel.dispatch.{'a' * 32}" / "kernel.cu").unlink()
    assert [one.name for one in entries(tmp_path) if one.path.startswith("deep_ep/")] == [
        "DeepEP: dispatch"
    ]
    assert {(one.name, one.device, one.files) for one in entries(machine / "deep_gemm")} == THERE[
        "deep_gemm"
    ]


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
    "cutlass_python_cache": [
        f"cute_dsl_{'a' * 64}.mlir", f"cute_dsl_{'a' * 63}.mlir", "cute_dsl_mine.mlir",
        f"my_dsl_{'a' * 64}.mlir", f"old/cute_dsl_{'a' * 64}.mlir", f"tmp.pid_1/{'a' * 64}.mlir",
    ],
    "quack_cache": [
        f"{'a' * 64}/{'b' * 64}.o", f"{'a' * 64}/{'b' * 63}.o", f"{'a' * 64}/{'b' * 64}.lock",
        f"{'a' * 64}.o", f"{'a' * 64}/main.o", f"{'a' * 63}/{'b' * 64}.o",
    ],
    "cute_aot": [
        f"{'a' * 64}/fwd/{'b' * 64}.o", f"{'a' * 64}/fwd/{'b' * 63}.o", f"{'a' * 64}/fwd/main.o",
        f"{'a' * 64}/fwd/{'b' * 64}.lock", f"{'a' * 64}/my/own/{'b' * 64}.o",
    ],
    "helion": [
        f"{'a' * 64}.best_config", f"{'a' * 63}.best_config", "mine.best_config", "mine.json",
        f"backward/helion_bwd_{'a' * 32}.py", f"backward/helion_bwd_{'a' * 31}.py",
        f"helion_bwd_{'a' * 32}.py", "backward/mine.py", f"old/{'a' * 64}.best_config",
    ],
    "torch_extensions": [
        "py311_cpu/mine/build.ninja", "py311_cpu/mine/mine.so", "py311_cpu/mine/main.cpp",
        "py311_cpu/inlined/lock", "py311_cpu/inlined/other.o", "py311_cpu/inlined/other.so",
        "py311_gpu/inlined/build.ninja", "inlined/build.ninja", "py311_cpu/build.ninja",
        "py311_cpu/inlined/old/main.cpp", "py311_cpu/inlined/notes.txt",
    ],
    "extensions": [
        "mine/build.ninja", "mine/mine.so", "plain/main.cpp", "plain/cuda.cu", "plain/lock",
        "plain/other.o", "plain/other.so", "build.ninja", "py311_cpu/plain/build.ninja",
    ],
    "torch/kernels": [
        f"my_op_arch9.0_nvrtc13.0_sass_1_{'a' * 40}", f"my_op_arch9.0_nvrtc13.0_sass_1_{'a' * 39}",
        f"my_op_{'a' * 40}", f"my_op_arch9.0_nvrtc13.0_sass_1_{'a' * 40}_tmp_mine", "kernel.cubin",
        f"old/my_op_arch9.0_nvrtc13.0_sass_1_{'a' * 40}",
    ],
    "torch_tensorrt_engine_cache": [
        f"{'a' * 153}/blob.bin", f"{'a' * 152}/blob.bin", "timing_cache.bin", "blob.bin",
        f"{'A' * 153}/blob.bin", "mine/blob.bin", f"{'a' * 153}/engine.bin",
    ],
    "sglang_jit": [
        f"sm90a/mine/build-{'a' * 16}/deps-{'b' * 16}/build.ninja", "sm90a/notes.txt",
        f"sm90a/sgl_kernel_jit_a/build-{'a' * 16}/deps-{'b' * 16}/cuda.cu",
        f"sm90a/sgl_kernel_jit_a/build-{'a' * 15}/deps-{'b' * 16}/build.ninja",
        f"sm90a/sgl_kernel_jit_add_one/build-{'a' * 16}/deps-{'b' * 16}/build.ninja",
        f"mine/sgl_kernel_jit_a/build-{'a' * 16}/deps-{'b' * 16}/sgl_deps.json", "build.ninja",
        f"sm90a/sgl_kernel_jit_a/build-{'a' * 16}/.staging-mine/cuda.cu",
    ],
    "flashinfer_autotune_cache": [
        f"0.7.2/sm90/{'a' * 16}/rank_tp0_pp0_dp0.json", f"0.7.2/sm90/{'a' * 16}/mine.json",
        f"{'a' * 64}/autotune_configs.json", f"v2/{'a' * 16}/manifest.json", "v2/manifest.json",
        f"v2/{'a' * 16}/entries/{'b' * 24}.json", f"v2/{'a' * 16}/entries/{'b' * 23}.json",
        "autotune_configs.json", f"flux3_prims_ts/H100/{'a' * 16}/rank0.json",
    ],
}  # fmt: skip


@pytest.mark.parametrize("cache", THERE)
def test_users_files_of_near_names_stay(machine: Path, cache: str) -> None:
    place = machine / cache
    before = {item.identity: item.names for item in items(place)}
    theirs = set(MINE[cache])
    for item in items(place):
        for file in item.files:
            folder = file.path.removesuffix(file.name)
            theirs |= {f"{folder}{name}" for name in near(file.name)}
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
    assert len(paths(place, "lock")) == (cache in LOCKED)
    assert {item.identity: item.names for item in items(place)} == before
    told = snapshot(place, only=theirs)
    assert purge(place) == []
    assert snapshot(place, only=theirs) == told
    assert below(place) == theirs | known_before
    undo(place)
    assert {item.identity: item.names for item in items(place)} == before


def test_what_a_build_names_is_told_in_a_time_that_grows_with_its_size() -> None:
    # In one pattern, of twice as much it takes four times as long: here hours
    once = b"-DTORCH_EXTENSION_NAME=a "
    begins = b"ninja_required_version = 1.3\ncxx = c++\n"
    _, tells = proofs.elsewhere("torch_extensions/a/b.o") or ("", lambda _: None)
    assert not tells(begins + once * 1_000_000)
    assert not tells(begins + b"build b.o: " + once)
    assert tells(begins + once + b"\n" * 60_000 + b"build b.o: ")


def test_a_name_in_a_form_stands_for_itself() -> None:
    build = "flashinfer/0.7/90a/cached_ops/a.b"
    assert known.locate(f"{build}/a.b.so") == ("jit", "a.b", build)
    for name in ("axb.so", "a.b", "a.ba.b.so", "\0.so", "\0"):
        assert known.locate(f"{build}/{name}") is None
    built = "torch_extensions/py311_cpu/a_v1"
    for name in ("a_v1", "a_v1.so", "a_v1_v2.so"):
        assert known.locate(f"{built}/{name}") == ("jit", "a_v1", built)
    assert known.locate(f"{built}/a.so") is None


def test_what_proves_it_is_found_among_many(tmp_path: Path) -> None:
    built = tmp_path / "torch_extensions" / "a"
    built.mkdir(parents=True)
    begins = "ninja_required_version = 1.3\ncxx = c++\n-DTORCH_EXTENSION_NAME=a \n"
    names = [f"o{number}.o" for number in range(10_050)]
    (built / "build.ninja").write_text(begins + "".join(f"build {name}: \n" for name in names[:9]))
    for name in names:
        (built / name).touch()
    (one,) = items(tmp_path)
    assert sorted(file.name for file in one.files) == ["build.ninja", *names[:9]]


@pytest.mark.parametrize("cache", THERE)
def test_what_nothing_proves_is_a_users(machine: Path, cache: str) -> None:
    """Each entry without the file that tells, and with another one of its name."""
    place, mine = machine / cache, paths(machine / cache, "jit")
    proofs = {made.path or path for path in mine if (made := known.proof(path))}
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
    driver = f"{machine}/.nv/ComputeCache"
    for name in {home[1:].partition("/")[0] for one in known.CACHES for home in one.homes} - {""}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(machine))
    monkeypatch.setenv("TMPDIR", str(machine / "tmp"))
    monkeypatch.setenv("USER", "ada")
    assert [x.path for x in places.find() if x.reason in known.REASONS] == [driver]
    monkeypatch.setenv("DG_JIT_CACHE_DIR", f"{machine}/nowhere:{machine}/deep_gemm")
    monkeypatch.setenv("FLASHINFER_WORKSPACE_BASE", str(machine / "workspace"))
    (machine / ".cache").mkdir()
    (machine / "tvm-ffi").rename(machine / ".cache" / "tvm-ffi")
    (machine / "tmp" / "ada").mkdir(parents=True)
    (machine / "quack_cache").rename(machine / "tmp" / "ada" / "quack_cache")
    found = {one.path: one.reason for one in places.find() if one.reason in known.REASONS}
    assert found == {
        f"{machine}/deep_gemm": "DG_JIT_CACHE_DIR",
        f"{machine}/{FLASHINFER}": "FLASHINFER_WORKSPACE_BASE",
        f"{machine}/.cache/tvm-ffi": "tvm-ffi",
        f"{machine}/tmp/ada/quack_cache": "QuACK",
        driver: "CUDA driver",
    }


def test_what_sglang_has_others_keep_is_found(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sglang/torch_compile_cache/0a1b2c3d4e"
    for path in ("sglang/inductor", "sglang/triton", "sglang/nv", f"{key}/rank_0_0"):
        (machine / path).mkdir(parents=True)
    (machine / "cute_aot").rename(machine / "sglang" / "cute_aot")
    (machine / "tilelang").rename(machine / "sglang" / "tilelang")
    monkeypatch.setenv("SGLANG_CACHE_DIR", str(machine / "sglang"))
    found = {x.path.removeprefix(f"{machine}/"): x.reason for x in places.find()}
    here = {path: reason for path, reason in found.items() if path.startswith("sglang/")}
    assert here == {
        "sglang/inductor": "SGLang", "sglang/triton": "SGLang", key: "SGLang",
        "sglang/nv": "SGLANG_CACHE_DIR", "sglang/cute_aot": "SGLANG_CACHE_DIR",
        "sglang/tilelang": "SGLANG_CACHE_DIR",
    }  # fmt: skip


def test_of_what_nobody_has_described_nothing_is_taken(machine: Path) -> None:
    """The CUDA driver's own: it is seen, with its size, and stays."""
    place = machine / ".nv" / "ComputeCache"
    mine = {"5/9/6ba9817ba7d857", "index"}
    before = snapshot(place, only=mine)
    assert paths(place, "unknown") == mine
    assert purge(place, insisted=True) == []
    assert snapshot(place, only=mine) == before
    for folder, code in ((place, "place-undescribed"), (machine / ".nv", "place-no-cache")):
        with pytest.raises(Problem, match=code):
            check_is_cache(str(folder), Strange(9, 9, 1, 1))


def test_it_counts_in_what_a_place_takes(tk: Tk, machine: Path) -> None:
    place = machine / ".nv" / "ComputeCache"
    for path in place.rglob("index"):
        path.write_bytes(bytes(40_000_000))
    ran = tk("overview", place, COLUMNS="200")
    [head, row] = [one for one in ran.out.splitlines() if one.startswith(("PLACE", str(place)))]
    assert "OTHER FILES" in head
    assert "40.0 MB" in row
    ran = tk("purge", place, "--dry-run")
    assert ran.code == 1
    assert "is the cache of the CUDA driver" in ran.err
    assert "CUDA_CACHE_MAXSIZE" in ran.err
    assert "Name the cache folder itself" not in ran.err


def test_nobody_is_said_to_need_one(tk: Tk, machine: Path, torch_python: str) -> None:
    place = machine / FLASHINFER
    key = min(items(place), key=lambda item: item.path).key
    ran = tk("explain", place, key, "--env", torch_python)
    assert ran.code == 0, ran
    assert ran.out.startswith("flashinfer ")
    assert "no verdict: Nobody can tell whether its compiler will use it." in ran.out
    assert "Written by: FlashInfer 0.7.2" in ran.out
    assert "GPU: 90a" in ran.out
    assert "needs it" not in ran.out
    ran = tk("check", place, "--env", torch_python)
    assert "without a verdict" in ran.out
    assert "other file" not in ran.out


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
    assert len(listed) == len(NAMED)
    kinds = {row["kind"]: row for row in tk("du", machine, "--json").objects if "kind" in row}
    assert kinds["jit"]["entries"] == len(NAMED)
    shown = tk("show", machine, "scale_f32").out
    assert "FlashInfer 0.7.2.post1" in shown
    assert "90a" in shown
    tk("purge", machine, "--filter", "kind:jit", "--yes")
    assert items(machine) == []
    tk("undo", machine)
    of_one = sum(str(x[0]).partition(":")[0] == "FlashInfer" for x in NAMED)
    chosen = "--filter", "kind:flashinfer", "--json"
    found = tk("ls", machine, *chosen).objects
    assert {row["name"].partition(":")[0] for row in found} == {"FlashInfer"}
    head, *words, _ = tk("ls", machine, "--filter", "kind:jit", "--columns", "kind").out.split("\n")
    assert words[:-1], head
    assert set(words[:-1]) <= known.COMPILERS.keys(), "the words that a filter takes"
    assert shown.split()[1] == "flashinfer"
    done = tk("purge", machine, *chosen, "--yes").result
    assert len(found) == done["entries"] == of_one
    assert len(items(machine)) == len(NAMED) - of_one
    tk("undo", machine)
    said = tk("overview", machine)
    rows = {line.split()[0]: line.split()[1] for line in said.out.splitlines() if line}
    assert (rows["flashinfer"], "jit" in rows) == (str(of_one), False)
    after = {path: about for path, about in snapshot(machine).items() if path != TRASH}
    assert after == before


def test_in_an_overview(machine: Path) -> None:
    with Engine() as engine:
        looked = Looked(engine, machine)
    rows = [row for row in looked.rows if row.get("kind") == "jit"]
    assert sum(row["entries"] for row in rows) == len(NAMED)
    by = {known.COMPILERS[row["compiler"]]: row["entries"] for row in rows}
    assert by == Counter(str(name).partition(":")[0] for name, *_ in NAMED)


def test_no_path_of_another_cache_is_one_of_these(serving: Path) -> None:
    for path in paths(serving, "jit"):
        assert layout.locate(path).kind == "jit"
    assert layout.locate("cache/" + "a" * 64).kind == "autotune"
