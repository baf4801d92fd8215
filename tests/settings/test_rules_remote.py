"""Rules on the caches on a server, each with what real torch does with a real Redis."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.redis_server import Server, free_port, serving
from tests.settings.conftest import Torch
from tests.settings.ruling import codes, found, mended
from torchkeeper.settings.finding import About
from torchkeeper.settings.known import REMOTES, at_least
from torchkeeper.settings.rules import check
from torchkeeper.warm.ran import alone

I = "TORCHINDUCTOR_"  # noqa: E741
GRAPHS, AUTOGRAD = I + "FX_GRAPH_REMOTE_CACHE", I + "AUTOGRAD_REMOTE_CACHE"
URL, HOST, PORT = I + "REDIS_URL", I + "REDIS_HOST", I + "REDIS_PORT"
#: Takes Python's redis package away, as where it is not installed.
WITHOUT_REDIS = """
import importlib, sys
sys.modules["redis"] = None
importlib.reload(torch._inductor.remote_cache)
torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))
"""
#: The server that PyTorch would ask.
ASKS = """
from torch._inductor.remote_cache import RedisRemoteCacheBackend
asks = RedisRemoteCacheBackend("fx-graph-v1")._redis.connection_pool.connection_kwargs
told["asks"] = [asks["host"], asks["port"]]
"""


def keys(server: Server) -> list[str]:
    """The kinds of what is on a server."""
    found = server("KEYS", "*")
    assert isinstance(found, list)
    return sorted(key.decode().split(":")[1] for key in found)


def named(server: Server) -> dict[str, str]:
    """A server by host and port."""
    return {HOST: "127.0.0.1", PORT: str(server.port)}


def test_both_caches_on_a_server_that_is_named(torch: Torch, server: Server) -> None:
    values = {GRAPHS: "1", AUTOGRAD: "1", URL: server.url}
    assert codes(values) == set()
    assert torch(values).error == ""
    assert keys(server) == ["autograd-experimental", "fx-graph-v1"]
    again = torch(values)
    assert (again.counted("autograd_cache_hit"), again.counted("fxgraph_cache_miss")) == (1, 0)


@pytest.mark.slow
def test_remote_autograd_without_remote_graphs(torch: Torch, server: Server) -> None:
    """The second machine finds what AOTAutograd made, and not the graph that it names."""
    values = {AUTOGRAD: "1", **named(server)}
    finding = found(values, "remote-autograd-alone")
    assert codes(values) == {finding.code}
    torch(values)
    assert keys(server) == ["autograd-experimental"]
    again = torch(values)
    assert (again.counted("autograd_cache_hit"), again.counted("autograd_cache_miss")) == (0, 1)
    torch(mended(values, finding))
    assert torch(mended(values, finding)).counted("autograd_cache_hit") == 1


@pytest.mark.slow
def test_bundled_autotuning_without_a_gpu(torch: Torch, server: Server) -> None:
    values = {I + "BUNDLED_AUTOTUNE_REMOTE_CACHE": "1", **named(server)}
    finding = found(values, "bundled-autotune-no-gpu", About(gpu=False))
    assert finding.severity == "error"
    assert found(values, finding.code).severity == "warning", "there may be a GPU"
    assert finding.code not in codes(values, About(gpu=True))
    done = torch(values, "code", code="""
