"""Verdicts, and what torch then does: whatever a program or an environment changes, in a folder and
on a server.

Real torch fills both with the entries of a program. Under the variables of an environment it tells
its facts, in which the entries are judged, and compiles the same graph again. What is another torch
or another CPU is in tests/cli/test_check.py.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.redis_server import Server, free_port
from tests.settings.conftest import Done, Torch
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message

pytestmark = pytest.mark.torch

APP = Path(__file__).parents[2] / "app"
I = "TORCHINDUCTOR_"  # noqa: E741
URL = I + "REDIS_URL"
#: All that torch needs to have its graphs on a server.
REMOTE = {I + "FX_GRAPH_REMOTE_CACHE": "1", I + "AUTOGRAD_REMOTE_CACHE": "1"}
KINDS = {"fxgraph": "fxgraph_cache", "aotautograd": "autograd_cache"}


class Program(NamedTuple):
    """What a program compiles, and what it sets before."""

    graph: str = ""
    settings: str = ""


PROGRAMS = {
    "none": Program(),
    "shape": Program("size = 16"),
    "one": Program("size = 1"),
    "dynamic": Program("dynamic = True"),
    "dtype": Program("dtype = torch.float64"),
    "half": Program("dtype = torch.bfloat16"),
    "backward": Program("grad = True"),
    "inference": Program("torch.set_grad_enabled(False)"),
    "max_autotune": Program(
        "", "options = {'max_autotune': True, 'max_autotune_gemm_backends': 'ATEN'}"
    ),
    "threads": Program(
        "", "torch.set_num_threads(1 if torch.get_num_threads() > 1 else 2)"
    ),
    "precision": Program("", "torch.set_float32_matmul_precision('high')"),
    "deterministic": Program("", "torch.use_deterministic_algorithms(True)"),
    "tag": Program("", "torch.compiler.config.cache_key_tag = 'release-7'"),
}  # fmt: skip

#: Variables by what they change; {url} is the server, {other} one where nobody listens.
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "none": {},
    "graphs off": {I + "FX_GRAPH_CACHE": "0"},
    "autograd off": {I + "AUTOGRAD_CACHE": "0"},
    "all off": {I + "FORCE_DISABLE_CACHES": "1"},
    "torch.compile off": {"TORCHDYNAMO_DISABLE": "1"},
    "server named": {URL: "{url}"},
    "remote graphs off": {URL: "{url}", I + "FX_GRAPH_REMOTE_CACHE": "0"},
    "remote graphs": {URL: "{url}", I + "FX_GRAPH_REMOTE_CACHE": "1"},
    "remote graphs of nowhere": {I + "FX_GRAPH_REMOTE_CACHE": "1", URL: "{other}"},
    "remote graphs by port": {
        I + "FX_GRAPH_REMOTE_CACHE": "1", I + "REDIS_HOST": "localhost", I + "REDIS_PORT": "{port}"
    },
    "remote autograd": {URL: "{url}", I + "AUTOGRAD_REMOTE_CACHE": "1"},
    "remote": {URL: "{url}", **REMOTE},
    "remote alone": {URL: "{url}", **REMOTE, I + "FX_GRAPH_CACHE": "0", I + "AUTOGRAD_CACHE": "0"},
    "remote and all off": {URL: "{url}", **REMOTE, I + "FORCE_DISABLE_CACHES": "1"},
    "max_autotune": {URL: "{url}", I + "FX_GRAPH_REMOTE_CACHE": "1", I + "MAX_AUTOTUNE": "1",
                     I + "MAX_AUTOTUNE_GEMM_BACKENDS": "ATEN"},
    "freezing": {URL: "{url}", I + "FX_GRAPH_REMOTE_CACHE": "1", I + "FREEZING": "1"},
    "headers": {
        URL: "{url}", I + "FX_GRAPH_REMOTE_CACHE": "1", I + "CPP_CACHE_PRECOMPILE_HEADERS": "0"
    },
    "tag": {URL: "{url}", I + "FX_GRAPH_REMOTE_CACHE": "1", "TORCHCOMPILE_CACHE_KEY_TAG": "a"},
    "partitioner": {"AOT_PARTITIONER_DEBUG": "1"},
}  # fmt: skip

#: Programs, and environments, that are tried with every run of the tests.
EVERY_DAY = ("shape", "backward", "precision", "tag")
EVERY_DAYS = (
    "none", "graphs off", "autograd off", "all off", "torch.compile off", "server named",
    "remote graphs of nowhere", "remote", "remote alone", "max_autotune", "tag",
)  # fmt: skip

COMPILE = """
size, dtype, dynamic, grad, options, device = 4, torch.float32, None, False, {{}}, "cpu"
{program}
x = torch.ones(size, size, dtype=dtype, requires_grad=grad, device=device)
made = torch.compile(product, dynamic=dynamic, options=options)
result = made(x, torch.ones(size, size, dtype=dtype, device=device))
if grad:
    result.sum().backward()
"""
PROBE = f"""
import sys
sys.path.insert(0, {str(APP)!r})
from torchkeeper.verdict import environment
told["env"] = environment.probe()
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


