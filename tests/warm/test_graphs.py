"""Reading PyTorch's structured trace, from records as several versions write them."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm import header, job
from torchkeeper.warm.traces.graphs import Graph, Graphs


def heard(*records: tuple[Any, Any]) -> tuple[list[Graph], int]:
    told: list[Graph] = []
    graphs = Graphs(told.append)
    graphs.step = "the step"
    logger = logging.Logger("test")
    logger.addHandler(graphs)
    for metadata, payload in records:
        logger.debug("", extra={"metadata": metadata, "payload": payload})
    return told, graphs.count


def lookup(outcome: str, key: str | None, **more: Any) -> tuple[Any, Any]:
    payload = {"components": ['say "key": "not this"'], **({"key": key} if key else {}), **more}
    compile_id = {"frame_id": 1, "frame_compile_id": 0, "attempt": 0}
    name = {"name": f"fx_graph_cache_{outcome}", "encoding": "json"}
    return {"artifact": name, **compile_id}, json.dumps(payload)


def start(name: str) -> tuple[Any, Any]:
    stack = [{"name": "<module>"}, {"name": name}]
    return {"dynamo_start": {"stack": stack}, "frame_id": 1, "frame_compile_id": 0}, None


def test_forward_then_backward() -> None:
    told, count = heard(
        start("attention"),
        lookup("miss", "f1", time_taken_ns=1_500_000_000),
        lookup("hit", "f2", time_saved_ns=7),
    )
    assert told == [
        Graph("1/0 forward", "attention", "miss", 1.5, key="f1"),
        Graph("1/0 backward", "attention", "hit", None, key="f2"),
    ]
    assert count == 2


def test_a_graph_looked_up_twice_is_one_graph() -> None:
    """An AOTAutograd entry asks in vain, and then the graph is compiled."""
    told, count = heard(lookup("miss", "f1"), lookup("miss", "f1", time_taken_ns=10**9))
    assert [(graph.id, graph.seconds) for graph in told] == [
        ("1/0 forward", None),
        ("1/0 forward", 1.0),
    ]
    assert count == 1


def test_a_bypass_has_no_key_and_perhaps_a_reason() -> None:
    why = {"cache_bypass_reason": 'Unsupported "custom" pass'}
    told, count = heard(lookup("bypass", None, **why), lookup("bypass", None))
    assert [graph.id for graph in told] == ["1/0 forward", "1/0 backward"]
    assert [graph.reason for graph in told] == ['Unsupported "custom" pass', None]
    assert count == 2


def test_a_function_without_a_name_takes_the_steps() -> None:
    [graph], _ = heard(start("forward"), lookup("hit", "f1"))
    assert graph.name == "the step"


def test_records_of_any_shape_are_survived() -> None:
    odd: list[tuple[Any, Any]] = [
        (None, None),
        (("a", 1), None),
        ({}, None),
        ({"dynamo_start": {}}, None),
        ({"dynamo_start": {"stack": []}}, None),
        ({"artifact": None}, None),
        ({"artifact": {"name": 3}}, b"x"),
        ({"artifact": {"name": "fx_graph_cache_disabled"}}, None),
    ]
    assert heard(*odd) == ([], 0)
    told, _ = heard(({"artifact": {"name": "fx_graph_cache_hit"}}, None))
    assert told == [Graph("forward", "the step", "hit", None)]
    logging.Logger("bare").handle(logging.LogRecord("", 10, "", 1, "", (), None))


def test_a_listener_that_fails_fails_no_compile() -> None:
    def fail(_: Graph) -> None:
        raise OSError("the engine is gone")

    logger = logging.Logger("test")
    logger.addHandler(Graphs(fail))
    metadata, payload = lookup("hit", "f1")
    logger.debug("", extra={"metadata": metadata, "payload": payload})


def fake(kinds: dict[str, int], **config: Any) -> Any:
    def device(text: str) -> Any:
        kind, _, index = text.partition(":")
        if kind not in ("cpu", "cuda", "xpu", "mps"):
            raise RuntimeError(f"no {kind}")
        return SimpleNamespace(type=kind, index=int(index) if index else None)

    modules = {
        kind: SimpleNamespace(
            is_available=lambda count=count: count > 0,
            device_count=lambda count=count: count,
            get_device_name=lambda _, kind=kind: f"a {kind}",
        )
        for kind, count in kinds.items()
    }
    return SimpleNamespace(
        device=device,
        backends=SimpleNamespace(),
        _dynamo=SimpleNamespace(config=SimpleNamespace(disable=config.pop("disable", False))),
        _inductor=SimpleNamespace(config=SimpleNamespace(**config)),
        **modules,
    )


def test_the_device_is_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header, "_has_triton", lambda kind: kind == "cuda")
    chosen = header.choose_device
    assert chosen(fake({}), None)[1] == {"type": "cpu", "name": "CPU", "why": "no-accelerator"}
    assert chosen(fake({"cuda": 0}), None)[0] == "cpu"
    cuda = ("cuda", {"type": "cuda", "name": "a cuda", "why": "accelerator"})
    assert chosen(fake({"cuda": 1}), None) == cuda
    assert chosen(fake({"xpu": 1}), None)[1]["why"] == "no-triton"
    assert chosen(fake({"cuda": 1}), "cpu")[1] == {"type": "cpu", "name": "CPU", "why": "asked"}
    assert chosen(fake({"cuda": 2}), "cuda:1")[0] == "cuda:1"
    for wanted in ("cuda:2", "xpu", "toaster"):
        with pytest.raises(Problem) as failure:
            chosen(fake({"cuda": 2}), wanted)
        assert (failure.value.code, failure.value.params) == ("device-missing", {"device": wanted})


@pytest.mark.parametrize(
    ("config", "env", "code", "variable"),
    [
        ({"disable": True}, "", "compile-disabled", "TORCH_COMPILE_DISABLE"),
        ({}, "TORCHDYNAMO_DISABLE", "compile-disabled", "TORCHDYNAMO_DISABLE"),
        (
            {"force_disable_caches": True},
            "TORCH_COMPILE_FORCE_DISABLE_CACHES",
            "caches-disabled",
            "TORCH_COMPILE_FORCE_DISABLE_CACHES",
        ),
        ({"fx_graph_cache": False}, "", "caches-disabled", "TORCHINDUCTOR_FX_GRAPH_CACHE"),
    ],
)
def test_what_the_user_turned_off(
    config: dict[str, Any], env: str, code: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if env:
        monkeypatch.setenv(env, "1")
    with pytest.raises(Problem) as failure:
        job._check_settings(fake({}, **config))
    assert (failure.value.code, failure.value.params) == (code, {"variable": variable})
    monkeypatch.undo()
    job._check_settings(fake({}))
    job._check_settings(fake({}, force_disable_caches=False, fx_graph_cache=True))
