"""Rules on what is kept at all and under which keys, each with what real torch then does."""

from __future__ import annotations

import pytest

from tests.settings.conftest import Torch
from tests.settings.ruling import codes, found, mended
from torchkeeper.settings.rules import check

I = "TORCHINDUCTOR_"  # noqa: E741
MASTER, GRAPHS, AUTOGRAD = I + "FORCE_DISABLE_CACHES", I + "FX_GRAPH_CACHE", I + "AUTOGRAD_CACHE"


def test_what_a_plain_environment_does(torch: Torch) -> None:
    """The measure of all others: nothing to say, one graph and what AOTAutograd made of it."""
    assert check({}) == []
    done = torch({})
    assert (done.error, len(done.graphs), len(done.autograd)) == ("", 1, 1)


@pytest.mark.parametrize("name", [MASTER, "TORCH_COMPILE_FORCE_DISABLE_CACHES"])
def test_the_master_switch(torch: Torch, name: str) -> None:
    values = {name: "1", GRAPHS: "1", "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO": "1"}
    finding = found({name: "1"}, "caches-off")
    assert (finding.severity, finding.params["name"]) == ("error", name)
    both = found(values, "caches-off-others")
    assert both.params["others"] == f"{GRAPHS}, TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO"
    done = torch({**values, "TORCH_COMPILE_JOB_ID": "job"})
    assert (done.error, done.graphs, done.autograd) == ("", set(), set())
    assert not (done.folder / "dynamo").exists()
    assert torch(mended(values, both)).graphs


@pytest.mark.parametrize("name", [GRAPHS, GRAPHS + "_DEFAULT"])
def test_without_a_cache_of_graphs_autograd_keeps_nothing(torch: Torch, name: str) -> None:
    values = {name: "0", AUTOGRAD: "1"}
    assert codes({name: "0"}) == {"graphs-off"}
    finding = found(values, "autograd-without-graphs")
    assert codes(values) == {finding.code}
    done = torch(values)
    assert (done.graphs, done.autograd, done.counted("autograd_cache_bypass")) == (set(), set(), 1)
    done = torch(mended(values, finding))
    assert (len(done.graphs), len(done.autograd)) == (1, 1)