class Places:
    """The same entries in a folder and on a server, made by a program."""

    def __init__(self, torch: Torch, server: Server, program: Program) -> None:
        self._torch, self._server = torch, server
        source = "\n".join(program)
        self.folder = torch({}, "code", code=COMPILE.format(program=source)).folder
        server("FLUSHALL")
        torch({**REMOTE, URL: server.url}, "code", code=COMPILE.format(program=source))
        keys = server("KEYS", "*")
        assert isinstance(keys, list)
        self._there = {key: server("DUMP", key) for key in keys}

    def restore(self, *, empty: bool = False) -> None:
        """The server is as it was filled, or empty."""
        self._server("FLUSHALL")
        for key, value in () if empty else self._there.items():
            assert isinstance(value, bytes)
            self._server("RESTORE", key, 0, value)

    def compile(self, values: dict[str, str], source: str, tmp_path: Path, *, local: bool) -> Done:
        """Compile again under these variables, in a copy of the folder or in an empty one."""
        cache = tmp_path / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        if local:
            shutil.copytree(self.folder, cache)
        values = {**values, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
        return self._torch(values, "code", code=COMPILE.format(program=source))


def judged(engine: Engine, place: str, env: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What is said of the graphs of a place, by kind."""
    engine.call("know", {"python": "/here", "env": env})
    messages: list[Message] = []
    engine.call("judge", {"place": place, "envs": ["/here"]}, messages.append)
    told = [m.body["judged"] for m in messages if "judged" in m.body]
    said = [one for some in told for one in some["said"]]
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for kind, _, number in (one for some in told for one in some["of"]):
        if kind in found:
            found[kind].append(said[number])
    return found


def agrees(said: list[dict[str, Any]], done: Done, kind: str) -> str | None:
    """What is wrong with what is said of all entries of a kind, None where nothing is."""
    hits, misses = (done.counted(f"{KINDS[kind]}_{what}") for what in ("hit", "miss"))
    verdicts = {one["verdict"] for one in said}
    if verdicts == {"usable"} and (hits, misses) != (len(said), 0):
        return f"usable, and {hits} hits, {misses} misses"
    if verdicts == {"stale"} and hits:
        return f"stale, and {hits} hits"
    if verdicts == {"conditional"} and hits:
        return f"conditional, and {hits} hits without what it asks for"
    if len(verdicts) != 1:
        return f"{sorted(verdicts)} of one kind"
    return None


def compare(
    torch: Torch, server: Server, engine: Engine, tmp_path: Path, name: str, envs: list[str]
) -> Counter[str]:
    """Judge the entries of a program in environments, and have torch look for them there."""
    program = PROGRAMS[name]
    places = Places(torch, server, program)
    other = f"redis://127.0.0.1:{free_port()}/0"
    counts: Counter[str] = Counter()
    wrong = []
    for about in envs:
        fields = {"url": server.url, "port": server.port, "other": other}
        values = {k: v.format(**fields) for k, v in ENVIRONMENTS[about].items()}
        env = torch(values, "code", code=PROBE).told["told"]["env"]
        places.restore()
        at = {"folder": str(places.folder), "server": server.url}
        said = {where: judged(engine, place, env) for where, place in at.items()}
        for where in at:
            # What the one has is not to be taken for what the other has.
            places.restore(empty=where == "folder")
            done = places.compile(values, program.graph, tmp_path, local=where == "folder")
            for kind in KINDS:
                fault = agrees(said[where][kind], done, kind)
                wrong += [(about, where, kind, fault, said[where][kind])] if fault else []
                counts.update(one["verdict"] for one in said[where][kind][:1])
    assert not wrong, json.dumps(wrong, indent=1)
    if program.settings:
        # A program that has what the entry asks for finds it.
        done = places.compile({}, "\n".join(program), tmp_path, local=True)
        assert [done.counted(f"{name}_hit") for name in KINDS.values()] == [1, 1]
    return counts


@pytest.mark.slow
def test_a_program_as_it_is_under_changes_of_its_environment(
    torch: Torch, server: Server, engine: Engine, tmp_path: Path
) -> None:
    counts = compare(torch, server, engine, tmp_path, "none", list(EVERY_DAYS))
    assert counts.total() == 4 * len(EVERY_DAYS)
    assert counts["usable"] >= 12
    assert counts["conditional"] >= 10


#: A matrix of one number is made by C++, which is built.
@pytest.mark.parametrize(
    "name",
    [
        name if name in EVERY_DAY else pytest.param(name, marks=pytest.mark.slow)
        for name in PROGRAMS
        if name not in ("none", "one")
    ],
)
def test_every_change_of_a_program(
    torch: Torch, server: Server, engine: Engine, tmp_path: Path, name: str
) -> None:
    counts = compare(torch, server, engine, tmp_path, name, ["remote"])
    assert counts.total() == 4
    assert counts["stale"] == counts["unsafe"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_change_of_a_program_under_every_change_of_its_environment(
    torch: Torch, server: Server, engine: Engine, tmp_path: Path, name: str
) -> None:
    counts = compare(torch, server, engine, tmp_path, name, list(ENVIRONMENTS))
    assert counts.total() == 4 * len(ENVIRONMENTS)
