"""Verdicts in selections: who is told, in which environments, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.redis_server import dump, serving
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.artifacts.layout import payload_name
from torchkeeper.client.engines import probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import Message

pytestmark = ANYWHERE

ENVIRONMENTS: dict[str, dict[str, Any]] = json.loads((DATA / "environments.json").read_text())
#: In which nothing that torch 2.9.1 made is known to be of another.
SAME = {**ENVIRONMENTS["none"], "torch": "2.9.1+cu128"}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        engine.call("know", {"python": "/old", "env": SAME})
        engine.call("know", {"python": "/new", "env": ENVIRONMENTS["none"]})
        yield engine


def rows_of(engine: Engine, op: str, **params: Any) -> list[dict[str, Any]]:
    messages: list[Message] = []
    engine.call(op, params, messages.append)
    return [row for message in messages for row in message.rows]


def test_of_several_environments_the_best_counts(engine: Engine, kept_291: Path) -> None:
    place = str(kept_291)

    def count(filter: str, *envs: str) -> int:
        found = rows_of(engine, "list", place=place, filter=filter, envs=list(envs))
        assert {row["verdict"] for row in found} <= {None, *VERDICTS}
        return len(found)

    assert count("is:stale", "/new") == 11
    # Without key factors nobody knows; which is better than stale.
    assert count("is:stale", "/old") == 0
    assert count("is:stale", "/new", "/old") == 0
    graphs = "kind:fxgraph,aotautograd"
    assert count(f"is:unknown {graphs}", "/old", "/new") == 11
    assert count(f"-is:stale {graphs}", "/new") == 0
    everything = rows_of(engine, "list", place=place)
    assert {row["verdict"] for row in everything} == {None}
    assert count("", "/new") == len(everything)


@pytest.mark.parametrize("op", ["list", "plan_purge", "plan_export", "copy"])
def test_a_filter_needs_an_environment_that_is_known(
    engine: Engine, fixture_cache: Path, tmp_path: Path, op: str
) -> None:
    def code(envs: list[str]) -> str:
        place, into = str(fixture_cache), str(tmp_path / "b.torchcache")
        about: dict[str, Any] = {"filter": "is:stale", "envs": envs}
        params = {"place": place, **about, "select": about, "into": into, "dry": True}
        with pytest.raises(UserError) as raised:
            engine.call(op, params)
        return raised.value.code

    assert code([]) == "environment-wanted"
    assert code(["/new", "/gone"]) == "environment-forgotten"


def test_a_server_is_read_where_its_keys_do_not_tell(engine: Engine, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.load(dump())
        found = rows_of(engine, "list", place=server.url, filter="is:stale", envs=["/new"])
        assert len(found) == 11
        both = {"filter": "kind:aotautograd is:stale", "envs": ["/new"]}
        result = engine.call("ttl", {"place": server.url, "select": both, "ttl_s": 1000})
        assert result["entries"] == 4


def test_judging_says_each_thing_once(engine: Engine, kept_291: Path) -> None:
    messages: list[Message] = []
    params = {"place": str(kept_291), "envs": ["/new"]}
    result = engine.call("judge", params, messages.append)
    told = [m.body["judged"] for m in messages if "judged" in m.body]
    said = [one for some in told for one in some["said"]]
    of = [tuple(one) for some in told for one in some["of"]]
    assert len(of) == sum(result["verdicts"].values()) - result["verdicts"]["none"]
    verdicts = {(kind, path): said[n]["verdict"] for kind, path, n in of}
    listed = rows_of(engine, "list", place=str(kept_291), envs=["/new"])
    assert verdicts == {(r["kind"], r["path"]): r["verdict"] for r in listed if r["verdict"]}
    assert len({json.dumps(one) for one in said}) == len(said) < 5
    assert result["made_by"] == {"2.9.1+cu128": 11}
    assert said[0]["reasons"][0] == {"factor": "torch", "entry": "2.9.1+cu128",
                                     "here": "2.13.0+cpu"}  # fmt: skip


@pytest.mark.torch
def test_a_payload_for_another_cpu_spoils_those_beside_it(
    engine: Engine, warm_cache: Path, torch_python: str
) -> None:
    env = probes.probe(torch_python)
    assert env["vector_bits"]
    lanes = env["vector_bits"] // 32
    engine.call("know", {"python": "/here", "env": env})
    graph = next(
        path
        for path in warm_cache.glob("fxgraph/*/*/*")
        if b"x0+=static_cast<int64_t>(%dL)" % lanes in path.read_bytes()
    )
    asked: dict[str, Any] = {"place": str(warm_cache), "filter": "kind:fxgraph"}

    def verdicts() -> dict[str, str]:
        found = rows_of(engine, "list", **asked, envs=["/here"])
        return {row["path"].rpartition("/")[2]: row["verdict"] for row in found}

    assert set(verdicts().values()) == {"usable"}
    # The same graph as another CPU has it, with loops of half the width.
    data = graph.read_bytes()
    for end in (b"L)", b")"):
        text = b"static_cast<int64_t>(%0*d" % (len(str(lanes)), lanes)
        data = data.replace(text + end, text[: -len(str(lanes))] + b"%0*d" % (
            len(str(lanes)), lanes // 2) + end)  # fmt: skip
    other = graph.with_name(payload_name(hashlib.sha256(data).hexdigest()))
    other.write_bytes(data)
    after = verdicts()
    assert (after.pop(graph.name), after.pop(other.name)) == ("unknown", "unsafe")
    assert set(after.values()) == {"usable"}
    needing = rows_of(engine, "list", place=str(warm_cache), filter="is:unknown", envs=["/here"])
    assert [row["kind"] for row in needing] == ["fxgraph", "aotautograd"]


@pytest.mark.torch
def test_a_payload_of_another_key_spoils_those_beside_it(
    engine: Engine, warm_cache: Path, torch_python: str
) -> None:
    engine.call("know", {"python": "/here", "env": probes.probe(torch_python)})
    first, second = sorted(warm_cache.glob("fxgraph/*/*/*"))[:2]
    beside = first.with_name(second.name)
    beside.write_bytes(second.read_bytes())
    found = rows_of(engine, "list", place=str(warm_cache), envs=["/here"])
    said = {warm_cache / row["path"]: row["verdict"] for row in found if row["kind"] == "fxgraph"}
    assert (said.pop(beside), said.pop(first)) == ("broken", "unknown")
    assert set(said.values()) == {"usable"}


@pytest.mark.torch
def test_what_autograd_wants_of_a_server_is_not_recorded(
    engine: Engine, warm_cache: Path, torch_python: str, tmp_path: Path, anywhere: bool
) -> None:
    env = probes.probe(torch_python)
    assert env["remote"]
    with serving(tmp_path) as server:
        on = dict.fromkeys(("fxgraph", "aotautograd"), True)
        asked = {**env["remote"], **on, "server": server.url.replace("127.0.0.1", "localhost")}
        engine.call("know", {"python": "/here", "env": {**env, "remote": asked}})
        engine.call("know", {"python": "/plain", "env": env})
        engine.call("copy", {"place": str(warm_cache), "into": server.url})
        found, plain = (rows_of(engine, "list", place=server.url, envs=[name])
                        for name in ("/here", "/plain"))  # fmt: skip
    said = {(row["kind"], row["verdict"]) for row in found}
    if anywhere:
        # No program looks for anything through ssh: it is judged as what is in a bundle.
        assert said == {(row["kind"], row["verdict"]) for row in plain}
        assert said == {("fxgraph", "usable"), ("aotautograd", "usable")}
        return
    # Whoever looks for it there has a setting that makes other keys than a folder's.
    assert said == {("fxgraph", "usable"), ("aotautograd", "unknown")}
    # And whoever has no setting for it looks nowhere but in the folder.
    said = {(row["kind"], row["verdict"]) for row in plain}
    assert said == {("fxgraph", "conditional"), ("aotautograd", "unknown")}


@pytest.mark.torch
def test_what_was_built_must_run_here(engine: Engine, warm_cache: Path, torch_python: str) -> None:
    env = probes.probe(torch_python)
    place = str(warm_cache)

    def said(**more: Any) -> dict[str | None, dict[str, Any]]:
        """An object for each verdict that FX graphs have."""
        engine.call("know", {"python": "/here", "env": {**env, **more}})
        found: dict[str | None, dict[str, Any]] = {}
        messages: list[Message] = []
        engine.call("judge", {"place": place, "envs": ["/here"]}, messages.append)
        told = [m.body["judged"] for m in messages if "judged" in m.body]
        objects = [one for some in told for one in some["said"]]
        for kind, _, number in (one for some in told for one in some["of"]):
            if kind == "fxgraph":
                found[objects[number]["verdict"]] = objects[number]
        return found

    assert list(said()) == ["usable"]
    # Of those that every Linux names; another, as amx_bf16, may be there all the same.
    assert list(said(vector=[v for v in env["vector"] if v != "fma"])) == ["unsafe"]
    (reason,) = said(vector=[v for v in env["vector"] if v != "avx2"])["unsafe"]["reasons"]
    assert (reason["factor"], reason["entry"]) == ("vector instructions", "avx2")
    assert list(said(vector=[])) == ["unknown"]
    assert list(said(vector_bits=None)) == ["unknown"]
    lacking = said(cxx=None)["conditional"]["conditions"]
    assert lacking == [{"factor": "C++ compiler", "entry": "needed", "here": None}]
    objects = list(warm_cache.glob("*/*.so"))
    for path in objects:
        subprocess.run(["strip", "--strip-debug", path], check=True)
    # What it was built for is not known any more; without it, torch builds it here.
    (reason,) = said()["unknown"]["reasons"]
    assert (reason["factor"], reason["entry"]) == ("vector instructions", None)
    for path in objects:
        os.truncate(path, 100)
    assert list(said()) == ["broken"]
    for path in objects:
        path.unlink()
    assert list(said()) == ["usable"]
