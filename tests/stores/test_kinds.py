"""Every kind that PyTorch caches, as torch wrote it: listed, purged, moved, and never unknown."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Unpack

import pytest
from filelock import FileLock

from tests.conftest import DATA, RunPlain
from tests.snapshots import snapshot
from tests.stores.building import import_bundle
from torchkeeper.artifacts.entry import WITHOUT_VERDICT, Entry, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.explaining import told
from torchkeeper.engine.detail import Details, Full
from torchkeeper.engine.messages import Select
from torchkeeper.engine.session import Session, chosen_of
from torchkeeper.stores import places
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.export import export
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folders import receipts, trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.locks import in_use
from torchkeeper.stores.folders.receipts import parted
from torchkeeper.stores.items import Item, OnDisk
from torchkeeper.stores.reader import Reader


def described(place: Path, full: bool = False) -> list[Described]:
    folder = Folder(str(place))
    with Reader() as reader:
        batches = describe(folder.items(Report()), folder, reader, Report(), full=full)
        return [one for batch in batches for one in batch]


def entries(place: Path, kind: str | None = None) -> list[Entry]:
    return [one.entry for one in described(place) if kind in (None, one.entry.kind)]


def chosen(place: Path, **select: Unpack[Select]) -> list[Described]:
    session = Session()
    try:
        return chosen_of(session, Folder(str(place)), select, Report())
    finally:
        session.close()


def never(item: Item, problem: Problem) -> None:
    raise AssertionError(f"{item.path} was left: {problem}")


def exported(source: Path, bundle: Path) -> list[tuple[str, str]]:
    """Export a place; what the bundle could not hold."""
    left: list[tuple[str, str]] = []
    folder = Folder(str(source))
    export(
        described(source),
        folder,
        str(bundle),
        Report(),
        lambda item, problem: left.append((item.kind, problem.code)),
    )
    return left


def moved(source: Path, target: Path, bundle: Path) -> list[tuple[str, str]]:
    """Export one place and import it into another; what the bundle could not hold."""
    left = exported(source, bundle)
    with Bundle(str(bundle), Report()) as opened:
        assert opened.refused == []
        import_bundle(opened, str(target), Report(), never)
    return left


def test_nothing_is_unknown(
    kept_291: Path, filled: Path, kernels: Path, other_kinds: Path, vllm_rank: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "mega-cache.bin"
    saved.write_bytes(gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes()))
    with Bundle(str(saved), Report()) as bundle:
        assert bundle.refused == []
        assert len(bundle.items()) > 10
    temporary = other_kinds / "temporary"
    for place in (
        kept_291,
        filled,
        kernels,
        other_kinds / "cache",
        temporary / "cache" / "mine",
        next(temporary.glob("torchinductor_*")),
        vllm_rank,
    ):
        found = entries(place)
        assert found
        assert not [e for e in found if e.kind == "unknown" or e.problem]
        assert len({e.identity for e in found}) == len(found)


def test_a_precompiled_function(other_kinds: Path) -> None:
    (one,) = [
        one for one in described(other_kinds / "cache", full=True) if one.entry.kind == "precompile"
    ]
    assert (one.entry.name, one.entry.torch, one.entry.device) == ("wave", "2.13.0+cpu", "cpu")
    assert one.entry.path == f"dynamo/{one.entry.key}"
    assert (one.facts["variants"], one.facts["graphs"]) == (2, 2)
    facts: Any = one.facts
    assert facts["python"].startswith("3.")
    assert facts["functions"][0].startswith("wave at ")
    json.dumps(one.facts)


@pytest.mark.slow
def test_a_precompiled_function_hits_elsewhere(
    other_kinds_now: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    target = tmp_path / "target"
    left = moved(other_kinds_now / "cache", target, tmp_path / "a.torchcache")
    assert {kind for kind, _ in left} <= {"aoti_eager", "lock", "code"}
    key = entries(target, "precompile")[0].key
    caches = (other_kinds_now / "cache", target)
    here, there = (place / "dynamo" / key / "entry" for place in caches)
    assert there.read_bytes() == here.read_bytes()
    assert run_plain(target, "again", script="other_kinds.py")["dynamo_cache"] == {
        "dynamo_cache_hit": 1
    }


@pytest.mark.slow
def test_what_is_kept_is_what_torch_writes(other_kinds: Path, other_kinds_now: Path) -> None:
    """But for what is named by a digest of where it was compiled."""

    def told(place: Path) -> Counter[tuple[object, ...]]:
        return Counter(
            (e.kind, None if e.kind in WITHOUT_VERDICT else e.name, e.torch, e.device, e.problem)
            for e in entries(place)
        )

    for folder in ("cache", "temporary"):
        assert told(other_kinds / folder) == told(other_kinds_now / folder)


def test_a_stock_mega_cache_brings_it(other_kinds: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with Bundle(str(other_kinds / "temporary" / "mega-cache.bin"), Report()) as bundle:
        assert bundle.refused == []
        import_bundle(bundle, str(target), Report(), never)
    found, wanted = entries(target, "precompile"), entries(other_kinds / "cache", "precompile")
    assert [(e.path, e.sha256) for e in found] == [(e.path, e.sha256) for e in wanted]


def test_each_eager_kernel_is_an_entry(other_kinds: Path) -> None:
    found = [o for o in described(other_kinds / "cache") if o.entry.kind == "aoti_eager"]
    assert sorted(str(o.entry.name) for o in found) == [
        "aten::abs(f32[4, 8])",
        "aten::abs(f64[3])",
        "aten::add.Tensor(f32[4, 8], f32[4, 8], 2)",
    ]
    for one in found:
        assert (one.entry.device, one.entry.problem) == ("cpu", None)
        assert [f for f in one.item.files if f.path.endswith(str(one.facts["library"]))]
    # The list is counted once.
    listed = [one.item for one in described(other_kinds / "cache")]
    files = Counter(file.path for item in listed for file in item.files)
    assert set(files.values()) == {1}
    on_disk = [p for p in (other_kinds / "cache").rglob("*") if p.is_file()]
    assert len(files) == len(on_disk)


def test_an_eager_kernel_is_the_same_wherever_it_stands(other_cache: Path) -> None:
    before = {e.path: e.name for e in entries(other_cache, "aoti_eager")}
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    conf.write_text(json.dumps(json.loads(conf.read_text())[::-1]))
    assert {e.path: e.name for e in entries(other_cache, "aoti_eager")} == before
    conf.write_text(json.dumps(json.loads(conf.read_text()) * 2))
    again = entries(other_cache, "aoti_eager")
    assert len(again) == 5
    assert len({e.identity for e in again}) == 5


def test_a_library_that_is_missing_or_cut(other_cache: Path) -> None:
    library = next((other_cache / "aoti_eager").rglob("*.wrapper.so"))
    library.write_bytes(library.read_bytes()[:5000])
    assert [e.problem for e in entries(other_cache, "aoti_eager") if e.problem] == [
        "object-truncated"
    ]
    library.unlink()
    assert [e.problem for e in entries(other_cache, "aoti_eager") if e.problem] == [
        "library-missing"
    ]


def full_of(place: Path, entry: Entry) -> Full:
    with Reader() as reader:
        return Details().of(reader, Folder(str(place)), entry.kind, entry.path, Report())


def test_one_entry_alone_is_what_the_listing_said(other_kinds: Path, vllm_rank: Path) -> None:
    for place in (other_kinds / "cache", vllm_rank):
        for entry in entries(place):
            if entry.kind in ("aoti_eager", "precompile", "autotune", "ondisk", "fxgraph"):
                alone = full_of(place, entry).entry
                assert (alone.name, alone.size, alone.problem) == (entry.name, entry.size, None)


def test_a_kernel_is_taken_off_its_list_and_comes_back(other_cache: Path) -> None:
    before = snapshot(other_cache, times=False)
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, second = json.loads(conf.read_text())
    (entry,) = [e for e in entries(other_cache, "aoti_eager") if "f64[3]" in str(e.name)]
    taken = chosen(other_cache, items=[("aoti_eager", entry.path)])
    assert [o.entry.name for o in taken] == ["aten::abs(f64[3])"]
    assert len(chosen(other_cache, filter="add.Tensor kind:aoti_eager")) == 1
    plan = trash.Plan(str(other_cache), [one.item for one in taken])
    done = trash.purge(plan, False, Report(), never)
    assert (done.entries, done.files) == (1, OnDisk(plan.items).files)
    assert json.loads(conf.read_text()) == [first]
    assert not (conf.parent / second["kernel_path"]).exists()
    left = entries(other_cache, "aoti_eager")
    assert [e.name for e in left] == [
        "aten::abs(f32[4, 8])",
        "aten::add.Tensor(f32[4, 8], f32[4, 8], 2)",
    ]
    assert not [e for e in left if e.problem]
    (receipt,) = receipts.in_trash(str(other_cache))
    assert receipt["entries"] == 1
    back = trash.undo(str(other_cache), Report(), never)
    assert (back.entries, back.files) == (1, OnDisk(plan.items).files)
    assert snapshot(other_cache, times=False) == before


def test_the_first_of_a_list_goes_without_it(other_cache: Path) -> None:
    """At once, and for good: the list stays, with what is left of it."""
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, second = json.loads(conf.read_text())
    (one,) = [o for o in described(other_cache) if "aten::abs(f32[4, 8])" in str(o.entry.name)][:1]
    assert conf.name in [file.name for file in one.item.files]
    items = parted(str(other_cache), [one.item])
    plan = trash.Plan(str(other_cache), items)
    assert OnDisk(plan.items).files == len(one.item.files) - 1
    done = trash.purge(plan, True, Report(), never)
    assert (done.entries, done.files, done.bytes) == (
        1,
        OnDisk(plan.items).files,
        OnDisk(plan.items).bytes,
    )
    assert json.loads(conf.read_text()) == [second]
    assert not (conf.parent / first["kernel_path"]).exists()
    again: list[str] = []
    trash.purge(plan, True, Report(), lambda item, problem: again.append(problem.code))
    assert again == ["entry-changed"]


def test_a_kernel_without_its_library_is_taken_off_alone(other_cache: Path) -> None:
    """Until then PyTorch takes none of its list."""
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, second = json.loads(conf.read_text())
    for path in conf.parent.glob(second["kernel_path"].partition(".")[0] + ".*"):
        path.unlink()
    (one,) = [o for o in described(other_cache) if o.entry.problem == "library-missing"]
    done = trash.purge(trash.Plan(str(other_cache), [one.item]), False, Report(), never)
    assert (done.entries, done.files) == (1, 0)
    assert json.loads(conf.read_text()) == [first]
    back = trash.undo(str(other_cache), Report(), never)
    assert back.entries == 1
    assert json.loads(conf.read_text()) == [first, second]
    assert receipts.in_trash(str(other_cache)) == []


def test_what_took_its_place_meanwhile_stays(other_cache: Path) -> None:
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, second = json.loads(conf.read_text())
    (one,) = [o for o in described(other_cache) if "f64[3]" in str(o.entry.name)]
    trash.purge(trash.Plan(str(other_cache), [one.item]), False, Report(), never)
    newer = {**second, "kernel_path": first["kernel_path"]}
    conf.write_text(json.dumps([first, newer]))
    left: list[str] = []
    trash.undo(str(other_cache), Report(), lambda item, problem: left.append(problem.code))
    assert left == ["path-taken"]
    assert json.loads(conf.read_text()) == [first, newer]
    conf.write_text(json.dumps([first]))
    trash.undo(str(other_cache), Report(), never)
    assert json.loads(conf.read_text()) == [first, second]


def test_a_library_that_two_of_a_list_name_stays_for_the_other(other_cache: Path) -> None:
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, second = json.loads(conf.read_text())
    shared = {**second, "kernel_path": first["kernel_path"]}
    conf.write_text(json.dumps([first, shared]))
    ones = [o for o in described(other_cache) if str(o.entry.name).startswith("aten::abs")]
    done = trash.purge(trash.Plan(str(other_cache), [ones[0].item]), True, Report(), never)
    assert (done.entries, done.files) == (1, 0)
    assert (conf.parent / first["kernel_path"]).exists()
    (left,) = [e for e in entries(other_cache) if str(e.name).startswith("aten::abs")]
    assert left.problem is None


@pytest.mark.parametrize("turned", [False, True])
def test_a_purge_counts_as_its_plan_did(other_cache: Path, turned: bool) -> None:
    """Also where the list goes with several entries, of which one has lost its library; and
    whichever of them comes first.
    """
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    if turned:
        conf.write_text(json.dumps(json.loads(conf.read_text())[::-1]))
    library = next((other_cache / "aoti_eager").rglob("*.wrapper.so"))
    for path in library.parent.glob(f"{library.name.partition('.')[0]}.*"):
        path.unlink()
    before = snapshot(other_cache)
    taken = chosen(other_cache, filter="kind:aoti_eager")
    plan = trash.Plan(str(other_cache), [one.item for one in taken])
    paths = {file.path for item in plan.items for file in item.files}
    assert (len(plan.items), OnDisk(plan.items).files) == (3, len(paths))
    done = trash.purge(plan, False, Report(), never)
    assert (done.entries, done.files) == (3, OnDisk(plan.items).files)
    assert not [path for path in paths if (other_cache / path).exists()]
    (receipt,) = receipts.in_trash(str(other_cache))
    assert (receipt["entries"], receipt["files"]) == (3, OnDisk(plan.items).files)
    back = trash.undo(str(other_cache), Report(), never)
    assert (back.entries, back.files) == (3, OnDisk(plan.items).files)
    assert snapshot(other_cache) == before
    plan = trash.Plan(str(other_cache), [one.item for one in taken])
    trash.purge(plan, False, Report(), never)
    gone = trash.empty(str(other_cache), Report(), never)
    assert (gone.entries, gone.files) == (3, OnDisk(plan.items).files)


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "{}", '[{"kernel_path": 5}]', '[{"meta_info": 1}]', "[" * 100_000]
)
def test_a_bad_list_is_one_broken_entry(other_cache: Path, content: str) -> None:
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    conf.write_text(content)
    broken = [e for e in entries(other_cache) if e.problem]
    assert [e.kind for e in broken] == ["aoti_eager"]
    assert broken[0].problem in ("payload-unreadable", "payload-empty")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../../fxgraph/x", "lib/../../x", "lib", "", "lib//x", "lib/./x"]
)
def test_a_library_is_never_looked_for_elsewhere(other_cache: Path, path: str) -> None:
    conf = other_cache / "aoti_eager" / "aten" / "cpu" / "abs.json"
    listed = json.loads(conf.read_text())
    conf.write_text(json.dumps([{**listed[0], "kernel_path": path}]))
    (one,) = [o for o in described(other_cache) if str(o.entry.name).startswith("aten::abs")]
    assert [file.path for file in one.item.files] == ["aoti_eager/aten/cpu/abs.json"]
    assert one.entry.problem == "library-missing"


def test_gemm_choices(other_kinds: Path, tmp_path: Path) -> None:
    (entry,) = entries(other_kinds / "cache", "autotune")
    assert entry.name == "GEMM choices for a system without a GPU"
    assert full_of(other_kinds / "cache", entry).facts["choices"] == 2
    left = moved(other_kinds / "cache", tmp_path / "target", tmp_path / "a.torchcache")
    assert "autotune" not in {kind for kind, _ in left}
    (there,) = entries(tmp_path / "target", "autotune")
    assert (there.path, there.sha256) == (entry.path, entry.sha256)


def test_values_of_generic_caches(other_kinds: Path) -> None:
    (mine,) = described(other_kinds / "temporary" / "cache" / "mine")[:1]
    assert (mine.entry.kind, mine.entry.name) == ("ondisk", "str of 4")
    assert (mine.facts["prefix"], mine.facts["version"]) == ("5feceb66", 0)
    folder = next((other_kinds / "temporary").glob("torchinductor_*"))
    kinds = Counter(e.kind for e in entries(folder))
    assert kinds == {"ondisk": 2, "lock": 1}
    (remembered,) = [e for e in entries(folder, "ondisk") if "/memo/" in e.path]
    assert (remembered.name, remembered.problem) == ("dict of 2", None)


def test_a_bad_value_is_broken(tmp_path: Path) -> None:
    """Where it begins as one: what does not is anybody's."""
    for number, data in enumerate((b"\x5f\xec\xeb\x66", b"\x5f\xec\xeb\x66junk", b"", b"\x5f\xec")):
        (tmp_path / f"{number:032x}").write_bytes(data)
    found = {e.key[-1]: (e.kind, e.problem) for e in entries(tmp_path)}
    assert found["0"] == found["1"] == ("ondisk", "payload-unreadable")
    assert found["2"] == found["3"] == ("unknown", None)


