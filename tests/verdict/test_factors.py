"""What real entries record, and what follows where some of it is missing or is another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchkeeper.artifacts import fxgraph
from torchkeeper.verdict import judging
from torchkeeper.verdict.native import Code
from torchkeeper.verdict.probed import Env

Factor = tuple[str, str, str]
#: A whole entry and an environment in which it is usable.
Case = tuple[str, str, list[Factor], Env]
#: Which no program can change.
ENVIRONMENT = ("torch_version", "system_info[hash]")


def case(root: Path, kind: str = "fxgraph") -> Case:
    """The first entry of a cache, and the environment that its own factors describe."""
    files = sorted(path for path in (root / kind).rglob("*") if path.is_file())
    read = fxgraph.facts if kind == "fxgraph" else fxgraph.aot_facts
    graph = fxgraph.facts(next((root / "fxgraph").rglob("*/*/*")).read_bytes(), full=False)
    torch = str(graph["torch"])
    listed: Any = read(files[0].read_bytes(), True)["factors"]
    factors = [(str(h), str(n), str(v)) for h, n, v in listed]
    shared = {n: (h, v) for h, n, v in factors if not fxgraph.of_graph(n)}
    env: Env = {
        "torch": torch,
        "key_factors": shared,
        "devices": [{"type": "cpu", "name": "CPU", "arch": "x86_64"}],
        "vector_bits": 512,
    }
    return torch, "cpu", factors, env


def verdict(case: Case, factors: list[Factor] | None = None, **env: Any) -> judging.Verdict:
    torch, device, own, here = case
    code = Code(widths="512")
    changed: Any = {**here, **env}
    return judging.graph(torch, device, own if factors is None else factors, changed, code)


def removed(factors: list[Factor], names: set[str]) -> list[Factor]:
    return [factor for factor in factors if factor[1] not in names]


@pytest.fixture(scope="session", params=["fxgraph", "aotautograd", "fxgraph of 2.15"])
def old(request: pytest.FixtureRequest, kept_291: Path, kept_215: Path) -> Case:
    kind, _, newer = request.param.partition(" of ")
    return case(kept_215 / "cache" if newer else kept_291, kind)


@pytest.fixture(scope="session")
def new(filled: Path) -> Case:
    return case(filled)


def every_one(case: Case) -> None:
    """Take each fact away, and change each, one at a time."""
    assert verdict(case) == judging.Verdict("usable")
    torch, _, factors, env = case
    shared = env["key_factors"] or {}
    # The hash of the system is of all that tells of it.
    parts = {n for n in shared if n.startswith("system_info[")} - set(ENVIRONMENT)
    for name in shared.keys() - parts:
        missing = verdict(case, removed(factors, {name}))
        assert missing.verdict == "unknown", name
        assert any(one.factor.startswith(name.partition("[")[0]) for one in missing.reasons), name
        other = [(("x" + h) if n == name else h, n, v) for h, n, v in factors]
        expected = "stale" if name in ENVIRONMENT else "conditional"
        assert verdict(case, other).verdict == expected, name
        # An environment that does not tell it.
        here = {n: value for n, value in shared.items() if n != name}
        expected = "unknown" if name in ENVIRONMENT else "conditional"
        assert verdict(case, key_factors=here).verdict == expected, name
    # The version alone says nothing; without it, the hash says all.
    none = judging.graph(None, "cpu", factors, env, Code(widths="512"))
    assert none == judging.Verdict("usable")
    assert judging.graph(torch, "cpu", removed(factors, set(shared)), env).verdict == "unknown"
    for field in ("key_factors", "vector_bits"):
        assert verdict(case, **{field: None}).verdict == "unknown", field
    cuda = judging.graph(torch, "cpu,cuda", factors, {**env, "devices": []}, Code())
    assert cuda.verdict == "unknown"
    assert verdict(case, vector_bits=256).verdict == "unsafe"


def test_each_fact_of_an_old_entry(old: Case) -> None:
    every_one(old)


@pytest.mark.torch
def test_each_fact_of_a_new_entry(new: Case) -> None:
    every_one(new)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_whatever_is_missing_or_another_is_never_usable(old: Case, data: st.DataObject) -> None:
    _, _, factors, env = old
    # A program has hundreds of settings; those of the environment are to come up, too.
    every = sorted(
        name for name in env["key_factors"] or () if not name.startswith("system_info[v")
    )
    names = st.sampled_from(every) | st.sampled_from(ENVIRONMENT)
    gone, other = data.draw(st.sets(names, max_size=9)), data.draw(st.sets(names, max_size=9))
    own = [(h + "x" * (n in other), n, v) for h, n, v in removed(factors, gone)]
    said = verdict(old, own).verdict
    if (other - gone) & set(ENVIRONMENT):
        assert said == "stale"
    elif gone:
        assert said == "unknown"
    else:
        assert said == ("conditional" if other else "usable")
