"""Rules on Triton's own cache, each with what real Triton then does; it needs no GPU to compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.redis_server import Server
from tests.settings.conftest import Torch
from tests.settings.ruling import codes, found, mended
from torchkeeper.settings.finding import About

#: What torch then does takes a second for each; the rules of caches and servers stand for these.
pytestmark = pytest.mark.slow

T = "TRITON_"
FOLDER, MANAGER, BACKEND = T + "CACHE_DIR", T + "CACHE_MANAGER", T + "REMOTE_CACHE_BACKEND"
HOST, PORT, FORMAT = T + "REDIS_HOST", T + "REDIS_PORT", T + "REDIS_KEY_FORMAT"
REMOTE = {MANAGER: "triton.runtime.cache:RemoteCacheManager"}
REDIS = {BACKEND: "triton.runtime.cache:RedisRemoteCacheBackend"}
#: Compiles twice, with what Triton's class for Redis looks for where it looks for it.
PATCHED = """
import __main__
__main__.triton.knobs.cache.redis = __main__.triton.knobs.redis
for name in ("first", "second"):
    try:
        told[name] = __main__.kernel({})["hits"]
    except Exception as error:
        told[name] = f"{type(error).__name__}: {error}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> dict[str, str]:
    """A folder for kernels."""
    return {FOLDER: str(tmp_path / "kernels")}


def named(server: Server) -> dict[str, str]:
    """A server, for Triton."""
    return {HOST: "127.0.0.1", PORT: str(server.port)}


def test_a_kernel_is_kept(torch: Torch, folder: dict[str, str]) -> None:
    assert [torch(folder, "kernel").told["hits"] for _ in "12"] == [[False], [True]]


def test_compiling_always(torch: Torch, folder: dict[str, str]) -> None:
    values = {**folder, T + "ALWAYS_COMPILE": "true"}
    finding = found(values, "triton-compiles-always")
    assert [torch(values, "kernel").told["hits"] for _ in "12"] == [[False], [False]]
    assert torch(mended(values, finding), "kernel").told["hits"] == [True]


def test_interpreting(torch: Torch, folder: dict[str, str]) -> None:
    """Triton’s interpreter needs NumPy; where there is none, it fails."""
    values = {**folder, T + "INTERPRET": "1"}
    finding = found(values, "triton-interprets")
    code = """
import __main__
try:
    told["is"] = type(__main__.triton.jit(__main__.double.fn)).__name__
except ImportError as error:
    told["is"] = error.name
"""
    assert torch(values, "code", code=code).told["told"]["is"] in ("InterpretedFunction", "numpy")
    assert torch(mended(values, finding), "code", code=code).told["told"]["is"] == "JITFunction"


@pytest.mark.parametrize("text", ["", "triton.runtime.cache.FileCacheManager", "a:b:c", "a b:c"])
def test_a_manager_that_is_no_class(torch: Torch, folder: dict[str, str], text: str) -> None:
    values = {**folder, MANAGER: text}
    finding = found(values, "class-unreadable")
    assert finding.severity == "error"
    assert torch(values, "kernel").error
    assert torch(mended(values, finding), "kernel").error == ""


def test_a_backend_that_is_no_class(torch: Torch, folder: dict[str, str]) -> None:
    values = {**folder, BACKEND: "mine"}
    assert found(values, "class-unreadable").severity == "warning"
    assert torch(values, "kernel").error == "", "nobody asks it"
    values |= REMOTE
    assert found(values, "class-unreadable").severity == "error"
    assert "isn't of the form MODULE:CLASS" in torch(values, "kernel").error


def test_a_manager_without_a_backend(torch: Torch, folder: dict[str, str]) -> None:
    values = folder | REMOTE
    finding = found(values, "triton-manager-alone")
    assert "doesn't point to a valid class" in torch(values, "kernel").error
    assert torch(mended(values, finding), "kernel").error == ""


def test_a_backend_without_a_manager(torch: Torch, folder: dict[str, str]) -> None:
    """The class is not even looked for."""
    values = {**folder, BACKEND: "nowhere:Backend"}
    finding = found(values, "triton-backend-alone")
    assert torch(values, "kernel").error == ""
    assert "No module named 'nowhere'" in torch(mended(values, finding), "kernel").error


