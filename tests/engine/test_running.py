"""What a run found: recorded traces, against the cache as it was before each."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.warm.test_trace import CHANGES, lookup, record, written
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words import causes
from torchkeeper.engine.messages.verdicts import ExplainTraceResult
from torchkeeper.engine.running import MAX_NEAR, explain_trace, held
from torchkeeper.engine.session import Session
from torchkeeper.warm.traces import trace

#: What is said of each change, and nothing else.
SAID = {
    "shape": "Same graph; inputs[0] has batch 16 instead of 8",
    "dtype": "Same graph; all 3 inputs have dtype float64 instead of float32",
    "autotune": "`max_autotune` is on",
    "threads": "Threads 1 instead of 2",
    "precision": "Matmul precision tf32 instead of none (`torch.set_float32_matmul_precision`)",
    "line": "The graph has `tanh` where the other has `relu`: "
    "`return torch.tanh(torch.nn.functional.linear(x, weight, bias))` instead of "
    "`return torch.relu(torch.nn.functional.linear(x, weight, bias))`",
}


class Recorder(Report):
    """Keeps the findings."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.aot: list[Any] = []

    def finding(self, **what: Any) -> None:
        self.graphs += [what["graph"]] if "graph" in what else []
        self.aot += [what["aot"]] if "aot" in what else []


def explained(
    session: Session, folder: Path, **more: Any
) -> tuple[ExplainTraceResult, list[Any], list[Any]]:
    report = Recorder()
    params: Any = {"trace": str(folder), **more}
    result = explain_trace(session, params, report)
    return result, report.graphs, report.aot


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_named_as_the_cause(session: Session, recorded: Path, change: str) -> None:
    found = held(session, {"place": str(recorded / "cache")}, Report())
    assert found == {"fxgraph": 1, "aotautograd": 0, "exists": True}
    result, [graph], [aot] = explained(session, recorded / change, known=True)
    assert graph["outcome"] == "miss"
    assert causes.cause(graph) == SAID[change]
    assert graph["cause"]["nearest"].startswith("f")
    assert (result["misses"], result["hits"], result["looked_at"]) == (1, 0, 1)
    assert result["spent"] == graph["seconds"] > 0
    assert causes.autograd(aot, [graph]) == causes.as_graphs()
    # As well of a trace that was made elsewhere, compared with what is in a place now.
    _, [again], _ = explained(session, recorded / change, place=str(recorded / "cache"))
    assert causes.cause(again) == causes.cause(graph)
    _, [alone], _ = explained(session, recorded / change)
    assert alone["cause"] == {"code": "unknown"}


def test_local_remote_and_unknown(session: Session, recorded: Path, tmp_path: Path) -> None:
    held(session, {"place": str(recorded / "cache")}, Report())
    same = recorded / "same"
    result, [graph], [aot] = explained(session, same, known=True, remote=True)
    assert (graph["outcome"], graph["where"], graph["cause"]) == ("hit", "local", None)
    assert (result["local"], result["remote"], result["spent"]) == (1, 0, 0)
    assert result["saved"] == graph["seconds"] > 1
    assert (aot["outcome"], aot["graphs"], aot["there"]) == ("hit", [graph["id"]], False)
    assert result["elsewhere"] is None, "nothing was compiled"
    held(session, {"place": str(tmp_path)}, Report())
    _, [graph], _ = explained(session, same, known=True, remote=True)
    assert graph["where"] == "remote"
    _, [graph], _ = explained(session, same, known=True)
    assert graph["where"] == "unknown", "a mega-cache, or another folder"
    result, [graph], _ = explained(session, same, remote=True)
    assert graph["where"] == "unknown"
    assert result["unknown"] == 1