told["gpu"] = torch.utils._triton.has_triton()
torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))
""")  # fmt: skip
    if done.told.get("told", {}).get("gpu"):
        pytest.skip("there is a GPU")
    assert done.error.startswith("InductorError: AssertionError: ")
    off = torch({**values, I + "FORCE_DISABLE_CACHES": "1"})
    assert "AssertionError" in off.error, "the master switch does not help"
    assert torch(mended(values, finding)).error == ""
    assert finding.code not in codes(values, About(gpu=False, redis=False))
    assert torch(values, "code", code=WITHOUT_REDIS).error == "", "without redis it is not used"


def test_without_the_redis_package(torch: Torch, server: Server) -> None:
    values = {GRAPHS: "1", **named(server)}
    assert found(values, "redis-missing", About(redis=False)).severity == "error"
    assert "redis-missing" not in codes(values, About(redis=True)) | codes(values)
    done = torch(values, "code", code=WITHOUT_REDIS)
    assert (done.error, keys(server), len(done.graphs)) == ("", [], 1)
    assert "redis not available but required for remote cache" in done.said


def test_no_server_named_is_this_machine(torch: Torch, server: Server) -> None:
    values = {GRAPHS: "1"}
    assert codes(values) == {"server-not-named"}
    assert torch(values, "code", code=ASKS).told["told"]["asks"] == ["localhost", 6379]
    assert codes(values | named(server)) == set()


@pytest.mark.slow
def test_a_server_turns_nothing_on(torch: Torch, server: Server) -> None:
    for values in (named(server), {URL: server.url}):
        finding = found(values, "server-unused")
        assert codes(values) == {finding.code}
        torch(values)
        assert keys(server) == []
        torch(mended(values, finding))
        assert keys(server) == ["fx-graph-v1"]
        server("FLUSHALL")


def test_each_cache_on_a_server_uses_it() -> None:
    for name in REMOTES:
        assert "server-unused" not in codes({name: "1", URL: "redis://h/0"})


@pytest.mark.slow
def test_the_url_wins_over_host_and_port(torch: Torch, server: Server) -> None:
    values = {GRAPHS: "1", URL: server.url, HOST: "nowhere.invalid", PORT: "1"}
    finding = found(values, "url-and-host")
    assert codes(values) == {finding.code}
    assert finding.params == {"names": f"{HOST}, {PORT}"}
    torch(values)
    assert keys(server) == ["fx-graph-v1"]
    assert mended(values, finding) == {GRAPHS: "1", URL: server.url}


@pytest.mark.parametrize("form", ["http://{0}", "{0}", "REDIS://{0}/0", '"redis://{0}/0"', ""])
def test_a_url_of_another_scheme(torch: Torch, server: Server, form: str) -> None:
    values = {GRAPHS: "1", URL: form.format(f"127.0.0.1:{server.port}")}
    finding = found(values, "url-scheme")
    assert codes(values) == {finding.code}
    done = torch(values)
    assert (done.error, keys(server), len(done.graphs)) == ("", [], 1)
    assert "Redis URL must specify one of the following schemes" in done.said
    if form == "{0}":
        torch(mended(values, finding))
        assert keys(server) == ["fx-graph-v1"]


@pytest.mark.parametrize(("rest", "said"), [
    (":70000/0", "Port out of range"),
    (":port/0", "Port could not be cast"),
    ("{port}/0?db=x", "Invalid value for 'db'"),
    ("{port}/0?foo=1", "unexpected keyword argument 'foo'"),
])  # fmt: skip
def test_a_url_that_cannot_be_read(torch: Torch, server: Server, rest: str, said: str) -> None:
    values = {GRAPHS: "1", URL: "redis://127.0.0.1" + rest.format(port=f":{server.port}")}
    assert codes(values) == {"url-unreadable"}
    done = torch(values)
    assert (done.error, keys(server), said in done.said) == ("", [], True)


def test_a_database_that_is_no_number_is_another_one(torch: Torch, server: Server) -> None:
    values = {GRAPHS: "1", URL: f"redis://127.0.0.1:{server.port}/3x"}
    assert codes(values) == {"url-unreadable"}
    assert torch(values).said == ""
    assert keys(server) == ["fx-graph-v1"], "in database 0"


SECRET = "hunter2-not-a-real-password"


def test_pytorch_records_the_password_of_a_url(torch: Torch, tmp_path: Path) -> None:
    with serving(tmp_path, "--requirepass", SECRET) as server:
        address = f"redis://:{SECRET}@127.0.0.1:{server.port}/0"
        for values in ({GRAPHS: "1", URL: address}, {URL: address}):
            finding = found(values, "url-password")
            assert SECRET not in str([one.to_json() for one in check(values)])
            assert finding.severity == "warning"
            (entry,) = torch(values).folder.glob("fxgraph/*/*/*")
            recorded = SECRET.encode() in entry.read_bytes()
            # Later ones do so where a trace is written alone, and that is settled at the import.
            assert recorded is not at_least(torch.version, "2.14"), "on a server or not"
        (entry,) = torch({GRAPHS: "1", URL: server.url}).folder.glob("fxgraph/*/*/*")
        assert SECRET.encode() not in entry.read_bytes()
    assert "url-password" in codes({URL: f"redis://h/0?password={SECRET}"})
    assert "url-password" in codes({URL: f"redis://:{SECRET}@[h/0"})
    for harmless in ("redis://user@h/0", "redis://h:1/0", "unix:///run/redis.sock?db=1"):
        assert "url-password" not in codes({URL: harmless})


def test_a_wrong_password_is_silent(torch: Torch, tmp_path: Path) -> None:
    """What no rule can see, and the doctor looks up."""
    with serving(tmp_path, "--requirepass", SECRET) as server:
        done = torch({GRAPHS: "1", URL: f"redis://:wrong@127.0.0.1:{server.port}/0"})
        assert (done.error, done.said, len(done.graphs)) == ("", "", 1)
        assert done.told["remote"]["RemoteFxGraphCache"]["put"] == 1, "PyTorch believes it wrote"
        assert server.commands(("AUTH", SECRET), ("DBSIZE",))[1] == 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "redis://127.0.0.1", " 127.0.0.1", "[::1]", ""]
)
def test_a_host_that_is_none(torch: Torch, server: Server, host: str) -> None:
    values = {GRAPHS: "1", HOST: host.format(port=server.port)}
    finding = found(values, "host-wrong")
    assert codes(values) == {finding.code}
    reach = (
        ASKS
        + """
