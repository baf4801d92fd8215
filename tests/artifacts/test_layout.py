"""Names become paths through one set of functions, and only if their kind's layout allows it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Problem

FX = "f" + "a" * 51
AOT = "a" + "b" * 51
SHA = hashlib.sha256(b"payload").hexdigest()
STEM = "c" + "abcdefgh" * 6 + "abc"
PAYLOAD = "b2" * 25 + "c"
UUID = "0a1b2c3d-0a1b-4a1b-8a1b-0a1b2c3d4e5f"


@pytest.mark.parametrize(
    ("path", "kind", "key"),
    [
        (f"fxgraph/aa/{FX}/{PAYLOAD}", "fxgraph", FX),
        (f"fxgraph/ab/{FX}/{PAYLOAD}", "unknown", PAYLOAD),
        (f"fxgraph/aa/{FX}/xyz", "unknown", "xyz"),
        (f"aotautograd/{AOT}/entry", "aotautograd", AOT),
        (f"aotautograd/{AOT}/{PAYLOAD}", "aotautograd", AOT),
        (f"aotautograd/{AOT}/notes", "unknown", "notes"),
        ("dynamo/code_state_job_None_.pkl", "pgo", "job_None_"),
        ("dynamo/code_state_job_None_.pkl.lock", "lock", "code_state_job_None_.pkl"),
        (f"ab/{STEM}.best_config", "autotune", STEM),
        (f"ab/{STEM}.main.so", "code", STEM),
        (f"ab/{STEM}.py", "code", STEM),
        (f"ab/__pycache__/{STEM}.cpython-311.pyc", "unknown", f"{STEM}.cpython-311.pyc"),
        (f"ab/{STEM}.so.load_ok", "code", STEM),
        (f"ab/{STEM}.wrapper_metadata.json", "code", STEM),
        (f"ab/{STEM}.py.bak", "unknown", f"{STEM}.py.bak"),
        (f"cd/{STEM}.py", "unknown", f"{STEM}.py"),
        (f"x3/{SHA}.best_config", "autotune", SHA),
        (f"x3/{SHA}.py", "unknown", f"{SHA}.py"),
        (f"triton/0/{'A' * 52}/k.cubin", "triton", "A" * 52),
        (f"{'A' * 52}/__grp__k.json", "triton", "A" * 52),
        (f"triton/0/{'A' * 52}/notes.txt", "unknown", "notes.txt"),
        (f"backups/{'A' * 52}/k.cubin", "unknown", "k.cubin"),
        (f"{SHA}/tmp.pid_3_{UUID}/k.cubin", "lock", "k.cubin"),
        (f"triton/0/tmp.{UUID}/k.cubin", "lock", "k.cubin"),
        (f"triton/0/tmp.{UUID}/notes.txt", "unknown", "notes.txt"),
        (f"precompiled_headers/{STEM}.h.gch", "header", f"{STEM}.h.gch"),
        ("precompiled_headers/abc.h.gch", "unknown", "abc.h.gch"),
        (f"locks/{STEM}.lock", "lock", STEM),
        ("locks/g++.lock", "lock", "g++"),
        ("locks/report.docx", "unknown", "report.docx"),
        (f"fxgraph/aa/{FX}/.123.140234567890.tmp", "lock", ".123.140234567890.tmp"),
        (f"ab/{STEM}.main_CxxBuild/x.o", "lock", "x.o"),
        (f"dynamo/{SHA}/entry", "precompile", SHA),
        (f"dynamo/{SHA}/notes", "unknown", "notes"),
        ("dynamo/mine/entry", "unknown", "entry"),
        (f"dynamo/{SHA}/.1.140234567890.tmp", "lock", ".1.140234567890.tmp"),
        (".1.2.tmp", "unknown", ".1.2.tmp"),
        ("aoti_eager/aten/cpu/add.Tensor.json", "aoti_eager", "add.Tensor"),
        ("aoti_eager/runs/cpu/my results.json", "unknown", "my results.json"),
        (f"aoti_eager/aten/cpu/lib/ab/{STEM}.so", "code", STEM),
        (f"0a1b2c3d4e/rank_0_0/inductor_cache/ab/{STEM}.py", "code", STEM),
        (
            f"torch_aot_compile/{SHA}/rank_0_0/model",
            "precompile",
            f"torch_aot_compile/{SHA}/rank_0_0/model",
        ),
        (f"torch_aot_compile/{SHA}/rank_0_0/model.71.tmp", "lock", "model.71.tmp"),
        (f"torch_aot_compile/{SHA}/model.71.tmp", "unknown", "model.71.tmp"),
        (f"torch_aot_compile/{SHA}/rank_0_0/model.tmp", "unknown", "model.tmp"),
        ("rank_0_0/model.71.tmp", "unknown", "model.71.tmp"),
        ("rank_1_0_dev3/backbone/computation_graph.py", "code", "rank_1_0_dev3/backbone"),
        (f"0a1b2c3d4e/rank_1_0_dev3/inductor_cache/ab/{STEM}.py", "code", STEM),
        ("rank_1_0_gpu3/backbone/computation_graph.py", "unknown", "computation_graph.py"),
        (f"{SHA}/triton_cache/{'A' * 52}/k.cubin", "triton", "A" * 52),
        (f"helion/triton/0/{'A' * 52}/k.cubin", "triton", "A" * 52),
        (f"inductor_cache/helion/triton/11/{'A' * 52}/k.cubin", "triton", "A" * 52),
        (f"helion/mine/0/{'A' * 52}/k.cubin", "unknown", "k.cubin"),
        (f"helion/{'A' * 52}/k.cubin", "unknown", "k.cubin"),
        (f"{SHA}/k.ttir", "triton", SHA),
        (f"{SHA}/k.json", "unknown", "k.json"),
        (f"tmpab1_efgh/ab/{STEM}.py", "lock", "tmpab1_efgh"),
        ("tmpab1_efgh/data.csv", "unknown", "data.csv"),
        (f"tmp_project/ab/{STEM}.py", "unknown", f"{STEM}.py"),
        (f"tmp_run_003/ab/{STEM}.py", "unknown", f"{STEM}.py"),
        ("bisect/inductor/lowerings_run_state.txt", "lock", "bisect"),
        ("bisect/notes.md", "unknown", "notes.md"),
        ("rank_0_0/backbone/computation_graph.py", "code", "rank_0_0/backbone"),
        ("rank_0_0/computation_graph.py", "code", "rank_0_0"),
        ("model", "unknown", "model"),
        (f"aoti_eager/aten/cpu/lib/{STEM}/{STEM}.wrapper.so", "code", STEM),
        ("aoti_eager/aten/cpu/lib/locks/add.Tensor.lock", "lock", "add.Tensor"),
        (f"cache/{SHA}", "autotune", SHA),
        (f"cache/mine/{SHA[:32]}", "ondisk", SHA[:32]),
        (SHA[:32], "ondisk", SHA[:32]),
        ("cache/mine/locks/0a1b.lock", "lock", "0a1b"),
        (f"inductor_cache/fxgraph/aa/{FX}/{PAYLOAD}", "fxgraph", FX),
        (f"inductor_cache/dynamo/{SHA}/entry", "precompile", SHA),
        (f"triton_cache/{'A' * 52}/k.cubin", "triton", "A" * 52),
        ("backbone/vllm_compile_cache.py", "unknown", "vllm_compile_cache.py"),
        ("computation_graph.py", "unknown", "computation_graph.py"),
        ("backbone/artifact_of_mine", "unknown", "artifact_of_mine"),
        ("rank_0_0/model", "unknown", "model"),
        ("backbone/artifact_shape_None_subgraph_0", "precompile", "artifact_shape_None_subgraph_0"),
        (f"backbone/artifact_shape_None_subgraph_0/fxgraph/aa/{FX}/{PAYLOAD}", "fxgraph", FX),
        (f"artifact_{'a' * 34}/README", "unknown", "README"),
        ("README", "unknown", "README"),
        ("ab/short.py", "unknown", "short.py"),
        ("fxgraph/aa/not-a-key/xyz", "unknown", "xyz"),
        ("a\nb/\udcff", "unknown", "\udcff"),
    ],
)
def test_locate(path: str, kind: str, key: str) -> None:
    found = layout.locate(path)
    assert (found.kind, found.key) == (kind, key)


def test_a_place_may_lie_in_a_folder_of_vllms() -> None:
    for root, path, key in (
        ("/a/1a2b3c4d5e/rank_0_0", "backbone/computation_graph.py", "backbone"),
        ("/a/1a2b3c4d5e/rank_0_0/backbone", "computation_graph.py", "vllm"),
        (f"/a/{SHA}", "rank_0_0/model", "rank_0_0/model"),
        (f"/a/{SHA}/rank_0_0", "model", "model"),
    ):
        above = layout.among(root)
        assert layout.locate(path).kind == "unknown"
        found = layout.locate(path, above)
        assert (found.kind != "unknown", found.key) == (True, key)
    for root in ("/a/b", "/", "/a/1a2b3c4d5e/rank_0_0/inductor_cache", "/a/rank_0"):
        assert layout.among(root) == ""


def test_payload_name_is_pytorchs() -> None:
    name = layout.payload_name(SHA)
    assert re.fullmatch("[a-z2-7]{51}", name)
    assert layout.payload_path("fxgraph", FX, SHA) == f"fxgraph/aa/{FX}/{name}"
    assert layout.payload_path("aotautograd", AOT, SHA) == f"aotautograd/{AOT}/{name}"


def test_pgo_keys_are_flattened_as_pytorch_does() -> None:
    assert layout.payload_path("pgo", "job:None:", SHA) == "dynamo/code_state_job_None_.pkl"
    assert layout.payload_path("pgo", "a/../../b:0:", SHA) == "dynamo/code_state_a_.._.._b_0_.pkl"
    assert layout.payload_path("pgo", "k" * 237 + ":0:", SHA)
    for key in ("k" * 238 + ":0:", "é" * 119 + ":0:", "caf\udce9:0:", "job", "job:rank:"):
        with pytest.raises(Problem, match="name-refused"):
            layout.payload_path("pgo", key, SHA)


def test_autotune_keys_are_hexadecimal() -> None:
    key = f"x3/{SHA}.best_config"
    assert layout.payload_path("autotune", key, SHA) == key
    assert layout.checked_path("autotune", key) == key


def test_other_keys_of_mega_caches() -> None:
    assert layout.payload_path("autotune", f"cache/{SHA}", SHA) == f"cache/{SHA}"
    assert layout.payload_path("precompile", SHA, SHA) == f"dynamo/{SHA}/entry"
    for key in (SHA[:63], SHA.upper(), f"{SHA}/x", f"{SHA}\n"):
        with pytest.raises(Problem, match="name-refused"):
            layout.payload_path("precompile", key, SHA)
        with pytest.raises(Problem, match="name-refused"):
            layout.payload_path("autotune", f"cache/{key}", SHA)


def test_what_a_cache_inside_a_place_is_in_one_of_its_own() -> None:
    assert layout.canonical(f"inductor_cache/ab/{STEM}.py") == f"ab/{STEM}.py"
    assert layout.canonical(f"triton_cache/{'A' * 52}/k.ptx") == f"{'A' * 52}/k.ptx"
    rank = "torch_compile_cache/0a1b2c3d4e/rank_0_12"
    assert layout.canonical(f"{rank}/inductor_cache/ab/{STEM}.py") == f"ab/{STEM}.py"
    for path in (f"{STEM}/{STEM}.wrapper.so", f"{SHA}/k.json", f"cache/{SHA}"):
        assert layout.canonical(path) == path
    for path in ("aoti_eager/aten/cpu/lib/ab/x", "backbone/artifact_0/ab/x",
                 "a/artifact_shape_8_subgraph_0",
                 f"ab/{STEM}.debug/output_code.py", f"{STEM}/{STEM}/CMakeLists.txt",
                 f"{rank}/model",
                 f"{rank}/inductor_cache/aoti_eager/aten/cpu/lib/ab/x"):  # fmt: skip
        with pytest.raises(Problem, match="part-of-artifact"):
            layout.canonical(path)


def test_a_cache_below_is_told_by_the_paths_of_its_files() -> None:
    for above in ("", "x/", "from-last-year/x/cache/"):
        assert layout.cache_above(f"{above}ab/c{STEM[1:]}.py") == above[:-1]
        payload = layout.payload_path("fxgraph", "f" + "a" * 51, SHA)
        assert layout.cache_above(above + payload) == above[:-1]
    assert layout.cache_above("mine/notes.txt") == ""


def test_long_kernel_names() -> None:
    assert layout.triton_path("0", "A" * 52, "k" * 249 + ".cubin")


EVIL = [
    "../x", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "x\0y", "\n", "~", "C:\\x", "a" * 300,
    "ab/../../x.best_config", "ab//x.best_config", f"ab/{STEM}.best_config/..",
    f"/ab/{STEM}.best_config", f"ab/{STEM}.best_config\n",
]  # fmt: skip


@pytest.mark.parametrize("key", EVIL)
@pytest.mark.parametrize(
    "kind", ["fxgraph", "aotautograd", "autotune", "precompile", "code", "lock", "unknown"]
)
def test_evil_keys_are_refused(kind: str, key: str) -> None:
    with pytest.raises(Problem, match="name-refused"):
        layout.payload_path(kind, key, SHA)


RANK = "0a1b2c3d4e/rank_0_0"
TREE = [
    ("code", f"{RANK}/backbone/vllm_compile_cache.py"),
    ("precompile", f"torch_compile_cache/{RANK}/backbone/artifact_compile_range_1_8_subgraph_0"),
    ("precompile", f"torch_aot_compile/{SHA}/rank_0_0/model"),
    ("fxgraph", f"{RANK}/inductor_cache/fxgraph/aa/{FX}/{PAYLOAD}"),
    ("code", f"{SHA}/inductor_cache/ab/{STEM}.py"),
    ("triton", f"{RANK}/triton_cache/{'A' * 52}/k.cubin"),
]


@pytest.mark.parametrize(("kind", "path"), TREE)
def test_what_is_in_a_tree_of_vllms_travels_under_its_path(kind: str, path: str) -> None:
    assert layout.in_tree(path)
    assert layout.checked_path(kind, path) == path
    evil = [f"../{path}", f"/{path}", path.replace("/rank_0_0", "/../rank_0_0"), f"./{path}",
            path.replace("/", "//", 1), f"{path}\n", f"{path}/..", f"{layout.TRASH}/{path}",
            path.replace("0a1b2c3d4e", layout.TRASH).replace("torch_aot_compile", layout.TRASH),
            path.replace(SHA, layout.TRASH), path.replace("0_0", "0_0\0"), f"x\\{path}",
            path.replace(path.rpartition("/")[2], "mine.txt"), f"{path}.bak"]  # fmt: skip
    for one in evil:
        if one != path:
            with pytest.raises(Problem, match="name-refused"):
                layout.checked_path(kind, one)
    other = "pgo" if kind != "pgo" else "code"
    with pytest.raises(Problem, match="name-refused"):
        layout.checked_path(other, path)


@pytest.mark.parametrize("path", [*EVIL, f"../ab/{STEM}.so", f"ab/{STEM}.so/../x", f"ab/{STEM}"])
@pytest.mark.parametrize("kind", ["code", "triton", "autotune", "fxgraph", "pgo"])
def test_evil_paths_are_refused(kind: str, path: str) -> None:
    with pytest.raises(Problem, match="name-refused"):
        layout.checked_path(kind, path)


@given(
    kind=st.sampled_from(["fxgraph", "aotautograd", "autotune", "pgo", "precompile"]),
    key=st.text(max_size=80) | st.from_regex(r"[a-z./\\]{0,20}"),
)
def test_no_key_leads_out(kind: str, key: str) -> None:
    try:
        path = layout.payload_path(kind, key, SHA)
    except Problem:
        return
    assert not path.startswith("/")
    assert not {"..", ".", ""} & set(path.split("/"))
    assert layout.locate(path).kind == kind


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=5).map("/".join))
def test_what_is_allowed_is_what_is_found(path: str) -> None:
    for kind in ("code", "triton", "autotune"):
        try:
            allowed = layout.checked_path(kind, path)
        except Problem:
            continue
        assert allowed == path
        assert layout.locate(path).kind == kind


@given(
    st.sampled_from(("", "triton/0/", "rank_0_0/inductor_cache/triton/1/", "x/", "fxgraph/")),
    st.sampled_from(("A" * 52, "0123456789abcdef" * 4, "run_1")),
    st.lists(
        st.sampled_from(
            ("__grp__k.json", "k.json", "k.ttir", "k.so", "k.txt", "model", "..", "a/b.json",
             *layout.VLLM_FILES)
        ),
        min_size=1,
    ),
)  # fmt: skip
def test_a_kernel_as_a_whole_has_the_paths_that_its_files_have(
    above: str, key: str, names: list[str]
) -> None:
    def told(of: Callable[[], list[str] | None]) -> list[str] | str | None:
        try:
            return of()
        except Problem:
            return "refused"

    paths = [f"{above}{key}/{name}" for name in names]
    each = told(lambda: [layout.checked_path("triton", layout.canonical(x)) for x in paths])
    assert told(lambda: layout.canonical_kernel(paths)) in (None, each)
