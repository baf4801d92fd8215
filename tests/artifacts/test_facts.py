"""Facts of each kind: from other versions, with fields missing, and from damaged bytes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchkeeper.artifacts import builds, facts, fxgraph, triton
from torchkeeper.artifacts.entry import READ


def read(kind: str, data: bytes, full: bool = False) -> Any:
    return facts.read(kind, ["x"], {"x": data}, full)


def payloads(cache: Path, kind: str) -> list[bytes]:
    return [p.read_bytes() for p in sorted((cache / kind).rglob("*")) if p.is_file()]


def test_full_facts_of_a_graph(kept_291: Path) -> None:
    found = [read("fxgraph", data, full=True) for data in payloads(kept_291, "fxgraph")]
    op = next(f for f in found if f["name"].startswith("sin_matmul"))
    assert op["ops"] == ["mm", "sin"]
    assert op["function"] == "sin_matmul at make_cache.py:5"
    assert len(op["inputs"]) == 2
    assert "torch.float32" in op["inputs"][0]
    assert "torch.ops.aten.mm" in op["graph"]
    assert op["source"].startswith("# AOT ID: ['0_inference']")
    for f in found:
        names = {name for _, name, _ in f["factors"]}
        assert 390 < len(f["factors"]) < 700
        assert {"torch_version", "system_info[hash]"} <= names
        assert f["made_in"]["torch"] == "2.9.1+cu128"
        json.dumps(f)


def test_an_entry_names_the_graphs_it_needs(kept_291: Path) -> None:
    keys = {p.parent.name for p in (kept_291 / "fxgraph").rglob("*") if p.is_file()}
    needed = [read("aotautograd", d)["fx_keys"] for d in payloads(kept_291, "aotautograd")]
    assert sorted(len(n) for n in needed) == [1, 2, 2, 2]
    assert {key for n in needed for key in n} == keys


class CompiledFxGraph:
    """Of the same name, with as many fields as a test gives it."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"source_code": None, "runnable_graph_str": 5, "device_types": 7},
        {"_fx_graph_cache_debug_lines": "x", "fx_kwargs": [], "_time_taken_ns": "soon"},
        {"_fx_graph_cache_debug_lines": [1, "no brackets", "[h] a: b"], "field_of_2030": object()},
        {"device_types": ["cuda", "cpu", 3], "_triton_bundle": 1},
    ],
)
def test_missing_or_newer_fields_hide_nothing(fields: dict[str, Any]) -> None:
    found = read("fxgraph", pickle.dumps(CompiledFxGraph(**fields)), full=True)
    assert "problem" not in found
    if "device_types" in fields and isinstance(fields["device_types"], list):
        assert found["device"] == "cpu,cuda"


@pytest.mark.parametrize(
    "kind", ["fxgraph", "aotautograd", "pgo", "autotune", "precompile", "aoti_eager"]
)
@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"garbage", b"{", b"[1]", pickle.dumps([1]), b"\x80\x04N."]
)
def test_wrong_content_is_a_problem(kind: str, data: bytes) -> None:
    assert read(kind, data)["problem"] in ("payload-unreadable", "payload-empty")


def test_truncated_payloads(kept_291: Path) -> None:
    for kind in ("fxgraph", "aotautograd"):
        data = payloads(kept_291, kind)[0]
        for size in (1, 100, len(data) // 2, len(data) - 1):
            assert read(kind, data[:size])["problem"] == "payload-unreadable"


# Python's own unpickler prints a SystemError for a bytearray that is cut off, and goes on.
@pytest.mark.qt_no_exception_capture
@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200), kind=st.sampled_from(sorted(READ)))
def test_no_bytes_escape(data: bytes, kind: str) -> None:
    for name in ("x.json", "x.py", "x.cpp"):
        json.dumps(facts.read(kind, [name], {name: data}, True))


def test_autotune() -> None:
    config = {"XBLOCK": 128, "num_warps": 4, "num_stages": 1, "triton_cache_hash": "H" * 52}
    found = read("autotune", json.dumps(config).encode(), full=True)
    assert found["name"] == "XBLOCK=128 num_warps=4 num_stages=1"
    assert found["triton_keys"] == ["H" * 52]


