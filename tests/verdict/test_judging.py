"""Verdicts from facts: of graphs by their key factors, of other kinds by what they hold."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from torchkeeper.artifacts import triton
from torchkeeper.artifacts.entry import Entry
from torchkeeper.verdict import judging
from torchkeeper.verdict.judging import Difference, Verdict
from torchkeeper.verdict.probed import Env

ENVIRONMENTS: dict[str, Env] = json.loads((DATA / "environments.json").read_text())
Factor = tuple[str, str, str]
FACTORS: list[Factor] = [
    ("g1", "gm", "GraphModule()"),
    ("i1", "example_inputs[0]", "TensorMetadata(…)"),
    ("b1", "fx_kwargs[is_backward]", "True"),
    ("t1", "torch_version", "…"),
    ("s1", "system_info[hash]", "44136fa3"),
    ("c2", "cpp_runtime_thread_count", "2"),
    ("f0", "inductor_config[max_autotune]", "False"),
    ("m0", "cuda_matmul_settings", "('none', True, True)"),
]


def here(**more: Any) -> Env:
    shared = {n: (h, v) for h, n, v in FACTORS if n not in ("gm", "example_inputs[0]")}
    del shared["fx_kwargs[is_backward]"]
    made: Any = {**ENVIRONMENTS["none"], "torch": "2.13.0+cpu", "key_factors": shared, **more}
    env: Env = made
    return env


def changed(name: str, digest: str | None, value: str = "") -> list[Factor]:
    """The factors with one that is another, or none."""
    rest = [factor for factor in FACTORS if factor[1] != name]
    return rest if digest is None else [*rest, (digest, name, value)]


def judged(
    factors: list[Factor] | None, env: Env, torch: str | None = "2.13.0+cpu",
    device: str | None = "cpu",
) -> Verdict:  # fmt: skip
    return judging.graph(torch, device, factors, env)


def test_the_same_factors_are_usable() -> None:
    assert judged(FACTORS, here()) == Verdict("usable")
    # Of graphs that have no code for the CPU.
    assert judged(changed("cpp_runtime_thread_count", None), here()) == Verdict("usable")


@pytest.mark.parametrize(
    ("name", "value", "was"),
    [
        ("cpp_runtime_thread_count", "1", "2"),
        ("inductor_config[max_autotune]", "True", "False"),
        ("cuda_matmul_settings", "('tf32', True, True)", "('none', True, True)"),
        ("cudagraph_override", "True", None),
    ],
)
def test_what_a_program_can_change_is_a_condition(name: str, value: str, was: str | None) -> None:
    said = judged(changed(name, "other", value), here())
    assert said == Verdict("conditional", (), (Difference(name, value, was),))


@pytest.mark.parametrize("half", [FACTORS, changed("cpp_runtime_thread_count", "c1", "1")])
def test_both_halves_of_an_aotautograd_entry_count(half: list[Factor]) -> None:
    other = changed("cpp_runtime_thread_count", "c1", "1")
    assert judged([*half, *other], here()).verdict == "conditional"
    assert judged([*other, *half], here()).verdict == "conditional"


def test_what_no_program_can_change_is_stale() -> None:
    torch = judged(changed("torch_version", "t2"), here())
    assert torch.verdict == "stale"
    assert [one.factor for one in torch.reasons] == ["torch"]
    system = judged(changed("system_info[hash]", "s2", "abc"), here())
    assert system == Verdict("stale", (Difference("system_info[hash]"),))
    version = ("s3", "system_info[version]", f"{{'triton': '3.9.0{'ab' * 32}-{'cd' * 32}'}}")
    triton = judged([*changed("system_info[hash]", "s2"), version], here())
    assert triton == Verdict("stale", (Difference("triton", "3.9.0", "3.7.1"),))
    device = judged(FACTORS, here(), device="cpu,cuda")
    assert device == Verdict("stale", (Difference("device", "cuda", "cpu"),))
    assert judged(FACTORS, here(devices=ENVIRONMENTS["MI300X"]["devices"]), device="cuda") == (
        Verdict("usable")
    )


def test_another_version_is_stale_whatever_else_is_known() -> None:
    reasons = (Difference("torch", "2.9.1+cu128", "2.13.0+cpu"),)
    cases: list[tuple[list[Factor] | None, Env]]
    cases = [(FACTORS, here()), (None, here()), (FACTORS, here(key_factors=None))]
    for factors, env in cases:
        assert judged(factors, env, "2.9.1+cu128") == Verdict("stale", reasons)


def test_what_is_not_recorded_is_unknown() -> None:
    for name in ("torch_version", "system_info[hash]", "inductor_config[max_autotune]"):
        assert judged(changed(name, None), here()).verdict == "unknown", name
    for torch in (None, "2.13.0+cpu"):
        assert judged(None, here(), torch).verdict == "unknown"
        assert judged([], here(), torch).verdict == "unknown"
    assert judged(FACTORS, here(key_factors=None)).verdict == "unknown"
    assert judged(FACTORS, here(key_factors={})).verdict == "unknown"


def test_of_two_kinds_of_gpus_torch_takes_either() -> None:
    gpus = [ENVIRONMENTS[name]["devices"][0] for name in ("H100", "A100")]
    said = judged(changed("system_info[hash]", "s2"), here(devices=gpus))
    assert said.verdict == "unknown"


def test_a_cache_that_is_off_is_a_condition() -> None:
    good = Verdict("usable")
    on: Env = {"caches": {"fxgraph": True, "aotautograd": False}}
    assert judging.looked_for("fxgraph", good, on) == good
    off = judging.looked_for("aotautograd", good, on)
    assert off == Verdict("conditional", (), (Difference("aotautograd cache", "on", "off"),))
    assert judging.looked_for("fxgraph", good, {}).verdict == "unknown"
    stale = Verdict("stale", (Difference("torch", "1", "2"),))
    assert judging.looked_for("aotautograd", stale, on) == stale


def test_settings_of_autograd_that_no_entry_records_leave_it_unknown() -> None:
    good = Verdict("usable")
    on: Env = {"caches": {"fxgraph": True, "aotautograd": True}}
    assert judging.looked_for("aotautograd", good, {**on, "autograd": {}}) == good
    other: Env = {**on, "autograd": {"debug_partitioner": "True"}}
    assert judging.looked_for("aotautograd", good, other) == Verdict(
        "unknown", (Difference("functorch_config[debug_partitioner]", "not recorded", "True"),)
    )
    # The keys of graphs are made of nothing of it.
    assert judging.looked_for("fxgraph", good, other) == good
    untold: Env = {**on, "autograd": None}
    for told in (on, untold):
        assert judging.looked_for("aotautograd", good, told).verdict == "unknown"


def test_an_entry_is_no_better_than_the_graphs_it_needs() -> None:
    good, worse = Verdict("usable"), Verdict("conditional", (), (Difference("x", "1", "2"),))
    assert judging.together(good, [("f1", good)]) == good
    assert judging.together(good, [("f1", good), ("f2", worse)]) == worse
    gone = judging.together(good, [("f1", None)])
    assert gone == Verdict("broken", (Difference("fxgraph", "f1"),))


def entry(kind: str, device: str | None = None, problem: str | None = None) -> Entry:
    return Entry(kind, "k", None, 1, 1, None, None, device, None, "p", None, problem)


@pytest.mark.parametrize(
    ("problem", "verdict"),
    [("payload-unreadable", "broken"), ("checksum-wrong", "broken"),
     ("payload-too-large", "unknown")],
)  # fmt: skip
def test_what_cannot_be_read(problem: str, verdict: str) -> None:
    said = judging.damaged(entry("fxgraph", problem=problem))
    assert said == Verdict(verdict, (Difference("payload", problem),))
    assert judging.damaged(entry("fxgraph")) is None


@pytest.fixture(scope="module")
def of_kernels(
    kernels: Path, torch_python: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """The facts of a real kernel for each of three GPUs, by device."""
    more = tmp_path_factory.mktemp("kernels")
    command = [torch_python, str(DATA / "triton_kernels.py"), "sm_80"]
    subprocess.run(command, env={**os.environ, "TRITON_CACHE_DIR": str(more)}, check=True)
    found: dict[str, Any] = {}
    for file in (*kernels.rglob("__grp__*.json"), *more.rglob("__grp__*.json")):
        texts = {one.name: one.read_bytes() for one in file.parent.glob("*.json")}
        facts = triton.facts(texts, [one.name for one in file.parent.iterdir()], full=False)
        found[str(facts["device"])] = facts
    return found


@pytest.mark.torch
@pytest.mark.parametrize(
    ("device", "fitting"),
    [("cuda:90", "H100"), ("cuda:80", "A100"), ("hip:gfx942", "MI300X")],
)
def test_kernels_by_what_their_json_tells(
    of_kernels: dict[str, dict[str, Any]], device: str, fitting: str
) -> None:
    facts = of_kernels[device]
    assert facts["triton"]
    for name, env in ENVIRONMENTS.items():
        same: Env = {**env, "triton": facts["triton"]}
        said = judging.other(entry("triton", device), facts, same)
        assert said.verdict == ("conditional" if name == fitting else "stale"), name
        if name != fitting:
            assert [one.factor for one in said.reasons] == ["device"]
        old = judging.other(entry("triton", device), facts, {**env, "triton": "3.0.0"})
        assert old.reasons[0] == Difference("triton", facts["triton"], "3.0.0")
        assert old.verdict == "stale"
        none = judging.other(entry("triton", device), facts, {**env, "triton": None})
        assert none.verdict == "stale"
    fits: Env = {**ENVIRONMENTS[fitting], "triton": facts["triton"]}
    assert judging.other(entry("triton", device), {**facts, "triton": None}, fits).verdict == (
        "unknown"
    )
    wide = {**facts, "warp": 16}
    assert [d.factor for d in judging.other(entry("triton", device), wide, fits).reasons] == [
        "warp size"
    ]


def test_launchers_tell_nothing() -> None:
    said = judging.other(entry("triton"), {}, ENVIRONMENTS["H100"])
    assert said.verdict == "unknown"


def test_gemm_choices_are_of_a_system() -> None:
    choices = {"choices": 4, "gpu": "NVIDIA H100 80GB HBM3",
               "versions": {"triton": "a", "cuda": "12.9"}}  # fmt: skip
    verdicts = {
        name: judging.other(entry("autotune"), choices, env) for name, env in ENVIRONMENTS.items()
    }
    assert {name: said.verdict for name, said in verdicts.items()} == {
        "H100": "conditional", "A100": "stale", "MI300X": "stale", "none": "stale"
    }  # fmt: skip
    assert verdicts["A100"].reasons[0].here == "NVIDIA A100-SXM4-80GB"
    assert judging.other(entry("autotune"), {}, ENVIRONMENTS["H100"]).verdict == "unknown"


def test_precompiled_functions_name_torch_and_python() -> None:
    facts = {"torch": "2.13.0+cpu", "python": "3.11.7", "device": "cpu"}
    env = ENVIRONMENTS["none"]
    assert judging.other(entry("precompile"), facts, env).verdict == "conditional"
    for name, value in (("torch", "2.9.1"), ("python", "3.12.1"), ("gpu", "NVIDIA H100")):
        said = judging.other(entry("precompile"), {**facts, name: value}, env)
        assert (said.verdict, said.reasons[0].factor) == ("stale", name)
    for name in facts:
        said = judging.other(entry("precompile"), {**facts, name: None}, env)
        assert said.verdict == "unknown"


def test_eager_kernels_need_their_torch_and_their_cpu() -> None:
    """Of which PyTorch itself looks at none."""
    env: Env = {**ENVIRONMENTS["none"], "vector": ["avx2", "fma"]}
    here = entry("aoti_eager", "cpu")._replace(torch=str(env["torch"]))
    facts = {"instructions": "avx2"}
    assert judging.other(here, facts, env).verdict == "conditional"
    for one, about, factor, verdict in (
        (here._replace(torch="2.1.0"), facts, "torch", "unsafe"),
        (here._replace(device="cuda"), facts, "device", "stale"),
        (here, {"instructions": "avx2 avx512f"}, "vector instructions", "unsafe"),
    ):
        said = judging.other(one, about, env)
        assert (said.verdict, said.reasons[0].factor) == (verdict, factor)
    for one, used in ((here._replace(torch=None), "avx2"), (here, None)):
        assert judging.other(one, {"instructions": used}, env).verdict == "unknown"


def test_where_nothing_decides_it_is_unknown() -> None:
    for kind in ("pgo", "ondisk", "aoti_eager"):
        assert judging.other(entry(kind), {}, ENVIRONMENTS["none"]).verdict == "unknown"
    lacking = judging.other(entry("aoti_eager", "cuda"), {}, ENVIRONMENTS["none"])
    assert lacking.verdict == "stale"