def test_a_rank_of_vllm(vllm_rank: Path, filled: Path, kernels: Path) -> None:
    found = entries(vllm_rank)
    inside = Counter(e.kind for e in found if e.path.startswith("inductor_cache/"))
    assert inside == Counter(e.kind for e in entries(filled))
    triton = [e for e in found if e.path.startswith("triton_cache/")]
    assert sorted(str(e.device) for e in triton if e.kind == "triton") == sorted(
        str(e.device) for e in entries(kernels) if e.kind == "triton"
    )
    own = [e for e in found if e.path.startswith("backbone/")]
    assert Counter(e.kind for e in own) == {
        "code": 2, "precompile": 1, "fxgraph": 1, "aotautograd": 1,
    }  # fmt: skip
    (graph,) = [e for e in own if e.files == 3]
    assert graph.name == "vLLM's graph and key factors"
    full = full_of(vllm_rank, graph)
    assert "cache_key_factors.json" in full.texts()
    assert full.facts["hashes"] == {"code": "c", "compiler": "d"}
    assert [(fact.label, fact.values) for fact in told("code", full.facts)] == [
        ("Code hash", ["c"]), ("Compiler hash", ["d"]),
    ]  # fmt: skip
    for bad in ("{", '{"code_hash": 3}', '{"env": ' + "[" * 100_000):
        (vllm_rank / "backbone" / "cache_key_factors.json").write_text(bad)
        again = full_of(vllm_rank, graph)
        assert (again.entry.problem, again.facts["hashes"]) == (None, {})


