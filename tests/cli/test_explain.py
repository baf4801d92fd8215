"""explain, with caches that torch and Triton wrote."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tk
from tests.conftest import DATA
from tests.redis_server import dump, serving

pytestmark = pytest.mark.torch


def keys(tk: Tk, place: object, kind: str = "fxgraph") -> dict[str, str]:
    """The names of the entries of a kind, and their keys."""
    listed = tk("ls", place, "--filter", f"kind:{kind}", "--json").objects
    return {str(one["name"]): str(one["key"]) for one in listed}


def test_one_entry_is_explained_in_full(tk: Tk, kept_291: Path, torch_python: str) -> None:
    key = next(iter(keys(tk, kept_291).values()))
    ran = tk("explain", kept_291, key[:14], "--env", torch_python)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"fxgraph  {key}  ")
    assert lines[1].startswith(f"stale in {torch_python}, torch 2.")
    assert lines[2] == "because of:"
    assert lines[3].startswith("  torch 2.9.1+cu128, here 2.")
    ran = tk("explain", kept_291, key, "--env", torch_python, "--json")
    (told,) = ran.objects
    assert (told["key"], told["verdict"], told["python"]) == (key, "stale", torch_python)
    assert told["reasons"][0]["entry"] == "2.9.1+cu128"


@pytest.mark.parametrize("words", [("abcdef12", "abcdef34"), ("abcdef12", "abcdef34", "fgh")])
def test_a_key_goes_after_its_place(tk: Tk, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = tk("explain", *words, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "There is no place abcdef12 here." in ran.err
    assert f"“torchkeeper explain PLACE {' '.join(words)}”" in ran.err
    # What is there, or is written as a path, is none.
    assert "There is no folder" in tk("explain", tmp_path / "cache", "abcdef34", cwd=Path("/")).err


def test_every_condition_is_told(tk: Tk, filled: Path, torch_python: str) -> None:
    key = next(iter(keys(tk, filled).values()))
    ran = tk("explain", filled, key, "--env", torch_python)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1].startswith(f"usable in {torch_python}")
    threads = "1" if (os.cpu_count() or 1) > 1 else "2"
    ran = tk("explain", filled, key, "--env", torch_python, OMP_NUM_THREADS=threads)
    assert ran.code == 0
    assert "only if the program has:" in ran.out
    assert f", here {threads}  (cpp_runtime_thread_count): set OMP_NUM_THREADS=" in ran.out


def test_two_versions_of_torch(tk: Tk, kept_291: Path, filled: Path) -> None:
    old = next(k for name, k in keys(tk, kept_291).items() if name.startswith("sin_matmul"))
    new = next(k for name, k in keys(tk, filled).items() if name.startswith("scaled_sum"))
    ran = tk("explain", kept_291, old, new, "--in", filled)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith(
        f"a  fxgraph  {old}  sin_matmul(f32[100, 100] ×2): mm, sin  torch 2.9.1+cu128  in "
    )
    assert lines[3].startswith("torch 2.9.1+cu128 against 2.")
    (told,) = tk("explain", kept_291, old, new, "--in", filled, "--json").objects
    assert told["sentence"] + "." == lines[3]
    assert told["differences"][0]["group"] == "torch"
    # Settings that only one of both knows are not called causes beside it; another line is.
    lacking = [one for one in told["differences"] if None in (one["a"], one["b"])]
    assert lacking and all(one["follows"] for one in lacking)
    assert "return" in told["graph"]["model_a"][0]
    assert [told[x]["place"] for x in ("a", "b")] == [str(kept_291), str(filled)]


def test_the_nearest_is_the_same_graph_of_another_shape(tk: Tk, kept_291: Path) -> None:
    # The fixture's program ran its model a second time, with another batch.
    found = [k for n, k in keys(tk, kept_291).items() if "gelu" in n and "backward" not in n]
    listed = tk("ls", kept_291, "--filter", "kind:fxgraph gelu -backward", "--json").objects
    assert len(listed) == 2
    (told,) = tk("explain", kept_291, found[0], "--nearest", "--json").objects
    assert {told["a"]["key"], told["b"]["key"]} == {one["key"] for one in listed}
    assert "batch" in told["sentence"] and "any size" in told["sentence"]
    graphs = list(keys(tk, kept_291, "aotautograd").values())
    (told,) = tk("explain", kept_291, graphs[0], "--nearest", "--json").objects
    assert told["b"]["kind"] == "aotautograd"
    assert told["b"]["torch"] == told["a"]["torch"] == "2.9.1+cu128"


@pytest.mark.slow
def test_an_entry_of_a_server_and_a_bundle(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    key = next(k for name, k in keys(tk, kept_291).items() if name.startswith("sin_matmul"))
    bundle = tmp_path / "b.torchcache"
    assert tk("export", "--allow-secrets", kept_291, "-o", bundle).code == 0
    with serving(tmp_path) as server:
        server.load(dump())
        (told,) = tk("explain", server.url, key, key, "--in", bundle, "--json").objects
        near = tk("explain", bundle, key, "--nearest", "--in", server.url, "--json").objects[0]
    assert told["sentence"] == "The factors that are recorded do not differ"
    assert near["b"]["key"] != key


def test_kernels_are_compared(tk: Tk, kernels: Path) -> None:
    (told,) = tk("explain", kernels, keys_of_kernels(tk, kernels)[0], "--nearest", "--json").objects
    assert "cuda" in told["sentence"] and "hip" in told["sentence"]
    assert {one["group"] for one in told["differences"]} >= {"gpu"}


def keys_of_kernels(tk: Tk, place: Path) -> list[str]:
    listed = tk("ls", place, "--filter", "kind:triton", "--json").objects
    return [one["key"] for one in listed if one["device"]]


@pytest.fixture
def wrong(tk: Tk, kept_291: Path, filled: Path) -> Iterator[list[tuple[list[Any], int, str]]]:
    """Commands that cannot be carried out, their exit codes, and what is said."""
    graph = next(iter(keys(tk, kept_291).values()))
    result = next(iter(keys(tk, kept_291, "aotautograd").values()))
    profile = next(iter(keys(tk, filled, "pgo").values()), None)
    yield [
        ([kept_291, "f", "--nearest"], 2, "keys start with “f”"),
        ([kept_291, "nothing", graph], 1, "No entry in"),
        ([kept_291, graph, "nothing"], 1, "No entry in"),
        ([kept_291, graph, result], 2, "cannot be compared with one of kind"),
        ([kept_291, graph, "--in", filled], 2, "--in goes with"),
        ([kept_291, graph, result, "--env", "python3"], 2, "--env goes with"),
        ([kept_291, graph, result, "--nearest"], 2, "not allowed with"),
        ([kept_291 / "nowhere", graph, result], 3, "There is no folder"),
        *([([filled, profile, "--nearest"], 1, "record nothing")] if profile else []),
    ]


def test_what_cannot_be_compared_says_why(tk: Tk, wrong: list[tuple[list[Any], int, str]]) -> None:
    for arguments, code, words in wrong:
        ran = tk("explain", *arguments)
        assert (ran.code, ran.out) == (code, ""), ran
        assert words in ran.err


def test_a_place_that_is_gone_does_not_stop_the_search(
    tk: Tk, kept_291: Path, tmp_path: Path
) -> None:
    key = next(iter(keys(tk, kept_291).values()))
    ran = tk("explain", kept_291, key, "--nearest", "--in", tmp_path / "gone")
    assert ran.code == 0
    assert "There is no folder" in ran.err


@pytest.mark.slow
def test_explain_names_exactly_what_was_changed(
    tk: Tk, torch_python: str, header_folder: Path, tmp_path: Path
) -> None:
    """Compiles anew what tests/data/changes.json keeps of torch 2.13.0."""
    from tests.client.test_explaining import SENTENCES

    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    env |= {"TMPDIR": str(header_folder), "OMP_NUM_THREADS": "2"}
    halves: dict[str, dict[str, str]] = {}
    for change in ("none", "shape", "dtype", "max_autotune", "threads", "precision", "line"):
        done = subprocess.run(
            [torch_python, str(DATA / "one_change.py"), change], capture_output=True, text=True,
            env={**env, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / change)}, check=True,
        )  # fmt: skip
        halves[change] = json.loads(done.stdout.splitlines()[-1])
    for change, sentences in SENTENCES.items():
        for half, sentence in zip(("forward", "backward"), sentences, strict=True):
            if change in halves:
                key = halves[change][half]
                ran = tk("explain", tmp_path / change, key, "--nearest", "--in", tmp_path / "none",
                         "--json")  # fmt: skip
                (told,) = ran.objects
                assert told["b"]["key"] == halves["none"][half]
                assert told["sentence"] == sentence
