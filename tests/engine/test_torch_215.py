"""What torch 2.15.0 wrote: its kinds, facts and verdicts, in a folder, a mega-cache and a Redis."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.redis_server import dump, serving
from torchkeeper.artifacts import fxgraph
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import causes, verdicts
from torchkeeper.engine.protocol import Message
from torchkeeper.verdict.probed import DifferenceTold

ENVIRONMENTS: dict[str, dict[str, Any]] = json.loads((DATA / "environments.json").read_text())
#: Of its key and of no older one's.
NEW = {
    "compile_on_one_rank": "False",
    "nested_inductor_config_patches": "()",
    "provenance_tracking_to_timeline": "False",
}
#: What its objects were built for.
VECTOR = [
    "avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "sse4_1", "sse4_2", "avx512f", "avx512cd",
    "avx512bw", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_vnni",
    "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile",
    "amx_int8", "amx_bf16",
]  # fmt: skip
GRAPHS = {"fxgraph": 7, "aotautograd": 4}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def rows_of(engine: Engine, place: str, *envs: str) -> list[dict[str, Any]]:
    messages: list[Message] = []
    engine.call("list", {"place": place, "envs": list(envs)}, messages.append)
    return [row for message in messages for row in message.rows]


def factors_of(cache: Path) -> list[tuple[str, str, str]]:
    graph = next(cache.glob("fxgraph/*/*/*"))
    factors: Any = fxgraph.facts(graph.read_bytes(), full=True)["factors"]
    return list(map(tuple, factors))


def own(cache: Path) -> dict[str, Any]:
    """The environment that its own factors describe."""
    factors = factors_of(cache)
    version = next(value for _, name, value in factors if name == "system_info[version]")
    return {
        "torch": "2.15.0+cu132", "triton": "3.9.0",
        "key_factors": {n: [h, v] for h, n, v in factors if not fxgraph.of_graph(n)},
        "system": {"version": dict(re.findall(r"'(\w+)': '([^']+)'", version))},
        "devices": ENVIRONMENTS["none"]["devices"], "vector_bits": 512, "vector": VECTOR,
        "caches": dict.fromkeys(GRAPHS, True), "autograd": {},
        "cxx": {"path": "g++", "version": "13"},
    }  # fmt: skip


def older(cache: Path) -> dict[str, Any]:
    """One of torch 2.13: another hash of torch, and a system without Triton."""
    env = own(cache)
    factors = {n: v for n, v in env["key_factors"].items()
               if n not in NEW and n != "system_info[version]"}  # fmt: skip
    factors |= {"torch_version": ["t2", ""], "system_info[hash]": ["s2", ""]}
    return {**env, **ENVIRONMENTS["none"], "key_factors": factors, "system": {"hash": "4413"}}


def test_every_file_is_recognised(engine: Engine, kept_215: Path) -> None:
    rows = rows_of(engine, str(kept_215 / "cache"))
    kinds = Counter(row["kind"] for row in rows)
    assert kinds == {**GRAPHS, "code": 35, "lock": 29, "pgo": 1}
    assert not [row for row in rows if row["problem"]]
    for row in rows:
        if row["kind"] in GRAPHS:
            assert row["device"] == "cpu"
            assert row["compile_s"] > 0
            assert row["name"]
    # Whether an object could be loaded is noted beside it, and goes where it goes.
    noted = {path.name.partition(".")[0] for path in (kept_215 / "cache").rglob("*.load_ok")}
    assert len(noted) == 6
    files = {row["key"]: row["files"] for row in rows if row["kind"] == "code"}
    assert {files[key] for key in noted} == {3}


def test_a_mega_cache_and_a_server_hold_the_same(
    engine: Engine, kept_215: Path, tmp_path: Path
) -> None:
    kinds = Counter(row["kind"] for row in rows_of(engine, str(kept_215 / "mega-cache.bin")))
    assert kinds == {**GRAPHS, "pgo": 4}
    with serving(tmp_path) as server:
        server.load(dump(kept_215 / "redis.jsonl"))
        rows = rows_of(engine, server.url)
    assert {kind: n for kind, n in Counter(row["kind"] for row in rows).items() if n > 1} == GRAPHS
    folder = {row["sha256"] for row in rows_of(engine, str(kept_215 / "cache"))}
    assert {row["sha256"] for row in rows if row["kind"] in GRAPHS} <= folder


def test_its_key_factors_are_read(kept_215: Path) -> None:
    for path in (kept_215 / "cache").glob("fxgraph/*/*/*"):
        facts: Any = fxgraph.facts(path.read_bytes(), full=True)
        values = {name: value for _, name, value in facts["factors"]}
        assert {name: values[name] for name in NEW} == NEW
        assert facts["own_key"] == path.parent.name
        # The runnable graph, which names the version, is kept only while it is traced.
        assert (facts["torch"], facts["made_in"]["threads"]) == (None, 2)
    for path in (kept_215 / "cache").glob("aotautograd/*/*"):
        said: Any = fxgraph.aot_facts(path.read_bytes(), True)["factors"]
        names = {name for _, name, _ in said}
        assert names >= NEW.keys()


def test_its_verdicts(engine: Engine, kept_215: Path, tmp_path: Path) -> None:
    cache = kept_215 / "cache"
    engine.call("know", {"python": "/own", "env": own(cache)})
    engine.call("know", {"python": "/older", "env": older(cache)})
    places = [str(cache), str(kept_215 / "mega-cache.bin")]
    for env, expected in (("/own", "usable"), ("/older", "stale")):
        for place in places:
            said = {r["verdict"] for r in rows_of(engine, place, env) if r["kind"] in GRAPHS}
            assert said == {expected}, (place, env)
    with serving(tmp_path) as server:
        server.load(dump(kept_215 / "redis.jsonl"))
        for env, expected in (("/own", "unknown"), ("/older", "stale")):
            said = {r["verdict"] for r in rows_of(engine, server.url, env) if r["kind"] in GRAPHS}
            # What its programs ask a server for is not told here.
            assert said == {expected}, env


def test_why_is_said_without_hashes(engine: Engine, kept_215: Path) -> None:
    engine.call("know", {"python": "/older", "env": older(kept_215 / "cache")})
    messages: list[Message] = []
    params = {"place": str(kept_215 / "cache"), "envs": ["/older"]}
    engine.call("judge", params, messages.append)
    told = [m.body["judged"] for m in messages if "judged" in m.body]
    why = {verdicts.why(one) for some in told for one in some["said"]}
    assert "another torch than 2.13.0+cpu; Triton 3.9.0, here 3.7.1" in why
    assert not [text for text in why if re.search(r"[{}]|[0-9a-f]{12}", text)]


@pytest.mark.parametrize(("name", "said"), [
    ("compile_on_one_rank", "compiling on one rank True, here False"),
    ("nested_inductor_config_patches", "settings of parts of the graph: not the same as here"),
    ("provenance_tracking_to_timeline", "that tracking in the timeline True, here False"),
    ("custom_backend_codegen_implications[npu]",
     "settings of the backend for npu: not the same as here"),
    ("inductor_config[post_grad_fusion_options]", "post_grad_fusion_options: not the same as here"),
])  # fmt: skip
def test_new_factors_have_words(name: str, said: str) -> None:
    entry = {"nested_inductor_config_patches": "(('a', (('x', 1),)),)",
             "inductor_config[post_grad_fusion_options]": "{'batch_linear': {}}"}  # fmt: skip
    one: DifferenceTold
    one = {"factor": name, "entry": entry.get(name, "True"), "here": "False"}
    assert verdicts.difference(one) == said


def test_what_an_object_does_not_say_is_not_none() -> None:
    one: DifferenceTold = {"factor": "vector instructions", "entry": None, "here": "avx2"}
    assert verdicts.difference(one) == "vector instructions not recorded, here avx2"


def test_what_was_dropped_for_another_rank(engine: Engine, kept_215: Path) -> None:
    messages: list[Message] = []
    params = {"trace": str(kept_215 / "trace"), "place": str(kept_215 / "cache")}
    result = engine.call("explain_trace", params, messages.append)
    assert (result["graphs"], result["hits"], result["torch"]) == (1, 1, "2.15.0+cu132")
    (graph,) = (m.body["graph"] for m in messages if "graph" in m.body)
    (aot,) = (m.body["aot"] for m in messages if "aot" in m.body)
    assert (aot["outcome"], aot["dropped"]) == ("miss", True)
    assert "another rank did not find it" in causes.autograd(aot, [graph])


def test_factors_are_in_the_trace_where_no_log_has_them(kept_215: Path) -> None:
    """PyTorch logs the hash details no more; its trace has the same lines."""
    from torchkeeper.artifacts.report import Report
    from torchkeeper.warm.traces import trace

    found = trace.read(str(kept_215 / "trace"), Report())
    (graph,) = found.graphs
    assert len(graph.factors) > 300
    assert {name for _, name, _ in graph.factors} >= NEW.keys()