def test_what_the_run_itself_compiled_is_local(session: Session, tmp_path: Path) -> None:
    held(session, {"place": str(tmp_path / "none")}, Report())
    folder = written(
        tmp_path / "trace", lookup("miss", key="f1"), lookup("hit", frame=1, key="f1"),
        lookup("bypass", frame=2, cache_bypass_reason="a custom pass\x1b[31m"),
        lookup("miss", "aotautograd", frame=1, key="a1"),
    )  # fmt: skip
    result, graphs, [aot] = explained(session, folder, known=True, remote=True)
    assert [graph["where"] for graph in graphs] == [None, "local", None]
    assert graphs[0]["cause"] == {"code": "nothing"}
    assert causes.cause(graphs[0]) == "No graph was there"
    assert causes.cause(graphs[2]) == "a custom pass\\x1b[31m"
    assert (result["hits"], result["misses"], result["bypasses"]) == (1, 1, 1)
    assert "never written" in causes.autograd(aot, graphs)


def test_entries_of_autograd_that_hold_their_graphs(session: Session, tmp_path: Path) -> None:
    """Only they are looked up (bundled_autograd_cache in torch/_functorch/config.py)."""
    keys = ["a" + letter * 51 for letter in "bcd"]
    payload = tmp_path / "place" / "aotautograd" / keys[0] / "payload"
    payload.parent.mkdir(parents=True)
    payload.touch()
    held(session, {"place": str(tmp_path / "place")}, Report())
    took = {"compilation_metrics": {"inductor_compile_time_s": 3.0}, "frame_compile_id": 0}
    folder = written(
        tmp_path / "trace",
        lookup("hit", "fx_graph_bundled"),
        lookup("hit", "aotautograd", key=keys[0], time_saved_ms=2500.0),
        lookup("miss", "aotautograd", frame=1, key=keys[1]), record({**took, "frame_id": 1}),
        lookup("miss", "aotautograd", frame=2, key=keys[0]),
        lookup("bypass", "aotautograd", frame=3, cache_bypass_reason="a hook"),
    )  # fmt: skip
    result, graphs, aot = explained(session, folder, known=True)
    said = [(g["id"], g["outcome"], g["where"], g["seconds"], causes.cause(g)) for g in graphs]
    hit, missed, refused, bypassed = said
    assert hit == ("0/0 forward", "hit", "local", 2.5, "")
    assert missed[:4] == ("1/0", "miss", None, 3.0)
    assert missed[4].startswith("Not known: ")
    assert refused[4].startswith("An entry with this key was there")
    assert bypassed[4] == "a hook"
    assert (result["hits"], result["misses"], result["bypasses"]) == (1, 2, 1)
    assert [causes.autograd(one, graphs) for one in aot] == ["", *[causes.as_graphs()] * 3]


@pytest.mark.parametrize(("sizes", "called"), [("16, 32", "self.up.x"), ("9, 32", "inputs[0]")])
def test_an_input_is_called_as_the_program_calls_it(
    session: Session, recorded: Path, tmp_path: Path, sizes: str, called: str
) -> None:
    held(session, {"place": str(recorded / "cache")}, Report())
    (log,) = (recorded / "shape").glob("*.log")
    data = log.read_bytes()
    pid = re.match(rb"\S+ \S+ +(\d+)", data)
    assert pid
    ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    graph = f'def forward(self, L_self_modules_up_buffers_x_: "f32[{sizes}][32, 1]cpu"):'
    traced = record({"dynamo_output_graph": {"sizes": {}}, **ids}, graph, int(pid[1]))
    folder = written(tmp_path / "trace", traced, data, name=log.name)
    _, [found], _ = explained(session, folder, known=True)
    assert causes.cause(found) == f"Same graph; {called} has batch 16 instead of 8"


