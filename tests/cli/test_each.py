"""Everything that a server needs in one bundle, and each cache of it to where a machine has it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tk, forks, tk
from tests.snapshots import snapshot
from tests.stores.test_jit_carrying import mine
from tests.stores.test_jits import FLASHINFER, machine, paths, serving
from tests.vllm import tree
from torchkeeper.artifacts.jits import known
from torchkeeper.stores import caches
from torchkeeper.stores.caches import PYTORCH, TRITON, home_of

__all__ = ["forks", "machine", "serving", "tk"]

PLACES = ("deep_gemm", "tilelang", "tvm-ffi", FLASHINFER, "inductor", "kernels")


@pytest.fixture
def server(machine: Path, fixture_cache: Path, kernels: Path) -> Path:
    """A machine with caches of six compilers, of which two hold kernels of Triton."""
    shutil.copytree(fixture_cache, machine / "inductor")
    shutil.copytree(kernels, machine / "kernels")
    return machine


@pytest.fixture
def bare(home: Path) -> dict[str, str]:
    """The variables of a machine where nothing is yet. All tests of a process have its home at the
    same path: what a torch says of itself, which takes seconds, is kept by that too.
    """
    home = home.with_name("bare-home")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    names = {one[1:].partition("/")[0] for x in known.CACHES for one in x.homes if one[0] == "$"}
    unset = dict.fromkeys([*names, "TRITON_CACHE_DIR", "TRITON_HOME"], "")
    return {
        **unset, "HOME": str(home), "DG_JIT_CACHE_DIR": str(home / "dg"),
        "FLASHINFER_WORKSPACE_BASE": str(home / "work"),
        "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"),
        "VLLM_CACHE_ROOT": str(home / "models"),
    }  # fmt: skip


def bundle_of(tk: Tk, server: Path, bundle: Path) -> None:
    ran = tk("export", *(server / x for x in PLACES), "-o", bundle, "--json", "--allow-secrets")
    assert ran.code == 0, ran


def test_one_bundle_of_a_server_and_each_to_its_place(
    tk: Tk, server: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    bundle, root = tmp_path / "b.torchcache", Path(bare["HOME"])
    before = snapshot(server)
    plan = tk("export", *(server / x for x in PLACES), "-o", bundle, "--dry-run", "--json",
              "--allow-secrets")  # fmt: skip
    bundle_of(tk, server, bundle)
    assert snapshot(server) == before
    assert plan.result["size"] == bundle.stat().st_size
    dry = tk("import", bundle, "--into-each", "--dry-run", **bare)
    assert dry.code == 0, dry
    for title, path, why in (
        ("DeepGEMM", root / "dg", "DG_JIT_CACHE_DIR"),
        ("FlashInfer", root / "work" / ".cache" / "flashinfer", "FLASHINFER_WORKSPACE_BASE"),
        ("PyTorch", root / "inductor", "TORCHINDUCTOR_CACHE_DIR"),
        ("TileLang", root / ".tilelang" / "cache", "its default"),
        ("Triton", root / ".triton" / "cache", "its default"),
        ("tvm-ffi", root / ".cache" / "tvm-ffi", "its default"),
    ):
        [line] = [one for one in dry.out.splitlines() if one.startswith(f"  {title} ")]
        assert f"{path} ({why}" in line
        assert " new" in line
        assert not path.exists()
    # The plan comes first, and the entries only where somebody asks for them.
    assert dry.out.startswith("  DeepGEMM ")
    assert "KIND" not in dry.out
    assert "KIND" in tk("import", bundle, "--into-each", "--dry-run", "-v", **bare).out
    ran = tk("import", bundle, "--into-each", "--trust", "--json", **bare)
    assert ran.code == 0, ran
    told = {row["cache"]: row for row in ran.objects if "new" in row}
    assert set(told) == {"DeepGEMM", "FlashInfer", "PyTorch", "TileLang", "Triton", "tvm-ffi"}
    assert sum(row["new"] for row in told.values()) == ran.result["entries"]
    assert mine(root / "dg") == mine(server / "deep_gemm")
    assert mine(root / ".tilelang" / "cache") == mine(server / "tilelang")
    assert mine(root / ".cache" / "tvm-ffi") == mine(server / "tvm-ffi")
    assert mine(root / "work" / ".cache" / "flashinfer") == mine(server / FLASHINFER)
    assert {x.name for x in (root / ".triton" / "cache").glob("[!.]*")} == {
        x.name for x in (server / "kernels").iterdir() if (server / "kernels" / x).is_dir()
    }
    assert paths(root / "inductor", "fxgraph") == paths(server / "inductor", "fxgraph")
    again = tk("import", bundle, "--into-each", "--trust", "--json", **bare)
    assert (again.result["entries"], again.result["exists"]) == (0, ran.result["entries"])
    dry = tk("import", bundle, "--into-each", "--dry-run", **bare)
    lines = dry.out.splitlines()
    assert all(", nothing new" in line for line in lines[: len(told)])
    assert "Nothing in it is new" in lines[-1]


def test_without_trust_nothing_is_placed(
    tk: Tk, server: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    bundle_of(tk, server, tmp_path / "b.torchcache")
    ran = tk("import", tmp_path / "b.torchcache", "--into-each", "--json", **bare)
    assert ran.code == 2
    assert not list(Path(bare["HOME"]).iterdir())


@pytest.mark.slow
def test_where_one_cannot_be_written_the_others_before_it_stay(
    tk: Tk, server: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    bundle_of(tk, server, tmp_path / "b.torchcache")
    (tmp_path / "file").write_text("mine")
    bad = {**bare, "TILELANG_CACHE_DIR": str(tmp_path / "file")}
    ran = tk("import", tmp_path / "b.torchcache", "--into-each", "--trust", **bad)
    assert ran.code != 0
    assert "What was placed before stays: DeepGEMM, FlashInfer, PyTorch." in ran.err
    assert mine(Path(bare["HOME"]) / "dg") == mine(server / "deep_gemm")
    assert (tmp_path / "file").read_text() == "mine"


def test_what_has_no_home_stays_and_is_said(
    tk: Tk, server: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    bundle_of(tk, server, tmp_path / "b.torchcache")
    nowhere = {**bare, "HOME": "relative", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "i")}
    ran = tk("import", tmp_path / "b.torchcache", "--into-each", "--dry-run", **nowhere)
    [line] = [one for one in ran.out.splitlines() if one.startswith("  TileLang ")]
    assert "nothing on this machine says where" in line
    assert ran.code == 4
    assert "DG_JIT_CACHE_DIR" in ran.out
    # And a folder that is read-only holds nothing up because one works there.
    here = tmp_path / "work"
    here.mkdir()
    assert tk("places", "--protect", here, cwd=here, **nowhere).code == 0
    ran = tk("import", tmp_path / "b.torchcache", "--into-each", "--trust", cwd=here, **nowhere)
    assert ran.code == 4, ran
    assert not list(here.iterdir())


def test_what_vllm_keeps_goes_to_its_own_folder(
    tk: Tk, server: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    made = tree(tmp_path / "vllm", {}, ranks=("rank_0_0", "rank_1_0"))
    bundle, keys = tmp_path / "b.torchcache", made.parent
    asked = "export", keys, server / "deep_gemm", "-o", bundle, "--allow-secrets", "--json"
    ran = tk(*asked)
    assert ran.code == 0, ran
    dry = tk("import", bundle, "--into-each", "--dry-run", **bare)
    assert f"{bare['HOME']}/models/torch_compile_cache (VLLM_CACHE_ROOT, " in dry.out
    assert tk("import", bundle, "--into-each", "--trust", **bare).code == 0
    assert snapshot(Path(bare["HOME"]) / "models/torch_compile_cache").keys() >= {
        f"{made.name}/{rank}/backbone/cache_key_factors.json" for rank in ("rank_0_0", "rank_1_0")
    }
    assert mine(Path(bare["HOME"]) / "dg") == mine(server / "deep_gemm")


def test_an_extension_stays_that_pytorch_would_not_look_for(
    tk: Tk, server: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    bundle = tmp_path / "b.torchcache"
    ran = tk("export", server / "extensions", server / "deep_gemm", "-o", bundle, "--allow-secrets")
    assert ran.code == 0, ran
    ran = tk("import", bundle, "--into-each", "--trust", **bare)
    assert ran.code == 0, ran
    assert "PyTorch does not look for this extension there." in ran.out + ran.err
    assert not (Path(bare["HOME"]) / ".cache" / "torch_extensions" / "plain").exists()
    named = {**bare, "TORCH_EXTENSIONS_DIR": f"{bare['HOME']}/ext"}
    assert tk("import", bundle, "--into-each", "--trust", **named).code == 0
    assert mine(Path(bare["HOME"]) / "ext") == mine(server / "extensions")


def test_the_home_of_a_cache(tmp_path: Path) -> None:
    """By a variable of its own; else what is there; else its first default."""
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg")}

    def told(title: str) -> tuple[str, str, bool] | None:
        found = home_of(title, env)
        return (found.path, found.reason, found.there) if found else None

    assert told("DeepGEMM") == (f"{tmp_path}/.deep_gemm", "DeepGEMM", False)
    (tmp_path / ".cache" / "vllm" / "deep_gemm").mkdir(parents=True)
    assert told("DeepGEMM") == (f"{tmp_path}/.cache/vllm/deep_gemm", "DeepGEMM", True)
    env["DG_JIT_CACHE_DIR"] = f"{tmp_path}/a:{tmp_path}/b"
    assert told("DeepGEMM") == (f"{tmp_path}/a", "DG_JIT_CACHE_DIR", False)
    env["TRITON_CACHE_DIR"] = "relative"
    assert told(TRITON) is None
    del env["TRITON_CACHE_DIR"]
    env["TRITON_HOME"] = str(tmp_path)
    assert told(TRITON) == (f"{tmp_path}/.triton/cache", "triton-default", False)
    env["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path)
    assert told(PYTORCH) == (str(tmp_path), "TORCHINDUCTOR_CACHE_DIR", True)
    assert told("somebody's") is None
    assert caches.home_of("tvm-ffi", {}) is None