def test_gemm_choices_of_a_gpu() -> None:
    system = {
        "device": {"name": "NVIDIA H200"},
        "version": {"triton": "abc", "cuda": "13.0"},
        "hash": "0" * 64,
    }
    cache = {"mm": {"in": {"highest": {"a": 1.0, "b": 2.0}}}, "bmm": {"in": {"high": {"a": 1.0}}}}
    found = read("autotune", json.dumps({"system": system, "cache": cache}).encode(), full=True)
    assert found["name"] == "GEMM choices for NVIDIA H200"
    assert (found["device"], found["choices"]) == ("cuda", 3)
    assert found["versions"] == {"triton": "abc", "cuda": "13.0"}


def test_kernels_of_both_backends(kernels: Path) -> None:
    for folder in kernels.iterdir():
        texts = {p.name: p.read_bytes() for p in folder.glob("*.json")}
        names = [p.name for p in folder.iterdir()]
        found = triton.facts(texts, names, full=False)
        assert found["name"] == "add_kernel"
        assert found["device"] in ("cuda:90", "hip:gfx942")
        assert found["triton"] == "3.7.1"
        assert "problem" not in found
        names.remove("add_kernel.ttir")
        assert triton.facts(texts, names, full=False)["missing"] == ["add_kernel.ttir"]


def test_group_files_move_and_stay_the_same_payload(kernels: Path) -> None:
    group = next(kernels.rglob("__grp__*.json")).read_bytes()
    moved = triton.group_for(group, "/elsewhere/KEY")
    assert json.loads(moved)["child_paths"]["add_kernel.json"] == "/elsewhere/KEY/add_kernel.json"
    assert triton.group_for(moved, "") == triton.group_for(group, "")
    with pytest.raises(ValueError, match="plain file name"):
        triton.group_for(b'{"child_paths": {"../../x": "/y"}}', "/z")


def test_old_metadata_without_a_version() -> None:
    old = {"k.json": json.dumps({"name": "k", "target": {"backend": "cuda", "arch": 80}}).encode()}
    found = triton.facts(old, ["k.json", "k.cubin"], full=False)
    assert (found["name"], found["device"], found["triton"]) == ("k", "cuda:80", None)
    older = {"k.json": json.dumps({"num_warps": 4}).encode()}
    assert triton.facts(older, ["k.json"], full=False)["name"] == "k"


def test_elf(kept_291: Path) -> None:
    objects = list(kept_291.rglob("*.so"))
    assert objects
    for path in objects:
        data = path.read_bytes()
        assert builds.complete(data[: builds.HEADER], len(data))
        for size in (0, 10, 64, len(data) // 2, len(data) - 1):
            assert not builds.complete(data[: min(size, builds.HEADER)], size)
    assert not builds.complete(bytes(64), 64)


@pytest.mark.parametrize(
    ("source", "graph", "expected"),
    [
        ("", "torch.ops.aten.view.default(x); torch.ops.aten.sin.default(x)", ["sin"]),
        ("", "torch.ops.aten.view.default(x)", ["view"]),
        ("# Original ATen: [aten.t, aten.addmm]", "", ["addmm"]),
        ("", "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q)",
         ["attention"]),
        ("cpp_fused_gelu_view_0 = async_compile.cpp(", "", ["gelu"]),
        ("", "", []),
    ],
)  # fmt: skip
def test_main_ops(source: str, graph: str, expected: list[str]) -> None:
    assert fxgraph.main_ops(source, graph) == expected


def test_key_factors_keep_colons_and_lines() -> None:
    lines = ["[abc] inductor_config[x]: {'a': 1}", "[d] gm: f()\n\n  x: y", "junk"]
    assert fxgraph.key_factors(lines) == [
        ("abc", "inductor_config[x]", "{'a': 1}"),
        ("d", "gm", "f()\n\n  x: y"),
    ]
