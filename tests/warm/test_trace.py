"""Reading a trace: those that were recorded, and what a stranger may make of one."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm.traces import trace
from torchkeeper.warm.traces.trace import Trace

CHANGES = ("shape", "dtype", "autotune", "threads", "precision", "line")


def read(folder: Path, without: tuple[str, ...] = ()) -> Trace:
    return trace.read(str(folder), Report(), without)


def record(metadata: dict[str, Any], payload: str | None = None, pid: int = 7) -> bytes:
    """As PyTorch writes it."""
    lines = ""
    if payload is not None:
        digest = hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()
        metadata = {**metadata, "has_payload": digest}
        lines = "".join(f"\n\t{line}" for line in payload.split("\n"))
    head = f"V1121 19:07:23.042000 {pid} torch/_inductor/compile_fx.py:1149] "
    return f"{head}{json.dumps(metadata)}{lines}\n".encode()


def lookup(
    outcome: str, kind: str = "fx_graph", frame: int = 0, pid: int = 7, **said: Any
) -> bytes:
    name = {"name": f"{kind}_cache_{outcome}", "encoding": "json"}
    metadata = {"artifact": name, "frame_id": frame, "frame_compile_id": 0, "attempt": 0}
    return record(metadata, json.dumps(said), pid)


def written(folder: Path, *records: bytes, name: str = "dedicated_log_torch_trace_x.log") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"".join(records))
    return folder


def test_a_model_behind_a_decorator_is_called_by_its_own_file(tmp_path: Path) -> None:
    ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    graph = (
        "class GraphModule(torch.nn.Module):\n"
        "    # File: /x/transformers/models/bert/modeling_bert.py:85 in forward, code: self.y(x)"
    )
    folder = written(
        tmp_path / "t",
        record({"str": ["/x/transformers/utils/generic.py", 4]}),
        record(
            {"dynamo_start": {"stack": [{"line": 933, "name": "wrapper", "filename": 4}]}, **ids}
        ),
        record({"dynamo_output_graph": {"sizes": {}}, **ids}, graph),
        lookup("hit", key="fabc", components=[]),
    )
    (found,) = read(folder).graphs
    assert (found.name, found.where) == ("modeling_bert.forward", "modeling_bert.py:85")


def test_what_was_recorded(recorded: Path) -> None:
    first, same = read(recorded / "first"), read(recorded / "same")
    (graph,) = first.graphs
    assert (graph.id, graph.name, graph.outcome, graph.aot) == (
        "0/0 forward", "layer(f32[8, 32], f32[64, 32], f32[64])", "miss", "miss"
    )  # fmt: skip
    assert graph.where.startswith("changes.py:")
    assert graph.seconds
    assert graph.at
    assert graph.at > 1.7e9
    assert len(graph.factors) > 600
    assert "torch.ops.aten.relu" in graph.text
    assert (first.torch, first.compiles, first.odd, first.cut) == ("2.13.0+cpu", 1, 0, 0)
    (hit,) = same.graphs
    assert (hit.outcome, hit.key, hit.aot) == ("hit", graph.key, "hit")
    assert hit.seconds == graph.seconds, "what it took is what it saves"
    (aot,) = same.aot
    assert (aot.outcome, aot.compile_id) == ("hit", "0/0")
    assert aot.seconds
    assert hit.factors == graph.factors
    keys = {read(recorded / change).graphs[0].key for change in CHANGES}
    assert len(keys | {graph.key}) == 7


def test_several_processes_and_ranks(tmp_path: Path) -> None:
    ranks = [
        written(tmp_path, lookup("hit", key="f1", pid=9 + n, time_saved_ns=10**9),
                name=f"dedicated_log_torch_trace_rank_{n}_{n}.log")
        for n in range(2)
    ]  # fmt: skip
    found = read(ranks[0])
    assert [graph.process for graph in found.graphs] == ["rank 0", "rank 1"]
    assert [graph.seconds for graph in found.graphs] == [1.0, 1.0]
    assert found.files == 2
    left = read(tmp_path, (str(tmp_path / "dedicated_log_torch_trace_rank_0_0.log"),))
    assert [graph.process for graph in left.graphs] == ["rank 1"]
    one = read(tmp_path / "dedicated_log_torch_trace_rank_1_1.log")
    assert [graph.process for graph in one.graphs] == ["rank 1"]


def test_bypasses_guards_and_backward_graphs(tmp_path: Path) -> None:
    backward = ["[h1] gm: g", "[h2] fx_kwargs[is_backward]: True"]
    found = read(
        written(
            tmp_path,
            lookup("bypass", cache_bypass_reason="Unsupported post grad custom pass"),
            lookup("miss", frame=1, key="f1", cache_status_detailed="guard_miss"),
            lookup("miss", frame=2, key="f2", components=backward),
            # An AOTAutograd entry asks in vain, and then the graph is compiled.
            lookup("miss", frame=3, key="f3"),
            lookup("miss", "aotautograd", frame=3, key="a3"),
            lookup("miss", frame=3, key="f3", time_taken_ns=2 * 10**9),
            lookup("bypass", "aotautograd", frame=4, cache_bypass_reason="a hook"),
        )
    )
    bypass, guarded, back, twice, alone = found.graphs
    assert bypass.reason == "Unsupported post grad custom pass"
    assert bypass.key is None
    assert guarded.guarded
    assert back.id == "2/0 backward"
    assert back.factors == [("h1", "gm", "g"), ("h2", "fx_kwargs[is_backward]", "True")]
    assert (twice.seconds, twice.aot) == (2.0, "miss")
    assert (alone.id, alone.outcome, alone.reason) == ("4/0", "bypass", "a hook")
    assert [(aot.outcome, aot.reason) for aot in found.aot] == [
        ("miss", None),
        ("bypass", "a hook"),
    ]


def test_what_a_bypass_took(tmp_path: Path) -> None:
    """PyTorch tells it of whole compiles only."""

    def metrics(frame: int, seconds: Any) -> bytes:
        said = {"inductor_compile_time_s": seconds, "co_name": "f"}
        return record({"compilation_metrics": said, "frame_id": frame, "frame_compile_id": 0})

    found = read(
        written(
            tmp_path,
            lookup("bypass"), metrics(0, 1.5), lookup("bypass"), metrics(0, 2.5),
            lookup("bypass", frame=1), lookup("miss", frame=1, key="f1"), metrics(1, 9.0),
            lookup("bypass", frame=2), metrics(2, "long"), metrics(2, 7.0),
        )
    )  # fmt: skip
    assert [(g.id, g.seconds) for g in found.graphs] == [
        ("0/0 forward", 1.5), ("0/0 backward", 2.5), ("1/0 forward", None), ("1/0 backward", None),
        ("2/0 forward", None),
    ]  # fmt: skip


def test_a_trace_that_breaks_off(recorded: Path, tmp_path: Path) -> None:
    (whole,) = (recorded / "first").iterdir()
    data = whole.read_bytes()
    at = data.index(b"components")
    found = read(written(tmp_path, data[: at + 5000]))
    (graph,) = found.graphs
    assert (graph.outcome, graph.key, graph.cut, graph.factors) == ("miss", None, True, [])
    assert found.cut == 1
    changed = data.replace(b"cache_key_tag", b"cache_key_tog")
    (graph,) = read(written(tmp_path, changed)).graphs
    assert graph.cut, "its MD5 is another"
    # Broken off within the line of a record.
    line = data.index(b"fx_graph_cache_miss")
    found = read(written(tmp_path, data[:line]))
    assert found.odd == 1
    (graph,) = found.graphs
    assert (graph.outcome, graph.aot, graph.factors) == ("miss", "miss", [])
    assert graph.key == found.aot[0].key, "what AOTAutograd asked for is known"


def test_what_a_stranger_may_write(tmp_path: Path) -> None:
    deep = "[" * 100_000
    good = lookup("hit", key="f1")
    found = read(
        written(
            tmp_path,
            b"not a record\n",
            b"\tof nothing\n",
            b"\xff\xfe\n",
            record({"artifact": {"name": "fx_graph_cache_hit"}}, deep),
            record({"artifact": {"name": "fx_graph_cache_hit"}, "frame_id": 1}, "[1, 2]"),
            record({"dynamo_start": {"stack": []}}),
            record({"dynamo_start": {"stack": [{"line": "x", "name": 3, "filename": []}]}}),
            record({"str": ["name"]}),
            b'V1121 19:07:23.042000 7 x.py:1] {"artifact": ' + deep.encode() + b"\n",
            lookup("miss", frame=2, key="../../etc/passwd", components=[1, None, "x"]),
            lookup("hit", frame=3, key="f3", time_saved_ns=True, cache_event_time="soon"),
            lookup("hit", frame=4, key="f4", time_saved_ns=-5, cache_event_time=10**400),
            good,
        )
    )
    assert [(g.outcome, g.key) for g in found.graphs] == [
        ("hit", None), ("miss", None), ("hit", "f3"), ("hit", "f4"), ("hit", "f1")
    ]  # fmt: skip
    assert [g.seconds for g in found.graphs] == [None] * 5
    assert found.odd == 8
    assert found.cut == 1


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MAX_LINE", 2000)
    monkeypatch.setattr(trace, "MAX_GRAPHS", 3)
    many = [lookup("hit", frame=n, key=f"f{n}") for n in range(5)]
    long = lookup("miss", frame=9, key="f9", components=["[h] name: " + "x" * 9000])
    found = read(written(tmp_path, long, *many))
    assert len(found.graphs) == 3
    assert found.graphs[0].cut
    assert found.full
    factors = [lookup("miss", frame=n, key=f"g{n}", components=[f"[h] n{n}: " + "x" * 900])
               for n in range(3)]  # fmt: skip
    monkeypatch.setattr(trace, "MAX_KEPT", 4000)
    found = read(written(tmp_path, *factors))
    assert [len(graph.factors) for graph in found.graphs] == [1, 1, 0]
    assert found.full
    monkeypatch.setattr(trace, "MAX_BYTES", 10)
    found = read(tmp_path)
    assert (found.graphs, found.full) == ([], True)


def test_nothing_is_followed(tmp_path: Path) -> None:
    secret = written(tmp_path / "elsewhere", lookup("hit", key="f1"))
    folder = tmp_path / "trace"
    folder.mkdir()
    (folder / "dedicated_log_torch_trace_1.log").symlink_to(next(secret.iterdir()))
    os.mkfifo(folder / "dedicated_log_torch_trace_2.log")
    (folder / "dedicated_log_torch_trace_3.log").mkdir()
    assert read(folder) == Trace()


def test_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(Problem) as failure:
        read(tmp_path / "nowhere")
    assert failure.value.code == "trace-missing"
    (tmp_path / "server.log").write_text("started\nstopped\n")
    with pytest.raises(Problem) as failure:
        read(tmp_path)
    assert failure.value.code == "trace-empty"
    (tmp_path / "server.log").unlink()
    assert read(tmp_path) == Trace()
