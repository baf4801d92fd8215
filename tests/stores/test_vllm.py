"""Trees of vLLM's, carried whole: from a folder, by way of a bundle, to where vLLM looks."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from tests import vllm as wheel
from tests.redis_server import serving
from tests.sampling import sampled
from tests.stores.test_copying import carry, files
from tests.vllm import tree
from torchkeeper.artifacts import vllm

INDEX = "vllm_compile_cache.py"
MODEL = "torch_aot_compile/" + "0a" * 32


@pytest.fixture
def caches(kept_291: Path, tmp_path: Path) -> Path:
    """The folder of all of vLLM's caches, with a key of two ranks, which have a cache each."""
    key = tree(tmp_path / "vllm", {}, ranks=("rank_0_0", "rank_1_0"))
    for rank in key.iterdir():
        shutil.copytree(kept_291, rank / "inductor_cache")
    return tmp_path / "vllm"


@pytest.fixture
def whole(caches: Path, vllm_rank: Path, other_kinds: Path) -> Path:
    """The same with what torch and Triton write now, and a model compiled ahead."""
    keys = caches / "torch_compile_cache"
    assert vllm_rank.parent.parent == keys
    (keys / MODEL / "rank_0_0").mkdir(parents=True)
    shutil.copy(other_kinds / "temporary" / "model", keys / MODEL / "rank_0_0")
    shutil.copytree(vllm_rank / "inductor_cache", keys / MODEL / "inductor_cache")
    carry(caches, caches.with_name("again"))  # where kernels know their folders
    return caches.with_name("again")


def told(place: Path) -> dict[str, bytes]:
    """The files of a place; in those that name others, the place is said as such."""
    found = files(place)
    for name, data in found.items():
        if "__grp__" in name:
            children = json.loads(data)["child_paths"]
            assert all(map(os.path.isfile, children.values()))
            found[name] = b" ".join(sorted(child.encode() for child in children))
        elif name.endswith(INDEX):
            found[name] = data.replace(str(place).encode(), b"PLACE")
    return found


def indexed(folder: Path) -> list[tuple[str, str]]:
    """Of each list of pieces what it names."""
    found = []
    for path in sorted(folder.rglob(INDEX)):
        for one in ast.literal_eval(path.read_text()).values():
            found.append(one["graph_handle"])
    return found


def arrives(source: Path, target: Path, bundle: Path | None) -> None:
    """All of a place in another, as it is, and no more when it is asked for once more."""
    whence = source
    if bundle:
        carry(source, bundle)
        whence = bundle
    _, left = carry(whence, target)
    assert set(left.codes) <= {"kind-not-portable"}
    assert told(target) == told(source)
    again, _ = carry(whence, target)
    assert again.entries == 0
    # Nor is anything new of it where it came from: what names its folder is the same.
    done, _ = carry(target, source)
    assert done.entries == 0


@sampled("by_bundle", [True, False], most=1)
def test_all_of_a_key_arrives(caches: Path, tmp_path: Path, by_bundle: bool) -> None:
    bundle = tmp_path / "b.torchcache" if by_bundle else None
    arrives(caches / "torch_compile_cache", tmp_path / "there", bundle)
    paths = indexed(tmp_path / "there")
    assert len(paths) == 6 and all(Path(path).is_file() for _, path in paths)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("by_bundle", [True, False])
def test_all_of_keys_and_models_arrives(whole: Path, tmp_path: Path, by_bundle: bool) -> None:
    bundle = tmp_path / "b.torchcache" if by_bundle else None
    arrives(whole, tmp_path / "there", bundle)
    assert (tmp_path / "there" / "torch_compile_cache" / MODEL / "rank_0_0" / "model").is_file()


def test_the_folder_of_all_keys_is_found(caches: Path, tmp_path: Path) -> None:
    """Whether the place is that folder or the one above it, on either side."""
    bundle = tmp_path / "b.torchcache"
    carry(caches, bundle)
    carry(bundle, tmp_path / "a" / "torch_compile_cache")
    carry(caches / "torch_compile_cache", tmp_path / "c.torchcache")
    carry(tmp_path / "c.torchcache", tmp_path / "b" / "vllm")
    names = set(files(caches))
    assert set(files(tmp_path / "a")) == set(files(tmp_path / "b" / "vllm")) == names


def test_a_server_gets_what_it_can_hold(caches: Path, kept_291: Path, tmp_path: Path) -> None:
    """The graphs of two ranks are one there, as of a cache alone."""
    with serving(tmp_path / "a") as alone, serving(tmp_path / "b") as server:
        carry(kept_291, alone.url)
        _, left = carry(caches / "torch_compile_cache", server.url)
        assert set(left.codes) <= {"kind-not-in-redis", "kind-not-portable", "newer-goes"}
        own, other = (frozenset(cast("list[bytes]", one("KEYS", "*"))) for one in (alone, server))
        assert own == other != frozenset()


def piece(python: str, what: str, folder: Path) -> str:
    """What vLLM's own manager says of a piece there; it has it compiled with ``save``."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    command = [python, "-m", "tests.vllm_pieces", what, str(folder)]
    env = {
        **os.environ,
        "PYTHONPATH": path,
        "TORCHINDUCTOR_CACHE_DIR": str(folder.parents[3] / "c"),
    }
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.torch
@wheel.needed
def test_vllm_finds_what_was_carried(tmp_path: Path, torch_python: str) -> None:
    """By name, as since 0.32; and the path in the list, which earlier ones take, is where it is."""
    keys = tmp_path / "here" / "torch_compile_cache"
    part = Path("1a2b3c4d5e", "rank_0_0", "backbone")
    (keys / part).mkdir(parents=True)
    saved = piece(torch_python, "save", keys / part)
    carry(keys, tmp_path / "b.torchcache")
    there = tmp_path / "there" / "torch_compile_cache"
    carry(tmp_path / "b.torchcache", there)
    own, other = told(keys), told(there)
    shutil.rmtree(tmp_path / "here")
    assert piece(torch_python, "load", there / part) == saved
    assert len(own) == 2 and other == own
    assert [Path(path).is_file() for _, path in indexed(there)] == [True]


def test_paths_of_pieces() -> None:
    text = (
        b"{   ((1, 8), 0, 'inductor_standalone'): {   'cache_key': 'a',\n"
        b"        'graph_handle': (   'artifact_x', '/old/rank_0_0/backbone/artifact_x')}}"
    )
    told = vllm.index_for(text, "/new root")
    assert ast.literal_eval(told.decode())[(1, 8), 0, "inductor_standalone"] == {
        "cache_key": "a", "graph_handle": ("artifact_x", "/new root/artifact_x"),
    }  # fmt: skip
    assert vllm.index_for(told, "") == text.replace(b"/old/rank_0_0/backbone/", b"")
    # What nobody can write as vLLM would stays as it is, and so does what is no piece.
    assert vllm.index_for(text, "/it's") == text
    code = b"{((1, 8), 0, 'inductor'): {'graph_handle': ('fabc', '/a/inductor_cache/ab/cab.py')}}"
    assert vllm.index_for(code, "/new") == code
