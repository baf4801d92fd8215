"""Where the time of a compile goes, from what PyTorch 2.13.0 wrote of one, and from nonsense."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.warm.test_trace import read, record, written
from torchkeeper.warm.traces import graphs, trace
from torchkeeper.warm.traces.graphs import (
    PHASES,
    Compile,
    Event,
    Graph,
    Graphs,
    checked_phases,
)

Records = list[tuple[dict[str, Any], str | None]]


def kept(which: str) -> Records:
    """The records of a small model's compile, with its backward graph, less what tells nothing."""
    rows = map(json.loads, (DATA / "torch-2.13.0" / "phases.jsonl").read_text().splitlines())
    return [(metadata, payload) for run, metadata, payload in rows if run == which]


def heard(records: Records) -> list[Graph]:
    told: list[Graph] = []
    logger = logging.Logger("test")
    logger.addHandler(Graphs(told.append))
    for metadata, payload in records:
        logger.debug("", extra={"metadata": metadata, "payload": payload})
    return told


def event(kind: str, name: str, at: float, frame: int | None = 1) -> tuple[dict[str, Any], str]:
    said = {"name": name, "ts": at * 1e6, "args": {}, "ph": kind, "cat": "dynamo_timed", "tid": 0}
    compile_id = {} if frame is None else {"frame_id": frame, "frame_compile_id": 0}
    return {"chromium_event": {}, **compile_id}, json.dumps(said, indent=0)


def test_a_compile_and_its_backward_graph() -> None:
    told = heard(kept("cold"))
    assert [(graph.id, graph.outcome) for graph in told[:1]] == [("1/0 forward", "compiling")]
    assert told[0].phases[0][0] == "dynamo", "what came before there was a graph is its time, too"
    last = {graph.id: graph for graph in told}
    forward, backward = last["1/0 forward"], last["1/0 backward"]
    assert [graph.outcome for graph in (forward, backward)] == ["miss", "miss"]
    assert [name for name, _ in forward.phases] == list(PHASES)
    assert [name for name, _ in backward.phases] == ["post_grad", "codegen", "build", "other"]
    for graph in (forward, backward):
        spent = dict(graph.phases)
        assert graph.seconds
        assert spent["build"] > 0.6 * graph.seconds, "g++ takes most"
        # What PyTorch says compiling the graph took begins after Dynamo.
        assert graph.seconds <= sum(spent.values()) < graph.seconds + 0.7


def test_the_sum_is_what_it_took() -> None:
    compile_ = Compile()
    found = [one for _, payload in kept("cold") if (one := graphs.event(payload))]
    mine = found[: next(n for n, x in enumerate(found) if x.name == "dynamo" and x.kind == "E") + 1]
    beside = [one for one in mine if one.name != "compile_file"]
    for one in beside:
        compile_.take(one)
    (part,) = compile_.parts
    assert sum(part.spent.values()) == pytest.approx(beside[-1].at - beside[0].at)
    assert compile_.part is None


def test_a_hit_takes_both_graphs_at_once() -> None:
    told = heard(kept("hot"))
    last = {graph.id: graph for graph in told}
    assert {graph.outcome for graph in last.values()} == {"hit"}
    assert dict(last["1/0 forward"].phases)["dynamo"] > 0.1
    assert last["1/0 backward"].phases == ()


def test_a_trace_that_is_read_afterwards_tells_the_same(tmp_path: Path) -> None:
    lines = [record(metadata, payload) for metadata, payload in kept("cold")]
    found = read(written(tmp_path, *lines))
    last = {graph.id: graph.phases for graph in heard(kept("cold"))}
    assert {graph.id: graph.phases for graph in found.graphs} == last
    assert found.odd == 0