def test_tritons_class_for_redis_does_not_work(
    torch: Torch, folder: dict[str, str], server: Server
) -> None:
    """Where this fails, Triton has mended it: the rule then ends with that version."""
    values = folder | REMOTE | REDIS | named(server)
    finding = found(values, "triton-redis-broken")
    assert (codes(values), finding.severity) == ({finding.code}, "error")
    assert "'cache_knobs' object has no attribute 'redis'" in torch(values, "kernel").error
    assert found(folder | REDIS, finding.code).severity == "warning"
    assert torch(folder | REDIS, "kernel").error == "", "nobody asks it"
    mine = mended(values, finding)
    assert torch(mine, "kernel").error == ""
    assert finding.code not in codes(values, About(triton="3.3.1"))
    told = torch(values, "code", code=PATCHED).told["told"]
    assert told == {"first": [False], "second": [True]}, "that is all that it lacks"


def test_a_server_for_triton_that_nobody_asks(
    torch: Torch, folder: dict[str, str], server: Server
) -> None:
    values = folder | named(server) | {FORMAT: "{key}{filename}"}
    finding = found(values, "triton-redis-unused")
    assert codes(values) == {finding.code}
    assert (torch(values, "kernel").error, server("DBSIZE")) == ("", 0)
    assert mended(values, finding) == folder


@pytest.mark.parametrize(("text", "error"), [
    ("k:{name}", "KeyError: 'name'"),
    ("k:{", "ValueError: Single '{'"),
    ("{}{}", "IndexError: Replacement index 0"),
])  # fmt: skip
def test_a_format_that_cannot_be_filled_in(
    torch: Torch, folder: dict[str, str], server: Server, text: str, error: str
) -> None:
    values = folder | REMOTE | REDIS | named(server) | {FORMAT: text}
    finding = found(values, "key-format-unreadable")
    told = torch(values, "code", code=PATCHED).told["told"]
    assert told["first"].startswith(error)
    told = torch(mended(values, finding), "code", code=PATCHED).told["told"]
    assert told == {"first": [False], "second": [True]}


@pytest.mark.parametrize(
    ("text", "missing"), [("k:{key}", "{filename}"), ("k", "{key}, {filename}")]
)
def test_a_format_without_the_name_of_the_file(
    torch: Torch, folder: dict[str, str], server: Server, text: str, missing: str
) -> None:
    """One file takes the place of the one before; Triton then fails on what it reads."""
    values = folder | REMOTE | REDIS | named(server) | {FORMAT: text}
    assert found(values, "key-format-incomplete").params == {"missing": missing}
    told = torch(values, "code", code=PATCHED).told["told"]
    assert told["first"] == [False]
    assert told["second"].startswith("KeyError")
    assert server("DBSIZE") == 1


def test_a_format_without_the_key(torch: Torch, folder: dict[str, str], server: Server) -> None:
    """A kernel of the same name finds what belongs to another."""
    values = folder | REMOTE | REDIS | named(server) | {FORMAT: "k:{filename}"}
    finding = found(values, "key-format-incomplete")
    assert finding.params == {"missing": "{key}"}
    code = """
import __main__
__main__.triton.knobs.cache.redis = __main__.triton.knobs.redis
for arch in (90, 80):
    told[f"sm_{arch}"] = __main__.kernel({"arch": arch})["hits"]
"""
    told = torch(values, "code", code=code).told["told"]
    assert told == {"sm_90": [False], "sm_80": [True]}, "another GPU’s kernel"
    server("FLUSHALL")
    told = torch(mended(values, finding), "code", code=code).told["told"]
    assert told == {"sm_90": [False], "sm_80": [False]}


def test_a_port_that_is_no_number(torch: Torch, folder: dict[str, str]) -> None:
    values = folder | REMOTE | REDIS | {PORT: "x"}
    finding = found(values, "triton-port-wrong")
    told = torch(values, "code", code=PATCHED).told["told"]
    assert told["first"] == "RuntimeError: Unable to use TRITON_REDIS_PORT=x: expected int"
    assert PORT not in mended(values, finding)