@pytest.mark.slow
def test_a_rank_moves_to_a_cache_and_back(
    vllm_rank: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    target = tmp_path / "target"
    left = moved(vllm_rank, target, tmp_path / "a.torchcache")
    # vLLM's own files and the sources of a piece; a piece that is packed.
    assert Counter(pair for pair in left if pair[0] != "lock") == {
        ("code", "part-of-artifact"): 2,
        ("precompile", "part-of-artifact"): 1,
    }
    assert run_plain(target)["misses"] == 0
    rank = tmp_path / "rank_0_1"
    for name in ("inductor_cache", "triton_cache"):
        (rank / name).mkdir(parents=True)
    moved(target, rank, tmp_path / "b.torchcache")
    assert {p.name for p in rank.iterdir()} == {"inductor_cache", "triton_cache"}
    assert run_plain(rank / "inductor_cache")["misses"] == 0
    files = [
        {p.relative_to(place) for p in (place / "triton_cache").rglob("*.cubin")}
        for place in (rank, vllm_rank)
    ]
    assert files[0] == files[1] != set()
    assert not [e for e in entries(rank) if e.problem]


@pytest.fixture
def vllm_root(vllm_rank: Path, other_kinds: Path) -> Path:
    """vLLM's whole folder: two ranks of one model, and another that was compiled ahead."""
    caches = vllm_rank.parent.parent
    other = vllm_rank.parent / "rank_1_0"
    shutil.copytree(vllm_rank / "backbone", other / "eagle_head")
    model = caches / "torch_aot_compile" / ("ab" * 32)
    (model / "rank_0_0").mkdir(parents=True)
    shutil.copytree(vllm_rank / "inductor_cache", model / "inductor_cache")
    shutil.copy(other_kinds / "temporary" / "model", model / "rank_0_0" / "model")
    (caches.parent / "modelinfos").mkdir()
    (caches.parent / "modelinfos" / "vllm-model_executor-models-llama.json").write_text("{}")
    (caches.parent / "gpu_p2p_access_cache_for_0,1.json").write_text("{}")
    return caches.parent


@pytest.mark.slow
def test_every_folder_of_vllm_is_a_place(vllm_root: Path) -> None:
    rank = entries(vllm_root / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0")
    model = "torch_compile_cache/torch_aot_compile/" + "ab" * 32
    for folder in (
        ".",
        "torch_compile_cache",
        "torch_compile_cache/1a2b3c4d5e",
        "torch_compile_cache/1a2b3c4d5e/rank_0_0",
        "torch_compile_cache/1a2b3c4d5e/rank_1_0",
        "torch_compile_cache/1a2b3c4d5e/rank_0_0/backbone",
        "torch_compile_cache/torch_aot_compile",
        model,
        f"{model}/rank_0_0",
    ):
        found = entries(vllm_root / folder)
        assert found
        assert not [e.path for e in found if e.kind == "unknown" or e.problem]
        assert len({e.identity for e in found}) == len(found)
        inside = "1a2b3c4d5e/rank_0_0/"
        kinds = Counter(e.kind for e in found if inside in e.path)
        assert not kinds or kinds == Counter(e.kind for e in rank)
        for one in found:
            if one.kind == "precompile" or "vLLM's" in str(one.name):
                assert full_of(vllm_root / folder, one).entry == one
    keys = {e.key for e in entries(vllm_root / "torch_compile_cache") if "vLLM's" in str(e.name)}
    assert keys == {"1a2b3c4d5e/rank_0_0/backbone", "1a2b3c4d5e/rank_1_0/eagle_head"}


def test_a_model_that_was_compiled_ahead(vllm_root: Path, tmp_path: Path) -> None:
    place = vllm_root / "torch_compile_cache" / "torch_aot_compile" / ("ab" * 32) / "rank_0_0"
    (whole,) = described(place, full=True)
    assert (whole.entry.kind, whole.entry.name, whole.entry.torch) == (
        "precompile", "wave", "2.13.0+cpu",
    )  # fmt: skip
    facts: Any = whole.facts
    assert facts["functions"][0].startswith("wave at ")
    left = exported(place, tmp_path / "a.torchcache")
    assert left == [("precompile", "part-of-artifact")]
    (place / "model").write_bytes((place / "model").read_bytes()[:900])
    assert [e.problem for e in entries(place)] == ["payload-unreadable"]
    other = tmp_path / "anything"
    shutil.copytree(place, other)
    assert [e.kind for e in entries(other)] == ["unknown"], "a model may be anybody's"


def test_a_rank_of_vllms_folder_moves_to_a_cache(vllm_root: Path, tmp_path: Path) -> None:
    """Of a rank alone; what is all of vLLM's stays where vLLM looks for it (test_vllm.py)."""
    rank = vllm_root / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    moved(rank, tmp_path / "target", tmp_path / "a.torchcache")
    graphs = {e.path for e in entries(rank / "inductor_cache", "fxgraph")}
    assert graphs and {e.path for e in entries(tmp_path / "target", "fxgraph")} >= graphs
    moved(vllm_root, tmp_path / "whole", tmp_path / "b.torchcache")
    within = rank.relative_to(vllm_root) / "inductor_cache"
    assert {e.path for e in entries(tmp_path / "whole" / within, "fxgraph")} == graphs


MODULE, MODEL = "c" + "ab" * 25 + "c", "c" + "de" * 25 + "f"


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        (f"ab/{MODULE}.debug/output_code.py", "code", None),
        (f"{MODEL}/{MODULE}/CMakeLists.txt", "code", None),
        (f"{MODEL}/{MODULE}/{MODULE}.weights.o", "code", None),
        (f"{MODEL}/custom_objs_config.json", "code", None),
        (f"ab/{MODULE}.halide/generate_kernel.py", "code", None),
        (f"halide-runtime-host-{MODULE[1:]}/hooks.cpp", "code", None),
        ("cutedsl_compile_cache/" + "0a" * 32 + ".o", "code", None),
        ("cutedsl_compile_cache/tmp0a1b2c3d.o.tmp", "lock", "tmp0a1b2c3d.o.tmp"),
        ("unhashed_kernel_inputs/triton_run_0/tensor_0.pt", "code", None),
        (f"tmp0bcd_01x/ab/{MODULE}.py", "lock", f"{MODULE}.py"),
        ("bisect/inductor/lowerings_run_state.txt", "lock", "lowerings_run_state.txt"),
        ("bisect/inductor/cudagraphs_bisect_range.txt", "lock", "cudagraphs_bisect_range.txt"),
    ],
)
def test_what_lies_beside_the_entries(tmp_path: Path, path: str, kind: str, name: str) -> None:
    place = tmp_path / "place"
    (place / path).parent.mkdir(parents=True)
    (place / path.partition("/")[0]).chmod(0o700)
    said = {
        "run_state.txt": "bisect", "bisect_range.txt": "low=1\nhigh=-2\n",
        "0.pt": "PK\3\4" + 26 * "." + "tensor_0/data.pkl",
    }  # fmt: skip
    (place / path).write_text(said.get(path.rpartition("/")[2].split("_", 1)[-1], "# nothing\n"))
    (one,) = entries(place)
    assert (one.kind, one.name, one.problem, one.files) == (kind, name, None, 1)
    assert full_of(place, one).entry == one
    if kind == "code":
        assert exported(place, tmp_path / "a.torchcache") == [("code", "part-of-artifact")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("artifact_shape_None_subgraph_0", "mine"),
        ("a/b/artifact_compile_range_1_8_subgraph_0", "mine"),
        ("aoti_eager/ns/cpu/mm.json", '{"mine": 1}'),
        (f"{'0a' * 32}/layer.npubin", "mine"),
        (f"{'0a' * 32}/layer.mcfatbin", "mine"),
        ("cache/.١٢.١٢٣٤٥٦٧.tmp", ""),
        (f"ab/{MODULE}.halide/.١٢.١٢.tmp", ""),
        ("autoheuristic/mine/notes.txt", '{"name": "mine"}'),
        ("halide-runtime-host-mine/done", ""),
        ("rank_0_0/computation_graph.py", "class GraphModule:\n    mine = 1\n"),
        ("foo/rank_0_0/transformed_code.py", "mine = 1\n"),
        ("63/exp_run_1/tensor_0.pt", "mine"),
        ("unhashed_kernel_inputs/exp_run_1/tensor_0.pt", "mine"),
        (f"tmp_project/ab/{MODULE}.py", "# one's own\n"),
        (f"tmp_results/ab/{MODULE}.py", "# one's own\n"),
        (f"tmp_folder1/ab/{MODULE}.py", "# one's own\n"),
        (f"tmp0bcd_01x/ab/{MODULE}.py", "# of a folder that all may look into\n"),
    ],
)  # fmt: skip
def test_what_is_called_as_a_writer_calls_its_own(tmp_path: Path, path: str, text: str) -> None:
    place = tmp_path / "place"
    (place / path).parent.mkdir(parents=True)
    (place / path).write_text(text)
    (place / path).with_suffix(".json").write_text(text)
    (place / "aoti_eager/ns/cpu/lib").mkdir(parents=True)
    (place / "foo/rank_0_0").mkdir(parents=True, exist_ok=True)
    (place / "foo/rank_0_0/vllm_compile_cache.py").touch()
    assert {one.kind for one in entries(place) if "vllm" not in one.path} == {"unknown"}