import socket
try:
    told["found"] = socket.getaddrinfo(*told["asks"])
except OSError as error:
    told["found"] = type(error).__name__
"""
    )
    assert torch(values, "code", code=reach).told["told"]["found"] == "gaierror"
    if "{port}" in host:
        torch(mended(values, finding))
        assert keys(server) == ["fx-graph-v1"]


@pytest.mark.slow
def test_a_server_that_is_not_reached_is_silent(torch: Torch, server: Server) -> None:
    """One compile for all the ways not to reach one: redis-py tries again for some seconds."""
    values = {GRAPHS: "1", HOST: f"127.0.0.1:{server.port}"}
    done = torch(values)
    assert (done.error, done.said, keys(server), len(done.graphs)) == ("", "", [], 1)
    assert done.told["remote"]["RemoteFxGraphCache"]["put"] == 1, "PyTorch believes it wrote"


def test_hosts_that_are_some() -> None:
    for host in ("localhost", "10.0.0.1", "::1", "cache-1.example.org", "under_score", "bücher"):
        assert codes({GRAPHS: "1", HOST: host}) == set(), host


@pytest.mark.parametrize("port", ["x", ""])
def test_a_port_that_is_no_number(torch: Torch, server: Server, port: str) -> None:
    values = {GRAPHS: "1", HOST: "127.0.0.1", PORT: port}
    finding = found(values, "port-wrong")
    assert codes(values) == {finding.code}
    done = torch(values)
    assert (done.error, keys(server), len(done.graphs)) == ("", [], 1)
    assert "invalid literal for int()" in done.said
    assert mended(values, finding) == {GRAPHS: "1", HOST: "127.0.0.1"}
    assert finding.code not in codes({**values, URL: server.url}), "it is not read then"


def test_a_port_that_no_server_has(torch: Torch) -> None:
    for port in ("0", "70000", "-1"):
        assert codes({GRAPHS: "1", HOST: "h", PORT: port}) == {"port-wrong"}
        told = torch({HOST: "127.0.0.1", PORT: port}, "code", code=ASKS + """
import socket
try:
    socket.create_connection(told["asks"], 5)
except Exception as error:
    told["error"] = type(error).__name__
""").told["told"]  # fmt: skip
        assert told["asks"][1] == int(port)
        assert told["error"] in ("OverflowError", "ConnectionRefusedError", "OSError", "gaierror")
    assert codes({GRAPHS: "1", HOST: "h", PORT: f" {free_port()} "}) == set()


def test_a_verification_has_the_same_keys_and_no_server(
    torch: Torch, server: Server, tmp_path: Path
) -> None:
    """Whether a cache on a server is on is part of the keys of what AOTAutograd keeps."""
    values = {GRAPHS: "1", AUTOGRAD: "1", URL: server.url}
    filled = torch(values)
    server("FLUSHALL")
    env = alone({**values, I + "CACHE_DIR": str(filled.folder)}, str(tmp_path))
    assert (env[AUTOGRAD], env[URL], GRAPHS in env) == ("1", "", False)
    again = torch(env)
    assert (again.counted("autograd_cache_hit"), keys(server)) == (1, [])
    without = {name: text for name, text in env.items() if name != AUTOGRAD}
    assert torch(without).counted("autograd_cache_hit") == 0
    assert URL not in alone({GRAPHS: "1", URL: server.url}, str(tmp_path))
