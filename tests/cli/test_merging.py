"""Export of several places to one file: a mega-cache or a bundle, by its name."""

from __future__ import annotations

import gzip
import io
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import DATA, RunPlain
from tests.vllm import tree
from torchkeeper.artifacts import megacache
from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.layout import flat_pgo_key
from torchkeeper.cli.bundles import made_in


def artifacts(file: Path) -> list[tuple[str, str, bytes]]:
    """The type, key and payload of each artifact, in order."""
    data = file.read_bytes()
    return [
        (one.type, one.key, data[one.offset : one.offset + one.size])
        for one in megacache.artifacts(io.BytesIO(data))
    ]


def _give(payload: bytes, take: Callable[[bytes | memoryview], object]) -> None:
    take(payload)


def write(file: Path, some: list[tuple[str, str, bytes]]) -> Path:
    """A mega-cache as torch saves it, with a section for each type."""
    with open(file, "w+b") as stream:
        writer = megacache.Writer(stream)
        for name in dict.fromkeys(one[0] for one in some):
            writer.section(name)
            for _, key, payload in [one for one in some if one[0] == name]:
                writer.artifact(key, partial(_give, payload))
        writer.close()
    return file


@pytest.fixture
def stock(tmp_path: Path) -> list[tuple[str, str, bytes]]:
    """What torch 2.9.1 saved, without the profiles that later ones take the place of, which are
    named as their files are.
    """
    file = tmp_path / "stock.bin"
    file.write_bytes(gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes()))
    every = artifacts(file)
    last = {(kind, flat_pgo_key(key)): data for kind, key, data in every if kind == "pgo"}
    return [(*at, data) for at, data in last.items()] + [x for x in every if x[0] != "pgo"]


Stock = list[tuple[str, str, bytes]]


def test_two_mega_caches_become_one(tk: Tk, tmp_path: Path, stock: Stock) -> None:
    graphs = [one for one in stock if one[0] == "inductor"]
    first = write(tmp_path / "a.bin", [*graphs[:3], *(x for x in stock if x[0] == "pgo")])
    second = write(tmp_path / "b.bin", [x for x in stock if x not in graphs[:1]])
    made = tmp_path / "c.bin"
    foretold = tk("export", first, second, "-o", made, "--dry-run", "--allow-secrets", "--json")
    done = tk("export", first, second, "-o", made, "--allow-secrets", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.result["entries"] == foretold.result["entries"] == len(stock)
    assert done.result["size"] == foretold.result["size"] == made.stat().st_size
    assert done.result["left"] == foretold.result["left"] == []
    assert sorted(artifacts(made)) == sorted(stock)
    # Of two sections of a type torch takes the last alone.
    types = [one[0] for one in artifacts(made)]
    assert types == sorted(types, key=list(megacache.TYPE_OF_KIND.values()).index)
    assert tk("inspect", made, "--json").result["format"] == "mega-cache"


def test_where_two_differ_the_first_counts_and_that_is_said(
    tk: Tk, tmp_path: Path, stock: Stock
) -> None:
    tuned = ("autotune", f"ab/{'a' * 64}.best_config")
    profile = next(one for one in stock if one[0] == "pgo")
    other = (*profile[:2], next(x[2] for x in stock if x[0] == "inductor"))
    first = write(tmp_path / "a.bin", [(*tuned, b'{"XBLOCK": 1}'), profile])
    second = write(tmp_path / "b.bin", [(*tuned, b'{"XBLOCK": 2}'), other])
    for order in ((first, second), (second, first)):
        made = tmp_path / f"{order[0].stem}-first.bin"
        done = tk("export", *order, "-o", made, "--filter", "kind:autotune", "--json")
        assert done.code == 0
        assert artifacts(made) == artifacts(order[0])[:1]
        ((code, file),) = [(x["code"], x["file"]) for x in done.result["left"]]
        assert (code, file) == ("named-before", str(order[1]))
    said = tk("export", first, second, "-o", tmp_path / "c.bin", "--filter", "kind:autotune")
    assert "A place that is named before has another payload of this key" in said.err


def test_what_vllm_compiled_is_for_no_mega_cache(tk: Tk, tmp_path: Path) -> None:
    made = tmp_path / "c.bin"
    done = tk("export", tree(tmp_path / "vllm", {}).parent, "-o", made, "--json")
    assert done.code == 1 and not made.exists()
    assert {one["code"] for one in done.result["left"]} == {"kind-not-in-mega-cache"}


def test_of_the_profiles_of_one_program_the_last_goes(tk: Tk, tmp_path: Path) -> None:
    """As PyTorch loads them, one after the other."""
    file = tmp_path / "stock.bin"
    file.write_bytes(gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes()))
    profiles = [data for kind, _, data in artifacts(file) if kind == "pgo"]
    assert len(set(profiles)) > 1
    for command in ("export", "copy"):
        made = tmp_path / f"{command}.torchcache"
        to = ["-o", made] if command == "export" else [made]
        done = tk(command, file, *to, "--allow-secrets", "--json")
        assert done.code == 0
        assert {one["code"] for one in done.result["left"]} == {"superseded"}
        with zipfile.ZipFile(made) as archive:
            (tmp_path / "in.bin").write_bytes(archive.read("mega-cache.bin"))
        kept = [data for kind, _, data in artifacts(tmp_path / "in.bin") if kind == "pgo"]
        assert kept == profiles[-1:]