def test_a_cache_in_use_is_no_temporary_one(tmp_path: Path, kept_291: Path) -> None:
    """Whatever it is called: a compile without caches keeps no graphs."""
    cache = tmp_path / "tmp0bcd_01x"
    shutil.copytree(kept_291, cache)
    cache.chmod(0o700)
    assert "lock" not in {one.kind for one in entries(tmp_path)}


def test_collected_measurements(tmp_path: Path) -> None:
    for path, text in (
        ("configs_0a1b2c3d.json", b'["{\\"gemm_kind\\": 0}", "{}"]'),
        (
            "autoheuristic/NVIDIA_H200/pad_mm.txt",
            b'{"shared_memory": 1, "name": "pad_mm", "numerical_features": []}\nm,k,n\n',
        ),
        ("memoizer_cache.json", b'{"collections": {"should_pad": {"a": {}}}, "cache_size": 1}'),
        ("cache/" + "0a" * 16, b"\x5f\xec\xeb\x66"),
        ("cache/dir.lock", b""),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text)
    assert {e.path.rpartition("/")[2]: (e.kind, e.name, e.problem) for e in entries(tmp_path)} == {
        "configs_0a1b2c3d.json": ("autotune", "2 operations of CUTLASS", None),
        "pad_mm.txt": ("autotune", "measurements for pad_mm", None),
        "memoizer_cache.json": ("ondisk", "1 remembered calls of should_pad", None),
        "0a" * 16: ("ondisk", None, "payload-unreadable"),
        "dir.lock": ("lock", "dir.lock", None),
    }


