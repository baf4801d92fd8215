"""A verification of several variants: which runs each has, what they share, and what they come
to.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.warm.conftest import Filled, Recorder
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import verified
from torchkeeper.client.words import verifying
from torchkeeper.engine import protocol
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.warm.options import RUNS
from torchkeeper.warm.ran import Ground, Ran, Used, led_to
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.verify import of_variant, runs_of, told


def variant(index: int, source: str = "callable", **more: Any) -> Variant:
    return Variant(index, "recipe", f"variant {index}", source, **more)


def run(seconds: float, hits: int = 0, misses: int = 0, **more: Any) -> Ran:
    counts: Any = {"graphs": hits + misses, "hits": hits, "misses": misses, "bypasses": 0}
    about = {"autograd": {"hits": hits, "misses": 0}, "device": "cpu", "threads": 2, "torch": "2"}
    return Ran(counts | about | {"seconds": seconds}, **more)


def test_what_each_source_is_run_with() -> None:
    assert runs_of(variant(0), RUNS, False) == list(RUNS)
    # Of several, the header is there for all of them.
    assert runs_of(variant(0), RUNS, True) == ["cold", "mega", "warm"]
    assert runs_of(variant(0), ["prepared"], True) == ["warm"]
    for source in ("eager", "triton"):
        assert runs_of(variant(0, source), RUNS, False) == ["cold", "warm"]
    assert runs_of(variant(0, "script"), RUNS, False) == ["cold", "warm", "prepared"]


def test_sums_and_each_by_itself() -> None:
    miss = {"id": "0/0", "name": "f", "outcome": "miss", "why": {"code": "nothing"}}
    runs: list[dict[str, Ran]] = [
        {"cold": run(8, misses=2), "warm": run(2, hits=2)},
        {"cold": run(4, misses=1), "warm": run(4, misses=1, graphs=[miss], built=["a.so"])},
        {"cold": run(100, misses=1)},
    ]
    problem: Any = {"code": "inputs-refused", "params": {"why": "no", "where": "m.py:3"}}
    rows = [
        of_variant(variant(index), one, problem if index == 2 else None)
        for index, one in enumerate(runs)
    ]
    assert [row["good"] for row in rows] == [True, False, False]
    assert [row["ratios"] for row in rows] == [{"warm_cold": 4.0}, {"warm_cold": 1.0}, {}]
    result = told(runs, rows)
    assert (result["hits"], result["misses"], result["rebuilt"]) == (2, 1, 1)
    assert (result["good"], result["runs"]["cold"]["misses"]) == (False, 4)
    # One that has no run with the target makes the others neither faster nor slower.
    assert result["ratios"] == {"warm_cold": 2.0}
    assert result["rows"] == [{**miss, "variant": 1}]
    kept = verified.checked(json.loads(json.dumps(result)))
    assert verified.checked(kept) == kept
    assert kept["variants"][1]["why"] == kept["rows"][0]["why"] == "No graph was there"
    assert verifying.verdict(kept) == "Not good: 2 of 3 variants"
    assert verifying.outcome(kept).startswith("1 of 3 variants is good.")
    said = [verifying.of_variant(one) for one in kept["variants"]]
    assert said[:2] == ["good", "nothing hit"]
    assert "m.py:3" in verifying.why_of_variant(kept["variants"][2])


def test_however_many_variants_there_are_the_result_fits_a_line() -> None:
    runs = {"warm": run(1, misses=1)}
    why = {"code": "said", "text": "x" * 400}
    rows: Any = [{**of_variant(variant(index), runs, None), "why": why} for index in range(10_000)]
    result = told([runs] * len(rows), rows)
    assert len(json.dumps(result)) < protocol.MAX_LINE
    assert len(result["variants"]) > 100
    assert result["misses"] == len(rows)


def test_what_was_counted_is_called_what_it_is_of_all_variants() -> None:
    """Also of those that the result has no room for."""
    sources = ["callable", "eager", "triton", "triton"]
    runs = [{"warm": run(1, hits=2)}, *({"warm": run(1, hits=1)} for _ in sources[1:])]
    rows = [
        of_variant(variant(index, source), one, None)
        for index, (source, one) in enumerate(zip(sources, runs, strict=True))
    ]
    result = told(runs, rows)
    assert result["things"] == {"graphs": 2, "eager": 1, "triton": 2}
    assert result["whole"] == {"variants": 4, "good": 4}
    kept = verified.checked(json.loads(json.dumps({**result, "variants": result["variants"][:2]})))
    assert verifying.outcome(kept).startswith(
        "4 of 4 variants are good. Good: of 2 graphs, 1 eager kernel and 2 Triton kernels 5 hits"
    )
    del kept["things"], kept["whole"]
    older = verified.checked(kept)
    assert (older["things"], older["whole"]) == ({"graphs": 5}, {"variants": 2, "good": 2})
    one = told(runs[1:2], rows[1:2])
    assert verifying.outcome(verified.checked(one)).startswith("Good: of 1 eager kernel 1 hit,")


def test_nothing_came_of_any() -> None:
    rows = [of_variant(variant(0), {}, {"code": "disk-full", "params": {}})]
    result = told([{}], rows)
    assert (result["good"], result["hits"], result["runs"]) == (False, 0, {})
    assert verified.checked(result)["device"] == ""


@pytest.mark.parametrize("change", ["source", "proof", "problem", "seconds"])
def test_a_variant_that_is_none_is_not_kept(change: str) -> None:
    runs = {"warm": run(1, hits=1)}
    result: Any = told([runs], [of_variant(variant(0), runs, None)])
    verified.checked(result)
    result["variants"][0][change] = 7
    with pytest.raises(ValueError, match=r"."):
        verified.checked(result)


def test_variants_share_a_copy_until_one_changes_it(kept_291: Path, tmp_path: Path) -> None:
    source = Folder(str(kept_291))
    items = source.items(Recorder())
    ground = Ground(source, items, Used(), str(tmp_path), True, None)
    cache = tmp_path / "warm" / "cache"
    ground.copy(str(cache), Recorder())
    first = os.stat(cache).st_ino
    (cache / "locks").mkdir()
    (cache / "locks" / "x.lock").touch()
    (tmp_path / "tmp" / "torchinductor_me" / "precompiled_headers").mkdir(parents=True)
    (tmp_path / "tmp" / "torchinductor_me" / "other").mkdir()
    (tmp_path / "tmp" / "mine").touch()
    ground.clear("warm")
    left = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "tmp").rglob("*"))
    assert left == ["tmp/torchinductor_me", "tmp/torchinductor_me/precompiled_headers"]
    ground.copy(str(cache), Recorder())
    assert os.stat(cache).st_ino == first
    added = cache / "fxgraph" / "new"
    added.touch()
    ground.copy(str(cache), Recorder())
    assert not added.exists()


def test_where_kernels_alone_are_looked_for(triton_cache: Path, tmp_path: Path) -> None:
    """A cache of Triton's own, and one below a place of PyTorch's."""
    items = Folder(str(triton_cache)).items(Recorder())
    assert led_to(str(triton_cache), items, {"triton"}) == Used(triton="")
    (tmp_path / "place" / "triton").mkdir(parents=True)
    triton_cache.rename(tmp_path / "place" / "triton" / "0")
    items = Folder(str(tmp_path / "place")).items(Recorder())
    assert led_to(str(tmp_path / "place"), items, {"triton"}) == Used()


@pytest.mark.torch
@pytest.mark.slow
def test_a_miss_is_explained(
    built: Filled, torch_python: str, header_folder: Path, tmp_path: Path
) -> None:
    """The recipe's first graph, for other sizes: PyTorch's own record of the key says what."""
    (tmp_path / "model.py").write_text("def sin_matmul(x, y):\n    return x.sin() @ y\n")
    matrix = {"shape": [60, 60], "dtype": "float32"}
    item = {"function": "model.py:sin_matmul", "inputs": [matrix, matrix]}
    asked = {
        "place": str(built.place),
        "recipes": [{"name": "r", "folder": str(tmp_path), "data": {"callable": [item]}}],
        "runs": ["warm"],
        "portable": True,
        "scratch": str(tmp_path),
    }
    with Engine(torch_python, {"TMPDIR": str(header_folder)}) as engine:
        result = verified.checked(engine.call("verify", asked))
    [one] = result["variants"]
    assert (one["good"], one["misses"]) == (False, 1)
    [row] = result["rows"]
    assert row["outcome"] == "miss"
    assert "60" in row["why"]
    assert one["why"] == row["why"]
    assert any(row["why"] in text for text in verifying.advice(result))