def test_a_trace_of_nothing_but_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so much of it is kept."""
    monkeypatch.setattr(trace, "_MAX_PARTS", 3)
    lines = [record(*event("B", "dynamo", n + 1, frame=n)) for n in range(50)]
    found = read(written(tmp_path, *lines, *(record(*one) for one in kept("cold"))))
    assert [graph.phases for graph in found.graphs] == [(), ()]
    monkeypatch.undo()
    assert all(graph.phases for graph in read(tmp_path).graphs)


def test_what_is_within_a_part_that_is_not_known_counts_for_it() -> None:
    compile_ = Compile()
    for one in (
        Event("B", "dynamo", 10), Event("B", "something new", 11), Event("B", "compile_file", 12),
        Event("E", "compile_file", 15), Event("E", "something new", 16), Event("E", "dynamo", 17),
    ):  # fmt: skip
        compile_.take(one)
    assert compile_.parts[0].phases() == (("dynamo", 4), ("build", 3))


def test_graphs_that_are_compiled_one_after_the_other() -> None:
    """As DistributedDataParallel has it: several graphs of one compile."""
    records: Records = [event("B", "dynamo", 1), event("B", "backend_compile", 2)]
    for number in range(3):
        at = 10.0 * (number + 1)
        lookup = {"artifact": {"name": "fx_graph_cache_miss"}, "frame_id": 1, "frame_compile_id": 0}
        records += [
            event("B", "inductor_compile", at),
            event("B", "GraphLowering.codegen", at + 1),
            event("E", "GraphLowering.codegen", at + 3 + number),
            (lookup, json.dumps({"key": f"f{number}", "time_taken_ns": 5})),
            event("E", "inductor_compile", at + 9),
        ]
    records += [event("E", "backend_compile", 50), event("E", "dynamo", 51)]
    last = {graph.id: graph for graph in heard(records)}
    assert list(last) == ["1/0 forward", "1/0 forward 2", "1/0 forward 3"]
    codegen = [dict(graph.phases)["codegen"] for graph in last.values()]
    assert codegen == pytest.approx([2, 3, 4])
    assert {graph.outcome for graph in last.values()} == {"miss"}


def test_a_graph_for_which_no_cache_is_asked() -> None:
    """Of another backend than Inductor, or with the caches off."""
    told = heard([
        event("B", "dynamo", 1), event("B", "backend_compile", 2),
        event("E", "backend_compile", 5), event("E", "dynamo", 6),
    ])  # fmt: skip
    assert [graph.outcome for graph in told] == ["compiling", "compiling", "none"]
    assert told[0].phases == (("dynamo", 1.0),)
    assert told[2].phases == (("dynamo", 2.0), ("other", 3.0))


def test_a_compile_that_failed_and_began_again() -> None:
    compile_ = Compile()
    for one in (Event("B", "dynamo", 1), Event("B", "code_gen", 2), Event("B", "dynamo", 5),
                Event("E", "dynamo", 6)):  # fmt: skip
        compile_.take(one)
    assert [part.phases() for part in compile_.parts] == [
        (("dynamo", 1), ("codegen", 3)),
        (("dynamo", 1),),
    ]


ODD = [
    None, 3, "", "{}", '{"name": "x"}', '{"name": "x", "ts": 1}', "[" * 100_000, '{"name": ' * 9,
    '{"name": "x", "ts": 1e9, "ph": "B"}', '{"name": "x", "ts": -1, "ph": "B"}',
    '{"name": "x", "ts": 1, "ph": "i"}', '{"name": "' + "x" * 500 + '", "ts": 1, "ph": "B"}',
]  # fmt: skip


@pytest.mark.parametrize("payload", ODD)
def test_what_is_no_event(payload: object) -> None:
    assert graphs.event(payload) is None
    assert heard([({"chromium_event": {}, "frame_id": 1}, payload)]) == []  # type: ignore[list-item]


def test_events_in_any_order_are_survived() -> None:
    compile_ = Compile()
    compile_.take(Event("E", "dynamo", 3))
    for number in range(5000):
        compile_.take(Event("B", "inductor_compile", 1e9 - number))
        compile_.take(Event("B", "entire_backward_compile", 1e9))
        compile_.take(Event("E", "entire_backward_compile", 1e15))
    assert len(compile_._open) <= 60
    assert len(compile_.parts) <= 1000
    assert all(0 <= s < 7 * 86400 * 5000 for p in compile_.parts for _, s in p.phases())


def test_it_costs_next_to_nothing() -> None:
    """A compile of seconds writes some hundred events."""
    records = kept("cold")
    began = time.process_time()
    for _ in range(20):
        heard(records)
    assert (time.process_time() - began) / 20 < 0.03


def test_what_another_process_tells() -> None:
    assert checked_phases([["build", 3], ["dynamo", 0.5]]) == [("dynamo", 0.5), ("build", 3.0)]
    for wrong in ([["x", 1]], [["build", -1]], [["build", float("nan")]], [["build"]], [[[], 1]]):
        with pytest.raises((ValueError, TypeError, LookupError)):
            checked_phases(wrong)