def test_links_of_torch_are_not_broken(tmp_path: Path) -> None:
    place, away = tmp_path / "place", tmp_path / "away"
    (place / "torch_cutlass").mkdir(parents=True)
    away.mkdir()
    (place / "torch_cutlass" / "cutlass_library").symlink_to(away)
    (place / "ab").mkdir()
    (place / "ab" / f"{MODULE}.py").symlink_to(away)
    found = {e.key: (e.kind, e.problem) for e in entries(place)}
    assert found == {
        "cutlass_library": ("code", None),
        f"{MODULE}.py": ("unknown", "not-a-file"),
    }


def test_a_compile_without_caches_leaves_one_thing(tmp_path: Path, kernels: Path) -> None:
    place, old = tmp_path / "place", tmp_path / "place" / "tmp0a1b2c3d"
    shutil.copytree(kernels, old / "triton" / "0")
    old.chmod(0o700)
    (one,) = entries(place)
    assert (one.kind, one.path, one.name) == ("lock", "tmp0a1b2c3d", "tmp0a1b2c3d")
    assert one.files == len([path for path in old.rglob("*") if path.is_file()])
    assert full_of(place, one).item.size == one.size
    before = snapshot(place)
    (item,) = [one.item for one in described(place)]
    done = trash.purge(trash.Plan(str(place), [item]), False, Report(), never)
    assert (done.counts["locks"], done.entries) == (1, 0)
    assert not old.exists()
    trash.undo(str(place), Report(), never)
    assert snapshot(place) == before