@pytest.mark.parametrize("name", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"])
def test_compiling_off(torch: Torch, name: str) -> None:
    finding = found({name: "1"}, "compiling-off")
    done = torch({name: "1"})
    assert (done.error, done.told["result"], done.told["counters"]) == ("", 4.0, {})
    assert torch(mended({name: "1"}, finding)).graphs


def test_freezing(torch: Torch) -> None:
    values = {I + "FREEZING": "1"}
    assert codes(values) == {"freezing-uncached"}
    done = torch(values)
    assert (done.autograd, done.counted("autograd_cache_bypass")) == (set(), 1)


@pytest.mark.slow
def test_precompiled_functions_are_written_by_the_program_only(torch: Torch) -> None:
    values = {"TORCH_CACHING_PRECOMPILE": "1"}
    assert found(values, "precompile-unsaved").severity == "advice"
    assert not (torch(values).folder / "dynamo").exists()
    code = "torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))"
    done = torch(values, "code", code=code + "\ntorch.compiler.save_cache_artifacts()")
    assert list((done.folder / "dynamo").iterdir())
    again = torch({**values, I + "CACHE_DIR": str(done.folder)}, "code", code=code)
    assert again.told["counters"].get("aot_autograd", {}) == {}, "it was loaded, not traced again"


def test_precompiling_needs_the_autograd_cache(torch: Torch) -> None:
    values = {"TORCH_CACHING_PRECOMPILE": "1", AUTOGRAD: "0"}
    finding = found(values, "needs-missing")
    assert finding.params == {"name": "TORCH_CACHING_PRECOMPILE", "need": AUTOGRAD}
    code = """
torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))
torch.compiler.save_cache_artifacts()
"""
    assert "Backend not found" in torch(values, "code", code=code).said
    assert "Backend not found" not in torch(mended(values, finding), "code", code=code).said


def test_being_strict_about_precompiling_needs_precompiling(torch: Torch) -> None:
    values = {"TORCH_STRICT_PRECOMPILE": "1"}
    assert codes(values) == {"needs-missing"}
    code = """
from torch._dynamo.package import _BackendId
import torch._dynamo.package as package
told["asks"] = torch._dynamo.config.strict_precompile
torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))
told["saved"] = torch.compiler.save_cache_artifacts()[1].precompile_artifacts
"""
    done = torch(values, "code", code=code)
    assert done.told["told"] == {"asks": True, "saved": []}
    assert not (done.folder / "dynamo").exists()


@pytest.mark.slow
def test_own_autograd_functions_need_the_autograd_cache(torch: Torch) -> None:
    """Without the switch such a graph is not kept; with it and without its cache neither is."""
    code = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x @ x
    @staticmethod
    def backward(ctx, g):
        return g @ g
torch.compile(Twice.apply)(torch.ones(4, 4, requires_grad=True)).sum().backward()
"""
    allow = I + "AUTOGRAD_CACHE_ALLOW_CUSTOM_AUTOGRAD"
    values = {allow: "1", AUTOGRAD: "0"}
    finding = found(values, "needs-missing")
    assert not torch(values, "code", code=code).autograd
    assert not torch({}, "code", code=code).autograd
    assert torch(mended(values, finding), "code", code=code).autograd


MODULE = """
import atexit
from torch._inductor.runtime.caching import config
for one in (config._env_var_val, config._env_var_config, config._versioned_config):
    one.cache_clear()  # what compiles before this case asked
from torch._inductor.runtime.caching.interfaces import Memoizer
memoizer = Memoizer()
"""


def test_the_dump_of_the_caching_module_needs_the_module(torch: Torch) -> None:
    write = MODULE + "memoizer.record()(abs)(-1)\natexit._run_exitfuncs()"
    values = {I + "DUMP_MEMOIZER_CACHE": "1"}
    finding = found(values, "needs-missing")
    assert list(torch(values, "code", code=write).folder.iterdir()) == []
    written = torch(mended(values, finding), "code", code=write).folder / "memoizer_cache.json"
    assert written.exists()

    read = (
        MODULE
        + """
try:
    told["result"] = memoizer.replay()(abs)(-1)
except Exception as error:
    told["result"] = type(error).__name__
"""
    )
    values = {I + "CACHE_DUMP_FILE_PATH": str(written)}
    finding = found(values, "needs-missing")
    assert torch(values, "code", code=read).told["told"] == {"result": "KeyError"}
    assert torch(mended(values, finding), "code", code=read).told["told"] == {"result": 1}


def test_a_setting_that_nobody_reads(torch: Torch) -> None:
    name = I + "NON_BLOCKING_REMOTE_CACHE_WRITE"
    finding = found({name: "0"}, "setting-idle")
    code = """
import pathlib
root = pathlib.Path(torch.__file__).parent
attribute = "non_blocking_remote_cache" + "_write"
told["read"] = [path.name for tree in ("_inductor", "_functorch", "_dynamo")
                for path in (root / tree).rglob("*.py") if attribute in path.read_text()]
"""
    assert torch({name: "0"}, "code", code=code).told["told"]["read"] == ["config.py"]
    assert mended({name: "0"}, finding) == {}


@pytest.mark.slow
def test_what_is_in_the_keys(torch: Torch) -> None:
    """Filled with one value and asked with another, a cache has nothing."""
    name = "TORCH_COMPILE_CACHE_KEY_TAG"
    assert found({name: "a"}, "value-in-keys").params == {"name": name}
    filled = torch({name: "a"})
    there = {I + "CACHE_DIR": str(filled.folder)}
    assert torch({**there, name: "b"}).counted("fxgraph_cache_hit") == 0
    assert torch(there).counted("fxgraph_cache_hit") == 0
    assert torch({**there, name: "a"}).counted("fxgraph_cache_hit") == 1
    for other in (I + "CPP_CACHE_PRECOMPILE_HEADERS", I + "AUTOGRAD_REMOTE_CACHE"):
        assert found({other: "0"}, "value-in-keys").severity == "advice"
    assert "value-in-keys" not in [x.code for x in check({I + "CPP_CACHE_PRECOMPILE_HEADERS": "1"})]