def test_what_cannot_be_told(session: Session, recorded: Path, tmp_path: Path) -> None:
    cache = Path(shutil.copytree(recorded / "cache", tmp_path / "cache"))
    held(session, {"place": str(cache)}, Report())
    assert session.before
    (key,) = session.before.fxgraph
    folder = written(
        tmp_path / "trace",
        lookup("miss", key="f1", cache_status_detailed="guard_miss"),
        lookup("miss", frame=1, key=key),
        lookup("miss", frame=2, key="f2"),
        lookup("miss", frame=3, key="f3", components=["[h] gm: def forward(self): return ()"]),
    )
    _, graphs, _ = explained(session, folder, known=True)
    codes = [graph["cause"]["code"] for graph in graphs]
    assert codes == ["guards", "refused", "unrecorded", "differs"]
    assert all(causes.cause(graph) for graph in graphs)
    # What was there is damaged meanwhile, or gone.
    (payload,) = cache.glob("fxgraph/*/*/*")
    payload.write_bytes(b"\x80\x04.")
    _, graphs, _ = explained(session, folder, known=True)
    assert graphs[-1]["cause"] == {"code": "unread"}
    shutil.rmtree(cache)
    _, graphs, _ = explained(session, folder, known=True)
    assert graphs[-1]["cause"] == {"code": "unread"}


def test_another_folder_is_noticed(session: Session, recorded: Path) -> None:
    held(session, {"place": str(recorded / "cache")}, Report())
    result, _, _ = explained(session, recorded / "shape", known=True)
    assert result["elsewhere"] is True, "what was compiled is not in it"
    result, _, _ = explained(session, recorded / "first", known=True)
    assert result["elsewhere"] is False


def test_what_failed_is_in_no_folder(session: Session, tmp_path: Path) -> None:
    """As where the path has a blank, which g++ is given without quotes."""
    held(session, {"place": str(tmp_path)}, Report())
    failed = {"fail_type": "InductorError", "fail_reason": "CppCompileError: C++\n\nCommand:"}

    def ran(**more: Any) -> tuple[Any, str]:
        metrics = {"compilation_metrics": more, "frame_id": 0, "frame_compile_id": 0}
        lookups = lookup("miss", "aotautograd", key="a" * 52), record(metrics)
        result, [graph], _ = explained(session, written(tmp_path / "t", *lookups), known=True)
        return result["elsewhere"], causes.cause(graph)

    assert ran(**failed) == (None, "Compiling it failed: CppCompileError: C++")
    assert ran(fail_type=None) == (True, "No graph was there")


def test_a_key_without_a_payload_is_not_held(session: Session, tmp_path: Path) -> None:
    key = "f" + "a" * 51
    folder = tmp_path / "fxgraph" / "aa" / key
    folder.mkdir(parents=True)
    (folder / ".12.tmp").touch()
    (tmp_path / "fxgraph" / "aa" / "notes").mkdir()
    assert held(session, {"place": str(tmp_path)}, Report())["fxgraph"] == 0
    (folder / "payload").touch()
    assert held(session, {"place": str(tmp_path)}, Report())["fxgraph"] == 1
    gone = held(session, {"place": str(tmp_path / "gone")}, Report())
    assert gone == {"fxgraph": 0, "aotautograd": 0, "exists": False}


def test_a_foreign_trace_fits_the_wire(session: Session, recorded: Path, tmp_path: Path) -> None:
    """Factors that are as long as may be, every one of them another."""
    assert MAX_NEAR > 1000
    factors = [f"[h{n}] inductor_config[x{n}]: " + "\u0001" * 9000 for n in range(300)]
    folder = written(tmp_path / "trace", lookup("miss", key="f1", components=factors))
    (graph,) = trace.read(str(folder), Report()).graphs
    assert len(graph.factors) == 300
    from torchkeeper.engine import protocol

    class Wire(Recorder):
        def finding(self, **what: Any) -> None:
            protocol.encode({"type": "finding", "id": 1, **what})
            super().finding(**what)

    held(session, {"place": str(recorded / "cache")}, Report())
    report = Wire()
    explain_trace(session, {"trace": str(folder), "known": True}, report)
    assert report.graphs[0]["cause"]["code"] == "differs"
    assert causes.cause(report.graphs[0])