def test_what_pytorch_is_at_work_on(other_kinds: Path) -> None:
    for place, kind, lock in (
        (other_kinds / "cache", "aoti_eager", "aoti_eager/aten/cpu/lib/locks/abs.lock"),
        (other_kinds / "temporary" / "cache" / "mine", "ondisk", None),
    ):
        entry = sorted(entries(place, kind), key=lambda e: e.path)[0]
        path = place / lock if lock else next(place.rglob("*.lock"))
        assert not in_use(str(place), kind, entry.key, entry.path)
        with FileLock(path):
            assert in_use(str(place), kind, entry.key, entry.path)


def test_what_lies_in_two_caches_of_a_place_goes_once(vllm_rank: Path, tmp_path: Path) -> None:
    for path in (vllm_rank / "inductor_cache").iterdir():
        if path.is_dir() and len(path.name) == 2:
            shutil.copytree(path, vllm_rank / path.name)
    left = moved(vllm_rank, tmp_path / "target", tmp_path / "a.torchcache")
    codes = Counter(pair for pair in left if pair[1] == "same-place")
    assert codes == {("code", "same-place"): len(entries(tmp_path / "target", "code"))}


def test_places_of_vllm_and_of_generic_caches(
    vllm_rank: Path, other_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> dict[str, str]:
        return {place.path: place.reason for place in places.find() if place.exists}

    assert "vllm" not in found().values()
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path / "vllm"))
    assert found()[str(vllm_rank.parent)] == "vllm"
    assert str(vllm_rank) not in found(), "a key is one place, which has its ranks"
    monkeypatch.delenv("VLLM_CACHE_ROOT")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert found()[str(vllm_rank.parent)] == "vllm"
    ahead = tmp_path / "vllm" / "torch_aot_compile" / ("cd" * 32)
    ahead.mkdir(parents=True)
    assert found()[str(ahead)] == "vllm"
    monkeypatch.setattr(tempfile, "tempdir", str(other_kinds / "temporary"))
    assert found()[str(other_kinds / "temporary" / "cache" / "mine")] == "ondisk"
