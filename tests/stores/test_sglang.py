"""Trees of SGLang's: known from wherever one looks, carried whole, and found by its own code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import sglang as wheel
from tests.cli.conftest import Tk, forks, tk
from tests.conftest import DATA, once, unpack_archive
from tests.stores.test_copying import carry, files
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines import probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.stores import places
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.verdict import sglang

__all__ = ["forks", "tk"]

FOLDER = "605d20c69e"
PART = f"torch_compile_cache/{FOLDER}/rank_0_0/backbone"


@pytest.fixture(scope="session")
def kept_sglang(shared: Path) -> Path:
    """What SGLang's backend wrote of a small model. Not to be changed."""

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "serving" / "sglang.tar.xz", folder)

    return once(shared, "sglang", unpack) / "sglang"


def kinds(place: Path) -> list[tuple[str, int]]:
    """The kinds of a place's entries, and how many files each has, but for locks."""
    items = Folder(str(place)).items(Report())
    return sorted((item.kind, len(item.files)) for item in items if item.kind != "lock")


def test_it_is_known_from_wherever_one_looks(kept_sglang: Path) -> None:
    every = kinds(kept_sglang)
    assert [kind for kind, _ in every] == ["code"] * 9 + ["fxgraph"]
    place = kept_sglang
    for part in Path(PART).parts:
        place /= part
        assert kinds(place) == every
    items = Folder(str(kept_sglang)).items(Report())
    [own] = [item for item in items if item.key == PART]
    names = [file.name.partition("_1")[0] for file in own.files]
    assert names == ["computation_graph", "sglang_compile_cache.py"]


def test_what_is_called_similarly_is_a_users(kept_sglang: Path, tmp_path: Path) -> None:
    part = Path(shutil.copytree(kept_sglang, tmp_path / "sglang")) / PART
    mine = {"computation_graph_1.py", "computation_graph_1795836473.py", "my_compile_cache.py",
            "computation_graph_1795836473.5.py.bak", "inductor_cache.py"}  # fmt: skip
    for name in mine:
        (part / name).write_text("class GraphModule(torch.nn.Module):")
    (part.parents[1] / "notes").mkdir()
    (part.parents[1] / "notes" / "sglang_compile_cache.py").write_text("{   (None, 0")
    (part / "computation_graph_1795836473.5.py").write_text("of mine")
    items = Folder(str(tmp_path / "sglang")).items(Report())
    theirs = {item.key for item in items if item.kind == "unknown"}
    assert theirs == mine | {"computation_graph_1795836473.5.py", "sglang_compile_cache.py"}


@pytest.mark.parametrize("by_bundle", [True, False])
def test_all_of_it_arrives(kept_sglang: Path, tmp_path: Path, by_bundle: bool) -> None:
    for place, target in ((kept_sglang, "a"), (kept_sglang / "torch_compile_cache", "b")):
        source = place
        if by_bundle:
            carry(place, tmp_path / f"{target}.torchcache")
            source = tmp_path / f"{target}.torchcache"
        _, left = carry(source, tmp_path / target)
        assert not left.codes
        assert files(tmp_path / target) == files(place)
        again, _ = carry(source, tmp_path / target)
        assert again.entries == 0


def test_two_lists_become_one(kept_sglang: Path, tmp_path: Path) -> None:
    """Nobody reads them again: what each names is there, or is not."""
    mine, theirs = (
        Path(shutil.copytree(kept_sglang, tmp_path / name)) / PART for name in ("mine", "theirs")
    )
    for part, number in ((mine, 1), (theirs, 2)):
        (part / "sglang_compile_cache.py").write_text(
            f"{{   (None, {number}, 'inductor'): (   'fabc', '/a/{number}.py')}}"
        )
    _, left = carry(tmp_path / "theirs", tmp_path / "mine")
    assert not left.codes
    assert (mine / "sglang_compile_cache.py").read_text() == (
        "{   (None, 1, 'inductor'): (   'fabc', '/a/1.py'),\n"
        "    (None, 2, 'inductor'): (   'fabc', '/a/2.py')}"
    )


def test_a_plain_cache_goes_where_a_rank_has_its_own(
    kept_sglang: Path, kept_291: Path, tmp_path: Path
) -> None:
    rank = Path(shutil.copytree(kept_sglang, tmp_path / "s")) / Path(PART).parent
    before = set(files(rank))
    carry(kept_291, rank)
    new = set(files(rank)) - before
    assert new and all(path.startswith("backbone/inductor_cache/") for path in new)


def test_it_is_purged_and_undone(kept_sglang: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(kept_sglang, tmp_path / "s"))
    folder, before = Folder(str(place)), files(place)
    plan = trash.Plan(folder.root, folder.items(Report()))
    trash.purge(plan, False, Report(), lambda item, why: pytest.fail(f"{item.key}: {why.code}"))
    assert [path for path in files(place) if not path.startswith(".")] == []
    trash.undo(str(place), Report(), lambda item, why: pytest.fail(f"{item.key}: {why.code}"))
    assert files(place) == before


