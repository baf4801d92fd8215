"""Trees of vLLM's, carried whole: from a folder, by way of a bundle, to where vLLM looks."""

from __future__ import annotations

import ast
import json
import os
import pprint
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from tests import vllm as wheel
from tests.redis_server import serving
from tests.sampling import sampled
from tests.snapshots import below
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
    for path in [one for one in below(folder) if one.name == INDEX]:
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


def some_of(caches: Path, target: Path, pieces: set[str]) -> Path:
    """A copy of a place whose lists know some of the pieces, which alone are there."""
    shutil.copytree(caches, target)
    for path in target.rglob("artifact_*"):
        if path.name not in pieces:
            path.unlink()
    for path in target.rglob(INDEX):
        every = ast.literal_eval(path.read_text())
        kept = {key: one for key, one in every.items() if one["graph_handle"][0] in pieces}
        text = pprint.PrettyPrinter(indent=4).pformat(kept)
        path.write_text(text.replace(str(caches), str(target)))
    return target


PIECES = [f"artifact_compile_range_{x}" for x in ("1_8192_subgraph_0", "1_8192_subgraph_1",
                                                  "16_16_subgraph_0")]  # fmt: skip


@pytest.mark.parametrize("by_bundle", [True, False])
def test_two_lists_of_one_key_become_one(caches: Path, tmp_path: Path, by_bundle: bool) -> None:
    mine = some_of(caches, tmp_path / "mine", set(PIECES[:2]))
    source = theirs = some_of(caches, tmp_path / "theirs", set(PIECES[1:]))
    if by_bundle:
        carry(theirs, tmp_path / "b.torchcache")
        source = tmp_path / "b.torchcache"
    before = indexed(mine)
    done, left = carry(source, mine)
    assert set(left.codes) <= {"kind-not-portable"}
    assert done.entries >= 2  # a piece of each rank, and the lists
    found = indexed(mine)
    # Those that were there come first, as they were.
    assert [name for name, _ in found] == PIECES * 2
    assert [one for one in found if one in before] == before
    assert all(Path(path).is_file() and path.startswith(str(mine)) for _, path in found)
    assert set(files(mine)) == set(files(caches))
    again, _ = carry(source, mine)
    assert again.entries == 0
    assert indexed(mine) == found


def test_a_list_that_is_none_stays(caches: Path, tmp_path: Path) -> None:
    """And a piece that is another here and there."""
    mine = some_of(caches, tmp_path / "mine", set(PIECES[:2]))
    theirs = some_of(caches, tmp_path / "theirs", set(PIECES[1:]))
    spoilt, *_ = sorted(mine.rglob(INDEX))
    spoilt.write_text("{   ((1, 8192), 0, 'inductor_standalone'): open('/etc/passwd')}")
    other = next(theirs.rglob(PIECES[1]))
    other.write_bytes(other.read_bytes() + b"another")
    _, left = carry(theirs, mine)
    assert left.codes.count("key-taken") == 2
    assert "open(" in spoilt.read_text()
    whole = [path for path in below(mine) if path.name == INDEX and path != spoilt]
    assert [name for path in whole for name, _ in indexed(path.parent)] == PIECES


def test_what_is_no_file_stays(caches: Path, tmp_path: Path) -> None:
    """A pipe, which nobody waits for, and a link."""
    mine = some_of(caches, tmp_path / "mine", set(PIECES[:2]))
    pipe, link = sorted(mine.rglob(INDEX))
    pipe.unlink()
    os.mkfifo(pipe)
    text = link.rename(tmp_path / "list").read_bytes()
    link.symlink_to(tmp_path / "list")
    _, left = carry(some_of(caches, tmp_path / "theirs", set(PIECES[1:])), mine)
    assert left.codes.count("key-taken") == 2
    assert pipe.is_fifo() and link.is_symlink()
    assert (tmp_path / "list").read_bytes() == text


def test_a_list_takes_no_piece_that_does_not_come(caches: Path, tmp_path: Path) -> None:
    mine = some_of(caches, tmp_path / "mine", set(PIECES[:1]))
    theirs = some_of(caches, tmp_path / "theirs", set(PIECES[1:]))
    for path in theirs.rglob(PIECES[2]):
        path.unlink()
    carry(theirs, mine)
    assert [name for name, _ in indexed(mine)] == PIECES[:2] * 2


def test_what_a_list_may_be() -> None:
    """Only what vLLM writes so: nothing is run, and none takes long."""
    one = b"((1, 8), 0, 'a'): {'graph_handle': ('artifact_x', '/a (b), {c}/artifact_x')}"
    two = b"((9, 16), 0, 'a'): {'graph_handle': ('artifact_y', '/a/artifact_y')}"
    made = vllm.merged(b"{" + one + b"}", b"{   " + two + b"}\n", lambda name: name == "artifact_y")
    assert made is not None and ast.literal_eval(made.decode()) == {
        **ast.literal_eval(f"{{{one.decode()}}}"), **ast.literal_eval(f"{{{two.decode()}}}")
    }  # fmt: skip
    begin = b"{((1, 2), 3, 'a'): {"
    for evil in (b"", b"{}", b"{" + one, b"{" + one + b",", b"[" + one + b"]",
                 b"{" + one.replace(b"'/a", b"f'/a") + b"} + x", begin + b"(" * 100_000,
                 begin + b"''" * 300_000, (begin[1:] + b"},\n") * 50_000,
                 begin + (b" " * 8000 + b"(" + b" " * 8000 + b")") * 9 + b" " * 9000):  # fmt: skip
        assert vllm.merged(evil, b"{" + two + b"}", bool) is None, evil[:100]


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