def test_a_folder_and_a_mega_cache_become_a_bundle(
    tk: Tk, tmp_path: Path, kept_291: Path, stock: Stock
) -> None:
    mega = write(tmp_path / "a.bin", stock)
    folder = Path(shutil.copytree(kept_291, tmp_path / "cache"))
    made, alone = tmp_path / "c.torchcache", tmp_path / "d.torchcache"
    assert tk("export", folder, "-o", alone, "--allow-secrets").code == 0
    done = tk("export", mega, folder, "-o", made, "--allow-secrets", "--json")
    assert done.code == 0
    inside = tk("inspect", made, "--json").objects[:-1]
    names = [(one["kind"], one["key"], one["sha256"]) for one in inside]
    both = tk("inspect", mega, "--json").objects[:-1] + tk("inspect", alone, "--json").objects[:-1]
    wanted = {(one["kind"], one["key"], one["sha256"]) for one in both}
    taken = {(kind, key) for kind, key, _ in names}
    assert len(set(names)) == len(names)
    assert taken == {(kind, key) for kind, key, _ in wanted}
    # It goes in whole, and what it holds is as it was.
    assert tk("import", made, "--into", tmp_path / "t", "--trust").code == 0
    for path in folder.glob("fxgraph/*/*/*"):
        assert (tmp_path / "t" / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_a_bundle_of_several_origins_names_them(
    tk: Tk, tmp_path: Path, kept_291: Path, kept_215: Path
) -> None:
    parts = []
    for number, place in enumerate((kept_291, kept_215 / "cache")):
        parts.append(tmp_path / f"{number}.torchcache")
        ran = tk("export", place, "-o", parts[-1], "--filter", "kind:fxgraph", "--allow-secrets")
        assert ran.code == 0, ran
    both, same = tmp_path / "both.torchcache", tmp_path / "same.torchcache"
    assert tk("export", *parts, "-o", both, "--allow-secrets").code == 0
    assert tk("export", parts[0], parts[0], "-o", same, "--allow-secrets").code == 0
    [line] = [x for x in tk("inspect", both).out.splitlines() if x.startswith("  made in")]
    # Graphs of torch 2.15 for the CPU record none.
    assert line.endswith("  torch 2.9.1+cu128, and graphs that do not say by which torch")
    told = [Entry("fxgraph", "f", None, 1, 1, torch=one) for one in ("2.9.1", "2.13.0", "2.9.1")]
    assert made_in(None, told) == "torch 2.13.0, torch 2.9.1"
    assert made_in(None, []) == "not known"
    [line] = [x for x in tk("inspect", same).out.splitlines() if x.startswith("  made in")]
    assert line.startswith("  made in  torch 2.9.1")
    ran = tk("import", both, "--into", tmp_path / "new", "--trust")
    assert ran.code == 0
    assert "“torchkeeper undo " in ran.err


def test_a_mega_cache_says_what_it_cannot_hold(tk: Tk, tmp_path: Path, kept_291: Path) -> None:
    made = tmp_path / "c.bin"
    done = tk("export", kept_291, "-o", made, "--allow-secrets", "--json")
    assert done.code == 0
    left = {(one["kind"], one["code"]) for one in done.result["left"]}
    assert ("code", "kind-not-in-mega-cache") in left
    assert {name for name, *_ in artifacts(made)} <= set(megacache.KIND_OF_TYPE)
    refused = tk("export", kept_291, "-o", made, "--sign", "nokey")
    assert refused.code == 2
    assert "A mega-cache cannot be signed." in refused.err


def test_a_source_that_cannot_be_read_leaves_what_is_there(
    tk: Tk, tmp_path: Path, stock: Stock
) -> None:
    first = write(tmp_path / "a.bin", stock)
    (tmp_path / "b.bin").write_bytes(first.read_bytes()[:-7])
    made = tmp_path / "c.bin"
    made.write_bytes(b"before")
    done = tk("export", first, tmp_path / "b.bin", "-o", made, "--allow-secrets")
    assert done.code == 1
    assert "b.bin" in done.err
    assert made.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.bin", "b.bin", "c.bin", "stock.bin",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.torch
def test_stock_torch_hits_what_either_had(tk: Tk, tmp_path: Path, run_plain: RunPlain) -> None:
    script = "some_of_two.py"
    for name in ("rise", "fall"):
        cold = run_plain(tmp_path / name, str(tmp_path / f"{name}.bin"), name, script=script)
        assert cold["misses"] and not cold["hits"]
    alone = run_plain(tmp_path / "alone", str(tmp_path / "rise.bin"), "rise", "fall", script=script)
    assert alone["misses"], "one mega-cache has not what the other has"
    made = tmp_path / "both.bin"
    done = tk("export", tmp_path / "rise.bin", tmp_path / "fall.bin", "-o", made, "--json")
    assert done.code == 0
    both = run_plain(tmp_path / "both", str(made), "rise", "fall", script=script)
    assert (both["misses"], both["aot_misses"]) == (0, 0)
    assert both["hits"] or both["aot_hits"] == 2
    assert both["taken"]["aot_autograd"] == 2