def test_its_folders_are_found(
    kept_sglang: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a server of images lie elsewhere (``SGLANG_DIFFUSION_CACHE_ROOT``)."""
    images = tmp_path / "images" / "torch_compile_cache"
    (images / "inductor").mkdir(parents=True)
    (images / "triton").mkdir()
    monkeypatch.setenv("SGLANG_CACHE_DIR", str(kept_sglang))
    monkeypatch.setenv("SGLANG_DIFFUSION_CACHE_ROOT", str(tmp_path / "images"))
    found = {one.path for one in places.find() if one.reason == "SGLang"}
    key = (kept_sglang / PART).parent.parent
    assert found == {str(key), *(str(images / x) for x in ("inductor", "triton"))}
    monkeypatch.delenv("SGLANG_DIFFUSION_CACHE_ROOT")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "images").rename(tmp_path / "sgl_diffusion")
    found = {one.path for one in places.find() if one.reason == "SGLang"}
    assert str(tmp_path / "sgl_diffusion" / "torch_compile_cache" / "triton") in found


def test_the_name_of_its_folder() -> None:
    """As its own code made it with torch 2.13.0+cpu, whose sources have this hash."""
    system = {"hash": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
    key = "d34d1007edd62bb52cb10ffdeb5f6e36975ee877f120be2df6df7e8d3dd2e62c"
    assert sglang.folder({"system": system, "torch_key": key}) == FOLDER
    assert sglang.folder({"system": system, "torch_key": "no hash"}) == ""
    assert sglang.folder({"system": None, "torch_key": "0a" * 32}) == ""
    paths = [f"/a/{PART}/inductor_cache/ab/c.py", "/a/1a2b3c4d5e/rank_0_0/inductor_cache/x"]
    assert sglang.folders(paths) == {FOLDER}


@pytest.mark.torch
def test_check_says_where_it_looks(
    tk: Tk, kept_sglang: Path, tmp_path: Path, torch_python: str
) -> None:
    with Engine(torch_python) as engine:
        here = sglang.folder(probes.environment(torch_python, engine))
    place = Path(shutil.copytree(kept_sglang, tmp_path / "s"))
    keys = place / "torch_compile_cache"
    (keys / FOLDER).rename(keys / "0a1b2c3d4e")
    for looked in (place, keys, keys / "0a1b2c3d4e"):
        said = tk("check", looked, "--env", torch_python).err
        assert f"SGLang looks into {here} with this interpreter, and not into 0a1b2c3d4e" in said
        assert "vLLM" not in said
    told = tk("check", place, "--env", torch_python, "--json").result["sglang"]
    assert told == {"looks_for": here, "there": ["0a1b2c3d4e"]}
    (keys / "0a1b2c3d4e").rename(keys / here)
    assert "SGLang" not in tk("check", place, "--env", torch_python).err
    ran = tk("show", place)
    assert ran.code != 0 and "SGLang writes it nowhere" in ran.err


@pytest.mark.slow
@pytest.mark.torch
@wheel.needed
def test_sglang_finds_what_was_carried(tmp_path: Path, torch_python: str) -> None:
    """By PyTorch's key: of its own list it reads nothing. Its folder is called as we say."""
    own, counted = wheel.written(torch_python, tmp_path / "here")
    assert counted["fxgraph_cache_miss"] == 1
    with Engine(torch_python) as engine:
        assert own.name == sglang.folder(probes.environment(torch_python, engine))
    carry(tmp_path / "here", tmp_path / "b.torchcache")
    carry(tmp_path / "b.torchcache", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    (tmp_path / "there" / own.relative_to(tmp_path / "here") / "rank_0_0" / "backbone" /
     "sglang_compile_cache.py").unlink()  # fmt: skip
    _, counted = wheel.written(torch_python, tmp_path / "there")
    assert counted["fxgraph_cache_hit"] == 1 and "fxgraph_cache_miss" not in counted


@pytest.mark.slow
@wheel.needed
def test_where_sglang_has_others_keep_theirs(tmp_path: Path) -> None:
    """Each variable that it sets leads to where a cache is looked for."""
    ask = ("import json; from tests.sglang import environ; m = environ(); "
           "print(json.dumps([m.third_party_cache_defaults(), m.envs.SGLANG_DG_CACHE_DIR.get(), "
           "m.envs.SGLANG_CUTE_AOT_CACHE_DIR.get()]))")  # fmt: skip
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "SGLANG_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, check=True)
    variables, deep_gemm, cute = json.loads(done.stdout)
    assert {name: Path(value).relative_to(tmp_path).as_posix() for name, value in
            variables.items()} == {
        "TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "CUDA_CACHE_PATH": "nv", "TILELANG_CACHE_DIR": "tilelang",
        "FLASHINFER_WORKSPACE_BASE": ".",
    }  # fmt: skip
    assert (deep_gemm, cute) == (f"{tmp_path}/deep_gemm", f"{tmp_path}/cute_aot")
